/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic that stays inside the server: cut into chunks, a few at a time, so
 * that a large block does not hold up the wire. Rank i sends to i + 1, then to
 * i + 2, and so on: one-to-one (FAST §4.4).
 */
#include "sched/plan/fs_emit.h"
#include "sched/model/fs_topo.h"

enum {
    LOCAL_WINDOW = 8, /* messages in flight between two ranks of a server */
    INTRA_SENDS  = 2  /* server-internal chunks a rank sends at a time */
};

/* A rank's own block. If neither buffer is contiguous, bytes are packed into a
 * slot and unpacked from there. */
static void emit_self(fs_emit_t *em)
{
    uint32_t rank = em->request->rank;
    uint64_t total =
        em->request->local
            ->send[(size_t)em->local * em->program->n_ranks + rank];
    fs_ring_t  *ring  = &em->intra_out_ring;
    fs_window_t chain = {.n = 0};

    for (uint64_t at = 0; fs_emit_may_go_on(em) && at < total;
         at += em->chunk) {
        uint64_t   len = fs_u64_min(em->chunk, total - at);
        fs_place_t src = fs_in_send(rank, at), dst = fs_in_recv(rank, at), slot;
        uint32_t   pack, unpack;

        if (em->send_packed || em->recv_packed) {
            fs_window_add(&chain, 1, em->program,
                          fs_program_copy(em->program, src, dst, len));
            continue;
        }
        slot   = fs_in_staging(fs_ring_offset(ring));
        pack   = fs_program_copy(em->program, src, slot, len);
        unpack = fs_program_copy(em->program, slot, dst, len);
        fs_ring_wait(ring, em->program, pack);
        fs_program_after(em->program, unpack, pack);
        fs_window_add(&chain, 1, em->program, unpack);
        fs_emit_leave_slot(em, ring, unpack, 1);
    }
}

static void send_block(fs_emit_t *em, uint32_t dst, uint64_t total,
                       uint32_t after)
{
    for (uint64_t at = 0; fs_emit_may_go_on(em) && at < total;
         at += em->chunk) {
        uint32_t send = fs_emit_send_user(em, &em->intra_out_ring, FS_CH_INTRA,
                                          dst, fs_in_send(dst, at),
                                          fs_u64_min(em->chunk, total - at));

        if (em->intra_sends.n < INTRA_SENDS) {
            fs_program_after(em->program, send, after);
        }
        fs_window_add(&em->intra_sends, INTRA_SENDS, em->program, send);
    }
}

static void recv_block(fs_emit_t *em, uint32_t src, uint64_t total,
                       fs_window_t *window)
{
    for (uint64_t at = 0; fs_emit_may_go_on(em) && at < total;
         at += em->chunk) {
        fs_window_add(window, LOCAL_WINDOW, em->program,
                      fs_emit_recv_user(em, &em->intra_in_ring, FS_CH_INTRA,
                                        src, fs_in_recv(src, at),
                                        fs_u64_min(em->chunk, total - at)));
    }
}

void fs_emit_intra(fs_emit_t *em, uint32_t after)
{
    size_t          row  = (size_t)em->local * em->program->n_ranks;
    const uint64_t *send = em->request->local->send + row;
    const uint64_t *recv = em->request->local->recv + row;

    for (uint32_t d = 1; d < em->n_local; ++d) {
        uint32_t to   = (em->local + d) % em->n_local;
        uint32_t from = (em->local + em->n_local - d) % em->n_local;
        uint32_t dst = em->local_ranks[to], src = em->local_ranks[from];

        recv_block(em, src, recv[src], &em->intra_recvs[from]);
        send_block(em, dst, send[dst], after);
    }
    emit_self(em);
}
