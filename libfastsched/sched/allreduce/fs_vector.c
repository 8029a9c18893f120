/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/allreduce/fs_vector.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

typedef fs_vector_slice_t slice_t;

struct fs_vector_user {
    uint32_t               op;
    struct fs_vector_user *next;
};

static fs_place_t home_of(const slice_t *slice)
{
    return fs_in_recv(0, slice->offset);
}

static bool is_home(const slice_t *slice)
{
    return slice->value.buffer == FS_BUF_RECV;
}

fs_vector_slice_t fs_vector_slice(uint64_t offset, uint64_t len_bytes,
                                  bool in_place)
{
    return (slice_t){.offset    = offset,
                     .len_bytes = len_bytes,
                     .staged    = FS_NOT_STAGED,
                     .value     = in_place ? fs_in_recv(0, offset)
                                           : fs_in_send(0, offset),
                     .made      = FS_NO_OP};
}

/* ---- who waits for whom ---- */

/* op reads the value. */
static void use_value(fs_vector_t *vec, slice_t *slice, uint32_t op)
{
    struct fs_vector_user *user;

    fs_program_after(vec->program, op, slice->made);
    if (is_home(slice)) {
        user = fs_arena_alloc(vec->arena, 1, sizeof(*user));
        if (user == NULL) {
            vec->program->status = FS_ERR_NOMEM;
            return;
        }
        *user        = (struct fs_vector_user){op, slice->users};
        slice->users = user;
    }
}

/* op is the first to write home, `made` the last: then the value is there. */
static void bring_value(fs_vector_t *vec, slice_t *slice, uint32_t op,
                        uint32_t made)
{
    if (is_home(slice) && slice->users == NULL) {
        fs_program_after(vec->program, op, slice->made);
    }
    for (struct fs_vector_user *u = slice->users; u != NULL; u = u->next) {
        fs_program_after(vec->program, op, u->op);
    }
    slice->value = home_of(slice);
    slice->made  = made;
    slice->users = NULL;
}

/* ---- messages ---- */

static fs_channel_t channel_to(const fs_vector_t *vec, uint32_t peer)
{
    return fs_topo_server(vec->topo, vec->rank) ==
                   fs_topo_server(vec->topo, peer)
               ? FS_CH_INTRA
               : FS_CH_WIRE;
}

void fs_vector_send(fs_vector_t *vec, uint32_t peer, fs_vector_slice_t *slice)
{
    fs_channel_t channel = channel_to(vec, peer);
    uint32_t send = fs_program_send(vec->program, channel, peer, slice->value,
                                    slice->len_bytes);

    use_value(vec, slice, send);
    if (channel == FS_CH_INTRA) {
        fs_window_add(&vec->near_sends, FS_MAX_WINDOW, vec->program, send);
    }
}

static uint32_t receive(fs_vector_t *vec, uint32_t peer, const slice_t *slice,
                        fs_place_t dst)
{
    fs_channel_t channel = channel_to(vec, peer);
    uint32_t     recv =
        fs_program_recv(vec->program, channel, peer, dst, slice->len_bytes);

    if (channel == FS_CH_INTRA) {
        fs_window_add(&vec->near_recvs, FS_MAX_WINDOW, vec->program, recv);
    } else {
        fs_recv_order_add(&vec->wire_recvs, recv);
    }
    return recv;
}

/* ---- what arrives ---- */

static fs_place_t next_slot(const fs_vector_t *vec)
{
    return fs_in_staging(fs_ring_offset(&vec->ring));
}

/* Nobody uses it after this operation. */
static void leave_slot(fs_vector_t *vec, uint32_t op)
{
    vec->staging_bytes =
        fs_u64_max(vec->staging_bytes, fs_ring_leave(&vec->ring, op, 1));
}

void fs_vector_replace(fs_vector_t *vec, uint32_t peer,
                       fs_vector_slice_t *slice)
{
    uint32_t recv = receive(vec, peer, slice, home_of(slice));

    bring_value(vec, slice, recv, recv);
}

static void copy_home(fs_vector_t *vec, slice_t *slice)
{
    uint32_t copy = fs_program_copy(vec->program, slice->value, home_of(slice),
                                    slice->len_bytes);

    use_value(vec, slice, copy);
    bring_value(vec, slice, copy, copy);
}

/* The value is elsewhere; home = value op home. */
static void add_own_left(fs_vector_t *vec, uint32_t peer, slice_t *slice)
{
    uint32_t recv = receive(vec, peer, slice, home_of(slice));
    uint32_t sum = fs_program_reduce(vec->program, slice->value, home_of(slice),
                                     slice->len_bytes);

    fs_program_after(vec->program, sum, recv);
    use_value(vec, slice, sum);
    bring_value(vec, slice, recv, sum);
}

/* The value is home; home = slot op home. */
static void add_own_right(fs_vector_t *vec, uint32_t peer, slice_t *slice)
{
    fs_place_t slot = next_slot(vec);
    uint32_t   recv = receive(vec, peer, slice, slot);
    uint32_t   sum =
        fs_program_reduce(vec->program, slot, home_of(slice), slice->len_bytes);

    fs_ring_wait(&vec->ring, vec->program, recv);
    fs_program_after(vec->program, sum, recv);
    bring_value(vec, slice, sum, sum);
    leave_slot(vec, sum);
}

/* The value is home; staged = home op staged, and that is the value. Returns the
 * receive. */
static uint32_t add_in_staging(fs_vector_t *vec, uint32_t peer, slice_t *slice,
                               fs_place_t staged)
{
    uint32_t recv = receive(vec, peer, slice, staged);
    uint32_t sum =
        fs_program_reduce(vec->program, slice->value, staged, slice->len_bytes);

    fs_program_after(vec->program, sum, recv);
    use_value(vec, slice, sum);
    slice->value = staged;
    slice->made  = sum;
    return recv;
}

static void add_in_slot(fs_vector_t *vec, uint32_t peer, slice_t *slice)
{
    uint32_t recv = add_in_staging(vec, peer, slice, next_slot(vec));

    fs_ring_wait(&vec->ring, vec->program, recv);
    copy_home(vec, slice);
    leave_slot(vec, slice->made);
}

void fs_vector_add(fs_vector_t *vec, uint32_t peer, fs_vector_slice_t *slice,
                   fs_operand_t own)
{
    if (!is_home(slice) && own == FS_RIGHT) {
        copy_home(vec, slice);
    }
    if (!is_home(slice)) {
        add_own_left(vec, peer, slice);
    } else if (own != FS_RIGHT && slice->staged != FS_NOT_STAGED) {
        add_in_staging(vec, peer, slice, fs_in_staging(slice->staged));
        slice->staged = FS_NOT_STAGED;
    } else if (own == FS_LEFT) {
        add_in_slot(vec, peer, slice);
    } else {
        add_own_right(vec, peer, slice);
    }
}

void fs_vector_finish(fs_vector_t *vec, fs_vector_slice_t *slice)
{
    if (!is_home(slice)) {
        copy_home(vec, slice);
    }
}
