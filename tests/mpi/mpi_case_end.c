/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cases about the end of a communicator: while its messages are under way,
 * inside the end of another, inside MPI_Finalize, and never.
 */
#include "mpi_exchange.h"

#include "mpi_pattern.h"

#include <stdio.h>
#include <stdlib.h>

enum { LEN = 300000, TAG = 12 };

/* Communicators that wait for MPI_Finalize. */
static int n_owed;

static void use(MPI_Comm comm, uint32_t round)
{
    exchange((exchange_t){.comm       = comm,
                          .units      = units_ragged,
                          .round      = round,
                          .any_server = n_owed > 0});
}

static MPI_Comm duplicate(void)
{
    MPI_Comm comm;

    must(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
    return comm;
}

/* ---- freed before its messages have arrived ---- */

static void check(const unsigned char *bytes, int src)
{
    uint64_t key = pattern_key((uint32_t)src, (uint32_t)test.rank, TAG);

    for (size_t k = 0; k < LEN; ++k) {
        if (bytes[k] != pattern_byte(key, k)) {
            fail("message from rank %d: byte %zu is wrong", src, k);
        }
    }
}

static void case_free_in_flight(void)
{
    int            right = (test.rank + 1) % test.size;
    int            left  = (test.rank + test.size - 1) % test.size;
    unsigned char *out = zalloc(LEN, 1), *in = zalloc(LEN, 1);
    MPI_Comm       comm = duplicate();
    MPI_Request    requests[2];
    MPI_Status     statuses[2];

    pattern_write(pattern_key((uint32_t)test.rank, (uint32_t)right, TAG), 0,
                  LEN, out);
    use(comm, 1);
    MPI_Irecv(in, LEN, MPI_BYTE, left, TAG, comm, &requests[0]);
    MPI_Isend(out, LEN, MPI_BYTE, right, TAG, comm, &requests[1]);
    use(comm, 2);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
    use(MPI_COMM_WORLD, 3);
    must(MPI_Waitall(2, requests, statuses), "MPI_Waitall");
    check(in, left);
    free(in);
    free(out);
}

/* ---- freed by a callback ---- */

/* The attribute is a communicator of ours: use it once more, and free it. */
static int use_and_free(MPI_Comm owner, int keyval, void *attribute,
                        void *extra)
{
    MPI_Comm *comm = attribute;

    (void)owner;
    (void)keyval;
    use(*comm, 70);
    must(MPI_Comm_free(comm), "MPI_Comm_free in a callback");
    free(comm);
    *(int *)extra -= 1;
    return MPI_SUCCESS;
}

static void hang_on(MPI_Comm owner, MPI_Comm comm, int *n)
{
    MPI_Comm *attribute = zalloc(1, sizeof(MPI_Comm));
    int       keyval;

    *attribute = comm;
    *n += 1;
    must(
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, use_and_free, &keyval, n),
        "MPI_Comm_create_keyval");
    must(MPI_Comm_set_attr(owner, keyval, attribute), "MPI_Comm_set_attr");
    must(MPI_Comm_free_keyval(&keyval), "MPI_Comm_free_keyval");
}

static void case_free_inside_free(void)
{
    MPI_Comm outer = duplicate();
    int      n     = 0;

    use(outer, 1);
    hang_on(outer, duplicate(), &n);
    must(MPI_Comm_free(&outer), "MPI_Comm_free");
    if (n != 0) {
        fail("MPI_Comm_free has not called back");
    }
    use(MPI_COMM_WORLD, 2);
}

/* ---- freed in MPI_Finalize, or not at all ---- */

static void case_never_freed(void)
{
    MPI_Comm halves;

    must(MPI_Comm_split(MPI_COMM_WORLD, test.rank % 2, -test.rank, &halves),
         "MPI_Comm_split");
    use(halves, 1);
    use(duplicate(), 2);
    (void)duplicate(); /* and never used */
    use(duplicate(), 3);
}

/* MPI_Finalize first of all deletes the attributes of MPI_COMM_SELF. One
 * communicator has been used, the other has its first call in there. */
static void case_free_in_finalize(void)
{
    MPI_Comm used = duplicate(), fresh = duplicate();

    use(used, 1);
    hang_on(MPI_COMM_SELF, used, &n_owed);
    hang_on(MPI_COMM_SELF, fresh, &n_owed);
}

int end_cases_owe(void)
{
    if (n_owed > 0) {
        fprintf(stderr,
                "mpi_alltoallv: FAILED rank %d: MPI_Finalize has left %d "
                "callbacks out\n",
                test.rank, n_owed);
    }
    return n_owed > 0;
}

const test_case_t end_cases[] = {{"free-in-flight", case_free_in_flight},
                                 {"free-inside-free", case_free_inside_free},
                                 {"never-freed", case_never_freed},
                                 {"free-in-finalize", case_free_in_finalize},
                                 {NULL, NULL}};
