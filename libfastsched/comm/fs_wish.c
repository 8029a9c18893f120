/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/fs_wish.h"

#include "base/fs_strbuf.h"

#include <string.h>

enum {
    TUNER_BIT      = 0,
    VERBOSE_BIT    = 1,
    ALGORITHM_BIT  = 2, /* and above */
    ALGORITHM_BITS = 10,
    N_BITS         = ALGORITHM_BIT + ALGORITHM_BITS,
    YES_BIT        = 8, /* behind the other flags of a vote */
    NO_BIT         = YES_BIT + N_BITS,
    CANNOT_BIT     = NO_BIT + N_BITS, /* a rank has not the peers for it */
    PATIENCE       = 2 /* calls: ranks may be written to one after the other */
};

#define ALL_BITS ((UINT64_C(1) << N_BITS) - 1)

_Static_assert(FS_ALGORITHM_AUTO < 1 << ALGORITHM_BITS, "too many algorithms");

static uint64_t yes_of(uint64_t flags)
{
    return flags >> YES_BIT & ALL_BITS;
}

static uint64_t no_of(uint64_t flags)
{
    return flags >> NO_BIT & ALL_BITS;
}

/* Looks at all ranks once for each new wish. */
static bool can_run(fs_comm_t *comm, uint32_t algorithm)
{
    if (algorithm == comm->params.algorithm) {
        return true;
    }
    if (!comm->looked || comm->looked_at != algorithm) {
        comm->looked    = true;
        comm->looked_at = algorithm;
        comm->can_run   = fs_comm_is_wired_for(comm, algorithm);
    }
    return comm->can_run;
}

uint64_t fs_wish_flags(fs_comm_t *comm)
{
    const fs_params_t *wanted = comm->native.wanted;
    uint64_t           wish, cannot;

    if (wanted == NULL) {
        return 0;
    }
    wish = (uint64_t)wanted->algorithm << ALGORITHM_BIT |
           (uint64_t)wanted->verbose << VERBOSE_BIT |
           (uint64_t)wanted->tuner << TUNER_BIT;
    cannot = !can_run(comm, (uint32_t)(wish >> ALGORITHM_BIT));
    return wish << YES_BIT | (~wish & ALL_BITS) << NO_BIT |
           cannot << CANNOT_BIT;
}

static bool some_cannot(uint64_t flags)
{
    return flags >> CANNOT_BIT & 1;
}

static void say_why(const fs_comm_t *comm, uint64_t unlike)
{
    char        text[256];
    fs_strbuf_t line = {text, sizeof(text), 0};

    if (unlike == 0) {
        fs_strbuf_add(&line,
                      "a communicator keeps its algorithm, because its ranks "
                      "are not connected for the new one: make another one");
    } else {
        fs_strbuf_add(&line,
                      "ranks have been given different values of%s%s%s; all "
                      "keep theirs",
                      unlike >> ALGORITHM_BIT != 0 ? " algorithm" : "",
                      unlike >> TUNER_BIT & 1 ? " tuner" : "",
                      unlike >> VERBOSE_BIT & 1 ? " verbose" : "");
    }
    if (comm->rank == 0 && comm->native.warn != NULL) {
        comm->native.warn(comm->native.process, text);
    }
}

void fs_wish_hear(fs_comm_t *comm, uint64_t flags)
{
    uint64_t unlike = yes_of(flags) & no_of(flags);

    if (yes_of(flags) == 0 && no_of(flags) == 0) {
        return;
    }
    comm->wishes   = flags;
    comm->n_unlike = unlike == 0 && !some_cannot(flags) ? 0
                                                        : comm->n_unlike + 1;
    if (comm->n_unlike == PATIENCE) {
        say_why(comm, unlike);
    }
}

void fs_wish_adopt(fs_comm_t *comm)
{
    uint64_t     wish      = yes_of(comm->wishes);
    uint32_t     algorithm = (uint32_t)(wish >> ALGORITHM_BIT);
    uint32_t     tuner     = wish >> TUNER_BIT & 1;
    fs_params_t *params    = &comm->params;

    if ((wish ^ no_of(comm->wishes)) != ALL_BITS || some_cannot(comm->wishes)) {
        return; /* they differ, or did not vote */
    }
    params->verbose = wish >> VERBOSE_BIT & 1;
    if (params->algorithm != algorithm || params->tuner != tuner) {
        params->algorithm = algorithm;
        params->tuner     = tuner;
        comm->unseen      = (fs_unseen_t){0};
        memset(comm->forecast, 0, sizeof(comm->forecast));
        fs_plan_cache_clear(&comm->cache); /* it has what they chose */
    }
}
