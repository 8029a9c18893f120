/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases about messages of the application that are under way while the ranks
 * are in the call. A rank in the call must serve them, or the job hangs. */
#include "mpi_exchange.h"

#include "mpi_pattern.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { BIG = 4 << 20, MEDIUM = 300000, TAG = 4711 };

static void use(uint32_t round)
{
    exchange((exchange_t){
        .comm = MPI_COMM_WORLD, .units = units_ragged, .round = round});
}

static unsigned char *buffer(size_t len)
{
    unsigned char *bytes = malloc(len);

    if (bytes == NULL) {
        fail("out of memory");
    }
    return bytes;
}

static unsigned char *message(int src, int dst, size_t len)
{
    unsigned char *bytes = buffer(len);

    pattern_write(pattern_key((uint32_t)src, (uint32_t)dst, TAG), 0, len,
                  bytes);
    return bytes;
}

static void check_message(const unsigned char *bytes, int src, size_t len)
{
    uint64_t key = pattern_key((uint32_t)src, (uint32_t)test.rank, TAG);

    for (size_t k = 0; k < len; ++k) {
        if (bytes[k] != pattern_byte(key, k)) {
            fail("message from rank %d: byte %zu of %zu is wrong", src, k, len);
        }
    }
}

/* Rank 0 is in the call while rank 1 still wants the data from it. */
static void case_isend(void)
{
    MPI_Request    request = MPI_REQUEST_NULL;
    unsigned char *bytes   = message(0, 1, BIG);

    if (test.rank == 0 && test.size > 1) {
        MPI_Isend(bytes, BIG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    } else if (test.rank == 1) {
        MPI_Recv(bytes, BIG, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        check_message(bytes, 0, BIG);
    }
    use(1);
    must(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    free(bytes);
}

/* The same, and rank 0 already has a message that it has not asked for. */
static void case_unexpected(void)
{
    MPI_Request    request = MPI_REQUEST_NULL;
    unsigned char *bytes = message(0, 1, BIG), early = 7;

    if (test.rank == 0 && test.size > 1) {
        MPI_Isend(bytes, BIG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    } else if (test.rank == 1) {
        MPI_Send(&early, 1, MPI_BYTE, 0, TAG + 1, MPI_COMM_WORLD);
        MPI_Recv(bytes, BIG, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        check_message(bytes, 0, BIG);
    }
    use(1);
    must(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    if (test.rank == 0 && test.size > 1) {
        early = 0;
        MPI_Recv(&early, 1, MPI_BYTE, 1, TAG + 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        if (early != 7) {
            fail("the early message has %u", early);
        }
    }
    free(bytes);
}

/* Rank 1 is in the call while rank 0 insists on handing over its data. */
static void case_irecv(void)
{
    MPI_Request    request = MPI_REQUEST_NULL;
    unsigned char *bytes   = message(0, 1, BIG);

    if (test.rank == 1) {
        MPI_Irecv(bytes, BIG, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    } else if (test.rank == 0 && test.size > 1) {
        must(MPI_Ssend(bytes, BIG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD),
             "MPI_Ssend");
    }
    use(2);
    must(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    if (test.rank == 1) {
        check_message(bytes, 0, BIG);
    }
    free(bytes);
}

/* Posted before the call, satisfied after it; accepts anything, and must not
 * get what the call sends. */
static void case_wildcard(void)
{
    MPI_Request    request = MPI_REQUEST_NULL;
    unsigned char *bytes   = message(0, 1, BIG);

    if (test.rank == 1) {
        MPI_Irecv(bytes, BIG, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                  MPI_COMM_WORLD, &request);
    }
    use(3);
    use(4);
    if (test.rank == 0 && test.size > 1) {
        MPI_Send(bytes, BIG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    }
    must(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    if (test.rank == 1) {
        check_message(bytes, 0, BIG);
    }
    free(bytes);
}

/* Everybody has a message from the left and one to the right under way. */
static void case_ring(void)
{
    int            right = (test.rank + 1) % test.size;
    int            left  = (test.rank + test.size - 1) % test.size;
    unsigned char *out   = message(test.rank, right, MEDIUM);
    unsigned char *in    = buffer(MEDIUM);
    MPI_Request    requests[2];
    MPI_Status     statuses[2];

    MPI_Irecv(in, MEDIUM, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, MEDIUM, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[1]);
    for (uint32_t round = 0; round < 3; ++round) {
        use(round);
    }
    must(MPI_Waitall(2, requests, statuses), "MPI_Waitall");
    check_message(in, left, MEDIUM);
    free(in);
    free(out);
}

/* The same, rank after rank: each receives before it enters, from one that is
 * in the call already. */
static void case_chain(void)
{
    int            right   = test.rank + 1;
    unsigned char *out     = message(test.rank, right, MEDIUM);
    unsigned char *in      = buffer(MEDIUM);
    MPI_Request    request = MPI_REQUEST_NULL;

    if (right < test.size) {
        MPI_Isend(out, MEDIUM, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &request);
    }
    if (test.rank > 0) {
        MPI_Recv(in, MEDIUM, MPI_BYTE, test.rank - 1, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        check_message(in, test.rank - 1, MEDIUM);
    }
    use(5);
    must(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    free(in);
    free(out);
}

#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
enum { WINDOWS_NEED_RDMA = 1 };
#else
enum { WINDOWS_NEED_RDMA = 0 };
#endif

/* False: the MPI has no windows between these ranks. */
static bool allocate_window(int **base_p, MPI_Win *win_p)
{
    MPI_Errhandler before;
    int            can, all_can = 0;

    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    can = MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL,
                           MPI_COMM_WORLD, base_p, win_p) == MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Errhandler_free(&before);
    MPI_Allreduce(&can, &all_can, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all_can && (can || !WINDOWS_NEED_RDMA)) {
        fail("%s", "no window, here or on another rank");
    }
    return all_can;
}

/* Passive target: the window's owner is in the call. */
static void case_window(void)
{
    int    *base = NULL, value = 1;
    MPI_Win win;

    if (!allocate_window(&base, &win)) {
        if (test.rank == 0) {
            printf("window: left out, this MPI has none here\n");
        }
        return;
    }
    *base = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank > 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_unlock(0, win);
    }
    use(6);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    if (value != test.size - 1) {
        fail("%d of %d accumulates arrived", value, test.size - 1);
    }
    MPI_Win_free(&win);
}

const test_case_t flight_cases[] = {
    {"isend", case_isend},   {"unexpected", case_unexpected},
    {"irecv", case_irecv},   {"wildcard", case_wildcard},
    {"ring", case_ring},     {"chain", case_chain},
    {"window", case_window}, {NULL, NULL}};
