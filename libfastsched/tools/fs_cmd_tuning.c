/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fastsched tuning: the results of tuners in the file of parameter tuning.
 *
 * Times of the candidates of a class are relative to the choice's.
 */
#include "tools/fs_tool.h"
#include "base/fs_strbuf.h"
#include "policy/fs_tuning.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { SIZE_LEN = 8 };

static void print_place(const fs_tuning_place_t *place)
{
    printf("servers %s, lanes %u, transport ", fs_tool_quote(place->layout),
           place->lanes);
    printf("%s, ", fs_tool_quote(place->transport));
    printf("%s\n", fs_tool_quote(place->mpi));
    printf("  %-10s %8s %4s %-7s %-14s %10s", "collective", "bytes", "MTM",
           "servers", "choice", "calls");
    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        printf(" %14s", fs_candidate_name((fs_candidate_t)c));
    }
    putchar('\n');
}

static void print_prices(const fs_tuning_entry_t *entry)
{
    uint64_t best = entry->price[entry->choice];

    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        if (entry->price[c] == 0 || best == 0) {
            printf(" %14s", "-");
        } else {
            printf(" %14.2f", (double)entry->price[c] / (double)best);
        }
    }
}

static void print_entry(const fs_tuning_entry_t *entry)
{
    uint32_t    band = fs_tuner_mtm_band(entry->of_class);
    char        size[SIZE_LEN];
    fs_strbuf_t text = {size, sizeof(size), 0};

    fs_strbuf_add_size(&text, fs_tuner_bytes_log2(entry->of_class));
    printf("  %-10s %7s+ %3u+ %-7s %-14s %10" PRIu64,
           fs_tuned_name(fs_tuner_tuned(entry->of_class)), size, 1u << band,
           fs_tuner_skew_name(entry->of_class),
           fs_candidate_name(entry->choice), entry->n_calls);
    print_prices(entry);
    putchar('\n');
}

static void print_all(const fs_tuning_t *tuning)
{
    const fs_tuning_place_t *place = NULL;

    for (size_t k = 0; k < tuning->n; ++k) {
        const fs_tuning_entry_t *entry = &tuning->entries[k];

        if (place == NULL || !fs_tuning_same_place(place, &entry->place)) {
            printf("%s", place == NULL ? "" : "\n");
            place = &entry->place;
            print_place(place);
        }
        print_entry(entry);
    }
}

static size_t count_others(const fs_tuning_t *tuning)
{
    size_t n = 0;

    for (size_t k = 0; k < tuning->others_len; ++k) {
        n += tuning->others[k] == '\n';
    }
    return n;
}

static void show(const char *path)
{
    fs_tuning_t tuning        = {.entries = NULL};
    char        why[2 * 1024] = "";
    fs_status_t status;

    if (access(path, F_OK) != 0) {
        fs_tool_bad("there is no file %s", fs_tool_quote(path));
    }
    status = fs_tuning_load(&tuning, path, why, sizeof(why));
    if (status == FS_ERR_INVAL) {
        fs_tool_bad("%s", fs_tool_quote(why));
    }
    if (status != FS_OK) {
        fs_tool_failed("%s", fs_tool_quote(why));
    }
    print_all(&tuning);
    if (tuning.others_len > 0) {
        printf("%slines of another version: %zu\n", tuning.n > 0 ? "\n" : "",
               count_others(&tuning));
    }
    fs_tuning_fini(&tuning);
}

void fs_cmd_tuning(int argc, char **argv)
{
    const char       *path    = NULL;
    fs_tool_options_t options = {
        .usage   = "tuning FILE\n\n"
                   "Results of the tuner, from a file of parameter\n"
                   "coll_fast_tuning: for each class of calls (collective,\n"
                   "bytes between "
                   "servers, max-to-mean ratio, skew inside servers) the\n"
                   "fastest algorithm, and the times of all over its time.",
        .operand = &path};

    fs_tool_read_options(argc, argv, &options);
    if (path == NULL) {
        fs_tool_bad("tuning needs a file: fastsched tuning FILE");
    }
    show(path);
}
