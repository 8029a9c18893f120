/* SPDX-License-Identifier: BSD-3-Clause */
#include "schedule_check.h"

#include "base/fs_arith.h"

#include <stdlib.h>
#include <string.h>

#define TELL(_cond, _problem) \
    do {                      \
        if (!(_cond)) {       \
            return _problem;  \
        }                     \
    } while (0)

static void *alloc(size_t n, size_t elem_bytes)
{
    void *p = calloc(n + 1, elem_bytes);

    if (p == NULL) {
        abort();
    }
    return p;
}

static uint64_t line_sum(const uint64_t *bytes, uint32_t n, uint32_t i,
                         bool row)
{
    uint64_t sum = 0;

    for (uint32_t j = 0; j < n; ++j) {
        size_t at = row ? (size_t)i * n + j : (size_t)j * n + i;

        sum += j == i ? 0 : bytes[at];
    }
    return sum;
}

static uint64_t bound_of(const uint64_t *bytes, uint32_t n)
{
    uint64_t bound = 0;

    for (uint32_t i = 0; i < n; ++i) {
        bound = fs_u64_max(bound, line_sum(bytes, n, i, true));
        bound = fs_u64_max(bound, line_sum(bytes, n, i, false));
    }
    return bound;
}

/* The next transfer by start; whoever is still busy then is seen. */
static const char *transfer_problem(const fs_schedule_t *s, size_t k,
                                    uint64_t *sends_until,
                                    uint64_t *recvs_until)
{
    const fs_transfer_t *t = &s->transfers[k];
    const fs_transfer_t *p = k == 0 ? t : t - 1;

    TELL(t->src < s->n_servers && t->dst < s->n_servers && t->src != t->dst,
         "a transfer between servers that are not there");
    TELL(t->bytes > 0 && t->bytes <= s->total &&
             t->start <= s->total - t->bytes,
         "a transfer of nothing, or one that ends too late");
    TELL(p->start < t->start ||
             (p->start == t->start && (p == t || p->src < t->src)),
         "transfers are not in order");
    TELL(sends_until[t->src] <= t->start, "a server sends to two at a time");
    TELL(recvs_until[t->dst] <= t->start, "a server receives from two");
    sends_until[t->src] = recvs_until[t->dst] = t->start + t->bytes;
    return NULL;
}

static const char *order_problem(const fs_schedule_t *s)
{
    uint64_t   *until   = alloc(2 * (size_t)s->n_servers, sizeof(*until));
    const char *problem = NULL;

    for (size_t k = 0; problem == NULL && k < s->n_transfers; ++k) {
        problem = transfer_problem(s, k, until, until + s->n_servers);
    }
    free(until);
    return problem;
}

static const char *bytes_problem(const fs_schedule_t *s, const uint64_t *bytes)
{
    size_t      n       = s->n_servers;
    uint64_t   *left    = alloc(n * n, sizeof(*left));
    const char *problem = NULL;

    memcpy(left, bytes, n * n * sizeof(*left));
    for (size_t k = 0; k < s->n_transfers; ++k) {
        const fs_transfer_t *t    = &s->transfers[k];
        uint64_t            *pair = &left[t->src * n + t->dst];

        if (*pair < t->bytes) {
            problem = "a pair sends more than it has";
        }
        *pair -= t->bytes;
    }
    for (size_t k = 0; k < n * n; ++k) {
        if (left[k] != 0 && k / n != k % n) {
            problem = "a pair has bytes left";
        }
    }
    free(left);
    return problem;
}

/* A stage is as long as its longest transfer, and begins where the one before
 * ends. */
static const char *stage_problem(const fs_schedule_t *s)
{
    uint64_t end = 0;
    uint32_t n   = 0;

    for (size_t k = 0; k < s->n_transfers;) {
        uint64_t start = s->transfers[k].start, longest = 0;

        TELL(start == end, "a stage does not begin where the last one ends");
        for (; k < s->n_transfers && s->transfers[k].start == start; ++k) {
            longest = fs_u64_max(longest, s->transfers[k].bytes);
        }
        end += longest;
        ++n;
    }
    TELL(end == s->total, "stages do not add up to the total");
    TELL(n == s->n_stages, "another number of stages");
    return NULL;
}

static uint64_t sum_of_diagonals(const uint64_t *bytes, uint32_t n)
{
    uint64_t sum = 0;

    for (uint32_t d = 1; d < n; ++d) {
        uint64_t most = 0;

        for (uint32_t i = 0; i < n; ++i) {
            most = fs_u64_max(most, bytes[(size_t)i * n + (i + d) % n]);
        }
        sum += most;
    }
    return sum;
}

uint32_t most_parts(const fs_schedule_t *s)
{
    size_t    n    = s->n_servers;
    uint32_t *cuts = alloc(n * n, sizeof(*cuts));
    uint32_t  most = 0;

    for (size_t k = 0; k < s->n_transfers; ++k) {
        uint32_t *pair = &cuts[s->transfers[k].src * n + s->transfers[k].dst];

        if (++*pair > most) {
            most = *pair;
        }
    }
    free(cuts);
    return most;
}

bool within(const fs_schedule_t *s, uint64_t percent)
{
    return (fs_u128_t)s->total * 100 <= (fs_u128_t)s->lower_bound * percent;
}

static const char *promise_problem(const fs_schedule_t *s,
                                   const uint64_t      *bytes)
{
    uint64_t n = s->n_servers;

    switch (s->decompose) {
    case FS_DECOMPOSE_BIRKHOFF:
    case FS_DECOMPOSE_HIERARCHICAL:
        TELL(s->total == s->lower_bound, "exact, but not the bound");
        TELL(s->n_stages <= n * n - 2 * n + 2, "more than N^2-2N+2 stages");
        break;
    case FS_DECOMPOSE_COMPACT:
        TELL(within(s, 102), "more than 2% above the bound");
        TELL(s->n_stages <= 3 * n, "more than 3N stages");
        break;
    case FS_DECOMPOSE_OPENSHOP:
        TELL(s->n_stages == 0, "stages where there should be none");
        TELL(most_parts(s) <= 4, "a pair is cut into more than 4");
        break;
    case FS_DECOMPOSE_SPREADOUT:
        TELL(s->total == sum_of_diagonals(bytes, s->n_servers),
             "not the maxima of the diagonals");
        TELL(s->n_stages < n, "more than N-1 stages");
        break;
    case FS_DECOMPOSE_AUTO:
    case FS_DECOMPOSE_BEST:
        return "made by nobody";
    }
    return NULL;
}

const char *schedule_problem(const fs_schedule_t *s, fs_decompose_t how,
                             uint32_t n_servers, const uint64_t *bytes)
{
    const char *problem;

    TELL(s->n_servers == n_servers, "another number of servers");
    TELL(s->decompose == how || how == FS_DECOMPOSE_AUTO ||
             how == FS_DECOMPOSE_BEST,
         "another method");
    TELL(s->lower_bound == bound_of(bytes, n_servers), "another bound");
    TELL(s->total >= s->lower_bound, "faster than the bound");
    problem = order_problem(s);
    if (problem == NULL) {
        problem = bytes_problem(s, bytes);
    }
    if (problem == NULL && s->decompose != FS_DECOMPOSE_OPENSHOP) {
        problem = stage_problem(s);
    }
    return problem == NULL ? promise_problem(s, bytes) : problem;
}

const char *part_problem(const fs_schedule_t *part, const fs_schedule_t *all,
                         uint32_t only_server)
{
    size_t n = 0;

    TELL(part->digest == all->digest, "the part has another digest");
    TELL(part->total == all->total && part->n_stages == all->n_stages &&
             part->lower_bound == all->lower_bound &&
             part->decompose == all->decompose,
         "the part has other totals");
    for (size_t k = 0; k < all->n_transfers; ++k) {
        const fs_transfer_t *t = &all->transfers[k];

        if (t->src == only_server || t->dst == only_server) {
            TELL(n < part->n_transfers &&
                     memcmp(t, &part->transfers[n], sizeof(*t)) == 0,
                 "the part lacks a transfer");
            ++n;
        }
    }
    TELL(n == part->n_transfers, "the part has transfers of others");
    return NULL;
}
