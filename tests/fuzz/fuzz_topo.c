/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whatever users may type: clusters, patterns, parameters. The first byte says
 * which, the second how many ranks there are. Text is read to the end of the
 * input; refused with one line that says why, or accepted and then usable.
 */
#include "fuzz_input.h"

#include "fastsched.h"
#include "fastsched_exec.h"
#include "sched/model/fs_pattern.h"

#include <string.h>

enum { MAX_TEXT = 4096, WHY = 256 };

/* One line, and not empty. */
static void check_why(const char *why)
{
    size_t len = strnlen(why, WHY);

    fuzz_must(len > 0 && len < WHY, "no reason, or one without an end");
}

static void try_topo(const char *text, uint32_t n_ranks)
{
    uint32_t   *server_of = fuzz_alloc(n_ranks, sizeof(*server_of));
    char        why[WHY]  = "";
    fs_topo_t  *topo      = NULL;
    fs_status_t status =
        fs_topo_parse(text, n_ranks, server_of, why, sizeof(why));

    if (status == FS_OK) {
        fuzz_must(fs_topo_create(n_ranks, server_of, 0, &topo) == FS_OK,
                  "a cluster that cannot be");
        fuzz_must(fs_topo_n_ranks(topo) == n_ranks, "ranks are lost");
        for (uint32_t r = 0; r < n_ranks; ++r) {
            uint32_t s = fs_topo_server(topo, r);

            fuzz_must(fs_topo_rank(topo, s, fs_topo_local(topo, r)) == r,
                      "a rank is not where it is");
        }
    } else {
        fuzz_must(status == FS_ERR_INVAL, "refused for another reason");
        check_why(why);
    }
    fs_topo_destroy(topo);
    free(server_of);
}

static void try_pattern(const char *text, uint32_t n_ranks)
{
    fs_pattern_t pattern;
    char         why[WHY]  = "";
    uint32_t    *server_of = fuzz_alloc(n_ranks, sizeof(*server_of));
    uint64_t    *bytes = fuzz_alloc((size_t)n_ranks * n_ranks, sizeof(*bytes));

    for (uint32_t r = 0; r < n_ranks; ++r) {
        server_of[r] = r / 3;
    }
    if (fs_pattern_parse(text, &pattern, why, sizeof(why)) != FS_OK) {
        check_why(why);
    } else if (pattern.kind != FS_PATTERN_MOE) { /* right, but slow */
        uint64_t sum = 0;

        fuzz_must(fs_pattern_fill(&pattern, n_ranks, server_of, 1000, 7,
                                  bytes) == FS_OK,
                  "a pattern that cannot be drawn");
        for (uint32_t k = 0; k < n_ranks * n_ranks; ++k) {
            sum += bytes[k];
        }
        fuzz_must(sum == UINT64_C(1000) * n_ranks * n_ranks, "not the mean");
    }
    free(server_of);
    free(bytes);
}

/* "name=value" */
static void try_params(char *text)
{
    char       *value    = strchr(text, '=');
    char        why[WHY] = "";
    fs_params_t params;

    if (value == NULL) {
        return;
    }
    *value++ = '\0';
    fs_params_init(&params);
    if (fs_params_set(&params, text, value, why, sizeof(why)) != FS_OK ||
        fs_params_check(&params, why, sizeof(why)) != FS_OK) {
        check_why(why);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input_t in      = {data, len};
    uint32_t     what    = fuzz_below(&in, 3);
    uint32_t     n_ranks = 1 + fuzz_below(&in, 24);
    size_t       n_text  = in.len < MAX_TEXT ? in.len : MAX_TEXT;
    char        *text    = fuzz_alloc(n_text, 1);

    memcpy(text, in.data, n_text);
    if (what == 0) {
        try_topo(text, n_ranks);
    } else if (what == 1) {
        try_pattern(text, n_ranks);
    } else {
        try_params(text);
    }
    free(text);
    return 0;
}
