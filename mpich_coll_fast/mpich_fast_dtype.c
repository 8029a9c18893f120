/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts, displacements and datatypes become byte counts and block addresses.
 *
 * A datatype engine packs whole elements (those inside of MPICH stop short of a
 * part of a basic type). What a range begins or ends in the middle of goes
 * through memory of one element. But an element may be as large as a matrix:
 * blocks of such are packed as a whole before the exchange, and unpacked after
 * it.
 */
#include "mpich_fast.h"

#include <limits.h>
#include <string.h>

enum {
    IN_ONE_GO = 1 << 30, /* bytes, for an engine that counts in int */
    ELEMENT_MAX = 16384  /* bytes of one that is taken apart, on the stack */
};

/* ---- one side of a call ---- */

static MPI_Count count_of(const mpich_fast_side_t *side, uint32_t rank)
{
    uint32_t r = side->even ? 0 : rank;

    return side->large ? ((const MPI_Count *) side->counts)[r] : ((const int *) side->counts)[r];
}

static MPI_Aint displ_of(const mpich_fast_side_t *side, uint32_t r)
{
    return side->even    ? (MPI_Aint) r * (MPI_Aint) count_of(side, r)
           : side->large ? ((const MPI_Aint *) side->displs)[r]
                         : ((const int *) side->displs)[r];
}

static char *block_start(const mpich_fast_side_t *side, uint32_t r)
{
    return side->buf + displ_of(side, r) * side->layout.extent;
}

static bool is_contiguous(const mpich_fast_side_t *side, MPI_Count most)
{
    return 0 == side->layout.size
           || ((most < 2 || side->layout.size == side->layout.extent)
               && mpich_fast_engine->is_dense(side->type));
}

/* ---- packing ---- */

/* Elements that go through one MPI_Pack; 0: not even one does. */
static MPI_Count elements_in_one_go(const mpich_fast_side_t *side)
{
    return side->layout.size > INT_MAX      ? 0
           : side->layout.size >= IN_ONE_GO ? 1
                                            : IN_ONE_GO / side->layout.size;
}

/* n elements of block r, from element k on, to packed or from it. */
static int convert_elements(const mpich_fast_side_t *side, uint32_t r, MPI_Count k, MPI_Count n,
                            char *packed, bool unpack)
{
    char *at = block_start(side, r) + k * side->layout.extent;
    int len = (int) (n * side->layout.size);

    return unpack ? mpich_fast_engine->unpack(packed, len, at, (int) n, side->type)
                  : mpich_fast_engine->pack(at, (int) n, side->type, packed, len);
}

/* len bytes of element k, from byte skip on. */
static int convert_part(const mpich_fast_side_t *side, uint32_t r, MPI_Count k, uint64_t skip,
                        uint64_t len, char *packed, bool unpack)
{
    char element[ELEMENT_MAX];
    int mpi_errno = convert_elements(side, r, k, 1, element, false);

    if (MPI_SUCCESS != mpi_errno || !unpack) {
        memcpy(packed, element + skip, len);
        return mpi_errno;
    }
    memcpy(element + skip, packed, len);
    return convert_elements(side, r, k, 1, element, true);
}

/* A range of block r. */
static fs_status_t convert(const mpich_fast_side_t *side, uint32_t r, uint64_t offset, uint64_t len,
                           char *packed, bool unpack)
{
    uint64_t size = (uint64_t) side->layout.size, most = (uint64_t) elements_in_one_go(side), n;
    int mpi_errno = 0 == most ? MPI_ERR_OTHER : MPI_SUCCESS;

    for (; len > 0 && MPI_SUCCESS == mpi_errno; offset += n, packed += n, len -= n) {
        MPI_Count k = (MPI_Count) (offset / size);
        uint64_t skip = offset % size, whole = len / size;

        if (0 == skip && whole > 0) {
            whole = whole < most ? whole : most;
            n = whole * size;
            mpi_errno = convert_elements(side, r, k, (MPI_Count) whole, packed, unpack);
        } else {
            n = size - skip < len ? size - skip : len;
            mpi_errno = convert_part(side, r, k, skip, n, packed, unpack);
        }
    }
    return MPI_SUCCESS == mpi_errno ? FS_OK : FS_ERR_NATIVE;
}

fs_status_t mpich_fast_pack(void *ctx, uint32_t block, uint64_t offset, uint64_t len_bytes,
                            void *dst)
{
    const mpich_fast_call_t *call = ctx;

    return convert(&call->send, block, offset, len_bytes, dst, false);
}

fs_status_t mpich_fast_unpack(void *ctx, uint32_t block, uint64_t offset, uint64_t len_bytes,
                              const void *src)
{
    const mpich_fast_call_t *call = ctx;

    return convert(&call->recv, block, offset, len_bytes, (char *) (uintptr_t) src, true);
}

/* ---- a call ---- */

static bool is_plain(const mpich_fast_side_t *side)
{
    return NULL != side->counts && (side->even || NULL != side->displs)
           && MPI_DATATYPE_NULL != side->type;
}

/* In place the send arguments are undefined. What an MPI refuses is not for us: negative counts,
 * a buffer that is sent and received. */
bool mpich_fast_describe(void *ctx, fs_buffers_t *b)
{
    mpich_fast_call_t *call = ctx;
    const mpich_fast_args_t *a = call->args;
    mpich_fast_side_t *send = &call->send, *recv = &call->recv;
    MPI_Count most_sent = 0, most_received = 0;
    bool alias = NULL != a->sendbuf && a->sendbuf == a->recvbuf
                 && (a->even || a->sendcounts == a->recvcounts) && a->sendtype == a->recvtype;

    b->in_place = MPI_IN_PLACE == a->sendbuf;
    *recv = (mpich_fast_side_t){.type = (MPI_Datatype) a->recvtype,
                                .counts = a->recvcounts,
                                .displs = a->rdispls,
                                .large = a->large,
                                .even = a->even,
                                .buf = a->recvbuf};
    *send = (mpich_fast_side_t){.type = (MPI_Datatype) a->sendtype,
                                .counts = a->sendcounts,
                                .displs = a->sdispls,
                                .large = a->large,
                                .even = a->even,
                                .buf = (char *) (uintptr_t) a->sendbuf};
    if (b->in_place) {
        *send = *recv;
    }
    if (MPI_IN_PLACE == a->recvbuf || (alias && !b->in_place) || !is_plain(send)
        || !is_plain(recv)) {
        return false;
    }
    mpich_fast_engine->describe(send->type, &send->layout);
    mpich_fast_engine->describe(recv->type, &recv->layout);
    for (uint32_t r = 0; r < b->counts.n_ranks; ++r) {
        MPI_Count sent = count_of(send, r), received = count_of(recv, r);

        if (sent < 0 || received < 0) {
            return false;
        }
        fs_counts_add(&b->counts, r, (uint64_t) (sent * send->layout.size),
                      (uint64_t) (received * recv->layout.size));
        b->send_block[r] = block_start(send, r) + send->layout.true_lb;
        b->recv_block[r] = block_start(recv, r) + recv->layout.true_lb;
        most_sent = sent > most_sent ? sent : most_sent;
        most_received = received > most_received ? received : most_received;
    }
    b->send_contiguous = is_contiguous(send, most_sent);
    b->recv_contiguous = is_contiguous(recv, most_received);
    b->send_whole = !b->send_contiguous && send->layout.size > ELEMENT_MAX;
    b->recv_whole = !b->recv_contiguous && recv->layout.size > ELEMENT_MAX;
    return true;
}
