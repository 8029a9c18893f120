/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts, displacements and datatypes become byte counts and block addresses;
 * types that are not contiguous are packed and unpacked by Open MPI's own
 * convertor, range by range. int and MPI_Datatype stop in this file.
 */
#include "coll_fast.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/proc/proc.h"
#include "opal/datatype/opal_convertor.h"

/* One side of a call. */
typedef struct side {
    ompi_datatype_t *dtype;
    FAST_COUNTS counts;
    FAST_DISPLS displs;
    char *buf;
    ptrdiff_t extent;
    bool contiguous;
} side_t;

struct fast_scratch {
    fs_blocks_t blocks;
    side_t send; /* in place: the receive side */
    side_t recv;
};

struct fast_scratch *mca_coll_fast_scratch_new(int size)
{
    struct fast_scratch *s = calloc(1, sizeof(*s));

    if (NULL != s && FS_OK != fs_blocks_init(&s->blocks, (uint32_t) size)) {
        free(s);
        return NULL;
    }
    return s;
}

void mca_coll_fast_scratch_free(struct fast_scratch *s)
{
    if (NULL != s) {
        fs_blocks_fini(&s->blocks);
        free(s);
    }
}

/* Fill a side and its byte counts. */
static void describe_side(side_t *side, int size, void *buf, FAST_COUNTS counts, FAST_DISPLS displs,
                          ompi_datatype_t *dtype, uint64_t *bytes)
{
    ptrdiff_t lb;
    size_t type_size, most = 0;

    ompi_datatype_type_size(dtype, &type_size);
    for (int r = 0; r < size; ++r) {
        size_t count = FAST_COUNT(counts, r);

        bytes[r] = (uint64_t) count * type_size;
        most = count > most ? count : most;
    }
    *side = (side_t){.dtype = dtype, .counts = counts, .displs = displs, .buf = buf};
    ompi_datatype_get_extent(dtype, &lb, &side->extent);
    /* Predefined types have gaps, too (MPI_SHORT_INT); two elements tell. */
    side->contiguous = ompi_datatype_is_contiguous_memory_layout(dtype, most > 1 ? 2 : 1);
}

static char *block_start(const side_t *side, int r)
{
    return side->buf + FAST_DISPL(side->displs, r) * side->extent;
}

static void *block_bytes(const side_t *side, int r)
{
    return block_start(side, r) + side->dtype->super.true_lb;
}

/* ---- ranges of blocks that are not contiguous ---- */

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

static fs_status_t pack_range(const side_t *side, uint32_t block, uint64_t offset, uint64_t len,
                              char *dst)
{
    opal_convertor_t convertor;
    size_t moved = 1;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &side->dtype->super,
                                             FAST_COUNT(side->counts, block),
                                             block_start(side, block), 0, &convertor);
    for (; len > 0 && moved > 0; offset += moved, dst += moved, len -= moved) {
        moved = pack_some(&convertor, offset, dst, len);
    }
    OBJ_DESTRUCT(&convertor);
    return 0 == len ? FS_OK : FS_ERR_HOST;
}

static fs_status_t unpack_range(const side_t *side, uint32_t block, uint64_t offset, uint64_t len,
                                const void *src)
{
    opal_convertor_t convertor;
    struct iovec iov = {.iov_base = (void *) src, .iov_len = len};
    uint32_t n_iov = 1;
    size_t position = offset, moved = len;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &side->dtype->super,
                                             FAST_COUNT(side->counts, block),
                                             block_start(side, block), 0, &convertor);
    opal_convertor_set_position(&convertor, &position);
    opal_convertor_unpack(&convertor, &iov, &n_iov, &moved);
    OBJ_DESTRUCT(&convertor);
    return position == offset && moved == len ? FS_OK : FS_ERR_HOST;
}

static fs_status_t pack(void *ctx, uint32_t block, uint64_t offset, uint64_t len_bytes, void *dst)
{
    struct fast_scratch *s = ctx;

    return pack_range(&s->send, block, offset, len_bytes, dst);
}

static fs_status_t unpack(void *ctx, uint32_t block, uint64_t offset, uint64_t len_bytes,
                          const void *src)
{
    struct fast_scratch *s = ctx;

    return unpack_range(&s->recv, block, offset, len_bytes, src);
}

/* ---- a call ---- */

/* In place: what we send is what will be overwritten. */
static fs_status_t copy_blocks(void *ctx)
{
    struct fast_scratch *s = ctx;

    return fs_blocks_copy(&s->blocks, s->send.contiguous);
}

const fs_call_t *mca_coll_fast_call_begin(struct fast_scratch *s, const fast_args_t *a,
                                          fs_call_device_t device)
{
    fs_blocks_t *b = &s->blocks;
    int size = (int) b->n_ranks;
    bool in_place = MPI_IN_PLACE == a->sbuf;

    describe_side(&s->recv, size, a->rbuf, a->rcounts, a->rdispls, a->rdtype, b->recv_bytes);
    if (in_place) {
        /* The send arguments are undefined then. */
        s->send = s->recv;
        memcpy(b->send_bytes, b->recv_bytes, size * sizeof(*b->send_bytes));
    } else {
        describe_side(&s->send, size, (void *) a->sbuf, a->scounts, a->sdispls, a->sdtype,
                      b->send_bytes);
    }
    for (int r = 0; r < size; ++r) {
        b->send_block[r] = block_bytes(&s->send, r);
        b->recv_block[r] = block_bytes(&s->recv, r);
    }
    b->call = (fs_call_t){
        .send_bytes = b->send_bytes,
        .recv_bytes = b->recv_bytes,
        .send_block = s->send.contiguous || in_place ? b->send_block : NULL,
        .recv_block = s->recv.contiguous ? b->recv_block : NULL,
        .device = device,
        .ctx = s,
        .pack = pack,
        .unpack = unpack,
        .prepare = in_place ? copy_blocks : NULL,
    };
    return &b->call;
}

const fs_blocks_t *mca_coll_fast_describe(struct fast_scratch *s, const fast_args_t *a,
                                          fs_buffers_t *buffers)
{
    (void) mca_coll_fast_call_begin(s, a, (fs_call_device_t){.staged = false});
    buffers->in_place = MPI_IN_PLACE == a->sbuf;
    buffers->send_contiguous = s->send.contiguous;
    buffers->recv_contiguous = s->recv.contiguous;
    return &s->blocks;
}

void mca_coll_fast_call_end(struct fast_scratch *s, bool all_done)
{
    fs_blocks_end(&s->blocks, all_done);
}
