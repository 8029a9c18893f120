/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy/fs_entries.h"

#include "base/fs_arith.h"

/* The lower bits of a word are the rank; the others have room for 18 minutes. */
#define RANK_BITS 24
#define MOST_NS   ((UINT64_C(1) << (64 - RANK_BITS)) - 1)

uint64_t fs_entries_word(uint64_t waited_ns, uint32_t rank)
{
    return waited_ns == 0 ? 0
                          : fs_u64_min(waited_ns, MOST_NS) << RANK_BITS | rank;
}

uint64_t fs_entries_time(uint64_t word)
{
    return word >> RANK_BITS;
}

uint32_t fs_entries_rank(uint64_t word)
{
    return (uint32_t)(word & ((UINT64_C(1) << RANK_BITS) - 1));
}

uint64_t fs_entries_apart(uint64_t max_waited_ns, uint64_t least_word)
{
    uint64_t least_ns = fs_entries_time(least_word);

    return least_word != 0 && max_waited_ns > least_ns
               ? max_waited_ns - least_ns
               : 0;
}

void fs_entries_add(fs_entries_t *entries, uint64_t max_waited_ns,
                    uint64_t least_word)
{
    uint64_t least_ns = fs_entries_time(least_word);

    entries->is_known = least_word != 0 && max_waited_ns >= least_ns;
    if (!entries->is_known) {
        return;
    }
    entries->apart_ns = fs_entries_apart(max_waited_ns, least_word);
    entries->last     = fs_entries_rank(least_word);
    entries->n_calls++;
    entries->sum_ns += entries->apart_ns;
    entries->max_ns = fs_u64_max(entries->max_ns, entries->apart_ns);
    if (entries->last < entries->n_ranks) {
        entries->n_last[entries->last]++;
    }
}

uint32_t fs_entries_latest(const fs_entries_t *entries)
{
    uint32_t latest = 0;

    for (uint32_t r = 1; r < entries->n_ranks; ++r) {
        latest = entries->n_last[r] > entries->n_last[latest] ? r : latest;
    }
    return latest;
}
