/* SPDX-License-Identifier: BSD-3-Clause */
#include "osu_skew_data.h"

#include "base/fs_digest.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define CANARY_BYTES 16 /* at least, before, between and after blocks */

/* ---- matrix and layout ---- */

/* Room of a block in the receive buffer. With -c a gap of canary bytes follows
 * it; without, blocks are packed as in osu_alltoallv, and as MPI_Alltoall has
 * them in any case. */
static uint64_t slot_bytes(const bench_t *b, uint64_t count)
{
    if (!b->options->validate || b->options->collective == OSU_ALLTOALL) {
        return count;
    }
    return (count + 2 * CANARY_BYTES - 1) / CANARY_BYTES * CANARY_BYTES;
}

static uint64_t first_slot(const bench_t *b)
{
    return b->options->validate ? CANARY_BYTES : 0;
}

/* What a file has for these ranks. */
static fs_status_t take_part(const bench_t *b, uint64_t size, uint32_t n,
                             const uint32_t *rank)
{
    uint64_t any = 0;

    for (uint32_t i = 0; i < n * n; ++i) {
        b->total[i] = b->file[(size_t)rank[i / n] * b->n + rank[i % n]];
        any |= b->total[i];
    }
    return any == 0 ? FS_OK : fs_pattern_scale(n, size, b->total);
}

/* The matrix of the communicator of the k-th ranks of all servers. */
static fs_status_t draw_sibling(bench_t *b, uint64_t size, uint64_t seed,
                                uint32_t k)
{
    const fs_topo_t *topo = b->cluster.topo;
    uint32_t         n = 0, *server = b->scratch;
    uint32_t        *rank = b->scratch + b->n;
    fs_status_t      status;

    for (uint32_t u = 0; u < fs_topo_n_servers(topo); ++u) {
        if (k < fs_topo_n_local(topo, u)) {
            server[n] = u;
            rank[n++] = fs_topo_rank(topo, u, k);
        }
    }
    if (n == 0) {
        return FS_OK;
    }
    status = b->file != NULL ? take_part(b, size, n, rank)
                             : fs_pattern_fill(&b->options->pattern, n, server,
                                               size, seed + k, b->total);
    for (uint32_t i = 0; i < n * n && status == FS_OK; ++i) {
        b->matrix[(size_t)rank[i / n] * b->n + rank[i % n]] = b->total[i];
    }
    return status;
}

fs_status_t osu_skew_draw(bench_t *b, uint64_t size, uint64_t iteration)
{
    uint64_t    seed   = b->options->seed + iteration;
    size_t      len    = (size_t)b->n * b->n * sizeof(*b->matrix);
    fs_status_t status = FS_OK;

    if (b->file != NULL && !b->options->siblings) {
        memcpy(b->matrix, b->file, len);
        return b->options->as_is ? FS_OK
                                 : fs_pattern_scale(b->n, size, b->matrix);
    }
    if (!b->options->siblings) {
        return fs_pattern_fill(&b->options->pattern, b->n, b->cluster.server_of,
                               size, seed, b->matrix);
    }
    memset(b->matrix, 0, len);
    for (uint32_t k = 0; k < b->n && status == FS_OK; ++k) {
        status = draw_sibling(b, size, seed, k);
    }
    return status;
}

bool osu_skew_join(bench_t *b, char *why)
{
    const fs_topo_t *topo = b->cluster.topo;
    int              n, ready;

    b->peers_comm = b->comm;
    if (b->options->siblings) {
        MPI_Comm_split(b->comm, (int)fs_topo_local(topo, b->rank), (int)b->rank,
                       &b->peers_comm);
    }
    MPI_Comm_size(b->peers_comm, &n);
    b->n_peers = (uint32_t)n;
    b->peers   = malloc((size_t)n * sizeof(*b->peers));
    b->scratch = malloc(2 * (size_t)b->n * sizeof(*b->scratch));
    ready      = b->peers != NULL && b->scratch != NULL;
    MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, b->comm);
    if (!ready) {
        snprintf(why, OSU_WHY_LEN, "out of memory");
        return false;
    }
    MPI_Allgather(&b->rank, 1, MPI_UINT32_T, b->peers, 1, MPI_UINT32_T,
                  b->peers_comm);
    return true;
}

/* What one rank sends to another in call k of a burst: as in the first call those
 * ranks do that are k servers before them. */
static uint64_t bytes_of(const bench_t *b, uint64_t k, uint32_t src,
                         uint32_t dst)
{
    uint32_t per_server = b->n / fs_topo_n_servers(b->cluster.topo);
    uint32_t back       = b->n - (uint32_t)(k * per_server % b->n);

    return b
        ->matrix[(size_t)((src + back) % b->n) * b->n + (dst + back) % b->n];
}

const uint64_t *osu_skew_total(bench_t *b)
{
    if (b->options->burst == 1) {
        return b->matrix;
    }
    memset(b->total, 0, (size_t)b->n * b->n * sizeof(*b->total));
    for (uint64_t k = 0; k < b->options->burst; ++k) {
        for (uint32_t src = 0; src < b->n; ++src) {
            for (uint32_t dst = 0; dst < b->n; ++dst) {
                b->total[(size_t)src * b->n + dst] += bytes_of(b, k, src, dst);
            }
        }
    }
    return b->total;
}

void osu_skew_lay_out(bench_t *b)
{
    uint64_t send_at = 0, recv_at = first_slot(b);
    size_t   at = 0;

    for (uint64_t k = 0; k < b->options->burst; ++k) {
        for (uint32_t i = 0; i < b->n_peers; ++i, ++at) {
            uint32_t peer = b->peers[i];
            uint64_t out  = bytes_of(b, k, b->rank, peer);
            uint64_t in   = bytes_of(b, k, peer, b->rank);

            b->send_counts[at] = (int)out;
            b->send_displs[at] = (int)send_at;
            b->recv_counts[at] = (int)in;
            b->recv_displs[at] = (int)recv_at;
            send_at += out;
            recv_at += slot_bytes(b, in);
        }
    }
    b->send_used = send_at;
    b->recv_used = recv_at + CANARY_BYTES;
    if (b->send_used > b->send_size || b->recv_used > b->recv_size) {
        fprintf(stderr,
                OSU_SKEW_PROGRAM ": rank %u: a matrix outgrew its buffers\n",
                b->rank);
        MPI_Abort(b->comm, 3);
    }
}

/* ---- validation ---- */

/* What a block holds follows from its source, destination and call: a block
 * that is late, or lands in the place of another, differs in nearly every
 * byte. */
static uint64_t block_key(const bench_t *b, uint64_t k, uint32_t src,
                          uint32_t dst)
{
    return fs_digest_add(fs_mix64((uint64_t)src << 32 | dst),
                         b->n_calls * b->options->burst + k);
}

static void fill_block(unsigned char *p, size_t len, uint64_t key)
{
    uint64_t word;

    for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
        word = fs_mix64(key++);
        memcpy(p, &word, sizeof(word));
    }
    word = fs_mix64(key);
    memcpy(p, &word, len);
}

/* Offset of the first wrong byte, len if there is none. */
static size_t check_block(const unsigned char *p, size_t len, uint64_t key,
                          unsigned char *expected_p)
{
    unsigned char expected[sizeof(uint64_t)];

    for (size_t at = 0; at < len; at += sizeof(expected)) {
        uint64_t word = fs_mix64(key++);
        size_t   n    = len - at < sizeof(word) ? len - at : sizeof(word);

        if (memcmp(p + at, &word, n) == 0) {
            continue;
        }
        memcpy(expected, &word, n);
        for (size_t i = 0; i < n; ++i) {
            if (p[at + i] != expected[i]) {
                *expected_p = expected[i];
                return at + i;
            }
        }
    }
    return len;
}

/* Alternates, so that what one call leaves behind is not poison to the next. */
static unsigned char poison(const bench_t *b)
{
    return b->n_calls % 2 == 0 ? 0xa5 : 0x5a;
}

void osu_skew_fill(bench_t *b)
{
    for (size_t at = 0; at < b->options->burst * b->n_peers; ++at) {
        fill_block(
            b->send_host + b->send_displs[at], (size_t)b->send_counts[at],
            block_key(b, at / b->n_peers, b->rank, b->peers[at % b->n_peers]));
    }
    if (b->send_host != b->send) {
        osu_device_copy(b->device, b->send, b->send_host, b->send_used);
    }
    osu_device_set(b->device, b->recv, poison(b), b->recv_used);
}

/* The first mistake of this rank is described, the others are only counted as
 * a failure. at: its block, of all calls. */
static void report(bench_t *b, size_t at, const char *where, int64_t offset,
                   unsigned got, unsigned expected)
{
    if (!b->wrong) {
        fprintf(stderr,
                OSU_SKEW_PROGRAM
                ": wrong byte %s: source %u, destination %u, offset "
                "%lld of %d, call %llu: got 0x%02x, expected 0x%02x\n",
                where, b->peers[at % b->n_peers], b->rank, (long long)offset,
                b->recv_counts[at],
                (unsigned long long)(b->n_calls * b->options->burst +
                                     at / b->n_peers),
                got, expected);
    }
    b->wrong = true;
}

static void check_canaries(bench_t *b, size_t block, uint64_t from, uint64_t to,
                           const char *where)
{
    for (uint64_t at = from; at < to; ++at) {
        if (b->recv_host[at] != poison(b)) {
            report(b, block, where, (int64_t)at - b->recv_displs[block],
                   b->recv_host[at], poison(b));
            return;
        }
    }
}

void osu_skew_check(bench_t *b)
{
    size_t n_blocks = b->options->burst * b->n_peers;

    if (b->recv_host != b->recv) {
        osu_device_copy(b->device, b->recv_host, b->recv, b->recv_used);
    }
    check_canaries(b, 0, 0, first_slot(b), "before the blocks");
    for (size_t k = 0; k < n_blocks; ++k) {
        const unsigned char *block    = b->recv_host + b->recv_displs[k];
        size_t               len      = (size_t)b->recv_counts[k];
        uint64_t             start    = (uint64_t)b->recv_displs[k];
        unsigned char        expected = 0;
        uint64_t             key =
            block_key(b, k / b->n_peers, b->peers[k % b->n_peers], b->rank);
        size_t at = check_block(block, len, key, &expected);

        if (at < len) {
            report(b, k, "in the block", (int64_t)at, block[at], expected);
        }
        check_canaries(b, k, start + len,
                       k + 1 < n_blocks ? (uint64_t)b->recv_displs[k + 1]
                                        : b->recv_used,
                       "behind the block");
    }
}

/* ---- memory ---- */

static uint64_t add_or_max(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

/* What a rank sends in all calls, and what it needs to receive. */
static void add_needs(const bench_t *b, uint32_t rank, uint64_t *out_p,
                      uint64_t *in_p)
{
    for (uint64_t k = 0; k < b->options->burst; ++k) {
        for (uint32_t peer = 0; peer < b->n; ++peer) {
            *out_p = add_or_max(*out_p, bytes_of(b, k, rank, peer));
            *in_p =
                add_or_max(*in_p, slot_bytes(b, bytes_of(b, k, peer, rank)));
        }
    }
}

/* Most bytes that each rank sends (need[0 .. n-1]) and receives (need[n ..]) in
 * any call of the largest size. The matrices are shared out among the ranks;
 * a matrix that does not fit in 64 bits counts as one that needs them all. */
static void survey(bench_t *b, uint64_t *need)
{
    const osu_options_t *o          = b->options;
    uint32_t             n          = b->n;
    uint64_t             n_matrices = 1;

    if (o->dynamic) { /* run_size() uses no later seeds */
        n_matrices = o->iterations[0] + o->warmup[0];
    }
    memset(need, 0, 2 * (size_t)n * sizeof(*need));
    for (uint64_t i = b->rank; i < n_matrices; i += n) {
        bool fits = osu_skew_draw(b, o->max_size, i) == FS_OK;

        for (uint32_t r = 0; r < n; ++r) {
            uint64_t out = 0, in = first_slot(b);

            if (fits) {
                add_needs(b, r, &out, &in);
            }
            out         = fits ? out : UINT64_MAX;
            need[r]     = out > need[r] ? out : need[r];
            need[n + r] = in > need[n + r] ? in : need[n + r];
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, need, (int)(2 * n), MPI_UINT64_T, MPI_MAX,
                  b->comm);
}

/* With -c the CPU wants to see what is on a device. */
static bool needs_copies(const bench_t *b)
{
    return b->device->driver != NULL && b->options->validate;
}

/* False: out of memory. */
static bool claim_buffers(bench_t *b)
{
    bool on_host = b->device->driver == NULL;

    b->send      = osu_device_alloc(b->device, b->send_size);
    b->recv      = osu_device_alloc(b->device, b->recv_size);
    b->send_host = on_host           ? b->send
                   : needs_copies(b) ? calloc(1, b->send_size)
                                     : NULL;
    b->recv_host = on_host           ? b->recv
                   : needs_copies(b) ? malloc(b->recv_size)
                                     : NULL;
    return b->send != NULL && b->recv != NULL &&
           (!needs_copies(b) || (b->send_host != NULL && b->recv_host != NULL));
}

static bool needs_total(const osu_options_t *o)
{
    return o->burst > 1 || o->siblings;
}

/* Allocate what all sizes need; says why not, the same on every rank. */
bool osu_skew_claim(bench_t *b, char *why)
{
    const osu_options_t *o      = b->options;
    uint32_t             n      = b->n;
    uint64_t             tables = (uint64_t)n * n * sizeof(*b->matrix) *
                      (1 + (b->file != NULL) + needs_total(o));
    uint64_t slack = 2 * (uint64_t)CANARY_BYTES * n * o->burst; /* rounding */
    uint64_t most_total = tables;
    int      ready;

    if (tables > o->mem_limit) {
        snprintf(why, OSU_WHY_LEN,
                 "the matrix of %u ranks alone is above -M "
                 "%llu bytes",
                 n, (unsigned long long)o->mem_limit);
        return false;
    }
    b->matrix = malloc((size_t)n * n * sizeof(*b->matrix));
    b->total  = malloc(needs_total(o) ? (size_t)n * n * sizeof(*b->total) : 1);
    b->sums   = malloc(4 * (size_t)n * sizeof(*b->sums));
    b->ints   = malloc(4 * o->burst * b->n_peers * sizeof(*b->ints));
    b->requests = malloc(o->burst * sizeof(*b->requests));
    b->statuses = malloc(o->burst * sizeof(*b->statuses));
    ready       = b->matrix != NULL && b->total != NULL && b->sums != NULL &&
            b->ints != NULL && b->requests != NULL && b->statuses != NULL;
    MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, b->comm);
    if (!ready) {
        snprintf(why, OSU_WHY_LEN, "out of memory");
        return false;
    }
    survey(b, b->sums);
    for (uint32_t r = 0; r < 2 * n; ++r) {
        if (b->sums[r] > INT_MAX - slack) {
            snprintf(why, OSU_WHY_LEN,
                     "-m: at %llu bytes per pair rank %u %s more than "
                     "MPI_A%s can count in int (%d bytes); allowed: a "
                     "smaller MAX",
                     (unsigned long long)o->max_size, r % n,
                     r < n ? "sends" : "receives",
                     osu_collective_name(o->collective) + 1, INT_MAX);
            return false;
        }
    }
    for (uint32_t r = 0; r < n; ++r) {
        uint64_t buffers = b->sums[r] + b->sums[n + r] + 2 * slack;
        uint64_t total   = tables + (needs_copies(b) ? 2 : 1) * buffers +
                         8 * o->iterations[0] * sizeof(*b->times);

        most_total = total > most_total ? total : most_total;
    }
    if (most_total > o->mem_limit) {
        snprintf(why, OSU_WHY_LEN,
                 "-M: a rank needs %llu bytes, the limit is "
                 "%llu; allowed: a smaller -m MAX or a larger -M",
                 (unsigned long long)most_total,
                 (unsigned long long)o->mem_limit);
        return false;
    }
    b->send_size    = b->sums[b->rank] + slack;
    b->recv_size    = b->sums[n + b->rank] + slack;
    b->times        = malloc(o->iterations[0] * sizeof(*b->times));
    b->computed     = malloc(o->iterations[0] * sizeof(*b->computed));
    b->overall      = malloc(o->iterations[0] * sizeof(*b->overall));
    b->types        = malloc(b->n_peers * sizeof(*b->types));
    b->mtms         = malloc(o->iterations[0] * sizeof(*b->mtms));
    b->nics         = malloc(o->iterations[0] * sizeof(*b->nics));
    b->sorted       = malloc(o->iterations[0] * sizeof(*b->sorted));
    b->entry_ns     = malloc(n * sizeof(*b->entry_ns));
    b->spreads      = malloc(o->iterations[0] * sizeof(*b->spreads));
    b->entry_bounds = malloc(o->iterations[0] * sizeof(*b->entry_bounds));
    b->send_counts  = b->ints;
    b->send_displs  = b->ints + o->burst * b->n_peers;
    b->recv_counts  = b->ints + 2 * o->burst * b->n_peers;
    b->recv_displs  = b->ints + 3 * o->burst * b->n_peers;
    ready = claim_buffers(b) && b->times != NULL && b->computed != NULL &&
            b->overall != NULL && b->types != NULL && b->mtms != NULL &&
            b->nics != NULL && b->sorted != NULL && b->entry_ns != NULL &&
            b->spreads != NULL && b->entry_bounds != NULL;
    MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, b->comm);
    if (!ready) {
        snprintf(why, OSU_WHY_LEN, "out of memory");
        return false;
    }
    for (uint32_t r = 0; r < b->n_peers; ++r) {
        b->types[r] = MPI_CHAR;
    }
    for (uint64_t k = 0; k < o->burst; ++k) {
        b->requests[k] = MPI_REQUEST_NULL;
    }
    /* The pages exist before the clock. */
    osu_device_set(b->device, b->send, 1, b->send_size);
    osu_device_set(b->device, b->recv, 2, b->recv_size);
    return true;
}

void osu_skew_release(bench_t *b)
{
    if (b->options->siblings && b->peers_comm != MPI_COMM_NULL) {
        MPI_Comm_free(&b->peers_comm);
    }
    free(b->peers);
    free(b->scratch);
    free(b->file);
    free(b->matrix);
    free(b->total);
    free(b->requests);
    free(b->statuses);
    free(b->sums);
    free(b->ints);
    if (b->device->driver != NULL) {
        free(b->send_host);
        free(b->recv_host);
    }
    osu_device_free(b->device, b->send);
    osu_device_free(b->device, b->recv);
    free(b->times);
    free(b->computed);
    free(b->overall);
    free(b->types);
    free(b->mtms);
    free(b->nics);
    free(b->sorted);
    free(b->entry_ns);
    free(b->spreads);
    free(b->entry_bounds);
}
