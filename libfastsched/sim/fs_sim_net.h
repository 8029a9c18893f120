/* SPDX-License-Identifier: BSD-3-Clause */
/* The network: what is under way, how fast, and what ends next. It knows ranks
 * and bytes, but no programs. */
#ifndef FS_SIM_NET_H
#define FS_SIM_NET_H

#include "sim/fs_sim_fabric.h"
#include "sim/fs_sim_heap.h"

/* A message or a copy under way. */
typedef struct fs_sim_flow {
    uint64_t tag; /* the caller's */
    uint64_t bytes;
    uint64_t order;
    uint32_t src;
    uint32_t dst;
    double   began; /* first byte; before that, alpha runs */
    double   left;  /* bytes, as of since */
    double   since;
    double   rate;   /* bytes per second; 0: not set yet */
    uint32_t behind; /* message of the same pair that comes next */
    uint32_t last;   /* of those behind, or itself: of the one that flows */
    uint32_t round;  /* settle(): seen, and its rate is found */
    bool     found;
    bool     flowing;
    uint8_t  n_path;
    uint32_t path[FS_SIM_MAX_PATH]; /* ports */
} fs_sim_flow_t;

/* A port and the flows that pass through it. */
typedef struct fs_sim_port {
    double    left; /* settle(): rate that is not given away */
    uint32_t  open; /* settle(): flows without a rate */
    uint32_t  n;
    uint32_t  max;
    uint32_t  round;
    uint32_t *flows; /* [n] ids, in no order that matters */
} fs_sim_port_t;

typedef struct fs_sim_net {
    const fs_sim_params_t *params;
    fs_sim_wiring_t        wiring;
    fs_sim_heap_t          heap;
    fs_status_t            status; /* the first failure sticks */
    double                 now;
    uint64_t               n_begun;
    fs_sim_flow_t         *flows; /* [max_flows] by id */
    uint32_t              *free;  /* [n_free] ids not in use */
    uint32_t               n_free;
    uint32_t               max_flows;
    fs_sim_port_t         *ports;   /* [wiring.n_ports] */
    uint32_t               round;   /* number of this settle() */
    uint32_t              *touched; /* ports whose flows have changed, each
                                       listed once */
    uint32_t               n_touched;
    uint32_t              *part_ports; /* [n_ports] settle(): linked by flows */
    uint32_t              *part_flows; /* [max_flows] settle() */
    uint32_t              *sender;   /* [n_ranks] round in which it was seen */
    uint32_t               n_counts; /* rounds of sender */
    uint32_t               max_senders;
    uint32_t              *ended; /* [n_ended] ids of flows that ended now */
    uint32_t               n_ended;
    uint32_t               max_ended;
} fs_sim_net_t;

/* FS_OK, FS_ERR_INVAL, FS_ERR_NOMEM. fini in any case. */
fs_status_t fs_sim_net_init(fs_sim_net_t *net, const fs_topo_t *topo,
                            const fs_sim_params_t *params);
void        fs_sim_net_fini(fs_sim_net_t *net);

/* Begin, now, a message from one rank to another, or a copy if they are the
 * same. Its end will be reported by fs_sim_net_next(). */
void fs_sim_net_begin(fs_sim_net_t *net, uint32_t src, uint32_t dst,
                      uint64_t bytes, uint64_t tag);

/* A message that takes until this time, not in the past, and no port. */
void fs_sim_net_wait(fs_sim_net_t *net, double time, uint64_t tag);

/* Go on to the next moment at which something happens. What ends then is in
 * ended[], in the order in which it was begun; ids and flows are valid until
 * fs_sim_net_forget(). False: nothing is under way, or status is not FS_OK. */
bool fs_sim_net_next(fs_sim_net_t *net);
void fs_sim_net_forget(fs_sim_net_t *net);

#endif
