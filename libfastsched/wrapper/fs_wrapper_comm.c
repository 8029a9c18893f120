/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators are opened, reported and closed. */
#include "coll/fs_request.h"
#include "base/fs_strbuf.h"
#include "wrapper/fs_buffers.h"
#include "wrapper/fs_remember.h"
#include "wrapper/fs_report.h"
#include "wrapper/fs_wrapper_record.h"

#include <string.h>

/* ---- the list of communicators to report ---- */

void fs_wrapper_list(fs_wrapper_comm_t *comm)
{
    fs_wrapper_t *wrapper = comm->wrapper;

    pthread_mutex_lock(&wrapper->lock);
    comm->next     = wrapper->comms;
    wrapper->comms = comm;
    pthread_mutex_unlock(&wrapper->lock);
}

/* Was it on the list? */
static bool take_off(const fs_wrapper_comm_t *comm)
{
    fs_wrapper_t       *wrapper = comm->wrapper;
    fs_wrapper_comm_t **at      = &wrapper->comms;
    bool                found;

    pthread_mutex_lock(&wrapper->lock);
    while (*at != NULL && *at != comm) {
        at = &(*at)->next;
    }
    found = *at != NULL;
    if (found) {
        *at = comm->next;
    }
    pthread_mutex_unlock(&wrapper->lock);
    return found;
}

static void report(fs_wrapper_comm_t *comm, bool together)
{
    if (!take_off(comm)) {
        return;
    }
    if (comm->ours->all_stats != NULL && comm->ours->stats.calls > 0) {
        fs_report_stats(comm, together);
    }
    if (comm->wrapper->params.verbose > 0 && comm->rank == 0) {
        fs_report_tuner(comm);
    }
    fs_remember(comm);
    pthread_mutex_lock(&comm->wrapper->lock);
    fs_summary_add(&comm->wrapper->summary, comm->ours, comm->name);
    pthread_mutex_unlock(&comm->wrapper->lock);
}

/* A rank shares some communicators with one rank and others with another. All
 * report in one order, so that ranks do not wait in a circle. */
static fs_wrapper_comm_t *lowest(fs_wrapper_t *wrapper)
{
    fs_wrapper_comm_t *lowest = NULL;

    pthread_mutex_lock(&wrapper->lock);
    for (fs_wrapper_comm_t *c = wrapper->comms; c != NULL; c = c->next) {
        lowest = lowest == NULL || c->ours->id < lowest->ours->id ? c : lowest;
    }
    pthread_mutex_unlock(&wrapper->lock);
    return lowest;
}

void fs_wrapper_report_all(fs_wrapper_t *wrapper, void (*then)(void *ctx))
{
    fs_wrapper_comm_t *comm;

    while ((comm = lowest(wrapper)) != NULL) {
        void *ctx = comm->ours->native.ctx;

        report(comm, true);
        if (then != NULL) {
            then(ctx);
        }
    }
    fs_remember_all(wrapper);
}

/* ---- open, close ---- */

/* Its calls are the MPI's own. */
static void leave(fs_wrapper_comm_t *comm)
{
    fs_comm_destroy(comm->ours);
    comm->ours = NULL;
    fs_buffers_fini(&comm->buffers);
}

/* On FS_ERR_UNREACHABLE the user has forbidden other networks. */
static fs_status_t fail(fs_wrapper_comm_t *comm, fs_status_t status,
                        const char *why)
{
    fs_wrapper_t *wrapper = comm->wrapper;
    char          text[512];
    fs_strbuf_t   line = {text, sizeof(text), 0};

    wrapper->declined = true;
    if (status == FS_ERR_UNREACHABLE &&
        wrapper->params.transport == FS_TRANSPORT_UCX) {
        fs_strbuf_add(
            &line,
            "MPI_Alltoallv fails on %s: %s, and parameter transport is "
            "\"ucx\"",
            comm->name, why);
        wrapper->say_last(text);
        return status;
    }
    if (comm->rank == 0) {
        fs_strbuf_add(&line, "not used on %s: %s", comm->name, why);
        wrapper->say(text);
    }
    return status == FS_ERR_NOMEM ? status : FS_OK;
}

/* Does somebody progress the network between calls, on all ranks? */
static bool moves_alone(const fs_wrapper_t *wrapper, const fs_comm_t *ours)
{
    const fs_native_t *native = &ours->native;

    if (wrapper->is_driven) {
        return true;
    }
    return ours->net != NULL &&
           strcmp(wrapper->params.progress_thread, "off") != 0 &&
           native->agree(native->ctx,
                         ours->net->helper != NULL ? FS_OK : FS_ERR_NOMEM) ==
               FS_OK;
}

fs_status_t fs_wrapper_open_unlisted(fs_wrapper_t      *wrapper,
                                     fs_wrapper_comm_t *comm,
                                     const fs_params_t *params,
                                     const fs_native_t *native,
                                     const fs_member_t *member)
{
    fs_native_t completed = *native;
    fs_member_t mine      = *member;
    char        why[256]  = "";
    fs_status_t status;

    *comm = (fs_wrapper_comm_t){.wrapper = wrapper,
                                .name    = member->comm_name,
                                .n_ranks = member->n_ranks,
                                .rank    = member->rank};
    fs_wrapper_find_accel(wrapper);
    mine.has_accel       = fs_wrapper_has_accel(wrapper);
    mine.server_from_mpi = wrapper->world_server == NULL;
    completed.mem_kinds  = wrapper->mem_kinds;
    completed.name       = fs_remember_mpi_name(wrapper);
    if (mine.status == FS_OK) {
        mine.status =
            fs_buffers_init(&comm->buffers, member->n_ranks, member->rank);
    }
    status = fs_comm_create(&completed, params, &mine, &comm->ours, why,
                            sizeof(why));
    if (status != FS_OK) {
        leave(comm);
        return fail(comm, status, why);
    }
    fs_wrapper_record_open(comm, member, comm->ours->id);
    if (!fs_comm_active(comm->ours)) {
        leave(comm);
        return FS_OK;
    }
    comm->ours->waits_only = !moves_alone(wrapper, comm->ours);
    return FS_OK;
}

fs_status_t fs_wrapper_open(fs_wrapper_t *wrapper, fs_wrapper_comm_t *comm,
                            const fs_params_t *params,
                            const fs_native_t *native,
                            const fs_member_t *member)
{
    fs_status_t status =
        fs_wrapper_open_unlisted(wrapper, comm, params, native, member);

    if (comm->ours != NULL) {
        fs_wrapper_list(comm);
    }
    return status;
}

/* A persistent call of it may end in another thread. */
static fs_comm_t *take_ours(fs_wrapper_comm_t *comm)
{
    fs_net_t  *net  = comm->wrapper->net;
    fs_comm_t *ours = comm->ours;

    if (net != NULL) {
        fs_net_lock(net);
    }
    comm->ours = NULL;
    if (net != NULL) {
        pthread_mutex_unlock(&net->lock);
    }
    return ours;
}

void fs_wrapper_wait(fs_wrapper_comm_t *comm)
{
    if (comm->ours != NULL) {
        fs_request_wait_all(comm->ours);
    }
}

void fs_wrapper_report(fs_wrapper_comm_t *comm)
{
    if (comm->ours != NULL) {
        fs_wrapper_wait(comm); /* MPI_Comm_free() may come before */
        report(comm, true);
    }
}

void fs_wrapper_close(fs_wrapper_comm_t *comm)
{
    if (comm->ours != NULL) {
        report(comm, false);
        fs_comm_destroy(take_ours(comm));
    }
    fs_wrapper_record_close(comm);
    fs_buffers_fini(&comm->buffers);
}
