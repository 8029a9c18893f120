/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call as bytes. Each of its sides is a buffer, counts, displacements and a
 * datatype. Types that are not contiguous are packed and unpacked by Open MPI's
 * own convertor, range by range.
 */
#include "coll_fast.h"

#include <string.h>

#include "ompi/proc/proc.h"
#include "opal/datatype/opal_convertor.h"

/* ---- one side of a call ---- */

static mca_coll_fast_block_t find_block(const mca_coll_fast_side_t *side, uint32_t r)
{
    mca_coll_fast_block_t block = {.start = side->buf, .count = side->count};
    ptrdiff_t displ, lb, extent = 1;

    if (!side->even) {
        block.count = FAST_COUNT(side->counts, r);
    }
    if (0 == block.count) {
        return block;
    }
    displ = side->even ? (ptrdiff_t) (r * side->count) : FAST_DISPL(side->displs, r);
    block.dtype = side->dtype;
    if (NULL != side->dtypes) {
        block.dtype = side->dtypes[r];
    } else {
        ompi_datatype_get_extent(side->dtype, &lb, &extent);
    }
    block.start += displ * extent;
    return block;
}

static mca_coll_fast_block_t block_of(const mca_coll_fast_side_t *side, uint32_t r)
{
    return NULL != side->kept ? side->kept[r] : find_block(side, r);
}

/* Predefined types have gaps as well (MPI_SHORT_INT); two elements tell. */
static bool is_contiguous(const mca_coll_fast_block_t *block)
{
    return ompi_datatype_is_contiguous_memory_layout(block->dtype, block->count > 1 ? 2 : 1);
}

/* A block: returns its bytes, and where the first of them is. contiguous: cleared if not all are
 * where that says. */
static uint64_t describe_block(const mca_coll_fast_side_t *side, uint32_t r, char **first_p,
                               bool *contiguous)
{
    mca_coll_fast_block_t block = block_of(side, r);
    size_t size;

    *first_p = block.start;
    if (0 == block.count) {
        return 0;
    }
    ompi_datatype_type_size(block.dtype, &size);
    *first_p += block.dtype->super.true_lb;
    *contiguous = *contiguous && is_contiguous(&block);
    return (uint64_t) block.count * size;
}

/* ---- a call ---- */

static void keep(mca_coll_fast_side_t *side, uint32_t n, mca_coll_fast_block_t *kept)
{
    for (uint32_t r = 0; r < n; ++r) {
        kept[r] = find_block(side, r);
    }
    side->kept = kept;
}

void mca_coll_fast_keep(mca_coll_fast_call_t *call, mca_coll_fast_block_t *kept)
{
    uint32_t n = (uint32_t) ompi_comm_size(call->module->comm);

    keep(&call->recv, n, kept);
    if (MPI_IN_PLACE != call->sbuf) {
        keep(&call->send, n, kept + n);
    }
}

/* In place the send arguments are undefined. */
fs_status_t mca_coll_fast_describe(void *ctx, fs_buffers_t *b)
{
    mca_coll_fast_call_t *call = ctx;
    char *first;

    b->in_place = MPI_IN_PLACE == call->sbuf;
    if (b->in_place) {
        call->send = call->recv;
    }
    b->send_contiguous = b->recv_contiguous = true;
    for (uint32_t r = 0; r < b->counts.n_ranks; ++r) {
        uint64_t sent = describe_block(&call->send, r, &first, &b->send_contiguous);

        b->send_block[r] = first;
        fs_counts_add(&b->counts, r, sent,
                      describe_block(&call->recv, r, &first, &b->recv_contiguous));
        b->recv_block[r] = first;
    }
    return FS_OK;
}

/* Longer than any basic type: what a convertor cannot split. */
enum { SPLIT = 64 };

/* A convertor packs whole basic types only, from the start of one: what a range
 * begins or ends in the middle of goes through a few bytes of our own. */
static size_t pack_some(opal_convertor_t *convertor, uint64_t offset, char *dst, uint64_t len)
{
    char split[SPLIT];
    size_t position = offset, skip, moved;
    struct iovec iov;
    uint32_t n_iov = 1;

    opal_convertor_set_position(convertor, &position);
    skip = offset - position;
    if (0 == skip && len >= SPLIT) {
        iov = (struct iovec){.iov_base = dst, .iov_len = len};
    } else {
        iov = (struct iovec){.iov_base = split, .iov_len = SPLIT};
    }
    moved = iov.iov_len;
    opal_convertor_pack(convertor, &iov, &n_iov, &moved);
    if (iov.iov_base != split) {
        return moved;
    }
    moved = moved > skip ? moved - skip : 0;
    moved = moved < len ? moved : len;
    memcpy(dst, split + skip, moved);
    return moved;
}

fs_status_t mca_coll_fast_pack(void *ctx, uint32_t block, uint64_t offset, uint64_t len, void *dst)
{
    mca_coll_fast_block_t b = block_of(&((mca_coll_fast_call_t *) ctx)->send, block);
    opal_convertor_t convertor;
    char *to = dst;
    size_t moved = 1;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &b.dtype->super, b.count,
                                             b.start, 0, &convertor);
    for (; len > 0 && moved > 0; offset += moved, to += moved, len -= moved) {
        moved = pack_some(&convertor, offset, to, len);
    }
    OBJ_DESTRUCT(&convertor);
    return 0 == len ? FS_OK : FS_ERR_NATIVE;
}

fs_status_t mca_coll_fast_unpack(void *ctx, uint32_t block, uint64_t offset, uint64_t len,
                                 const void *src)
{
    mca_coll_fast_block_t b = block_of(&((mca_coll_fast_call_t *) ctx)->recv, block);
    opal_convertor_t convertor;
    struct iovec iov = {.iov_base = (void *) src, .iov_len = len};
    uint32_t n_iov = 1;
    size_t position = offset, moved = len;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &b.dtype->super, b.count,
                                             b.start, 0, &convertor);
    opal_convertor_set_position(&convertor, &position);
    opal_convertor_unpack(&convertor, &iov, &n_iov, &moved);
    OBJ_DESTRUCT(&convertor);
    return position == offset && moved == len ? FS_OK : FS_ERR_NATIVE;
}
