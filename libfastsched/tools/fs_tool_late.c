/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fs_tool_late.h"

#include "base/fs_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 1024, WORD_LEN = 40 };

void fs_tool_late_options(fs_tool_late_args_t *args, fs_tool_options_t *options)
{
    const fs_tool_option_t rows[] = {
        {FS_TOOL_TITLE, .name = "Simulation"},
        {FS_TOOL_TEXT, "late", "LIST",
         "late ranks, in place of --straggler: RANK or\n"
         "RANK:US, so long after the others, and commas",
         .value = &args->late},
        {FS_TOOL_TEXT, "servers", "NxM",
         "servers and ranks of each, in place of --ranks",
         .value = &args->servers},
        {FS_TOOL_U32, "pieces", "Q",
         "chunks of each punctual rank with stream (", .value = &args->n_pieces,
         1, FS_STRAGGLER_MAX_PIECES},
        {FS_TOOL_RATE, "rate-inside", "RATE",
         "rate of a rank inside its server (3600gbit)",
         .value = &args->rate_inside, 1, UINT64_MAX},
        {FS_TOOL_MILLI, "alpha-inside-us", "US", "cost of a message inside (",
         .value = &args->alpha_inside, 0, UINT32_MAX},
    };

    *args = (fs_tool_late_args_t){.n_pieces     = 4,
                                  .rate_inside  = UINT64_C(3600000000000),
                                  .alpha_inside = 3000};
    FS_TOOL_ADD(options, rows);
}

bool fs_tool_late_is_given(const fs_tool_late_args_t *args)
{
    return args->late != NULL || args->servers != NULL;
}

/* ---- servers ---- */

/* "4x8" */
static bool read_servers(const char *text, fs_tool_late_t *late)
{
    char        first[WORD_LEN] = "";
    const char *x               = strchr(text, 'x');
    uint64_t    servers, local;

    if (x == NULL || (size_t)(x - text) >= sizeof(first)) {
        return false;
    }
    memcpy(first, text, (size_t)(x - text));
    if (!fs_value_number(first, &servers) || !fs_value_number(x + 1, &local) ||
        servers == 0 || servers > MAX_RANKS || local == 0 ||
        local > MAX_RANKS / servers) {
        return false;
    }
    late->n_servers = (uint32_t)servers;
    late->n_local   = (uint32_t)local;
    return true;
}

/* ---- late ranks ---- */

static void add_late(fs_tool_late_t *late, uint32_t rank, uint32_t delay)
{
    uint32_t k = late->n_late++;

    for (; k > 0 && late->delay[k - 1] > delay; --k) {
        late->delay[k] = late->delay[k - 1];
        late->rank[k]  = late->rank[k - 1];
    }
    late->rank[k]  = rank;
    late->delay[k] = delay;
}

static bool is_late(const fs_tool_late_t *late, uint64_t rank)
{
    for (uint32_t k = 0; k < late->n_late; ++k) {
        if (late->rank[k] == rank) {
            return true;
        }
    }
    return false;
}

/* "7:900", "7" */
static bool read_one(const char *word, fs_tool_late_t *late)
{
    char        number[WORD_LEN] = "";
    const char *colon            = strchr(word, ':');
    size_t      len = colon == NULL ? strlen(word) : (size_t)(colon - word);
    uint64_t    rank, delay = 0;

    memcpy(number, word, len);
    if (!fs_value_number(number, &rank) ||
        (colon != NULL && !fs_value_milli(colon + 1, &delay)) ||
        rank >= late->n_servers * late->n_local || delay > UINT32_MAX ||
        is_late(late, rank) || late->n_late == FS_TOOL_LATE_MAX) {
        return false;
    }
    add_late(late, (uint32_t)rank, (uint32_t)delay);
    return true;
}

static void read_list(const char *text, fs_tool_late_t *late)
{
    for (const char *word = text; word != NULL;) {
        char        one[WORD_LEN] = "";
        const char *comma         = strchr(word, ',');
        size_t      len = comma == NULL ? strlen(word) : (size_t)(comma - word);

        memcpy(one, word, len < sizeof(one) ? len : 0);
        if (!read_one(one, late)) {
            fs_tool_bad(
                "--late \"%s\": allowed: up to %u different ranks, 0 to "
                "%u, each with the microseconds after which it enters, "
                "as in 3:500,7:900.5",
                fs_tool_quote(text), FS_TOOL_LATE_MAX,
                late->n_servers * late->n_local - 1);
        }
        word = comma == NULL ? NULL : comma + 1;
    }
}

/* A server is as late as the last of its ranks. */
static void find_late_servers(fs_tool_late_t *late)
{
    for (uint32_t k = 0; k < late->n_late; ++k) {
        uint32_t server = late->rank[k] / late->n_local, n = 0;

        for (uint32_t i = 0; i < late->n_late_servers; ++i) {
            if (late->server[i] != server) {
                late->server[n++] = late->server[i];
            }
        }
        late->server[n++]    = server;
        late->n_late_servers = n;
    }
}

void fs_tool_late_read(const fs_tool_late_args_t *args, uint32_t n_ranks,
                       uint32_t straggler, uint32_t delay, fs_tool_late_t *late)
{
    *late = (fs_tool_late_t){.n_servers = n_ranks, .n_local = 1};
    if (args->servers != NULL && !read_servers(args->servers, late)) {
        fs_tool_bad(
            "--servers \"%s\": allowed: servers and ranks of each, as in "
            "4x8, up to %u ranks",
            fs_tool_quote(args->servers), MAX_RANKS);
    }
    n_ranks = late->n_servers * late->n_local;
    if (args->late != NULL && n_ranks > MAX_RANKS) {
        fs_tool_bad("--late with %u ranks: allowed: up to %u", n_ranks,
                    MAX_RANKS);
    }
    if (args->late != NULL) {
        read_list(args->late, late);
    } else {
        add_late(late, straggler == UINT32_MAX ? n_ranks - 1 : straggler,
                 delay);
    }
    if (late->rank[0] >= n_ranks) {
        fs_tool_bad("--straggler \"%u\": allowed with %s %u: 0 to %u",
                    straggler,
                    args->servers == NULL ? "--ranks" : "so many ranks,",
                    n_ranks, n_ranks - 1);
    }
    find_late_servers(late);
}
