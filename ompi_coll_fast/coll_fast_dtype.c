/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One side of a call: a buffer, counts, displacements and a datatype. Types that are
 * not contiguous are packed and unpacked by Open MPI's own convertor, range by
 * range.
 */
#include "coll_fast.h"

#include <string.h>

#include "ompi/proc/proc.h"
#include "opal/datatype/opal_convertor.h"

void mca_coll_fast_side(mca_coll_fast_side_t *side, void *buf, ompi_datatype_t *dtype)
{
    ptrdiff_t lb;

    side->dtype = dtype;
    side->buf = buf;
    side->even = false;
    ompi_datatype_type_size(dtype, &side->size);
    ompi_datatype_get_extent(dtype, &lb, &side->extent);
}

static size_t count_of(const mca_coll_fast_side_t *side, uint32_t r)
{
    return side->even ? side->count : FAST_COUNT(side->counts, r);
}

static char *block_start(const mca_coll_fast_side_t *side, uint32_t r)
{
    ptrdiff_t displ = side->even ? (ptrdiff_t) (r * side->count) : FAST_DISPL(side->displs, r);

    return side->buf + displ * side->extent;
}

static void *first_byte(const mca_coll_fast_side_t *side, uint32_t r)
{
    return block_start(side, r) + side->dtype->super.true_lb;
}

/* Blocks of most elements at most. Predefined types have gaps as well (MPI_SHORT_INT); two elements
 * tell. */
static bool is_contiguous(const mca_coll_fast_side_t *side, size_t most)
{
    return ompi_datatype_is_contiguous_memory_layout(side->dtype, most > 1 ? 2 : 1);
}

void mca_coll_fast_describe(const mca_coll_fast_side_t *send, const mca_coll_fast_side_t *recv,
                            fs_buffers_t *b)
{
    size_t most_sent = 0, most_received = 0;

    for (uint32_t r = 0; r < b->counts.n_ranks; ++r) {
        size_t sent = count_of(send, r), received = count_of(recv, r);

        fs_counts_add(&b->counts, r, (uint64_t) sent * send->size,
                      (uint64_t) received * recv->size);
        b->send_block[r] = first_byte(send, r);
        b->recv_block[r] = first_byte(recv, r);
        most_sent = sent > most_sent ? sent : most_sent;
        most_received = received > most_received ? received : most_received;
    }
    b->send_contiguous = is_contiguous(send, most_sent);
    b->recv_contiguous = is_contiguous(recv, most_received);
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

fs_status_t mca_coll_fast_pack(const mca_coll_fast_side_t *side, uint32_t block, uint64_t offset,
                               uint64_t len, char *dst)
{
    opal_convertor_t convertor;
    size_t moved = 1;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &side->dtype->super,
                                             count_of(side, block), block_start(side, block), 0,
                                             &convertor);
    for (; len > 0 && moved > 0; offset += moved, dst += moved, len -= moved) {
        moved = pack_some(&convertor, offset, dst, len);
    }
    OBJ_DESTRUCT(&convertor);
    return 0 == len ? FS_OK : FS_ERR_NATIVE;
}

fs_status_t mca_coll_fast_unpack(const mca_coll_fast_side_t *side, uint32_t block, uint64_t offset,
                                 uint64_t len, const void *src)
{
    opal_convertor_t convertor;
    struct iovec iov = {.iov_base = (void *) src, .iov_len = len};
    uint32_t n_iov = 1;
    size_t position = offset, moved = len;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &side->dtype->super,
                                             count_of(side, block), block_start(side, block), 0,
                                             &convertor);
    opal_convertor_set_position(&convertor, &position);
    opal_convertor_unpack(&convertor, &iov, &n_iov, &moved);
    OBJ_DESTRUCT(&convertor);
    return position == offset && moved == len ? FS_OK : FS_ERR_NATIVE;
}
