/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * More than 2^31 bytes with counts that are small, because the datatype is
 * large: in one pair, in the blocks of one rank together, or in the
 * displacements.
 *
 *   huge        rank 0 to the last rank: 2 GiB on each, and the MPI may want as
 *               much again
 *   huge-total  rank 0 to all others: 2 GiB on rank 0, 2 GiB on all others
 *   far         a few MiB, 3 GiB apart: address space only
 *
 * Or in one element.
 *
 *   huge-element  rank 0 to the last rank: 2 GiB with gaps on each, packed on each
 */
#include "mpi_pattern.h"
#include "mpi_test.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { ELEMENT = 1 << 20, GUARD = 4096, MANY = (1 << 11) + 3 };

/* Elements from one rank to another; elements left out between blocks. */
typedef struct shape {
    int (*count)(int src, int dst);
    int gap;
} shape_t;

static int one_pair(int src, int dst)
{
    return src == 0 && dst == test.size - 1 ? MANY : 1;
}

static int one_rank(int src, int dst)
{
    return src == 0 && dst != 0 ? MANY / (test.size - 1) + 1 : 1;
}

static int few(int src, int dst)
{
    return 1 + (src + dst) % 2;
}

typedef struct side {
    int           *counts;
    int           *displs;
    size_t         len;
    unsigned char *memory; /* the blocks and a guard */
} side_t;

static side_t side_new(const shape_t *shape, int sending)
{
    size_t n  = (size_t)test.size;
    side_t s  = {calloc(n, sizeof(int)), calloc(n, sizeof(int)), 0, NULL};
    int    at = 0;

    for (int r = 0; r < test.size; ++r) {
        s.displs[r] = at;
        s.counts[r] = sending ? shape->count(test.rank, r)
                              : shape->count(r, test.rank);
        at += s.counts[r] + (r < test.size - 1 ? shape->gap : 0);
    }
    s.len    = (size_t)at * ELEMENT + GUARD;
    s.memory = mmap(NULL, s.len, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s.memory == MAP_FAILED) {
        fail("no %d MiB of memory", at);
    }
    return s;
}

static void side_free(side_t *s)
{
    free(s->counts);
    free(s->displs);
    munmap(s->memory, s->len);
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
    for (int r = 0; r < test.size; ++r) {
        each_word(send, r, pattern_key((uint32_t)test.rank, (uint32_t)r, 1), 0);
        each_word(recv, r, pattern_key(0xdead, (uint32_t)r, 2), 0);
    }
    pattern_write(3, 0, GUARD, recv->memory + recv->len - GUARD);
}

static void check(const side_t *recv)
{
    for (int r = 0; r < test.size; ++r) {
        size_t n_wrong = each_word(
            recv, r, pattern_key((uint32_t)r, (uint32_t)test.rank, 1), 1);

        if (n_wrong > 0) {
            fail("%zu words from rank %d are wrong", n_wrong, r);
        }
    }
    for (size_t k = 0; k < GUARD; ++k) {
        if (recv->memory[recv->len - GUARD + k] != pattern_byte(3, k)) {
            fail("byte %zu behind the buffer was written", k);
        }
    }
}

static void run(const shape_t *shape)
{
    side_t       send = side_new(shape, 1), recv = side_new(shape, 0);
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

static void case_huge(void)
{
    run(&(shape_t){.count = one_pair});
}

static void case_huge_total(void)
{
    run(&(shape_t){.count = one_rank});
}

static void case_far(void)
{
    run(&(shape_t){.count = few, .gap = 3 << 10});
}

/* ---- one element ---- */

/* More than INT_MAX bytes, and gaps between its parts. */
enum { PART = 715827888, N_PARTS = 3, PART_GAP = 4096 };
static const size_t STRIDE = (size_t)PART + PART_GAP;

static MPI_Datatype make_huge_element(void)
{
    MPI_Datatype type;

    MPI_Type_vector(N_PARTS, PART, PART + PART_GAP, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static unsigned char *parts_new(uint64_t key)
{
    size_t         len    = N_PARTS * STRIDE;
    unsigned char *memory = mmap(NULL, len, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        fail("no %zu bytes of memory", len);
    }
    for (size_t k = 0; k < len / 8; ++k) {
        ((uint64_t *)memory)[k] = pattern_word(key, k);
    }
    return memory;
}

/* The parts came from there, and the gaps are as they were. */
static void check_parts(const unsigned char *memory, uint64_t sent,
                        uint64_t untouched)
{
    size_t n_wrong = 0;

    for (size_t k = 0; k < N_PARTS * STRIDE / 8; ++k) {
        uint64_t key = 8 * k % STRIDE < PART ? sent : untouched;

        n_wrong += ((const uint64_t *)memory)[k] != pattern_word(key, k);
    }
    if (n_wrong > 0) {
        fail("%zu words of one element are wrong", n_wrong);
    }
}

/* Nothing else is sent. */
static void case_huge_element(void)
{
    size_t         n         = (size_t)test.size;
    uint64_t       sent      = pattern_key(0, (uint32_t)n - 1, 5);
    uint64_t       untouched = pattern_key(0xdead, (uint32_t)n - 1, 6);
    int            first     = test.rank == 0;
    int            last      = test.rank == test.size - 1;
    int           *scounts   = calloc(n, sizeof(int));
    int           *rcounts   = calloc(n, sizeof(int));
    int           *displs    = calloc(n, sizeof(int));
    unsigned char *send      = first ? parts_new(sent) : NULL;
    unsigned char *recv      = last ? parts_new(untouched) : NULL;
    MPI_Datatype   element   = make_huge_element();
    uint64_t       served    = pvars_calls_served();

    scounts[n - 1] = first;
    rcounts[0]     = last;
    must(MPI_Alltoallv(send, scounts, displs, element, recv, rcounts, displs,
                       element, MPI_COMM_WORLD),
         "MPI_Alltoallv");
    if (test.expect == EXPECT_SERVED && pvars_calls_served() != served + 1) {
        fail("the call was not served");
    }
    if (first) {
        munmap(send, N_PARTS * STRIDE);
    }
    if (last) {
        check_parts(recv, sent, untouched);
        munmap(recv, N_PARTS * STRIDE);
    }
    MPI_Type_free(&element);
    free(scounts);
    free(rcounts);
    free(displs);
}

const test_case_t huge_cases[] = {{"huge", case_huge},
                                  {"huge-total", case_huge_total},
                                  {"far", case_far},
                                  {"huge-element", case_huge_element},
                                  {NULL, NULL}};
