/* SPDX-License-Identifier: BSD-3-Clause */
/* What rank 0 prints: a table as OSU has it, or JSON. */
#include "osu_skew_output.h"

#include <math.h>

double osu_skew_bound_s(const bench_t *b, double nic_bytes)
{
    double rate = b->options->rate;

    return rate > 0 ? nic_bytes * 8 / rate : NAN;
}

#define FIRST_WIDTH 10
#define FIELD_WIDTH 20

static void put_text(const char *text)
{
    printf("%*s", FIELD_WIDTH, text);
}

static void put_number(double value)
{
    if (isnan(value)) {
        put_text("-");
    } else {
        printf("%*.2f", FIELD_WIDTH, value);
    }
}

void osu_skew_print_header(const bench_t *b)
{
    static const char *const titles[OSU_N_COLLECTIVES] = {
        "All-to-Allv", "All-to-All", "All-to-Allw"};
    const osu_options_t *o = b->options;
    char                 tail[32];

    printf("# OSU MPI%s %s%s%s Personalized Exchange Latency Test v" FS_VERSION
           "\n",
           o->memory == OSU_CUDA   ? "-CUDA"
           : o->memory == OSU_ROCM ? "-ROCM"
                                   : "",
           o->collective == OSU_ALLTOALL ? "" : "Skewed ",
           OSU_IS_NONBLOCKING  ? "Non-blocking "
           : OSU_IS_PERSISTENT ? "Persistent "
                               : "",
           titles[o->collective]);
    if (o->memory != OSU_HOST) {
        const char *where = o->memory == OSU_MANAGED ? "MANAGED (M)"
                                                     : "DEVICE (D)";

        printf("# Send Buffer on %s and Receive Buffer on %s\n", where, where);
    }
    printf("# Datatype: MPI_CHAR.\n");
    printf("# Pattern: %s, seed %llu%s. Servers: %u, ranks per server: %s.\n",
           o->pattern_text, (unsigned long long)o->seed,
           o->dynamic ? ", a new matrix each iteration" : "",
           fs_topo_n_servers(b->cluster.topo), b->cluster.shape);
    printf("# Size: average bytes per pair. Times: slowest rank of each "
           "iteration.\n");
    if (o->ceiling && b->ceiling_mbit > 0) {
        printf("# Plain stream per NIC: %.2f Mbit/s.\n", b->ceiling_mbit);
    } else if (o->ceiling) {
        printf("# Plain stream per NIC: not measured, there is only one "
               "server.\n");
    }
    if (o->siblings) {
        printf("# A communicator for each place on a server, all at once.\n");
    }
    if (o->arrival_text != NULL) {
        printf(
            "# Entries: %s of the lower bound. Times: from the first entry.\n",
            o->arrival_text);
    }
    if (o->counted_nics != NULL) {
        printf("# Packets and bytes: sent in a call, sum over the NICs (%u).\n",
               b->counters.n_nics);
    }
    printf("%-*s", FIRST_WIDTH, "# Size");
    put_text("Avg Latency(us)");
    if (o->full) {
        put_text("Min Latency(us)");
    }
    put_text("Max Latency(us)");
    if (o->full) {
        put_text("Iterations");
    }
    put_text("P50 Latency(us)");
    put_text("P99 Latency(us)");
    for (unsigned i = 0; i < o->n_tails; ++i) {
        snprintf(tail, sizeof(tail), "P%u Tail Lat(us)", o->tails[i]);
        put_text(tail);
    }
    if (OSU_IS_NONBLOCKING) {
        put_text("Overall(us)");
        put_text("Compute(us)");
        put_text("Overlap(%)");
    }
    put_text("MTM");
    put_text("AlgBW(MB/s)");
    put_text("Lower Bound(us)");
    put_text("Efficiency(%)");
    if (o->arrival_text != NULL) {
        put_text("From Last(us)");
        put_text("Entry Bound(us)");
    }
    put_text("Algorithm");
    if (o->counted_nics != NULL) {
        put_text("Packets");
        put_text("Data Packets");
        put_text("NIC Bytes");
    }
    if (o->validate) {
        put_text("Validation");
    }
    printf("\n");
    fflush(stdout);
}

void osu_skew_print_row(const bench_t *b, const osu_row_t *row)
{
    const osu_options_t *o = b->options;

    printf("%-*llu", FIRST_WIDTH, (unsigned long long)row->size);
    put_number(row->avg * 1e6);
    if (o->full) {
        put_number(row->min * 1e6);
    }
    put_number(row->max * 1e6);
    if (o->full) {
        printf("%*llu", FIELD_WIDTH, (unsigned long long)row->iterations);
    }
    put_number(row->p50 * 1e6);
    put_number(row->p99 * 1e6);
    for (unsigned i = 0; i < o->n_tails; ++i) {
        put_number(row->tails[i] * 1e6);
    }
    if (OSU_IS_NONBLOCKING) {
        put_number(row->overall * 1e6);
        put_number(row->computed * 1e6);
        put_number(row->overlap * 100);
    }
    put_number(row->mtm);
    put_number(row->alg_bw);
    put_number(row->bound * 1e6);
    put_number(row->efficiency * 100);
    if (o->arrival_text != NULL) {
        put_number(row->from_last * 1e6);
        put_number(row->entry_bound * 1e6);
    }
    put_text(row->algorithm);
    if (o->counted_nics != NULL) {
        put_number(row->sent_packets);
        put_number(row->data_packets);
        put_number(row->sent_bytes);
    }
    if (o->validate) {
        put_text(row->valid ? "Pass" : "Fail");
    }
    printf("\n");
    fflush(stdout);
}

/* "key": value, or null if the value is unknown. */
static void json_number(const char *key, double value)
{
    if (isnan(value)) {
        printf(", \"%s\": null", key);
    } else {
        printf(", \"%s\": %.9g", key, value);
    }
}

/* Of each iteration, in the order of time: how long it took, and could have. */
static void json_times(const bench_t *b, uint64_t n)
{
    printf(", \"times_s\": [");
    for (uint64_t i = 0; i < n; ++i) {
        printf("%s%.9g", i == 0 ? "" : ", ", b->times[i]);
    }
    printf("]");
    if (b->options->rate > 0) {
        printf(", \"bounds_s\": [");
        for (uint64_t i = 0; i < n; ++i) {
            printf("%s%.9g", i == 0 ? "" : ", ",
                   osu_skew_bound_s(b, b->nics[b->options->dynamic ? i : 0]));
        }
        printf("]");
    }
}

void osu_skew_print_json(const bench_t *b, const osu_row_t *row)
{
    const osu_options_t *o     = b->options;
    const char          *quote = b->cluster.even ? "" : "\"";
    char                 impl[OSU_NAME_LEN];

    osu_impl_name(impl);
    printf("{\"impl\": \"%s\", \"collective\": \"%s%s%s\", "
           "\"pattern\": \"%s\", \"servers\": %u, "
           "\"ranks_per_server\": %s%s%s",
           o->impl != NULL ? o->impl : impl, OSU_IS_NONBLOCKING ? "i" : "",
           osu_collective_name(o->collective), OSU_IS_PERSISTENT ? "_init" : "",
           o->pattern_text, fs_topo_n_servers(b->cluster.topo), quote,
           b->cluster.shape, quote);
    if (o->burst > 1) {
        json_number("burst", (double)o->burst);
    }
    json_number("nics", o->nics > 0 ? (double)o->nics : NAN);
    json_number("rate_mbit", o->rate > 0 ? o->rate / 1e6 : NAN);
    printf(", \"avg_bytes_per_pair\": %llu", (unsigned long long)row->size);
    json_number("mtm", row->mtm);
    json_number("time_s", row->p50);
    json_number("time_min_s", row->min);
    json_number("time_max_s", row->max);
    json_number("lower_bound_s", row->bound);
    json_number("efficiency", row->efficiency);
    if (o->siblings) {
        printf(", \"siblings\": true");
    }
    if (o->arrival_text != NULL) {
        printf(", \"arrival\": \"%s\"", o->arrival_text);
        json_number("from_last_s", row->from_last);
        json_number("entry_bound_s", row->entry_bound);
    }
    if (OSU_IS_NONBLOCKING) {
        json_number("overall_s", row->overall);
        json_number("compute_s", row->computed);
        json_number("overlap", row->overlap);
    }
    printf(", \"valid\": %s, \"algorithm\": \"%s\", \"iterations\": %llu, "
           "\"seed\": %llu",
           !o->validate ? "null"
           : row->valid ? "true"
                        : "false",
           row->algorithm, (unsigned long long)row->iterations,
           (unsigned long long)o->seed);
    printf(", \"memory\": \"%s\"", osu_memory_name(o->memory));
    json_number("ceiling_mbit", b->ceiling_mbit > 0 ? b->ceiling_mbit : NAN);
    if (o->counted_nics != NULL) {
        json_number("counted_nics", b->counters.n_nics);
        json_number("sent_packets", row->sent_packets);
        json_number("sent_bytes", row->sent_bytes);
        json_number("received_packets", row->received_packets);
        json_number("received_bytes", row->received_bytes);
        json_number("data_packets", row->data_packets);
    }
    if (o->times) {
        json_times(b, row->iterations);
    }
    printf("}\n");
    fflush(stdout);
}
