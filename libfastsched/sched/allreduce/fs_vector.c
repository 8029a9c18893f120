/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/allreduce/fs_vector.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

typedef fs_vector_fragment_t fragment_t;

struct fs_vector_user {
    uint32_t               op;
    struct fs_vector_user *next;
};

static fs_place_t home_of(const fragment_t *fragment)
{
    return fs_in_recv(0, fragment->offset);
}

static bool is_home(const fragment_t *fragment)
{
    return fragment->value.buffer == FS_BUF_RECV;
}

fs_vector_fragment_t fs_vector_fragment(uint64_t offset, uint64_t len_bytes,
                                        bool in_place)
{
    return (fragment_t){.offset    = offset,
                        .len_bytes = len_bytes,
                        .staged    = FS_NOT_STAGED,
                        .value     = in_place ? fs_in_recv(0, offset)
                                              : fs_in_send(0, offset),
                        .made      = FS_NO_OP};
}

/* ---- who waits for whom ---- */

/* op reads the value. */
static void use_value(fs_vector_t *vec, fragment_t *fragment, uint32_t op)
{
    struct fs_vector_user *user;

    fs_program_after(vec->program, op, fragment->made);
    if (is_home(fragment)) {
        user = fs_arena_alloc(vec->arena, 1, sizeof(*user));
        if (user == NULL) {
            vec->program->status = FS_ERR_NOMEM;
            return;
        }
        *user           = (struct fs_vector_user){op, fragment->users};
        fragment->users = user;
    }
}

/* op is the first to write home, `made` the last: then the value is there. */
static void bring_value(fs_vector_t *vec, fragment_t *fragment, uint32_t op,
                        uint32_t made)
{
    if (is_home(fragment) && fragment->users == NULL) {
        fs_program_after(vec->program, op, fragment->made);
    }
    for (struct fs_vector_user *u = fragment->users; u != NULL; u = u->next) {
        fs_program_after(vec->program, op, u->op);
    }
    fragment->value = home_of(fragment);
    fragment->made  = made;
    fragment->users = NULL;
}

/* ---- messages ---- */

static fs_channel_t channel_to(const fs_vector_t *vec, uint32_t peer)
{
    return fs_topo_server(vec->topo, vec->rank) ==
                   fs_topo_server(vec->topo, peer)
               ? FS_CH_INTRA
               : FS_CH_WIRE;
}

void fs_vector_send(fs_vector_t *vec, uint32_t peer,
                    fs_vector_fragment_t *fragment)
{
    fs_channel_t channel = channel_to(vec, peer);
    uint32_t     send    = fs_program_send(vec->program, channel, peer,
                                           fragment->value, fragment->len_bytes);

    use_value(vec, fragment, send);
    if (channel == FS_CH_INTRA) {
        fs_window_add(&vec->near_sends, FS_MAX_WINDOW, vec->program, send);
    }
}

static uint32_t receive(fs_vector_t *vec, uint32_t peer,
                        const fragment_t *fragment, fs_place_t dst)
{
    fs_channel_t channel = channel_to(vec, peer);
    uint32_t     recv =
        fs_program_recv(vec->program, channel, peer, dst, fragment->len_bytes);

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
                       fs_vector_fragment_t *fragment)
{
    uint32_t recv = receive(vec, peer, fragment, home_of(fragment));

    bring_value(vec, fragment, recv, recv);
}

static void copy_home(fs_vector_t *vec, fragment_t *fragment)
{
    uint32_t copy = fs_program_copy(vec->program, fragment->value,
                                    home_of(fragment), fragment->len_bytes);

    use_value(vec, fragment, copy);
    bring_value(vec, fragment, copy, copy);
}

/* The value is elsewhere; home = value op home. */
static void add_own_left(fs_vector_t *vec, uint32_t peer, fragment_t *fragment)
{
    uint32_t recv = receive(vec, peer, fragment, home_of(fragment));
    uint32_t sum  = fs_program_reduce(vec->program, fragment->value,
                                      home_of(fragment), fragment->len_bytes);

    fs_program_after(vec->program, sum, recv);
    use_value(vec, fragment, sum);
    bring_value(vec, fragment, recv, sum);
}

/* The value is home; home = slot op home. */
static void add_own_right(fs_vector_t *vec, uint32_t peer, fragment_t *fragment)
{
    fs_place_t slot = next_slot(vec);
    uint32_t   recv = receive(vec, peer, fragment, slot);
    uint32_t   sum  = fs_program_reduce(vec->program, slot, home_of(fragment),
                                        fragment->len_bytes);

    fs_ring_wait(&vec->ring, vec->program, recv);
    fs_program_after(vec->program, sum, recv);
    bring_value(vec, fragment, sum, sum);
    leave_slot(vec, sum);
}

/* The value is home; staged = home op staged, and that is the value. Returns the
 * receive. */
static uint32_t add_in_staging(fs_vector_t *vec, uint32_t peer,
                               fragment_t *fragment, fs_place_t staged)
{
    uint32_t recv = receive(vec, peer, fragment, staged);
    uint32_t sum  = fs_program_reduce(vec->program, fragment->value, staged,
                                      fragment->len_bytes);

    fs_program_after(vec->program, sum, recv);
    use_value(vec, fragment, sum);
    fragment->value = staged;
    fragment->made  = sum;
    return recv;
}

static void add_in_slot(fs_vector_t *vec, uint32_t peer, fragment_t *fragment)
{
    uint32_t recv = add_in_staging(vec, peer, fragment, next_slot(vec));

    fs_ring_wait(&vec->ring, vec->program, recv);
    copy_home(vec, fragment);
    leave_slot(vec, fragment->made);
}

void fs_vector_add(fs_vector_t *vec, uint32_t peer,
                   fs_vector_fragment_t *fragment, fs_operand_t own)
{
    if (!is_home(fragment) && own == FS_RIGHT) {
        copy_home(vec, fragment);
    }
    if (!is_home(fragment)) {
        add_own_left(vec, peer, fragment);
    } else if (own != FS_RIGHT && fragment->staged != FS_NOT_STAGED) {
        add_in_staging(vec, peer, fragment, fs_in_staging(fragment->staged));
        fragment->staged = FS_NOT_STAGED;
    } else if (own == FS_LEFT) {
        add_in_slot(vec, peer, fragment);
    } else {
        add_own_right(vec, peer, fragment);
    }
}

void fs_vector_finish(fs_vector_t *vec, fs_vector_fragment_t *fragment)
{
    if (!is_home(fragment)) {
        copy_home(vec, fragment);
    }
}
