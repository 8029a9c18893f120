/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters from /sys/class/net and /proc/net/netstat, see osu_nic_counters.h.
 *
 * The packets of an interface include bare acknowledgements, and their number
 * depends on timing. TCPOrigDataSent counts the segments with data, without
 * retransmissions: as long as messages are small, this is the number of
 * messages. It is a counter of the network namespace, so TCP traffic inside the
 * host is included.
 *
 * Limit: RDMA traffic is in none of these counters. */
#include "osu_nic_counters.h"

#include <ctype.h>
#include <dirent.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NETS "/sys/class/net"

/* Of an interface, from linux/if.h, which does not go with net/if.h. */
enum { FLAG_UP = 0x1, FLAG_LOOPBACK = 0x8 };
enum { N_COUNTS = sizeof(osu_nic_counts_t) / sizeof(int64_t), LINE_LEN = 8192 };

/* ---- which interfaces ---- */

/* A number in a file of an interface, decimal or 0x...; -1: there is none. */
static long long read_file(const char *nic, const char *file)
{
    char      path[PATH_MAX];
    long long value = -1;
    FILE     *in;

    snprintf(path, sizeof(path), NETS "/%s/%s", nic, file);
    in = fopen(path, "r");
    if (in == NULL) {
        return -1;
    }
    if (fscanf(in, "%lli", &value) != 1) {
        value = -1;
    }
    fclose(in);
    return value;
}

/* Its packets go through another interface, and are counted there. */
static bool is_made_of_others(const char *nic)
{
    char           path[PATH_MAX];
    bool           found = false;
    struct dirent *entry;
    DIR           *dir;

    snprintf(path, sizeof(path), NETS "/%s", nic);
    dir = opendir(path);
    while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
        found = strncmp(entry->d_name, "lower_", 6) == 0;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}

/* names: patterns with commas between. */
static bool is_named(const char *nic, const char *names)
{
    char pattern[NAME_MAX + 1];

    for (; *names != '\0'; names += *names == ',') {
        size_t len = strcspn(names, ",");

        snprintf(pattern, sizeof(pattern), "%.*s", (int)len, names);
        if (fnmatch(pattern, nic, 0) == 0) {
            return true;
        }
        names += len;
    }
    return false;
}

static bool is_counted(const char *nic, const char *names)
{
    long long flags = read_file(nic, "flags");

    return flags >= 0 && (flags & FLAG_UP) != 0 &&
           (flags & FLAG_LOOPBACK) == 0 && is_named(nic, names) &&
           !is_made_of_others(nic);
}

/* ---- what they have counted ---- */

/* Add up the counters of the interfaces; how many there are. */
static uint32_t read_nics(const char *names, osu_nic_counts_t *counts)
{
    uint32_t       n   = 0;
    DIR           *dir = opendir(NETS);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *nic = entry->d_name;

        if (nic[0] == '.' || !is_counted(nic, names)) {
            continue;
        }
        n++;
        counts->sent_packets += read_file(nic, "statistics/tx_packets");
        counts->sent_bytes += read_file(nic, "statistics/tx_bytes");
        counts->received_packets += read_file(nic, "statistics/rx_packets");
        counts->received_bytes += read_file(nic, "statistics/rx_bytes");
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return n;
}

/* The k-th word of a line, from 0; NULL: there are fewer. */
static const char *find_word(const char *line, unsigned k)
{
    for (; *line != '\0' && k > 0; --k) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    return *line == '\0' || *line == '\n' ? NULL : line;
}

/* Two lines for each group: names, then values. False: it is not there. */
static bool read_data_packets(int64_t *value_p)
{
    static const char name[] = "TCPOrigDataSent";
    char              names[LINE_LEN], values[LINE_LEN];
    bool              found = false;
    FILE             *in    = fopen("/proc/net/netstat", "r");

    while (in != NULL && !found && fgets(names, LINE_LEN, in) != NULL &&
           fgets(values, LINE_LEN, in) != NULL) {
        const char *word = names, *value;

        for (unsigned k = 0; !found && (word = find_word(names, k)) != NULL;
             ++k) {
            if (strncmp(word, name, sizeof(name) - 1) == 0 &&
                isspace((unsigned char)word[sizeof(name) - 1])) {
                value    = find_word(values, k);
                found    = value != NULL;
                *value_p = found ? strtoll(value, NULL, 10) : 0;
            }
        }
    }
    if (in != NULL) {
        fclose(in);
    }
    return found;
}

/* ---- the job ---- */

void osu_nic_counters_init(MPI_Comm comm, const char *names,
                           osu_nic_counters_t *counters)
{
    osu_nic_counts_t unused = {0};
    MPI_Comm         host;
    int              local, told;

    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &local);
    MPI_Comm_free(&host);
    *counters =
        (osu_nic_counters_t){.comm = comm, .reads = local == 0, .names = names};
    told = !counters->reads || read_data_packets(&unused.data_packets);
    if (counters->reads) {
        counters->n_nics = read_nics(names, &unused);
    }
    MPI_Allreduce(MPI_IN_PLACE, &told, 1, MPI_INT, MPI_MIN, comm);
    MPI_Allreduce(MPI_IN_PLACE, &counters->n_nics, 1, MPI_UINT32_T, MPI_SUM,
                  comm);
    counters->has_data_packets = told;
}

void osu_nic_counters_read(const osu_nic_counters_t *counters,
                           osu_nic_counts_t         *counts_p)
{
    *counts_p = (osu_nic_counts_t){0};
    MPI_Barrier(counters->comm);
    if (counters->reads) {
        read_nics(counters->names, counts_p);
        read_data_packets(&counts_p->data_packets);
    }
    MPI_Barrier(counters->comm); /* nobody goes on before they are read */
}

void osu_nic_counts_add(osu_nic_counts_t *sum, const osu_nic_counts_t *counts,
                        int64_t times)
{
    sum->sent_packets += times * counts->sent_packets;
    sum->sent_bytes += times * counts->sent_bytes;
    sum->received_packets += times * counts->received_packets;
    sum->received_bytes += times * counts->received_bytes;
    sum->data_packets += times * counts->data_packets;
}

void osu_nic_counters_sum(const osu_nic_counters_t *counters,
                          osu_nic_counts_t         *counts)
{
    int rank;

    MPI_Comm_rank(counters->comm, &rank);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : counts, counts, N_COUNTS, MPI_INT64_T,
               MPI_SUM, 0, counters->comm);
}
