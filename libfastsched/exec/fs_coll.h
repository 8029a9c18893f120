/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files about one communicator share. */
#ifndef FS_COLL_H
#define FS_COLL_H

#include "exec/fs_exec.h"
#include "exec/fs_meta.h"
#include "exec/fs_transport.h"

struct fs_coll {
    fs_net_t       *net;
    fs_host_t       host;
    fs_params_t     params;
    fs_topo_t      *topo;
    fs_transport_t *transport;
    fs_meta_t      *meta;
    fs_exec_t      *exec;
    uint32_t        rank;
    bool            dead;
    uint64_t        drain_until_ns;
    char            error[256];
    fs_coll_stats_t stats;
    /* The last call, for fs_coll_describe(). */
    fs_choice_t    choice;
    fs_traffic_t   traffic;
    fs_decompose_t decompose; /* of a staged call, like n_stages */
    uint32_t       n_stages;
    uint64_t       slowest_ns; /* with parameter verbose only */
    bool           summarised; /* traffic is that of the last call */
};

/* Compare all counts of a call, before anything moves (parameter check).
 * Collective. FS_OK; FS_ERR_MISMATCH on every rank, coll->error names the
 * pair; FS_ERR_NOMEM; FS_ERR_HOST. */
fs_status_t fs_coll_check_counts(fs_coll_t *coll, const fs_call_t *call);

#endif
