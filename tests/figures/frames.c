/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mean frame length under Poisson arrivals (DHBvN §VI), one line of CSV.
 *
 * Time is slotted; in a slot a NIC sends one packet and receives one. What
 * arrives during a frame waits and is the next frame; a frame is as long as
 * clearing its packets takes, at least one slot (DHBvN §V-A).
 *
 * Model U: every pair of GPUs on different servers has the same rate.
 * Model NU: all packets of a server pair go between the first GPUs of the two,
 * at the same rate of the server pair.
 *
 * --clear hierarchical is the paper's: a block (server pair) is as long as its
 * largest row or column sum, or its share ceil(sum / GPUs) once balanced, and
 * the frame as long as the busiest line of these lengths (DHBvN Theorem 4 and
 * 5). --clear bound is what no schedule can beat: the busiest GPU's packets,
 * balanced the busiest server's over its GPUs.
 */
#include "sched/papers/fs_frame.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct args {
    uint32_t servers, gpus;
    uint64_t slots, warmup, seed;
    double   load; /* mean packets a GPU sends per slot */
    bool     hotspot, balanced, hierarchical;
} args_t;

typedef struct run {
    const args_t *args;
    fs_topo_t    *gpus;    /* of the GPUs */
    fs_topo_t    *servers; /* one rank a server, to clear block lengths */
    fs_frames_t  *frames;
    uint64_t     *slot;   /* [P x P] packets of one slot */
    uint64_t     *blocks; /* [N x N] lengths */
    uint64_t      random;
} run_t;

static void fail(const char *what)
{
    fprintf(stderr, "frames: %s\n", what);
    exit(1);
}

static void check(fs_status_t status)
{
    if (status != FS_OK) {
        fail(fs_strerror(status));
    }
}

static void *zeros(size_t n)
{
    void *p = calloc(n, sizeof(uint64_t));

    if (p == NULL) {
        fail("out of memory");
    }
    return p;
}

/* ---- arrivals ---- */

/* splitmix64 */
static uint64_t random_u64(run_t *run)
{
    uint64_t z = run->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint32_t random_below(run_t *run, uint32_t n)
{
    return (uint32_t)((random_u64(run) >> 32) * n >> 32);
}

/* Count unit-rate arrivals in an interval of length mean. */
static uint64_t random_poisson(run_t *run, double mean)
{
    uint64_t n = 0;

    for (double t = 0;; ++n) {
        t -= log((double)((random_u64(run) >> 11) + 1) * 0x1p-53);
        if (t > mean) {
            return n;
        }
    }
}

/* One packet between two servers. Independent Poisson streams of equal rates
 * are one stream whose packets pick a pair at random. */
static size_t random_pair(run_t *run)
{
    const args_t *args = run->args;
    uint32_t      u    = random_below(run, args->servers);
    uint32_t      w    = random_below(run, args->servers - 1);
    uint32_t      i    = random_below(run, args->gpus);
    uint32_t      j    = random_below(run, args->gpus);

    w += w >= u;
    if (args->hotspot) {
        i = j = 0;
    }
    return (size_t)(u * args->gpus + i) * args->servers * args->gpus +
           w * args->gpus + j;
}

static void post_slot(run_t *run)
{
    const args_t *args    = run->args;
    uint32_t      n_ranks = args->servers * args->gpus;
    uint64_t      n       = random_poisson(run, args->load * n_ranks);

    memset(run->slot, 0, sizeof(*run->slot) * n_ranks * n_ranks);
    while (n-- > 0) {
        ++run->slot[random_pair(run)];
    }
    check(fs_frames_post(run->frames, run->slot));
}

/* ---- clearing ---- */

/* Length of the block of GPUs u to GPUs w. */
static uint64_t block_length(const args_t *args, const uint64_t *packets,
                             uint32_t u, uint32_t w)
{
    size_t   n_ranks = (size_t)args->servers * args->gpus;
    uint64_t total = 0, longest = 0;

    for (uint32_t i = 0; i < args->gpus; ++i) {
        uint64_t row = 0, column = 0;

        for (uint32_t j = 0; j < args->gpus; ++j) {
            row += packets[(u * args->gpus + i) * n_ranks + w * args->gpus + j];
            column +=
                packets[(u * args->gpus + j) * n_ranks + w * args->gpus + i];
        }
        total += row;
        longest = row > longest ? row : longest;
        longest = column > longest ? column : longest;
    }
    return args->balanced ? (total + args->gpus - 1) / args->gpus : longest;
}

static uint64_t frame_length(run_t *run, const uint64_t *packets)
{
    const args_t *args   = run->args;
    uint64_t      length = 0;

    if (!args->hierarchical) {
        check(fs_frame_length(run->gpus, packets, args->balanced, &length));
        return length;
    }
    for (uint32_t u = 0; u < args->servers; ++u) {
        for (uint32_t w = 0; w < args->servers; ++w) {
            run->blocks[u * args->servers + w] =
                u == w ? 0 : block_length(args, packets, u, w);
        }
    }
    check(fs_frame_length(run->servers, run->blocks, false, &length));
    return length;
}

static void simulate(run_t *run)
{
    const args_t *args   = run->args;
    uint64_t      length = 1, sum = 0, n_frames = 0;

    for (uint64_t now = 0; now < args->slots; now += length) {
        fs_frame_t frame;

        fs_frames_close(run->frames, UINT64_MAX, &frame);
        length = frame_length(run, frame.bytes);
        if (now >= args->warmup) {
            sum += length;
            ++n_frames;
        }
        for (uint64_t slot = 0; slot < length && now + slot < args->slots;
             ++slot) {
            post_slot(run);
        }
    }
    printf("%s,%s,%s,%.3f,%.3f,%llu\n", args->hotspot ? "NU" : "U",
           args->hierarchical ? "hierarchical" : "bound",
           args->balanced ? "yes" : "no", args->load,
           n_frames == 0 ? 0 : (double)sum / (double)n_frames,
           (unsigned long long)n_frames);
}

/* ---- set-up ---- */

static fs_topo_t *make_topo(uint32_t n_servers, uint32_t n_local)
{
    uint32_t   n_ranks   = n_servers * n_local;
    uint32_t  *server_of = zeros(n_ranks);
    fs_topo_t *topo;

    for (uint32_t rank = 0; rank < n_ranks; ++rank) {
        server_of[rank] = rank / n_local;
    }
    check(fs_topo_create(n_ranks, server_of, 0, &topo));
    free(server_of);
    return topo;
}

static double number(const char *text)
{
    char  *end;
    double value;

    errno = 0;
    value = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !(value >= 0) ||
        value > 1e9) {
        fail("a number of 0 to 1e9 is needed after each option");
    }
    return value;
}

static void read_arg(args_t *args, const char *name, const char *value)
{
    if (strcmp(name, "--servers") == 0) {
        args->servers = (uint32_t)number(value);
    } else if (strcmp(name, "--gpus") == 0) {
        args->gpus = (uint32_t)number(value);
    } else if (strcmp(name, "--slots") == 0) {
        args->slots = (uint64_t)number(value);
    } else if (strcmp(name, "--warmup") == 0) {
        args->warmup = (uint64_t)number(value);
    } else if (strcmp(name, "--seed") == 0) {
        args->seed = (uint64_t)number(value);
    } else if (strcmp(name, "--load") == 0) {
        args->load = number(value);
    } else if (strcmp(name, "--model") == 0) {
        args->hotspot = strcmp(value, "NU") == 0;
    } else if (strcmp(name, "--balanced") == 0) {
        args->balanced = strcmp(value, "yes") == 0;
    } else if (strcmp(name, "--clear") == 0) {
        args->hierarchical = strcmp(value, "hierarchical") == 0;
    } else {
        fail("options: --servers N --gpus M --slots T --warmup T --seed S "
             "--load PACKETS --model U|NU --balanced yes|no "
             "--clear hierarchical|bound");
    }
}

int main(int argc, char **argv)
{
    args_t   args = {.servers = 4,
                     .gpus    = 8,
                     .slots   = 20000,
                     .warmup  = 2000,
                     .seed    = 1,
                     .load    = 0.5};
    run_t    run  = {.args = &args};
    uint64_t n_ranks;

    for (int k = 1; k < argc; k += 2) {
        read_arg(&args, argv[k], k + 1 < argc ? argv[k + 1] : "");
    }
    n_ranks = (uint64_t)args.servers * args.gpus;
    if (args.servers < 2 || args.gpus < 1 || n_ranks > 1024) {
        fail("2 servers or more, 1 GPU or more, 1024 GPUs at most");
    }
    run.random  = args.seed;
    run.gpus    = make_topo(args.servers, args.gpus);
    run.servers = make_topo(args.servers, 1);
    run.slot    = zeros(n_ranks * n_ranks);
    run.blocks  = zeros((size_t)args.servers * args.servers);
    check(fs_frames_create(n_ranks * n_ranks, &run.frames));
    simulate(&run);
    fs_frames_destroy(run.frames);
    free(run.blocks);
    free(run.slot);
    fs_topo_destroy(run.servers);
    fs_topo_destroy(run.gpus);
    return 0;
}
