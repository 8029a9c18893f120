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
#include <stdlib.h>
#include <string.h>

enum {
    IN_ONE_GO = 1 << 30, /* bytes, for an engine that counts in int */
    ELEMENT_MAX = 16384  /* bytes of one that is taken apart, on the stack */
};

static MPI_Count count_of(const void *counts, bool large, int r)
{
    return large ? ((const MPI_Count *) counts)[r] : ((const int *) counts)[r];
}

static MPI_Aint displ_of(const void *displs, bool large, int r)
{
    return large ? ((const MPI_Aint *) displs)[r] : ((const int *) displs)[r];
}

/* ---- what the arguments say ---- */

static bool counts_are_plain(const void *counts, const void *displs, bool large, MPI_Datatype type,
                             int size)
{
    MPI_Count least = 0;

    if (NULL == counts || NULL == displs || MPI_DATATYPE_NULL == type) {
        return false;
    }
    for (int r = 0; r < size; ++r) {
        MPI_Count count = count_of(counts, large, r);

        least = count < least ? count : least;
    }
    return least >= 0;
}

bool mpich_fast_args_are_plain(const mpich_fast_args_t *a, int size)
{
    bool in_place = MPI_IN_PLACE == a->sendbuf;
    bool alias = !in_place && NULL != a->sendbuf && a->sendbuf == a->recvbuf
                 && a->sendcounts == a->recvcounts && a->sendtype == a->recvtype;

    return !alias && MPI_IN_PLACE != a->recvbuf
           && counts_are_plain(a->recvcounts, a->rdispls, a->large, (MPI_Datatype) a->recvtype,
                               size)
           && (in_place
               || counts_are_plain(a->sendcounts, a->sdispls, a->large, (MPI_Datatype) a->sendtype,
                                   size));
}

uint64_t mpich_fast_sent_bytes(const mpich_fast_args_t *a, int size)
{
    bool in_place = MPI_IN_PLACE == a->sendbuf;
    const void *counts = in_place ? a->recvcounts : a->sendcounts;
    MPI_Datatype type = (MPI_Datatype) (in_place ? a->recvtype : a->sendtype);
    uint64_t count = 0;

    for (int r = 0; r < size; ++r) {
        count += (uint64_t) count_of(counts, a->large, r);
    }
    return count * (uint64_t) mpich_fast_engine->size(type);
}

/* Fill a side and its byte counts. */
static void describe_side(mpich_fast_side_t *side, int size, uint64_t *bytes)
{
    mpich_fast_layout_t *layout = &side->layout;
    MPI_Count most = 0;

    mpich_fast_engine->describe(side->type, layout);
    for (int r = 0; r < size; ++r) {
        MPI_Count count = count_of(side->counts, side->large, r);

        bytes[r] = (uint64_t) count * (uint64_t) layout->size;
        most = count > most ? count : most;
    }
    side->contiguous = 0 == layout->size
                       || ((most < 2 || layout->size == layout->extent)
                           && mpich_fast_engine->is_dense(side->type));
}

static char *block_start(const mpich_fast_side_t *side, int r)
{
    return side->buf + displ_of(side->displs, side->large, r) * side->layout.extent;
}

/* ---- packing ---- */

static bool is_large(const mpich_fast_side_t *side)
{
    return !side->contiguous && side->layout.size > ELEMENT_MAX;
}

/* Elements that go through one MPI_Pack; 0: not even one does. */
static MPI_Count elements_in_one_go(const mpich_fast_side_t *side)
{
    return side->layout.size > INT_MAX      ? 0
           : side->layout.size >= IN_ONE_GO ? 1
                                            : IN_ONE_GO / side->layout.size;
}

/* n elements of block r, from element k on, to packed or from it. */
static int convert_elements(const mpich_fast_side_t *side, int r, MPI_Count k, MPI_Count n,
                            char *packed, bool unpack)
{
    char *at = block_start(side, r) + k * side->layout.extent;
    int len = (int) (n * side->layout.size);

    return unpack ? mpich_fast_engine->unpack(packed, len, at, (int) n, side->type)
                  : mpich_fast_engine->pack(at, (int) n, side->type, packed, len);
}

/* len bytes of element k, from byte skip on. */
static int convert_part(const mpich_fast_side_t *side, int r, MPI_Count k, uint64_t skip,
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
static fs_status_t convert(const mpich_fast_side_t *side, int r, uint64_t offset, uint64_t len,
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
    return MPI_SUCCESS == mpi_errno ? FS_OK : FS_ERR_HOST;
}

static fs_status_t pack(void *ctx, uint32_t block, uint64_t offset, uint64_t len_bytes, void *dst)
{
    mpich_fast_call_t *call = ctx;

    return convert(&call->send, (int) block, offset, len_bytes, dst, false);
}

static fs_status_t unpack(void *ctx, uint32_t block, uint64_t offset, uint64_t len_bytes,
                          const void *src)
{
    mpich_fast_call_t *call = ctx;

    return convert(&call->recv, (int) block, offset, len_bytes, (char *) (uintptr_t) src, true);
}

/* ---- what cannot go range by range ---- */

static fs_status_t make_landing(mpich_fast_call_t *call)
{
    fs_blocks_t *b = &call->blocks;
    size_t total = 0, at = 0;

    for (uint32_t r = 0; r < b->n_ranks; ++r) {
        total += b->recv_bytes[r];
    }
    call->landing = malloc(total > 0 ? total : 1);
    if (NULL == call->landing) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t r = 0; r < b->n_ranks; at += b->recv_bytes[r++]) {
        b->recv_block[r] = call->landing + at;
    }
    return FS_OK;
}

static fs_status_t prepare(void *ctx)
{
    mpich_fast_call_t *call = ctx;
    fs_status_t status = FS_OK;

    if (call->in_place || is_large(&call->send)) {
        status = fs_blocks_copy(&call->blocks, call->send.contiguous);
    }
    return FS_OK == status && is_large(&call->recv) ? make_landing(call) : status;
}

static fs_status_t unpack_all(mpich_fast_call_t *call)
{
    fs_status_t status = FS_OK;

    for (uint32_t r = 0; r < call->blocks.n_ranks && FS_OK == status; ++r) {
        status = convert(&call->recv, (int) r, 0, call->blocks.recv_bytes[r],
                         call->blocks.recv_block[r], true);
    }
    return status;
}

/* ---- a call ---- */

const fs_call_t *mpich_fast_call_begin(mpich_fast_call_t *call, const mpich_fast_args_t *a,
                                       fs_call_device_t device)
{
    fs_blocks_t *b = &call->blocks;
    int size = (int) b->n_ranks;
    bool prepares;

    call->in_place = MPI_IN_PLACE == a->sendbuf;
    call->recv = (mpich_fast_side_t){.type = (MPI_Datatype) a->recvtype,
                                     .counts = a->recvcounts,
                                     .displs = a->rdispls,
                                     .large = a->large,
                                     .buf = a->recvbuf};
    describe_side(&call->recv, size, b->recv_bytes);
    if (call->in_place) {
        /* The send arguments are undefined then. */
        call->send = call->recv;
        memcpy(b->send_bytes, b->recv_bytes, (size_t) size * sizeof(*b->send_bytes));
    } else {
        call->send = (mpich_fast_side_t){.type = (MPI_Datatype) a->sendtype,
                                         .counts = a->sendcounts,
                                         .displs = a->sdispls,
                                         .large = a->large,
                                         .buf = (char *) (uintptr_t) a->sendbuf};
        describe_side(&call->send, size, b->send_bytes);
    }
    for (int r = 0; r < size; ++r) {
        b->send_block[r] = block_start(&call->send, r) + call->send.layout.true_lb;
        b->recv_block[r] = block_start(&call->recv, r) + call->recv.layout.true_lb;
    }
    prepares = call->in_place || is_large(&call->send) || is_large(&call->recv);
    b->call = (fs_call_t){
        .send_bytes = b->send_bytes,
        .recv_bytes = b->recv_bytes,
        .send_block =
            call->send.contiguous || call->in_place || is_large(&call->send) ? b->send_block : NULL,
        .recv_block = call->recv.contiguous || is_large(&call->recv) ? b->recv_block : NULL,
        .device = device,
        .ctx = call,
        .pack = pack,
        .unpack = unpack,
        .prepare = prepares ? prepare : NULL,
    };
    return &b->call;
}

fs_status_t mpich_fast_call_end(mpich_fast_call_t *call, bool ran, bool all_done)
{
    fs_status_t status = FS_OK;

    if (ran && all_done && NULL != call->landing) {
        status = unpack_all(call);
    }
    if (all_done) {
        free(call->landing);
    }
    call->landing = NULL;
    fs_blocks_end(&call->blocks, all_done);
    return status;
}
