/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One pair of more than 2^31 bytes, between the first and the last rank: the
 * count is small, the datatype is large. Rank 0 needs 2 GiB, the last rank
 * needs 2 GiB, and the MPI may want as much again.
 */
#include "mpi_pattern.h"
#include "mpi_test.h"

#include <stdlib.h>

enum { ELEMENT = 1 << 20, GUARD = 4096 };

/* Elements; all others send one another a single one. */
static int count(int src, int dst)
{
    return src == 0 && dst == test.size - 1 ? (1 << 11) + 3 : 1;
}

typedef struct side {
    int           *counts;
    int           *displs;
    unsigned char *memory; /* the blocks and a guard */
} side_t;

static side_t side_new(int sending)
{
    size_t n  = (size_t)test.size;
    side_t s  = {calloc(n, sizeof(int)), calloc(n, sizeof(int)), NULL};
    int    at = 0;

    for (int r = 0; r < test.size; ++r) {
        s.displs[r] = at;
        s.counts[r] = sending ? count(test.rank, r) : count(r, test.rank);
        at += s.counts[r];
    }
    s.memory = malloc((size_t)at * ELEMENT + GUARD);
    if (s.memory == NULL) {
        fail("no %d MiB of memory", at);
    }
    return s;
}

static void side_free(side_t *s)
{
    free(s->counts);
    free(s->displs);
    free(s->memory);
}

/* Write the block, or compare it: the number of words that differ. */
static size_t each_word(const side_t *s, int peer, uint64_t key, int compare)
{
    uint64_t *words =
        (uint64_t *)(s->memory + (size_t)s->displs[peer] * ELEMENT);
    size_t n_words = (size_t)s->counts[peer] * (ELEMENT / 8), n_wrong = 0;

    for (size_t k = 0; k < n_words; ++k) {
        if (compare) {
            n_wrong += words[k] != pattern_word(key, k);
        } else {
            words[k] = pattern_word(key, k);
        }
    }
    return n_wrong;
}

static void fill(const side_t *send, const side_t *recv)
{
    int    last = test.size - 1;
    size_t end  = (size_t)(recv->displs[last] + recv->counts[last]) * ELEMENT;

    for (int r = 0; r < test.size; ++r) {
        each_word(send, r, pattern_key((uint32_t)test.rank, (uint32_t)r, 1), 0);
        each_word(recv, r, pattern_key(0xdead, (uint32_t)r, 2), 0);
    }
    pattern_write(3, 0, GUARD, recv->memory + end);
}

static void check(const side_t *recv)
{
    int    last = test.size - 1;
    size_t end  = (size_t)(recv->displs[last] + recv->counts[last]) * ELEMENT;

    for (int r = 0; r < test.size; ++r) {
        size_t n_wrong = each_word(
            recv, r, pattern_key((uint32_t)r, (uint32_t)test.rank, 1), 1);

        if (n_wrong > 0) {
            fail("%zu words from rank %d are wrong", n_wrong, r);
        }
    }
    for (size_t k = 0; k < GUARD; ++k) {
        if (recv->memory[end + k] != pattern_byte(3, k)) {
            fail("byte %zu behind the buffer was written", k);
        }
    }
}

static void case_huge(void)
{
    side_t       send = side_new(1), recv = side_new(0);
    uint64_t     served = pvars_calls_served();
    MPI_Datatype element;

    MPI_Type_contiguous(ELEMENT, MPI_BYTE, &element);
    MPI_Type_commit(&element);
    fill(&send, &recv);
    must(MPI_Alltoallv(send.memory, send.counts, send.displs, element,
                       recv.memory, recv.counts, recv.displs, element,
                       MPI_COMM_WORLD),
         "MPI_Alltoallv");
    if (test.expect == EXPECT_SERVED && pvars_calls_served() != served + 1) {
        fail("the call was not served");
    }
    check(&recv);
    MPI_Type_free(&element);
    side_free(&send);
    side_free(&recv);
}

const test_case_t huge_cases[] = {{"huge", case_huge}, {NULL, NULL}};
