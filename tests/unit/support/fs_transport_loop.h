/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network inside one process, as unfriendly as the rules of net/fs_transport.h
 * allow. Messages are delivered in any order, operations end inside the call or
 * long after it, the bytes of a message are fetched at any time before its send
 * ends, and a posted receive buffer is full of rubbish until its receive ends. What
 * is sent may wait in the sender for its next turn, on the wire and where
 * fs_net_t.local_arrives is not set; so may grants. All of it follows one seed, so
 * a failure repeats (with threads only nearly).
 *
 * It also watches: what a real network would survive, such as a message that
 * nobody had granted, is counted.
 */
#ifndef FS_TRANSPORT_LOOP_H
#define FS_TRANSPORT_LOOP_H

#include "net/fs_transport.h"

typedef struct fs_loop fs_loop_t;

/* What is to go wrong. Numbers count from 1; 0 is never. */
typedef struct fs_loop_faults {
    uint32_t fail_send; /* the n-th send of fail_rank is refused */
    uint32_t fail_rank;
    uint32_t fail_grant;  /* likewise its n-th grant */
    uint32_t cut_message; /* the n-th message to cut_rank loses a byte */
    uint32_t cut_rank;
    bool     no_hello; /* hello() of hello_rank fails */
    uint32_t hello_rank;
    bool     unreachable; /* connect() of lost_rank fails */
    uint32_t lost_rank;
    bool     parted; /* what parted_src sends or grants to parted_dst fails */
    uint32_t parted_src;
    uint32_t parted_dst;
    bool     mute; /* wire messages and grants of mute_rank vanish */
    uint32_t mute_rank;
} fs_loop_faults_t;

/* What was seen; maxima over all ranks. */
typedef struct fs_loop_seen {
    uint32_t max_wire_recvs;     /* posted wire receives of one rank */
    uint32_t max_wire_senders;   /* different peers of those */
    uint32_t max_wire_receivers; /* peers of one rank's wire sends in flight */
    uint32_t ungranted;          /* wire messages without a posted receive */
    uint32_t twins;              /* two messages in flight with one key */
    uint32_t shrunk_grants;      /* grants below an earlier one */
    uint32_t late_grants;        /* behind a message of the same turn */
    uint32_t split_grants;       /* two in a row to a peer, in one turn */
    uint64_t messages;
} fs_loop_seen_t;

fs_loop_t *fs_loop_create(uint32_t n_ranks, uint64_t seed);
void       fs_loop_destroy(fs_loop_t *loop);

/* Set before any traffic. */
void fs_loop_set_faults(fs_loop_t *loop, const fs_loop_faults_t *faults);

/* Since the last call. */
fs_loop_seen_t fs_loop_take_seen(fs_loop_t *loop);

/* Messages, ends and grants that nobody has taken yet. */
uint32_t fs_loop_n_pending(fs_loop_t *loop);

/* Messages from one rank to another that have not arrived: sent they may be. */
uint32_t fs_loop_n_between(fs_loop_t *loop, uint32_t src, uint32_t dst);

/* Groups that were neither connected and destroyed, nor forgotten. */
uint32_t fs_loop_n_groups(fs_loop_t *loop);

/* The net of a rank; the loop's. */
fs_net_t *fs_loop_net(fs_loop_t *loop, uint32_t rank);

/* Peers that a transport is connected to across servers. */
uint32_t fs_loop_n_wire_peers(const fs_transport_t *transport);

/* A transport among all ranks without any ceremony; group tells communicators
 * apart. Freed by ops->destroy. */
fs_transport_t *fs_loop_transport(fs_loop_t *loop, uint32_t rank,
                                  uint32_t group);

#endif
