/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries: a word becomes a moment for each rank, and moments a lower bound.
 *
 * The bound: of all that a server sends, what has an end among the last k ranks
 * to enter cannot move before the first of these, and then takes its bytes over
 * those lanes of the server of which a rank has entered. The longest such time, of
 * all k, all servers and both directions.
 */
#include "sched/model/fs_arrival.h"

#include "base/fs_value.h"
#include "sched/model/fs_rng.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_MILLI = 100000 };

/* ---- words ---- */

/* "RANK:" */
static bool read_rank(const char **at, uint32_t *rank_p)
{
    char         *end;
    unsigned long rank;

    if (**at < '0' || **at > '9') {
        return false;
    }
    rank    = strtoul(*at, &end, 10);
    *rank_p = (uint32_t)rank;
    *at     = end + 1;
    return rank < UINT32_MAX && *end == ':';
}

fs_status_t fs_arrival_parse(const char *text, fs_arrival_t *arrival_p)
{
    static const char *const words[] = {[FS_ARRIVAL_UNIFORM] = "uniform:",
                                        [FS_ARRIVAL_LATE]    = "late:",
                                        [FS_ARRIVAL_EXP]     = "exp:"};

    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); ++k) {
        const char  *at      = text + strlen(words[k]);
        fs_arrival_t arrival = {.kind = (fs_arrival_kind_t)k};
        uint64_t     milli;

        if (strncmp(text, words[k], strlen(words[k])) != 0) {
            continue;
        }
        if ((k == FS_ARRIVAL_LATE && !read_rank(&at, &arrival.rank)) ||
            !fs_value_milli(at, &milli) || milli > MOST_MILLI) {
            return FS_ERR_INVAL;
        }
        arrival.share_milli = (uint32_t)milli;
        *arrival_p          = arrival;
        return FS_OK;
    }
    return FS_ERR_INVAL;
}

/* ---- moments ---- */

/* Exponentially distributed: the logarithm of a random number from 0 to 1. */
static uint64_t draw_exp(fs_rng_t *rng, uint64_t mean_ns)
{
    const uint64_t ln2_q64  = UINT64_C(0xb17217f7d1cf79ab);
    uint64_t       log2_q32 = (UINT64_C(64) << 32) -
                        fs_log2_q32(fs_rng_next(rng) | 1);
    fs_u128_t ln_q32 = (fs_u128_t)log2_q32 * ln2_q64 >> 64;

    return (uint64_t)(ln_q32 * mean_ns >> 32);
}

void fs_arrival_draw(const fs_arrival_t *arrival, uint64_t seed, uint64_t call,
                     uint32_t n_ranks, uint64_t bound_ns, uint64_t *entry_ns)
{
    uint64_t share =
        (uint64_t)((fs_u128_t)bound_ns * arrival->share_milli / 1000);
    uint64_t first = UINT64_MAX;
    fs_rng_t rng;

    fs_rng_init(&rng, fs_digest_add(fs_mix64(seed), call));
    for (uint32_t r = 0; r < n_ranks; ++r) {
        switch (arrival->kind) {
        case FS_ARRIVAL_UNIFORM:
            entry_ns[r] = fs_rng_below(&rng, share + 1);
            break;
        case FS_ARRIVAL_LATE:
            entry_ns[r] = r == arrival->rank ? share : 0;
            break;
        case FS_ARRIVAL_EXP:
            entry_ns[r] = draw_exp(&rng, share);
            break;
        }
        first = fs_u64_min(first, entry_ns[r]);
    }
    for (uint32_t r = 0; r < n_ranks; ++r) {
        entry_ns[r] -= first;
    }
}

uint64_t fs_arrival_last(const uint64_t *entry_ns, uint32_t n_ranks)
{
    uint64_t last = 0;

    for (uint32_t r = 0; r < n_ranks; ++r) {
        last = fs_u64_max(last, entry_ns[r]);
    }
    return last;
}

/* ---- the bound ---- */

typedef struct entry {
    uint64_t ns;
    uint32_t rank;
} entry_t;

/* Ranks in the order of their entries. */
typedef struct queue {
    const fs_topo_t *topo;
    entry_t         *entries;  /* [n_ranks] */
    uint32_t        *place;    /* [n_ranks] of each rank in entries */
    uint64_t *sent, *received; /* [n_ranks] bytes of a server that can move from
                                  the k-th entry on and not before */
    uint64_t *lane_ns; /* [n_ranks] of its lanes, in ascending order: when the first of
                          their ranks enters */
} queue_t;

static int by_time(const void *a, const void *b)
{
    const entry_t *x = a, *y = b;

    if (x->ns != y->ns) {
        return x->ns < y->ns ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static fs_status_t queue_init(queue_t *queue, const fs_topo_t *topo,
                              const uint64_t *entry_ns)
{
    uint32_t n = topo->n_ranks;

    *queue = (queue_t){.topo     = topo,
                       .entries  = malloc(n * sizeof(*queue->entries)),
                       .place    = malloc(n * sizeof(*queue->place)),
                       .sent     = malloc(n * sizeof(*queue->sent)),
                       .received = malloc(n * sizeof(*queue->received)),
                       .lane_ns  = malloc(n * sizeof(*queue->lane_ns))};
    if (queue->entries == NULL || queue->place == NULL || queue->sent == NULL ||
        queue->received == NULL || queue->lane_ns == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t r = 0; r < n; ++r) {
        queue->entries[r] = (entry_t){entry_ns[r], r};
    }
    qsort(queue->entries, n, sizeof(*queue->entries), by_time);
    for (uint32_t k = 0; k < n; ++k) {
        queue->place[queue->entries[k].rank] = k;
    }
    return FS_OK;
}

static void queue_fini(queue_t *queue)
{
    free(queue->entries);
    free(queue->place);
    free(queue->sent);
    free(queue->received);
    free(queue->lane_ns);
}

static void add_server(const queue_t *queue, const uint64_t *rank_bytes,
                       uint32_t server)
{
    const fs_topo_t *topo = queue->topo;
    size_t           n    = topo->n_ranks;

    memset(queue->sent, 0, n * sizeof(*queue->sent));
    memset(queue->received, 0, n * sizeof(*queue->received));
    for (uint32_t i = 0; i < fs_topo_n_local(topo, server); ++i) {
        size_t r = fs_topo_rank(topo, server, i);

        for (size_t peer = 0; peer < n; ++peer) {
            uint32_t k = fs_u32_max(queue->place[r], queue->place[peer]);

            if (topo->server[peer] != server) {
                queue->sent[k] += rank_bytes[r * n + peer];
                queue->received[k] += rank_bytes[peer * n + r];
            }
        }
    }
}

/* Ranks without a lane may use any. */
static void add_lanes(const queue_t *queue, uint32_t server)
{
    const fs_topo_t *topo    = queue->topo;
    uint32_t         n_lanes = topo->n_lanes[server], n = 0;

    for (uint32_t k = 0; n < n_lanes; ++k) {
        const entry_t *entry  = &queue->entries[k];
        bool           is_all = topo->lane[entry->rank] == FS_NO_LANE;

        if (topo->server[entry->rank] == server) {
            do {
                queue->lane_ns[n++] = entry->ns;
            } while (is_all && n < n_lanes);
        }
    }
}

/* When work_ns of one lane are done, from start_ns on: by the first lane alone, by the
 * first two, and so on, whatever is first. */
static uint64_t end_of(const queue_t *queue, uint32_t n_lanes,
                       uint64_t start_ns, fs_u128_t work_ns)
{
    fs_u128_t sum = work_ns, first = UINT64_MAX;

    for (uint32_t n = 1; n <= n_lanes; ++n) {
        fs_u128_t end;

        sum += fs_u64_max(queue->lane_ns[n - 1], start_ns);
        end   = (sum + n - 1) / n;
        first = end < first ? end : first;
    }
    return (uint64_t)first;
}

/* rate: of a lane. */
static uint64_t longest(const queue_t *queue, const uint64_t *bytes,
                        uint32_t n_lanes, uint64_t rate)
{
    uint64_t  bound = 0;
    fs_u128_t bits  = 0;

    for (uint32_t k = queue->topo->n_ranks; k-- > 0;) {
        bits += (fs_u128_t)bytes[k] * 8;
        if (bits > 0) {
            fs_u128_t ns = (bits * 1000000000 + rate - 1) / rate;

            bound = fs_u64_max(bound, end_of(queue, n_lanes,
                                             queue->entries[k].ns, ns));
        }
    }
    return bound;
}

fs_status_t fs_arrival_bound(const fs_topo_t *topo, const uint64_t *rank_bytes,
                             const uint64_t *entry_ns, uint64_t rate,
                             uint64_t *bound_ns_p)
{
    queue_t     queue;
    fs_status_t status = queue_init(&queue, topo, entry_ns);
    uint64_t    bound  = 0;

    for (uint32_t u = 0; u < topo->n_servers && status == FS_OK; ++u) {
        uint32_t n_lanes = topo->n_lanes[u];

        add_server(&queue, rank_bytes, u);
        add_lanes(&queue, u);
        bound = fs_u64_max(bound, longest(&queue, queue.sent, n_lanes, rate));
        bound =
            fs_u64_max(bound, longest(&queue, queue.received, n_lanes, rate));
    }
    if (status == FS_OK) {
        *bound_ns_p = bound;
    }
    queue_fini(&queue);
    return status;
}
