/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transport for each rank (net/fs_transport.h) over the simulated network: what the
 * engine sends is a message there, with its latency and its share of NICs. Words take
 * a latency and no NIC. Callbacks come in fs_sim_wire_next() only.
 */
#ifndef FS_SIM_TRANSPORT_H
#define FS_SIM_TRANSPORT_H

#include "net/fs_transport.h"
#include "sim/fs_sim_net.h"

typedef struct fs_sim_wire      fs_sim_wire_t;
typedef struct fs_sim_transport fs_sim_transport_t;

/* A word on its way. */
typedef struct fs_sim_word {
    double   time; /* of its arrival */
    uint64_t word;
    uint32_t src;
    uint32_t dst;
} fs_sim_word_t;

struct fs_sim_wire {
    fs_sim_net_t        net;
    fs_net_t            counts; /* no network, but somebody counts there */
    uint32_t            n_ranks;
    fs_sim_transport_t *transports; /* [n_ranks] */
    fs_sim_word_t      *words; /* [n_words], from first_word on: in order, since
                                  all take as long */
    size_t              first_word, n_words, max_words;
    uint32_t           *woken; /* [n_woken] ranks that something has come for */
    uint32_t            n_woken;
    double   last_byte; /* when the last message has arrived, so far */
    uint64_t n_said;    /* words, so far */
    /* Set by the owner: an alarm goes off. */
    void (*alarm)(void *ctx, uint32_t id);
    void *ctx;
};

/* FS_OK, FS_ERR_INVAL, FS_ERR_NOMEM. fini in any case. topo, params and wire stay
 * where they are. */
fs_status_t fs_sim_wire_init(fs_sim_wire_t *wire, const fs_topo_t *topo,
                             const fs_sim_params_t *params);
void        fs_sim_wire_fini(fs_sim_wire_t *wire);

fs_transport_t *fs_sim_wire_transport(fs_sim_wire_t *wire, uint32_t rank);

/* At this time, not in the past, alarm(id). */
void fs_sim_wire_set_alarm(fs_sim_wire_t *wire, double time, uint32_t id);

/* A rank has something to do. */
void fs_sim_wire_wake(fs_sim_wire_t *wire, uint32_t rank);

/* One of those, if n_woken is above 0, which is none any more. */
uint32_t fs_sim_wire_take_woken(fs_sim_wire_t *wire);

/* Go on to the next moment. False: nothing is on its way, or net.status is not
 * FS_OK. */
bool fs_sim_wire_next(fs_sim_wire_t *wire);

#endif
