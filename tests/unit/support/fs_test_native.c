/* SPDX-License-Identifier: BSD-3-Clause */
#include "fs_test_native.h"

#include "fs_test_util.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

void fs_test_world_init(fs_test_world_t *world, uint32_t n_ranks, uint64_t seed)
{
    *world = (fs_test_world_t){.n_ranks = n_ranks,
                               .loop    = fs_loop_create(n_ranks, seed)};
    pthread_barrier_init(&world->barrier, NULL, n_ranks);
}

void fs_test_world_fini(fs_test_world_t *world)
{
    pthread_barrier_destroy(&world->barrier);
    fs_loop_destroy(world->loop);
    free(world->gathered);
}

void fs_test_barrier(fs_test_place_t *place)
{
    pthread_barrier_wait(&place->world->barrier);
}

static fs_status_t allgather(void *ctx, const void *in, size_t len, void *out)
{
    fs_test_place_t *place = ctx;
    fs_test_world_t *world = place->world;

    if (pthread_barrier_wait(&world->barrier) ==
        PTHREAD_BARRIER_SERIAL_THREAD) {
        free(world->gathered);
        world->gathered = malloc(len * world->n_ranks + 1);
    }
    fs_test_barrier(place);
    memcpy(world->gathered + len * place->rank, in, len);
    fs_test_barrier(place);
    memcpy(out, world->gathered, len * world->n_ranks);
    return FS_OK;
}

static fs_status_t agree(void *ctx, fs_status_t mine)
{
    uint32_t     n     = ((fs_test_place_t *)ctx)->world->n_ranks;
    fs_status_t *all   = fs_test_alloc(n, sizeof(*all));
    fs_status_t  worst = mine;

    (void)allgather(ctx, &mine, sizeof(mine), all);
    for (uint32_t r = 0; r < n; ++r) {
        worst = all[r] < worst ? all[r] : worst;
    }
    free(all);
    return worst;
}

static void progress(void *ctx)
{
    (void)ctx;
    sched_yield();
}

static fs_net_t *net(void *ctx)
{
    fs_test_place_t *place = ctx;

    return fs_loop_net(place->world->loop, place->rank);
}

static fs_nics_t *nics(void *ctx)
{
    return ((fs_test_place_t *)ctx)->nics;
}

fs_native_t fs_test_native(fs_test_place_t *place)
{
    return (fs_native_t){.ctx       = place,
                         .process   = place,
                         .allgather = allgather,
                         .agree     = agree,
                         .progress  = progress,
                         .net       = net,
                         .nics      = nics};
}

void fs_test_live_all(fs_test_world_t *world, void *(*live)(void *),
                      void *ranks, size_t rank_bytes)
{
    pthread_t *threads = fs_test_alloc(world->n_ranks, sizeof(*threads));

    for (uint32_t r = 0; r < world->n_ranks; ++r) {
        ck_assert_int_eq(pthread_create(&threads[r], NULL, live,
                                        (char *)ranks + r * rank_bytes),
                         0);
    }
    for (uint32_t r = 0; r < world->n_ranks; ++r) {
        pthread_join(threads[r], NULL);
    }
    free(threads);
}
