/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator gets its topology, then its network (fs_comm_network.c).
 *
 * Collective, with a few gathers of the MPI. Everything that can fail on one
 * rank alone happens before an agreement, and no rank goes on to the next
 * gather without it. The first agreement needs no memory: a rank may have none.
 */
#include "comm/fs_comm_create.h"

#include "comm/fs_host_id.h"
#include "sched/allreduce/fs_straggler.h"
#include "sched/model/fs_topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC = 0x66730007 }; /* version of fs_creation_record_t */

/* Some of what follows may be missing. */
static fs_status_t creation_init(fs_creation_t *c)
{
    size_t n = c->member->n_ranks;

    c->comm     = calloc(1, sizeof(*c->comm));
    c->records  = calloc(n, sizeof(*c->records));
    c->hellos   = calloc(n, sizeof(*c->hellos));
    c->verdicts = calloc(n, sizeof(*c->verdicts));
    c->labels   = calloc(n, sizeof(*c->labels));
    c->nics     = calloc(n, sizeof(*c->nics));
    c->nic      = calloc(n, sizeof(*c->nic));
    c->values   = calloc(n, sizeof(*c->values));
    c->reach    = calloc(n, sizeof(*c->reach));
    return c->comm != NULL && c->records != NULL && c->hellos != NULL &&
                   c->verdicts != NULL && c->labels != NULL &&
                   c->nics != NULL && c->nic != NULL && c->values != NULL &&
                   c->reach != NULL
               ? c->member->status
               : FS_ERR_NOMEM;
}

static void creation_fini(fs_creation_t *c)
{
    free(c->records);
    free(c->hellos);
    free(c->verdicts);
    free(c->labels);
    free(c->nics);
    free(c->nic);
    free(c->values);
    free(c->reach);
    free(c->addresses);
}

fs_status_t fs_creation_explain(fs_creation_t *c, fs_status_t status,
                                const char *text, uint32_t rank, uint32_t peer)
{
    snprintf(c->why, c->why_len, text, rank, peer);
    return status;
}

fs_status_t fs_creation_gather(fs_creation_t *c, const void *mine, size_t len,
                               void *all)
{
    return c->native->allgather(c->native->ctx, mine, len, all) == FS_OK
               ? FS_OK
               : fs_creation_explain(c, FS_ERR_NATIVE,
                                     "an allgather of the MPI failed", 0, 0);
}

void fs_comm_warn(const fs_comm_t *comm, const char *line)
{
    if (comm->native.warn != NULL) {
        comm->native.warn(comm->native.process, line);
    }
}

/* The first rank without a network reports the reason. */
static void explain_no_net(const fs_comm_t *comm)
{
    const fs_native_t *native = &comm->native;
    char               line[400];

    if (comm->net == NULL && native->why_no_net != NULL) {
        snprintf(line, sizeof(line), "UCX cannot be used: %s",
                 native->why_no_net(native->process));
        fs_comm_warn(comm, line);
    }
}

fs_status_t fs_creation_agree(fs_creation_t *c, fs_status_t status)
{
    status = c->native->agree(c->native->ctx, status);
    if (status != FS_OK) {
        snprintf(c->why, c->why_len, "a rank has failed: %s",
                 fs_strerror(status));
    }
    return status;
}

fs_status_t fs_creation_agree_on(fs_creation_t *c, fs_status_t status,
                                 uint32_t peer)
{
    fs_creation_verdict_t mine = {status, peer};

    status = fs_creation_gather(c, &mine, sizeof(mine), c->verdicts);
    for (uint32_t r = 0; r < c->member->n_ranks && status == FS_OK; ++r) {
        status = (fs_status_t)c->verdicts[r].status;
        if (status == FS_ERR_UNREACHABLE && c->verdicts[r].peer == r) {
            fs_creation_explain(c, status, "rank %u has no network", r, 0);
            if (r == c->comm->rank) {
                explain_no_net(c->comm);
            }
        } else if (status == FS_ERR_UNREACHABLE) {
            fs_creation_explain(c, status, "rank %u cannot reach rank %u", r,
                                c->verdicts[r].peer);
        } else if (status != FS_OK) {
            fs_creation_explain(c, status,
                                "rank %u could not set up its network", r, 0);
        }
    }
    return status;
}

/* Name the parameter that differs between this rank and rank 0. Collective: all
 * ranks have the same records. */
static fs_status_t name_difference(fs_creation_t *c, uint32_t rank)
{
    for (size_t k = 0; fs_params_info(k) != NULL; ++k) {
        fs_creation_value_t mine;
        fs_status_t         status;

        memset(&mine, 0, sizeof(mine));
        fs_params_text(&c->comm->params, k, mine.text);
        status = fs_creation_gather(c, &mine, sizeof(mine), c->values);
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

/* Mostly a rank's host is that of the rank before, or of one of the first. False: some
 * host is unknown, and nothing has changed. */
static bool label_by_host(fs_creation_t *c)
{
    const fs_creation_record_t *of = c->records;

    for (uint32_t r = 0; r < c->member->n_ranks; ++r) {
        if (of[r].host == 0) {
            return false;
        }
    }
    for (uint32_t r = 0; r < c->member->n_ranks; ++r) {
        uint32_t first = 0;

        if (r > 0 && of[r].host == of[r - 1].host) {
            first = c->labels[r - 1];
        }
        while (of[first].host != of[r].host) {
            ++first;
        }
        c->labels[r] = first;
    }
    return true;
}

/* Exchange the set-up records; servers follow from them. */
static fs_status_t exchange_records(fs_creation_t *c)
{
    fs_comm_t           *comm = c->comm;
    uint32_t             n    = c->member->n_ranks;
    fs_creation_record_t mine = {MAGIC,
                                 c->member->server_label,
                                 fs_params_digest(&comm->params),
                                 {0, 0},
                                 c->member->has_accel,
                                 c->member->server_from_mpi ? fs_host_id() : 0};
    fs_status_t          status;

    fs_shm_draw_id(mine.shm_id);
    status = fs_creation_gather(c, &mine, sizeof(mine), c->records);
    if (status != FS_OK) {
        return status;
    }
    for (uint32_t r = 0; r < n; ++r) {
        if (c->records[r].magic != MAGIC) {
            return fs_creation_explain(
                c, FS_ERR_MISMATCH,
                "rank %u runs another version of the library", r, 0);
        }
        if (c->records[r].params != c->records[0].params) {
            return name_difference(c, r);
        }
        c->labels[r] = c->records[r].server_label;
        comm->has_accel |= c->records[r].has_accel != 0;
    }
    comm->id = c->records[0].shm_id[0];
    status   = fs_topo_create(n, c->labels, comm->params.lanes, &comm->topo);
    if (status == FS_OK && comm->topo->n_servers == n && label_by_host(c)) {
        fs_topo_destroy(comm->topo);
        comm->topo = NULL;
        status = fs_topo_create(n, c->labels, comm->params.lanes, &comm->topo);
    }
    return fs_creation_agree(c, status);
}

/* ---- trace ---- */

/* A trace that cannot be started is no error of the communicator. */
static void start_trace(fs_creation_t *c)
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
        fs_comm_warn(comm, why);
        return;
    }
    fs_net_lock(comm->net);
    fs_exec_set_trace(comm->exec, comm->trace);
    pthread_mutex_unlock(&comm->net->lock);
}

void fs_comm_write_trace(fs_comm_t *comm)
{
    char why[FS_TRACE_MAX + 256];

    if (comm->trace != NULL &&
        fs_trace_write(comm->trace, why, sizeof(why)) != FS_OK) {
        fs_comm_warn(comm, why);
    }
}

/* The same on all ranks, so is what follows. */
static bool wants_tuning(const fs_comm_t *comm)
{
    return comm->exec != NULL && comm->params.tuning[0] != '\0' &&
           comm->params.tuner;
}

static fs_status_t get_tuning(fs_creation_t *c)
{
    fs_status_t status = fs_comm_get_tuning(c->comm);

    return status == FS_OK
               ? FS_OK
               : fs_creation_explain(c, status,
                                     "the results of parameter tuning "
                                     "could not be sent to all ranks",
                                     0, 0);
}

static void init_late(fs_comm_t *comm)
{
    uint32_t              n     = comm->topo->n_servers;
    const fs_late_setup_t setup = {
        .n_servers = n,
        .compares  = comm->params.tuner,
        .looks     = comm->params.straggler == FS_STRAGGLER_AUTO,
        .streams   = n <= FS_STRAGGLER_FEW_RANKS,
    };

    fs_late_init(&comm->late, &setup);
}

/* All ranks have the memory. */
static fs_status_t create(fs_creation_t *c, const fs_params_t *params)
{
    fs_comm_t  *comm = c->comm;
    fs_status_t status;

    comm->native     = *c->native;
    comm->params     = *params;
    params           = &comm->params; /* the caller's may change meanwhile */
    comm->rank       = c->member->rank;
    comm->world_rank = c->member->world_rank;
    status           = exchange_records(c);
    if (status == FS_OK && comm->topo->n_servers > 1 &&
        params->algorithm != FS_ALGORITHM_OFF) {
        status = fs_creation_choose_nics(c);
        status = status == FS_OK ? fs_creation_find_network(c) : status;
    }
    if (status == FS_OK && wants_tuning(comm)) {
        status = get_tuning(c);
    }
    if (status == FS_OK) {
        init_late(comm);
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
    fs_creation_t c = {
        .native = native, .member = member, .why = why, .why_len = why_len};
    fs_status_t status = fs_creation_agree(&c, creation_init(&c));

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

/* The network may still write into a dead communicator: keep its memory. */
void fs_comm_destroy(fs_comm_t *comm)
{
    if (comm == NULL) {
        return;
    }
    fs_comm_write_trace(comm);
    if (comm->dead) {
        return;
    }
    fs_comm_close_network(comm);
    fs_trace_destroy(comm->trace);
    fs_topo_destroy(comm->topo);
    free(comm->frame);
    free(comm);
}
