/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts, displacements and datatypes become byte counts and block addresses.
 *
 * A datatype engine packs whole elements (those inside of MPICH stop short of a
 * part of a basic type). What a range begins or ends in the middle of goes
 * through memory of one element. But an element may be as large as a matrix:
 * blocks of such are packed as a whole, before their first byte is sent, and unpacked
 * when the last one is there.
 */
#include "mpich_fast.h"

#include <limits.h>
#include <string.h>

enum {
    IN_ONE_GO = 1 << 30, /* bytes, for an engine that counts in int; but one element at least */
    ELEMENT_MAX = 16384  /* bytes of one that is taken apart, on the stack */
};

/* ---- one side of a call ---- */

MPI_Count mpich_fast_count_of(const mpich_fast_side_t *side, uint32_t rank)
{
    uint32_t r = side->even ? 0 : rank;

    return side->large ? ((const MPI_Count *) side->counts)[r] : ((const int *) side->counts)[r];
}

static MPI_Aint displ_of(const mpich_fast_side_t *side, uint32_t r)
{
    return side->even    ? (MPI_Aint) r * (MPI_Aint) mpich_fast_count_of(side, r)
           : side->large ? ((const MPI_Aint *) side->displs)[r]
                         : ((const int *) side->displs)[r];
}

static MPI_Datatype type_of(const mpich_fast_side_t *side, uint32_t r)
{
    return NULL != side->types ? side->types[r] : side->type;
}

/* Of a block that is not empty. */
static mpich_fast_layout_t layout_of(const mpich_fast_side_t *side, uint32_t r)
{
    mpich_fast_layout_t layout = side->layout;

    if (NULL != side->types) {
        mpich_fast_engine->describe(side->types[r], &layout);
    }
    return layout;
}

static char *block_start(const mpich_fast_side_t *side, uint32_t r)
{
    return side->buf + displ_of(side, r) * (NULL != side->types ? 1 : side->layout.extent);
}

static bool is_contiguous(MPI_Datatype type, const mpich_fast_layout_t *layout, MPI_Count most)
{
    return 0 == layout->size
           || ((most < 2 || layout->size == layout->extent) && mpich_fast_engine->is_dense(type));
}

/* ---- packing ---- */

/* A block that is converted. */
typedef struct block {
    char *start;
    MPI_Datatype type;
    mpich_fast_layout_t layout;
} block_t;

/* Elements that go through one MPI_Pack. */
static MPI_Count elements_in_one_go(const block_t *block)
{
    return block->layout.size >= IN_ONE_GO ? 1 : IN_ONE_GO / block->layout.size;
}

/* n elements, from element k on, to packed or from it. */
static int convert_elements(const block_t *block, MPI_Count k, MPI_Count n, char *packed,
                            bool unpack)
{
    char *at = block->start + k * block->layout.extent;
    MPI_Count len = n * block->layout.size;

    return unpack ? mpich_fast_engine->unpack(packed, len, at, (int) n, block->type)
                  : mpich_fast_engine->pack(at, (int) n, block->type, packed, len);
}

/* len bytes of element k, from byte skip on. */
static int convert_part(const block_t *block, MPI_Count k, uint64_t skip, uint64_t len,
                        char *packed, bool unpack)
{
    char element[ELEMENT_MAX];
    int mpi_errno = convert_elements(block, k, 1, element, false);

    if (MPI_SUCCESS != mpi_errno || !unpack) {
        memcpy(packed, element + skip, len);
        return mpi_errno;
    }
    memcpy(element + skip, packed, len);
    return convert_elements(block, k, 1, element, true);
}

/* A range of block r. */
static fs_status_t convert(const mpich_fast_side_t *side, uint32_t r, uint64_t offset, uint64_t len,
                           char *packed, bool unpack)
{
    block_t block = {block_start(side, r), type_of(side, r), layout_of(side, r)};
    uint64_t size = (uint64_t) block.layout.size, most = (uint64_t) elements_in_one_go(&block), n;
    int mpi_errno = MPI_SUCCESS;

    for (; len > 0 && MPI_SUCCESS == mpi_errno; offset += n, packed += n, len -= n) {
        MPI_Count k = (MPI_Count) (offset / size);
        uint64_t skip = offset % size, whole = len / size;

        if (0 == skip && whole > 0) {
            whole = whole < most ? whole : most;
            n = whole * size;
            mpi_errno = convert_elements(&block, k, (MPI_Count) whole, packed, unpack);
        } else {
            n = size - skip < len ? size - skip : len;
            mpi_errno = convert_part(&block, k, skip, n, packed, unpack);
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

static mpich_fast_side_t receive_side(const mpich_fast_args_t *a)
{
    return (mpich_fast_side_t){.type = (MPI_Datatype) a->recvtype,
                               .types = a->recvtypes,
                               .counts = a->recvcounts,
                               .displs = a->rdispls,
                               .large = a->large,
                               .even = a->even,
                               .buf = a->recvbuf};
}

static mpich_fast_side_t send_side(const mpich_fast_args_t *a)
{
    return (mpich_fast_side_t){.type = (MPI_Datatype) a->sendtype,
                               .types = a->sendtypes,
                               .counts = a->sendcounts,
                               .displs = a->sdispls,
                               .large = a->large,
                               .even = a->even,
                               .buf = (char *) (uintptr_t) a->sendbuf};
}

/* One type for all blocks is looked at once. False: it is none, or other arguments are missing. */
static bool look_at_side(mpich_fast_side_t *side, bool is_w)
{
    if (NULL == side->counts || (!side->even && NULL == side->displs)) {
        return false;
    }
    if (is_w) {
        return NULL != side->types;
    }
    if (MPI_DATATYPE_NULL == side->type) {
        return false;
    }
    mpich_fast_engine->describe(side->type, &side->layout);
    return true;
}

/* What is known of a side, block by block. */
typedef struct seen {
    MPI_Count most; /* elements of a block */
    bool contiguous, whole;
    MPI_Count largest;  /* bytes of an element */
    uint64_t len_bytes; /* of the last block */
    char *first;        /* and its first byte */
} seen_t;

/* False: a count or type that no MPI takes. */
static bool look_at_block(const mpich_fast_side_t *side, uint32_t r, seen_t *seen)
{
    MPI_Count count = mpich_fast_count_of(side, r);
    mpich_fast_layout_t layout;

    seen->len_bytes = 0;
    seen->first = side->buf;
    if (0 == count || count < 0 || MPI_DATATYPE_NULL == type_of(side, r)) {
        return 0 == count;
    }
    layout = layout_of(side, r);
    seen->len_bytes = (uint64_t) (count * layout.size);
    seen->first = block_start(side, r) + layout.true_lb;
    seen->most = count > seen->most ? count : seen->most;
    if (NULL != side->types) {
        bool contiguous = is_contiguous(side->types[r], &layout, count);

        seen->contiguous = seen->contiguous && contiguous;
        seen->largest = layout.size > seen->largest ? layout.size : seen->largest;
    }
    return true;
}

static void conclude(const mpich_fast_side_t *side, seen_t *seen)
{
    if (NULL == side->types) {
        seen->contiguous = is_contiguous(side->type, &side->layout, seen->most);
        seen->largest = seen->most > 0 ? side->layout.size : 0;
    }
    seen->whole = !seen->contiguous && seen->largest > ELEMENT_MAX;
}

static bool can_convert(const seen_t *seen)
{
    return seen->contiguous || seen->largest <= INT_MAX || mpich_fast_engine->packs_large();
}

/* As MPICH looks for it: of MPI_Alltoall at the counts, else at where they are. */
static bool is_alias(const mpich_fast_call_t *call)
{
    const mpich_fast_args_t *a = call->args;
    bool same_counts = a->sendcounts == a->recvcounts;

    if (a->even) {
        MPI_Count count = mpich_fast_count_of(&call->send, 0);

        same_counts = 0 != count && count == mpich_fast_count_of(&call->recv, 0);
    }
    return NULL != a->sendbuf && a->sendbuf == a->recvbuf && same_counts
           && a->sendtype == a->recvtype && a->sendtypes == a->recvtypes;
}

/* In place the send arguments are undefined. What an MPI refuses is not for us: negative counts,
 * a buffer that is sent and received. */
fs_status_t mpich_fast_describe(void *ctx, fs_buffers_t *b)
{
    mpich_fast_call_t *call = ctx;
    const mpich_fast_args_t *a = call->args;
    seen_t sent = {.contiguous = true}, received = {.contiguous = true};

    b->in_place = MPI_IN_PLACE == a->sendbuf;
    call->recv = receive_side(a);
    call->send = b->in_place ? call->recv : send_side(a);
    if (MPI_IN_PLACE == a->recvbuf || (is_alias(call) && !b->in_place)
        || !look_at_side(&call->send, NULL != a->recvtypes)
        || !look_at_side(&call->recv, NULL != a->recvtypes)) {
        return FS_ERR_INVAL;
    }
    for (uint32_t r = 0; r < b->counts.n_ranks; ++r) {
        if (!look_at_block(&call->send, r, &sent) || !look_at_block(&call->recv, r, &received)) {
            return FS_ERR_INVAL;
        }
        fs_counts_add(&b->counts, r, sent.len_bytes, received.len_bytes);
        b->send_block[r] = sent.first;
        b->recv_block[r] = received.first;
    }
    conclude(&call->send, &sent);
    conclude(&call->recv, &received);
    b->send_contiguous = sent.contiguous;
    b->recv_contiguous = received.contiguous;
    b->send_whole = sent.whole;
    b->recv_whole = received.whole;
    return can_convert(&sent) && can_convert(&received) ? FS_OK : FS_ERR_UNSUPPORTED;
}
