/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports, and which of them a message passes through. */
#ifndef FS_SIM_FABRIC_H
#define FS_SIM_FABRIC_H

#include "sim/fs_sim.h"

/* Ports on the way of one message, at most: half a ring of 32. */
enum { FS_SIM_MAX_PATH = 16 };

/* Numbers of ports, in this order: NICs sending, NICs receiving, the inside of
 * servers, copies. */
typedef struct fs_sim_wiring {
    const fs_topo_t *topo;
    fs_sim_fabric_t  fabric;
    uint32_t         n_nics;
    uint32_t         n_ports;
    uint32_t         first_up;   /* of the inside */
    uint32_t         first_copy; /* + rank */
    uint32_t        *nic;        /* [n_ranks] */
    uint32_t        *up;         /* [n_servers] first port of its inside */
    double          *rate;       /* [n_ports] */
} fs_sim_wiring_t;

/* FS_OK; FS_ERR_INVAL (a server does not fit the fabric); FS_ERR_NOMEM. */
fs_status_t fs_sim_wiring_init(fs_sim_wiring_t *wiring, const fs_topo_t *topo,
                               const fs_sim_params_t *params);
void        fs_sim_wiring_fini(fs_sim_wiring_t *wiring);

/* The ports from one rank to another, or of a copy if they are the same.
 * Returns how many. */
uint32_t fs_sim_path(const fs_sim_wiring_t *wiring, uint32_t src, uint32_t dst,
                     uint32_t path[FS_SIM_MAX_PATH]);

/* Is this the receiving port of a NIC? */
static inline bool fs_sim_port_is_nic_in(const fs_sim_wiring_t *wiring,
                                         uint32_t               port)
{
    return port >= wiring->n_nics && port < 2 * wiring->n_nics;
}

#endif
