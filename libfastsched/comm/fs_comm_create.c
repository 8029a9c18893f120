/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator gets its topology, transport, summary exchange and executor.
 *
 * Collective, by a few gathers of the MPI. Whatever can fail on one rank
 * alone happens before an agreement, and nobody goes on to the next gather
 * without it. The first one needs no memory: a rank may have none.
 */
#include "comm/fs_comm.h"

#include "base/fs_arith.h"
#include "net/fs_nics.h"
#include "comm/fs_params.h"
#include "net/fs_transport_mpi.h"
#include "sched/plan/fs_plan.h"
#include "sched/model/fs_topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC = 0x66730004 }; /* layout of what ranks tell each other */

typedef struct card {
    uint32_t magic;
    uint32_t server_label;
    uint64_t params;
    uint64_t shm_id[2]; /* of the segment it would make as a leader */
} card_t;

typedef struct verdict {
    int32_t  status; /* fs_status_t */
    uint32_t peer;   /* that cannot be reached; the rank itself: no network */
} verdict_t;

typedef struct value {
    char text[FS_PARAM_TEXT_MAX];
} value_t;

typedef struct creation {
    fs_comm_t         *comm;
    const fs_native_t *native;
    const fs_member_t *member;
    card_t            *cards;     /* [n_ranks] */
    fs_net_hello_t    *hellos;    /* [n_ranks] */
    verdict_t         *verdicts;  /* [n_ranks] */
    uint32_t          *labels;    /* [n_ranks] */
    fs_nic_list_t     *nics;      /* [n_ranks] */
    uint32_t          *nic;       /* [n_ranks] chosen of these */
    value_t           *values;    /* [n_ranks] */
    uint8_t           *reach;     /* [n_ranks] */
    char              *addresses; /* [n_ranks x stride], and this rank's */
    size_t             stride;
    void              *shared; /* with the server's ranks, or NULL */
    char              *why;
    size_t             why_len;
} creation_t;

/* Some of what follows may be missing. */
static fs_status_t creation_init(creation_t *c)
{
    size_t n = c->member->n_ranks;

    c->comm     = calloc(1, sizeof(*c->comm));
    c->cards    = calloc(n, sizeof(*c->cards));
    c->hellos   = calloc(n, sizeof(*c->hellos));
    c->verdicts = calloc(n, sizeof(*c->verdicts));
    c->labels   = calloc(n, sizeof(*c->labels));
    c->nics     = calloc(n, sizeof(*c->nics));
    c->nic      = calloc(n, sizeof(*c->nic));
    c->values   = calloc(n, sizeof(*c->values));
    c->reach    = calloc(n, sizeof(*c->reach));
    return c->comm != NULL && c->cards != NULL && c->hellos != NULL &&
                   c->verdicts != NULL && c->labels != NULL &&
                   c->nics != NULL && c->nic != NULL && c->values != NULL &&
                   c->reach != NULL
               ? c->member->status
               : FS_ERR_NOMEM;
}

static void creation_fini(creation_t *c)
{
    free(c->cards);
    free(c->hellos);
    free(c->verdicts);
    free(c->labels);
    free(c->nics);
    free(c->nic);
    free(c->values);
    free(c->reach);
    free(c->addresses);
}

static fs_status_t explain(creation_t *c, fs_status_t status, const char *text,
                           uint32_t rank, uint32_t peer)
{
    snprintf(c->why, c->why_len, text, rank, peer);
    return status;
}

static fs_status_t gather(creation_t *c, const void *mine, size_t len,
                          void *all)
{
    return c->native->allgather(c->native->ctx, mine, len, all) == FS_OK
               ? FS_OK
               : explain(c, FS_ERR_NATIVE, "an allgather of the MPI failed", 0,
                         0);
}

static void warn(const fs_comm_t *comm, const char *line)
{
    if (comm->native.warn != NULL) {
        comm->native.warn(comm->native.process, line);
    }
}

/* The first rank without a network says why, for all. */
static void explain_no_net(const fs_comm_t *comm)
{
    const fs_native_t *native = &comm->native;
    char               line[400];

    if (comm->net == NULL && native->why_no_net != NULL) {
        snprintf(line, sizeof(line), "UCX cannot be used: %s",
                 native->why_no_net(native->process));
        warn(comm, line);
    }
}

/* An error of one rank alone, mostly for want of memory, is everybody's. */
static fs_status_t agree(creation_t *c, fs_status_t status)
{
    status = c->native->agree(c->native->ctx, status);
    if (status != FS_OK) {
        snprintf(c->why, c->why_len, "a rank has failed: %s",
                 fs_strerror(status));
    }
    return status;
}

/* The same with names: the first bad verdict is everybody's. */
static fs_status_t agree_on(creation_t *c, fs_status_t status, uint32_t peer)
{
    verdict_t mine = {status, peer};

    status = gather(c, &mine, sizeof(mine), c->verdicts);
    for (uint32_t r = 0; r < c->member->n_ranks && status == FS_OK; ++r) {
        status = (fs_status_t)c->verdicts[r].status;
        if (status == FS_ERR_UNREACHABLE && c->verdicts[r].peer == r) {
            explain(c, status, "rank %u has no network", r, 0);
            if (r == c->comm->rank) {
                explain_no_net(c->comm);
            }
        } else if (status == FS_ERR_UNREACHABLE) {
            explain(c, status, "rank %u cannot reach rank %u", r,
                    c->verdicts[r].peer);
        } else if (status != FS_OK) {
            explain(c, status, "rank %u could not set up its network", r, 0);
        }
    }
    return status;
}

/* Which parameter of this rank is another one on rank 0? Collective: all ranks
 * have seen the same cards. */
static fs_status_t name_difference(creation_t *c, uint32_t rank)
{
    for (size_t k = 0; fs_params_info(k) != NULL; ++k) {
        value_t     mine;
        fs_status_t status;

        memset(&mine, 0, sizeof(mine));
        fs_params_text(&c->comm->params, k, mine.text);
        status = gather(c, &mine, sizeof(mine), c->values);
        if (status != FS_OK) {
            return status;
        }
        if (strcmp(c->values[rank].text, c->values[0].text) != 0) {
            fs_params_explain(fs_params_info(k)->name, c->values[0].text, 0,
                              c->values[rank].text, rank, c->why, c->why_len);
            break;
        }
    }
    return FS_ERR_MISMATCH;
}

/* Everybody shows his card; servers follow from the cards. */
static fs_status_t introduce(creation_t *c)
{
    fs_comm_t  *comm = c->comm;
    uint32_t    n    = c->member->n_ranks;
    card_t      mine = {MAGIC,
                        c->member->server_label,
                        fs_params_digest(&comm->params),
                        {0, 0}};
    fs_status_t status;

    fs_shm_draw_id(mine.shm_id);
    status = gather(c, &mine, sizeof(mine), c->cards);
    if (status != FS_OK) {
        return status;
    }
    for (uint32_t r = 0; r < n; ++r) {
        if (c->cards[r].magic != MAGIC) {
            return explain(c, FS_ERR_MISMATCH,
                           "rank %u runs another version of the library", r, 0);
        }
        if (c->cards[r].params != c->cards[0].params) {
            return name_difference(c, r);
        }
        c->labels[r] = c->cards[r].server_label;
    }
    comm->id = c->cards[0].shm_id[0];
    return agree(c,
                 fs_topo_create(n, c->labels, comm->params.lanes, &comm->topo));
}

/* ---- NICs and lanes: see fs_nic_map.h ---- */

/* Where parameter servers cuts one machine into servers, what hwloc sees is not
 * theirs. */
static bool nics_are_known(const fs_comm_t *comm)
{
    return comm->native.nics != NULL &&
           (comm->params.nics > 0 || comm->params.servers[0] == '\0');
}

/* Before the network is there, so that it can be bound to a NIC. */
static fs_status_t choose_nics(creation_t *c)
{
    fs_comm_t *comm = c->comm;
    fs_nics_t *nics =
        nics_are_known(comm) ? comm->native.nics(comm->native.process) : NULL;
    fs_nic_list_t mine   = fs_nics_list(nics);
    fs_status_t   status = gather(c, &mine, sizeof(mine), c->nics);

    if (status == FS_OK) {
        status = agree(c, fs_nic_map_choose(comm->topo, c->nics,
                                            comm->params.lanes == 0, c->nic));
    }
    if (status == FS_OK && nics != NULL) {
        fs_nics_choose(nics, c->nic[comm->rank]);
    }
    return status;
}

/* Whom a rank talks to: its server; the proxies of its own lane, for the
 * summaries at least; and whom the algorithms want. */
static uint8_t reach(const fs_topo_t *topo, const fs_plan_params_t *params,
                     uint32_t rank, uint32_t peer)
{
    uint32_t lane = fs_topo_lane(topo, rank);

    if (peer == rank) {
        return FS_REACH_NONE;
    }
    if (fs_topo_server(topo, peer) == fs_topo_server(topo, rank)) {
        return FS_REACH_LOCAL;
    }
    return (lane != FS_NO_LANE && fs_topo_lane(topo, peer) == lane) ||
                   fs_plan_talks(topo, params, rank, peer) ||
                   fs_plan_talks(topo, params, peer, rank)
               ? FS_REACH_WIRE
               : FS_REACH_NONE;
}

static fs_status_t connect_peers(creation_t *c, uint32_t *failed_p)
{
    fs_comm_t       *comm   = c->comm;
    uint32_t         n      = c->member->n_ranks;
    fs_net_group_t   group  = {.n_ranks = n,
                               .rank    = comm->rank,
                               .group   = c->hellos[comm->rank].group,
                               .hello   = c->hellos,
                               .address = c->addresses,
                               .stride  = c->stride,
                               .reach   = c->reach};
    fs_plan_params_t params = fs_params_plan(&comm->params);
    fs_status_t      status;

    for (uint32_t r = 0; r < n; ++r) {
        c->reach[r] = reach(comm->topo, &params, comm->rank, r);
    }
    pthread_mutex_lock(&comm->net->lock);
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
                                   fs_topo_server(comm->topo, comm->rank));
}

static void offer_memory(creation_t *c)
{
    fs_comm_t *comm = c->comm;

    if (comm->rank == leader(comm)) {
        fs_shm_offer(&comm->shm, c->cards[comm->rank].shm_id,
                     shared_bytes(comm));
    }
}

static void join_memory(creation_t *c)
{
    fs_comm_t *comm = c->comm;

    fs_shm_join(&comm->shm, c->cards[leader(comm)].shm_id, shared_bytes(comm));
}

static void *settle_memory(creation_t *c)
{
    fs_comm_t *comm   = c->comm;
    uint32_t   server = fs_topo_server(comm->topo, comm->rank);

    return fs_shm_settle(&comm->shm, fs_topo_n_local(comm->topo, server));
}

/* What can fail on one rank alone. */
static fs_status_t build(creation_t *c, uint32_t *failed_p)
{
    fs_comm_t  *comm   = c->comm;
    fs_status_t status = connect_peers(c, failed_p);

    if (status == FS_OK) {
        status = fs_control_create(comm->topo, comm->rank, comm->transport,
                                   c->shared, &comm->control);
    }
    if (status == FS_OK) {
        status =
            fs_exec_create(comm->transport, c->member->n_ranks, &comm->exec);
    }
    if (status == FS_OK && comm->params.stats) {
        comm->all_stats = calloc(c->member->n_ranks, sizeof(*comm->all_stats));
        status          = comm->all_stats != NULL ? FS_OK : FS_ERR_NOMEM;
    }
    return status;
}

/* For all addresses, and behind them for what this rank sends. */
static fs_status_t alloc_addresses(creation_t *c)
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

static fs_status_t gather_addresses(creation_t *c, const void *address)
{
    char *mine;

    if (c->stride == 0) {
        return FS_OK;
    }
    mine = c->addresses + c->member->n_ranks * c->stride;
    memcpy(mine, address, c->hellos[c->comm->rank].address_len);
    return gather(c, mine, c->stride, c->addresses);
}

/* What this rank says of itself over comm->net; NULL: it has none. */
static fs_status_t greet(const fs_comm_t *comm, fs_net_hello_t *hello_p,
                         const void **address_p)
{
    fs_status_t status = FS_ERR_UNREACHABLE;

    *hello_p = (fs_net_hello_t){0};
    if (comm->net != NULL) {
        pthread_mutex_lock(&comm->net->lock);
        status = comm->net->ops->hello(comm->net, hello_p, address_p);
        pthread_mutex_unlock(&comm->net->lock);
    }
    return status;
}

static fs_status_t open_network(creation_t *c)
{
    fs_comm_t     *comm    = c->comm;
    const void    *address = NULL;
    uint32_t       failed  = 0;
    fs_net_hello_t hello;
    fs_status_t    greeted = greet(comm, &hello, &address), status;

    offer_memory(c);
    status = gather(c, &hello, sizeof(hello), c->hellos);
    if (status == FS_OK) {
        join_memory(c);
        status    = greeted == FS_OK ? alloc_addresses(c) : greeted;
        status    = agree_on(c, status, comm->rank);
        c->shared = settle_memory(c);
    }
    if (status == FS_OK) {
        status = gather_addresses(c, address);
    }
    if (status != FS_OK) {
        if (greeted == FS_OK) {
            pthread_mutex_lock(&comm->net->lock);
            comm->net->ops->forget(comm->net, hello.group);
            pthread_mutex_unlock(&comm->net->lock);
        }
        return status;
    }
    status = build(c, &failed);
    return agree_on(c, status, failed);
}

/* Everything that open_network() has made. */
static void close_network(fs_comm_t *comm)
{
    if (comm->transport != NULL) {
        pthread_mutex_lock(&comm->net->lock);
        comm->transport->ops->destroy(comm->transport);
        pthread_mutex_unlock(&comm->net->lock);
    }
    fs_exec_destroy(comm->exec);
    fs_plan_cache_clear(&comm->cache);
    fs_control_destroy(comm->control);
    fs_shm_leave(&comm->shm);
    fs_net_destroy(comm->own_net);
    free(comm->all_stats);
    comm->all_stats = NULL;
    comm->transport = NULL;
    comm->exec      = NULL;
    comm->control   = NULL;
    comm->net = comm->own_net = NULL;
}

static fs_status_t use_net(creation_t *c)
{
    c->comm->net = c->comm->native.net(c->comm->native.process);
    return open_network(c);
}

static bool open_p2p(const fs_native_t *native)
{
    return native->p2p != NULL && (native->p2p->open == NULL ||
                                   native->p2p->open(native->ctx) == FS_OK);
}

static fs_status_t use_p2p(creation_t *c)
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
               : explain(c, status, "the MPI has no messages for us", 0, 0);
}

/* The second network stands in for the first: one rank says so. */
static void give_notice(creation_t *c)
{
    const fs_comm_t *comm = c->comm;
    const char      *name = c->member->comm_name;
    char             line[400];

    if (comm->rank == 0) {
        snprintf(line, sizeof(line),
                 "%s%s%.256s, so the MPI's own messages are used",
                 name != NULL ? name : "", name != NULL ? ": " : "", c->why);
        warn(comm, line);
    }
    c->why[0] = '\0';
}

/* All ranks take the same way: they have agreed on the status. */
static fs_status_t find_network(creation_t *c)
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
        close_network(comm);
        status = use_p2p(c);
        if (status == FS_OK) {
            give_notice(c);
        }
    }
    return status;
}

/* ---- trace ---- */

/* For people only: whatever is wrong with it, the communicator works. */
static void start_trace(creation_t *c)
{
    fs_comm_t              *comm   = c->comm;
    const fs_trace_origin_t origin = {.dir        = comm->params.trace,
                                      .comm_name  = c->member->comm_name,
                                      .comm_id    = comm->id,
                                      .topo       = comm->topo,
                                      .rank       = comm->rank,
                                      .world_rank = c->member->world_rank,
                                      .rate       = comm->params.rate};
    char                    why[FS_TRACE_MAX + 256] = "no trace: out of memory";

    if (fs_trace_create(&origin, &comm->trace, why, sizeof(why)) != FS_OK) {
        warn(comm, why);
        return;
    }
    pthread_mutex_lock(&comm->net->lock);
    fs_exec_set_trace(comm->exec, comm->trace);
    pthread_mutex_unlock(&comm->net->lock);
}

void fs_comm_write_trace(fs_comm_t *comm)
{
    char why[FS_TRACE_MAX + 256];

    if (comm->trace != NULL &&
        fs_trace_write(comm->trace, why, sizeof(why)) != FS_OK) {
        warn(comm, why);
    }
}

/* The same on all ranks, so is what follows. */
static bool wants_tuning(const fs_comm_t *comm)
{
    return comm->exec != NULL && comm->params.tuning[0] != '\0' &&
           comm->params.tuner;
}

static fs_status_t get_tuning(creation_t *c)
{
    fs_status_t status = fs_comm_get_tuning(c->comm);

    return status == FS_OK ? FS_OK
                           : explain(c, status,
                                     "what parameter tuning says "
                                     "could not be told to all ranks",
                                     0, 0);
}

/* All ranks can. */
static fs_status_t create(creation_t *c, const fs_params_t *params)
{
    fs_comm_t  *comm = c->comm;
    fs_status_t status;

    comm->native = *c->native;
    comm->params = *params;
    comm->rank   = c->member->rank;
    status       = introduce(c);
    if (status == FS_OK && comm->topo->n_servers > 1 &&
        params->algorithm != FS_ALGORITHM_OFF) {
        status = choose_nics(c);
        status = status == FS_OK ? find_network(c) : status;
    }
    if (status == FS_OK && wants_tuning(comm)) {
        status = get_tuning(c);
    }
    if (status == FS_OK && comm->exec != NULL && params->trace[0] != '\0') {
        start_trace(c);
    }
    return status;
}

fs_status_t fs_comm_create(const fs_native_t *native, const fs_params_t *params,
                           const fs_member_t *member, fs_comm_t **comm_p,
                           char *why, size_t why_len)
{
    creation_t c = {
        .native = native, .member = member, .why = why, .why_len = why_len};
    fs_status_t status = agree(&c, creation_init(&c));

    if (status == FS_OK) {
        status = create(&c, params);
    }
    creation_fini(&c);
    if (status == FS_OK) {
        *comm_p = c.comm;
    } else {
        fs_comm_destroy(c.comm);
    }
    return status;
}

/* The network may still write into a dead communicator: leave its memory. */
void fs_comm_destroy(fs_comm_t *comm)
{
    if (comm == NULL || comm->dead) {
        return;
    }
    fs_comm_write_trace(comm);
    close_network(comm);
    fs_trace_destroy(comm->trace);
    fs_topo_destroy(comm->topo);
    free(comm);
}
