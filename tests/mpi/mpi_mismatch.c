/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One MPI_Alltoallv whose counts may disagree: rank 0 sends rank 1 some bytes
 * more, or fewer, than rank 1 expects. Plain MPI-3.
 *
 *   mpi_mismatch --more | --fewer | --none | --small | --mixed | --large
 *                [--return] [--nonblocking | --persistent | --after=RANK[-RANK]]
 *
 * --small: MPI_Alltoall of large blocks, of rank 1 of small ones; --mixed: rank 1
 * calls MPI_Alltoallv, with the same counts. --after: likewise, of one rank or of some
 * in a row, with blocks that go in bundles, after two calls of all ranks; then --large
 * is --mixed with counts too large for bundles. The other two: MPI_Ialltoallv,
 * MPI_Alltoallv_init, after a call of all ranks that sets the communicator up.
 *
 * With --return errors come back, every rank prints one line with its error
 * class, and the job ends well; otherwise MPI's default error handler acts.
 * A rank that got no error checks what all other pairs have sent.
 */
#include "mpi_init.h"
#include "mpi_pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEN = 1000, MOST = 1100, MAX_RANKS = 64 };

typedef struct buffers {
    int           counts[MAX_RANKS]; /* to send */
    int           expected[MAX_RANKS];
    int           displs[MAX_RANKS];
    unsigned char send[MAX_RANKS * MOST];
    unsigned char recv[MAX_RANKS * MOST];
} buffers_t;

static buffers_t b;
static int       rank, size;

static void fill(int difference)
{
    for (int r = 0; r < size; ++r) {
        b.counts[r] = b.expected[r] = LEN;
        b.displs[r]                 = r * MOST;
        pattern_write(pattern_key((uint32_t)rank, (uint32_t)r, 0), 0, MOST,
                      b.send + r * MOST);
    }
    if (rank == 0) {
        b.counts[1] += difference;
    }
}

/* The pair that disagrees is nobody's business; the rest must be right, and
 * nothing may be written behind a block. */
static int check_others(void)
{
    int n_wrong = 0;

    for (int r = 0; r < size; ++r) {
        uint64_t             key = pattern_key((uint32_t)r, (uint32_t)rank, 0);
        int                  odd = r == 0 && rank == 1;
        const unsigned char *block = b.recv + r * MOST;

        for (size_t k = odd ? LEN : 0; k < MOST; ++k) {
            n_wrong += block[k] != (k < LEN ? pattern_byte(key, k) : 0xEE);
        }
    }
    return n_wrong;
}

static int is(const char *word, const char *other)
{
    return strcmp(word, other) == 0;
}

/* MPI_Alltoall of all ranks. Returns the number of wrong bytes, or 1 for an error in call 0.
 * In call 1 it may be that of a rank that is ahead and has given up the next call. */
static int equal_alltoall(unsigned char *send, unsigned char *recv, int len,
                          uint32_t call)
{
    int n_wrong, rc;

    memset(recv, 0xEE, (size_t)size * (size_t)len);
    for (int r = 0; r < size; ++r) {
        pattern_write(pattern_key((uint32_t)rank, (uint32_t)r, call), 0,
                      (size_t)len, send + r * len);
    }
    rc = MPI_Alltoall(send, len, MPI_BYTE, recv, len, MPI_BYTE, MPI_COMM_WORLD);
    n_wrong = call == 0 && rc != MPI_SUCCESS;
    for (int r = 0; r < size && rc == MPI_SUCCESS; ++r) {
        uint64_t key = pattern_key((uint32_t)r, (uint32_t)rank, call);

        for (int k = 0; k < len; ++k) {
            n_wrong += recv[r * len + k] != pattern_byte(key, (size_t)k);
        }
    }
    return n_wrong;
}

/* Nothing may come of the last call but an error. */
static int unequal_alltoall(const char *how, const char *form, int *n_wrong_p)
{
    enum { LARGE = 300000, BUNDLED = 36000 };
    int            first = 1, last = 0;
    int            n_read = sscanf(form, "--after=%d-%d", &first, &last);
    int            odd    = rank == first || (rank > first && rank <= last);
    int            large  = n_read > 0 ? BUNDLED / size : LARGE;
    int            n      = !odd                 ? large
                            : is(how, "--small") ? 8
                            : is(how, "--large") ? LARGE
                                                 : large;
    unsigned char *send   = calloc((size_t)size, LARGE);
    unsigned char *recv   = calloc((size_t)size, LARGE);
    int            rc;

    for (int r = 0; r < size; ++r) {
        b.counts[r] = n;
        b.displs[r] = r * n;
    }
    for (int k = 0; k < 2 && n_read > 0; ++k) {
        *n_wrong_p += equal_alltoall(send, recv, large, (uint32_t)k);
    }
    rc = odd && !is(how, "--small")
             ? MPI_Alltoallv(send, b.counts, b.displs, MPI_BYTE, recv, b.counts,
                             b.displs, MPI_BYTE, MPI_COMM_WORLD)
             : MPI_Alltoall(send, n, MPI_BYTE, recv, n, MPI_BYTE,
                            MPI_COMM_WORLD);
    free(send);
    free(recv);
    return rc;
}

#define BUFFERS \
    b.send, b.counts, b.displs, MPI_BYTE, b.recv, b.expected, b.displs, MPI_BYTE

/* The error may come with the call or with its end. */
static int nonblocking(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int         rc      = MPI_Ialltoallv(BUFFERS, MPI_COMM_WORLD, &request);

    return rc == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
}

/* Likewise with a start; and there is another one. */
static int persistent(void)
{
#ifdef ALLTOALLV_INIT
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = ALLTOALLV_INIT(BUFFERS, MPI_COMM_WORLD, MPI_INFO_NULL, &request);

    for (int k = 0; k < 2 && rc == MPI_SUCCESS; ++k) {
        memset(b.recv, 0xEE, sizeof(b.recv));
        rc = MPI_Start(&request);
        rc = rc == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
    }
    if (request != MPI_REQUEST_NULL) {
        MPI_Request_free(&request);
    }
    return rc;
#else
    return nonblocking();
#endif
}

static int unequal_alltoallv(int difference, const char *form)
{
    if (form[0] != '\0') {
        fill(0);
        MPI_Alltoallv(BUFFERS, MPI_COMM_WORLD);
    }
    fill(difference);
    memset(b.recv, 0xEE, sizeof(b.recv));
    return is(form, "--nonblocking")  ? nonblocking()
           : is(form, "--persistent") ? persistent()
                                      : MPI_Alltoallv(BUFFERS, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int returning = argc > 2 && is(argv[2], "--return");
    int is_equal  = argc > 1 &&
                   (is(argv[1], "--small") || is(argv[1], "--mixed") ||
                    is(argv[1], "--large"));
    const char *form = argc > 2 + returning ? argv[2 + returning] : "";
    int         rc, class = MPI_SUCCESS, n_wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 2 || size < 2 || size > MAX_RANKS) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (returning) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    rc = is_equal ? unequal_alltoall(argv[1], form, &n_wrong)
                  : unequal_alltoallv(is(argv[1], "--more")    ? 7
                                      : is(argv[1], "--fewer") ? -7
                                                               : 0,
                                      form);
    MPI_Error_class(rc, &class);
    if (class == MPI_SUCCESS && !is_equal) {
        n_wrong = check_others();
    }
    printf("mpi_mismatch: rank %d: %s\n", rank,
           n_wrong > 0                 ? "WRONG DATA"
           : class == MPI_SUCCESS      ? "ok"
           : class == MPI_ERR_TRUNCATE ? "truncate"
                                       : "another error");
    fflush(stdout);
    MPI_Finalize();
    return n_wrong > 0;
}
