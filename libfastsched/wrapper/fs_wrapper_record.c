/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrapper/fs_wrapper_record.h"

#include "trace/fs_record.h"
#include "wrapper/fs_buffers.h"

#include <stdio.h>
#include <stdlib.h>

struct fs_wrapper_record {
    pthread_mutex_t lock; /* of buffers: calls may come from several threads */
    fs_buffers_t    buffers;
    fs_record_t    *file;
};

/* ---- failures ---- */

/* NULL: there is nothing to say. */
static void warn(fs_wrapper_t *wrapper, const char *why)
{
    if (why != NULL &&
        !__atomic_exchange_n(&wrapper->record_told, true, __ATOMIC_RELAXED)) {
        wrapper->say(why);
    }
}

/* ---- life ---- */

static fs_status_t create(const fs_wrapper_comm_t *comm,
                          const fs_member_t *member, uint64_t id,
                          fs_wrapper_record_t *r, char *why, size_t why_len)
{
    const fs_params_t *params = &comm->wrapper->params;

    snprintf(why, why_len, "no recording: out of memory");
    if (fs_buffers_init(&r->buffers, comm->n_ranks, comm->rank) != FS_OK) {
        return FS_ERR_NOMEM;
    }
    return fs_record_create(
        &(fs_record_origin_t){
            .dir        = params->record,
            .comm_name  = member->comm_name,
            .comm_id    = id,
            .n_ranks    = member->n_ranks,
            .rank       = member->rank,
            .world_rank = member->world_rank,
            .server     = fs_topo_server(fs_comm_topo(comm->ours), comm->rank),
            .limit      = params->record_limit},
        &r->file, why, why_len);
}

static void destroy(fs_wrapper_record_t *r)
{
    fs_record_destroy(r->file);
    fs_buffers_fini(&r->buffers);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void fs_wrapper_record_open(fs_wrapper_comm_t *comm, const fs_member_t *member,
                            uint64_t id)
{
    fs_wrapper_record_t *r;
    char                 why[FS_RECORD_WHY];

    if (comm->wrapper->params.record[0] == '\0') {
        return;
    }
    r = calloc(1, sizeof(*r));
    if (r == NULL) {
        warn(comm->wrapper, "no recording: out of memory");
        return;
    }
    pthread_mutex_init(&r->lock, NULL);
    if (create(comm, member, id, r, why, sizeof(why)) == FS_OK) {
        comm->record = r;
    } else {
        warn(comm->wrapper, why);
        destroy(r);
    }
}

void fs_wrapper_record_close(fs_wrapper_comm_t *comm)
{
    if (comm->record != NULL) {
        warn(comm->wrapper, fs_record_finish(comm->record->file));
        destroy(comm->record);
        comm->record = NULL;
    }
}

/* ---- calls ---- */

/* Arguments that make no sense are no call; what reduces is not recorded. */
void fs_wrapper_record_call(const fs_wrapper_comm_t  *comm,
                            const fs_wrapper_calls_t *calls, void *ctx)
{
    fs_wrapper_record_t *r = comm->record;

    if (calls->reduce != NULL) {
        return;
    }
    pthread_mutex_lock(&r->lock);
    fs_counts_begin(&r->buffers.counts, NULL);
    if (calls->describe(ctx, &r->buffers) != FS_ERR_INVAL) {
        fs_record_call(r->file, calls->name, r->buffers.counts.send_bytes);
    }
    pthread_mutex_unlock(&r->lock);
    warn(comm->wrapper, fs_record_failure(r->file));
}

void fs_wrapper_record_described(const fs_wrapper_comm_t  *comm,
                                 const fs_wrapper_calls_t *calls,
                                 const fs_counts_t        *counts)
{
    fs_record_call(comm->record->file, calls->name, counts->send_bytes);
    warn(comm->wrapper, fs_record_failure(comm->record->file));
}

uint32_t fs_wrapper_record_init(const fs_wrapper_comm_t  *comm,
                                const fs_wrapper_calls_t *calls,
                                const fs_counts_t        *counts)
{
    return fs_record_init(comm->record->file, calls->name, counts->send_bytes);
}

void fs_wrapper_record_start(const fs_wrapper_comm_t *comm, uint32_t number)
{
    fs_record_start(comm->record->file, number);
    warn(comm->wrapper, fs_record_failure(comm->record->file));
}
