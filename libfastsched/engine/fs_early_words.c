/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A word: the call's number, and the last bits of five counts of one rank about one
 * peer. Between two words that are heard none grows by more than FS_EARLY_OFFERS.
 */
#include "engine/fs_early_state.h"

enum { COUNT_BITS = 6, COUNTS = (1 << COUNT_BITS) - 1 };

void fs_early_noted(void *arg, uint32_t rank, uint64_t word)
{
    fs_early_t *early = arg;
    peer_t     *peer  = &early->peer[rank];

    ++early->transport->net->n_ended;
    peer->heard      = word;
    peer->has_news   = true;
    early->has_moved = true;
}

static uint64_t add_count(uint64_t word, uint32_t count)
{
    return word << COUNT_BITS | (count & COUNTS);
}

static uint64_t make_word(const fs_early_t *early, const peer_t *p)
{
    uint64_t word = early->number;

    word = add_count(word, p->n_offered);
    word = add_count(word, p->n_refused);
    word = add_count(word, p->n_taken);
    word = add_count(word, p->n_arrived);
    return add_count(word, p->n_frees);
}

/* Take the last count off the word: *count_p is what was known before, and may have
 * grown. */
static uint64_t take_count(uint64_t word, uint32_t *count_p)
{
    *count_p += ((uint32_t)word - *count_p) & COUNTS;
    return word >> COUNT_BITS;
}

/* A word or a chunk. */
void fs_early_heard_from(fs_early_t *early, peer_t *p)
{
    p->was_silent  = false;
    early->from_ns = p == early->from ? early->now_ns : early->from_ns;
}

void fs_early_hear(fs_early_t *early, peer_t *p)
{
    uint64_t word     = p->heard;
    uint32_t declined = p->n_declined, frees = p->frees_heard;

    p->has_news = false;
    if (word >> 5 * COUNT_BITS > early->number) {
        p->n_there = p->n_taken; /* or it would not be in a later call */
    }
    if (word >> 5 * COUNT_BITS != early->number) {
        return;
    }
    p->is_here = true;
    word       = take_count(word, &frees);
    word       = take_count(word, &p->n_there);
    fs_early_heard_from(early, p);
    early->to_ns = p == early->to ? early->now_ns : early->to_ns;
    word         = take_count(word, &p->n_taken_there);
    word         = take_count(word, &declined);
    (void)take_count(word, &p->n_asked);
    p->is_busy = (p->is_busy || declined != p->n_declined) &&
                 frees == p->frees_heard;
    p->n_declined  = declined;
    p->frees_heard = frees;
}

void fs_early_fail(fs_early_t *early, fs_status_t status)
{
    early->status = early->status == FS_OK ? status : early->status;
}

void fs_early_say(fs_early_t *early, peer_t *p)
{
    fs_transport_t *t      = early->transport;
    fs_status_t     status = t->ops->note(t, p->rank, make_word(early, p));

    p->says_more = false;
    if (status != FS_OK) {
        fs_early_fail(early, status);
    }
}
