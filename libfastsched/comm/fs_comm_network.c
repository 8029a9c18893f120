/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator gets its NICs, transport, summary exchange and executor: over
 * UCX, or over the MPI's own messages. */
#include "comm/fs_comm_create.h"

#include "base/fs_arith.h"
#include "net/fs_transport_mpi.h"
#include "sched/model/fs_topo.h"
#include "sched/plan/fs_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_EARLY_CHUNK = 65536 }; /* until the bound of a call is known */

/* ---- NICs and lanes: see fs_nic_map.h ---- */

/* If parameter servers divides one machine into servers, the NICs that hwloc
 * finds do not belong to one of them. */
static bool nics_are_known(const fs_comm_t *comm)
{
    return comm->native.nics != NULL &&
           (comm->params.nics > 0 || comm->params.servers[0] == '\0');
}

fs_status_t fs_creation_choose_nics(fs_creation_t *c)
{
    fs_comm_t *comm = c->comm;
    fs_nics_t *nics =
        nics_are_known(comm) ? comm->native.nics(comm->native.process) : NULL;
    fs_nic_list_t mine   = fs_nics_list(nics);
    fs_status_t   status = fs_creation_gather(c, &mine, sizeof(mine), c->nics);

    if (status == FS_OK) {
        status = fs_creation_agree(c, fs_nic_map_choose(comm->topo, c->nics,
                                                        comm->params.lanes == 0,
                                                        c->nic));
    }
    if (status == FS_OK && nics != NULL) {
        fs_nics_choose(nics, c->nic[comm->rank]);
    }
    return status;
}

static bool may_begin_early(const fs_comm_t *comm)
{
    return comm->params.early != FS_EARLY_OFF && fs_early_can(comm->topo);
}

/* NICs of different places in their servers may be on networks that do not reach each
 * other, unless the user says that all may talk. */
static bool talks_early(const fs_creation_t *c, uint32_t peer)
{
    const fs_comm_t *comm = c->comm;

    return may_begin_early(comm) &&
           fs_early_talk(comm->topo, comm->rank, peer) &&
           (comm->params.early == FS_EARLY_ON ||
            c->nic[comm->rank] == c->nic[peer]);
}

/* Do the two exchange summaries? */
static bool summarise(const fs_topo_t *topo, uint32_t rank, uint32_t peer)
{
    uint32_t u = fs_topo_server(topo, rank), w = fs_topo_server(topo, peer);
    uint32_t a = fs_topo_lane(topo, rank), b = fs_topo_lane(topo, peer);

    return a != FS_NO_LANE && b != FS_NO_LANE &&
           fs_topo_place(topo, u, a, w) == fs_topo_place(topo, w, b, u);
}

/* On other servers a rank connects to those it exchanges summaries with, to lane 0 with its
 * own, in case of servers that do not share memory, and to the peers of the algorithms. */
static bool is_wired(const fs_comm_t *comm, const fs_plan_params_t *params,
                     uint32_t peer)
{
    const fs_topo_t *topo = comm->topo;
    uint32_t         rank = comm->rank;

    return (fs_topo_lane(topo, rank) == 0 && fs_topo_lane(topo, peer) == 0) ||
           summarise(topo, rank, peer) ||
           fs_plan_talks(topo, params, rank, peer) ||
           fs_plan_talks(topo, params, peer, rank);
}

bool fs_comm_is_wired_for(const fs_comm_t *comm, uint32_t algorithm)
{
    const fs_topo_t *topo    = comm->topo;
    fs_params_t      changed = comm->params;
    fs_plan_params_t params;

    changed.algorithm = algorithm;
    params            = fs_params_plan(&changed);
    for (uint32_t r = 0; r < topo->n_ranks; ++r) {
        if (fs_topo_server(topo, r) != fs_topo_server(topo, comm->rank) &&
            is_wired(comm, &params, r) && !is_wired(comm, &comm->wired, r)) {
            return false;
        }
    }
    return true;
}

/* The peers that a rank connects to: its server, and those. Others when they are first
 * needed. */
static uint8_t reach(const fs_creation_t *c, uint32_t peer)
{
    const fs_comm_t *comm = c->comm;
    const fs_topo_t *topo = comm->topo;
    uint32_t         rank = comm->rank;

    if (peer == rank) {
        return FS_REACH_NONE;
    }
    if (fs_topo_server(topo, peer) == fs_topo_server(topo, rank)) {
        return FS_REACH_LOCAL;
    }
    return is_wired(comm, &comm->wired, peer) ? FS_REACH_WIRE
           : talks_early(c, peer)             ? FS_REACH_LATER
                                              : FS_REACH_NONE;
}

static fs_status_t connect_peers(fs_creation_t *c, uint32_t *failed_p)
{
    fs_comm_t     *comm  = c->comm;
    uint32_t       n     = c->member->n_ranks;
    fs_net_group_t group = {.n_ranks = n,
                            .rank    = comm->rank,
                            .group   = c->hellos[comm->rank].group,
                            .hello   = c->hellos,
                            .address = c->addresses,
                            .stride  = c->stride,
                            .reach   = c->reach};
    fs_status_t    status;

    comm->wired = fs_params_plan(&comm->params);
    for (uint32_t r = 0; r < n; ++r) {
        c->reach[r] = reach(c, r);
    }
    fs_net_lock(comm->net);
    status =
        comm->net->ops->connect(comm->net, &group, &comm->transport, failed_p);
    pthread_mutex_unlock(&comm->net->lock);
    return status;
}

/* ---- memory shared inside the server: see fs_shm.h ---- */

static uint32_t leader(const fs_comm_t *comm)
{
    return fs_control_leader(comm->topo,
                             fs_topo_server(comm->topo, comm->rank));
}

static size_t shared_bytes(const fs_comm_t *comm)
{
    return fs_control_shared_bytes(comm->topo,
                                   fs_topo_server(comm->topo, comm->rank),
                                   comm->params.bundle_memory);
}

static void offer_memory(fs_creation_t *c)
{
    fs_comm_t *comm = c->comm;

    if (comm->rank == leader(comm)) {
        fs_shm_offer(&comm->shm, c->records[comm->rank].shm_id,
                     shared_bytes(comm));
    }
}

static void join_memory(fs_creation_t *c)
{
    fs_comm_t *comm = c->comm;

    fs_shm_join(&comm->shm, c->records[leader(comm)].shm_id,
                shared_bytes(comm));
}

static void *settle_memory(fs_creation_t *c)
{
    fs_comm_t *comm   = c->comm;
    uint32_t   server = fs_topo_server(comm->topo, comm->rank);

    return fs_shm_settle(&comm->shm, fs_topo_n_local(comm->topo, server));
}

/* Do all servers share memory, with several ranks? */
static bool all_share(fs_creation_t *c)
{
    fs_status_t mine =
        c->shared != NULL || shared_bytes(c->comm) == 0 ? FS_OK : FS_ERR_NOMEM;

    return c->native->agree(c->native->ctx, mine) == FS_OK;
}

/* For the reports of parameters stats and verbose. */
static fs_status_t claim_sums(fs_comm_t *comm, uint32_t n_ranks)
{
    fs_entries_t *entries = &comm->entries;

    if (comm->params.stats) {
        comm->all_stats = calloc(n_ranks, sizeof(*comm->all_stats));
    }
    entries->n_last = calloc(n_ranks, sizeof(*entries->n_last));
    if ((comm->params.stats && comm->all_stats == NULL) ||
        entries->n_last == NULL ||
        fs_account_init(&comm->account, comm->topo->n_servers) != FS_OK) {
        return FS_ERR_NOMEM;
    }
    entries->n_ranks = n_ranks;
    return FS_OK;
}

/* What can fail on one rank alone. */
static fs_status_t build(fs_creation_t *c, bool all_share, uint32_t *failed_p)
{
    fs_comm_t         *comm   = c->comm;
    fs_control_setup_t setup  = {.topo          = comm->topo,
                                 .shared        = c->shared,
                                 .all_share     = all_share,
                                 .bundle_memory = comm->params.bundle_memory};
    fs_status_t        status = connect_peers(c, failed_p);

    if (status == FS_OK) {
        setup.transport = comm->transport;
        status          = fs_control_create(&setup, comm->rank, &comm->control);
    }
    if (status == FS_OK) {
        status =
            fs_exec_create(comm->transport, c->member->n_ranks, &comm->exec);
    }
    if (status == FS_OK && may_begin_early(comm) &&
        comm->transport->ops->note != NULL) {
        comm->early_chunk = FIRST_EARLY_CHUNK;
        status = fs_early_create(comm->transport, comm->topo, comm->rank,
                                 c->reach, &comm->early);
    }
    if (status == FS_OK && (comm->params.stats || comm->params.verbose > 0)) {
        status = claim_sums(comm, c->member->n_ranks);
    }
    return status;
}

/* Room for all addresses, then for this rank's own. */
static fs_status_t alloc_addresses(fs_creation_t *c)
{
    size_t n = c->member->n_ranks;

    free(c->addresses); /* of the network before */
    c->addresses = NULL;
    c->stride    = 0;
    for (uint32_t r = 0; r < n; ++r) {
        c->stride = fs_u64_max(c->stride, c->hellos[r].address_len);
    }
    if (c->stride > 0) {
        c->addresses = calloc(n + 1, c->stride);
    }
    return c->stride > 0 && c->addresses == NULL ? FS_ERR_NOMEM : FS_OK;
}

static fs_status_t gather_addresses(fs_creation_t *c, const void *address)
{
    char *mine;

    if (c->stride == 0) {
        return FS_OK;
    }
    mine = c->addresses + c->member->n_ranks * c->stride;
    memcpy(mine, address, c->hellos[c->comm->rank].address_len);
    return fs_creation_gather(c, mine, c->stride, c->addresses);
}

/* This rank's hello on comm->net; the status says if it has no network. */
static fs_status_t greet(const fs_comm_t *comm, fs_net_hello_t *hello_p,
                         const void **address_p)
{
    fs_status_t status = FS_ERR_UNREACHABLE;

    *hello_p = (fs_net_hello_t){0};
    if (comm->net != NULL) {
        fs_net_lock(comm->net);
        status = comm->net->ops->hello(comm->net, hello_p, address_p);
        pthread_mutex_unlock(&comm->net->lock);
        hello_p->rdma = comm->net->rdma;
    }
    return status;
}

static bool has_rdma(const fs_creation_t *c)
{
    bool any = false;

    for (uint32_t r = 0; r < c->member->n_ranks; ++r) {
        any = any || c->hellos[r].rdma != 0;
    }
    return any;
}

static fs_status_t open_network(fs_creation_t *c)
{
    fs_comm_t     *comm    = c->comm;
    const void    *address = NULL;
    uint32_t       failed  = 0;
    fs_net_hello_t hello;
    fs_status_t    greeted = greet(comm, &hello, &address), status;

    offer_memory(c);
    status = fs_creation_gather(c, &hello, sizeof(hello), c->hellos);
    if (status == FS_OK) {
        join_memory(c);
        comm->has_rdma = has_rdma(c);
        status         = greeted == FS_OK ? alloc_addresses(c) : greeted;
        status         = fs_creation_agree_on(c, status, comm->rank);
        c->shared      = settle_memory(c);
    }
    if (status == FS_OK) {
        status = gather_addresses(c, address);
    }
    if (status != FS_OK) {
        if (greeted == FS_OK) {
            fs_net_lock(comm->net);
            comm->net->ops->forget(comm->net, hello.group);
            pthread_mutex_unlock(&comm->net->lock);
        }
        return status;
    }
    status = build(c, all_share(c), &failed);
    return fs_creation_agree_on(c, status, failed);
}

void fs_comm_close_network(fs_comm_t *comm)
{
    if (comm->transport != NULL) {
        fs_net_lock(comm->net);
        fs_early_destroy(comm->early, comm->dead);
        comm->transport->ops->destroy(comm->transport);
        pthread_mutex_unlock(&comm->net->lock);
    }
    fs_exec_destroy(comm->exec);
    fs_plan_cache_clear(&comm->cache);
    fs_replan_clear(&comm->replan);
    fs_control_destroy(comm->control);
    fs_shm_leave(&comm->shm);
    fs_net_destroy(comm->own_net);
    free(comm->all_stats);
    free(comm->entries.n_last);
    fs_account_fini(&comm->account);
    comm->entries   = (fs_entries_t){0};
    comm->all_stats = NULL;
    comm->transport = NULL;
    comm->exec      = NULL;
    comm->early     = NULL;
    comm->control   = NULL;
    comm->net = comm->own_net = NULL;
}

static fs_status_t use_net(fs_creation_t *c)
{
    c->comm->net = c->comm->native.net(c->comm->native.process);
    return open_network(c);
}

static bool open_p2p(const fs_native_t *native)
{
    return native->p2p != NULL && (native->p2p->open == NULL ||
                                   native->p2p->open(native->ctx) == FS_OK);
}

static fs_status_t use_p2p(fs_creation_t *c)
{
    fs_comm_t  *comm = c->comm;
    fs_status_t status;

    if (open_p2p(&comm->native) &&
        fs_mpi_create(&comm->native, &comm->own_net) == FS_OK) {
        comm->net = comm->own_net;
    }
    status = open_network(c);
    return comm->net != NULL
               ? status
               : fs_creation_explain(
                     c, status,
                     "the MPI cannot provide a communicator for our messages",
                     0, 0);
}

/* The second network replaces the first one: rank 0 reports it. */
static void give_notice(fs_creation_t *c)
{
    const fs_comm_t *comm = c->comm;
    const char      *name = c->member->comm_name;
    char             line[400];

    if (comm->rank == 0) {
        snprintf(line, sizeof(line),
                 "%s%s%.256s, so the MPI's own messages are used",
                 name != NULL ? name : "", name != NULL ? ": " : "", c->why);
        fs_comm_warn(comm, line);
    }
    c->why[0] = '\0';
}

fs_status_t fs_creation_find_network(fs_creation_t *c)
{
    fs_comm_t  *comm = c->comm;
    fs_status_t status;

    if (comm->params.transport == FS_TRANSPORT_MPI) {
        return use_p2p(c);
    }
    status = use_net(c);
    if (status != FS_OK && status != FS_ERR_NATIVE &&
        comm->native.p2p != NULL &&
        comm->params.transport == FS_TRANSPORT_AUTO) {
        fs_comm_close_network(comm);
        status = use_p2p(c);
        if (status == FS_OK) {
            give_notice(c);
        }
    }
    return status;
}
