/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One blocking call of an MPI: described once, served by us or by the MPI's own
 * algorithm.
 */
#include "accel/fs_accel.h"
#include "base/fs_strbuf.h"
#include "coll/fs_collective.h"
#include "wrapper/fs_bounce.h"
#include "wrapper/fs_buffers.h"
#include "wrapper/fs_count.h"
#include "wrapper/fs_report.h"
#include "wrapper/fs_wrapper_record.h"

/* A call in hand. */
typedef struct serve {
    fs_wrapper_comm_t        *comm;
    const fs_wrapper_calls_t *calls;
    void                     *ctx;
    fs_status_t               described;
    bool                      on_device; /* a buffer is */
} serve_t;

/* ---- errors ---- */

static int failed(const serve_t *s, fs_status_t status)
{
    fs_report_failure(s->comm, s->calls, fs_comm_error(s->comm->ours));
    return s->calls->raise(s->ctx, status);
}

/* What concerns the buffers of this rank alone. */
static void complain(const serve_t *s, const char *why)
{
    char        text[512];
    fs_strbuf_t line = {text, sizeof(text), 0};

    fs_strbuf_add(&line, "%s fails on %s: rank %u: %s", s->calls->name,
                  s->comm->name, s->comm->rank, why);
    s->comm->wrapper->say_last(text);
}

/* ---- by the MPI ---- */

static int run_native(const serve_t *s)
{
    fs_wrapper_comm_t *comm   = s->comm;
    fs_bounces_t       bounce = {.send.memory = NULL};
    char               why[256];
    fs_status_t        status;
    int                rc;

    if (!s->on_device) {
        return s->calls->native(s->ctx, 0, 0);
    }
    status = fs_bounces_begin(&bounce, comm->wrapper, &comm->buffers, why,
                              sizeof(why));
    if (status != FS_OK) {
        complain(s, why);
        return s->calls->raise(s->ctx, status);
    }
    rc     = s->calls->native(s->ctx, bounce.send.shift, bounce.recv.shift);
    status = fs_bounces_end(&bounce, comm->wrapper, &comm->buffers, rc == 0);
    if (status == FS_OK) {
        return rc;
    }
    complain(s, fs_strerror(status));
    return s->calls->raise(s->ctx, status);
}

/* If it fails on this rank alone, the others may still wait for our vote about
 * its time. */
static int leave(const serve_t *s)
{
    int         rc     = run_native(s);
    fs_status_t status = fs_comm_native_done(s->comm->ours);

    return rc != 0 || status == FS_OK ? rc : failed(s, status);
}

/* ---- by us ---- */

/* What we cannot pack the MPI packs. */
static fs_consent_t consent(const serve_t *s, fs_consent_t on_device)
{
    return s->described == FS_OK          ? on_device
           : on_device == FS_CONSENT_YES  ? FS_CONSENT_NATIVE
           : on_device == FS_CONSENT_OURS ? FS_CONSENT_NO
                                          : on_device;
}

static fs_status_t run(const serve_t *s, bool *ran)
{
    fs_wrapper_comm_t *comm    = s->comm;
    fs_wrapper_t      *wrapper = comm->wrapper;
    fs_buffers_t      *buffers = &comm->buffers;
    fs_call_device_t   device  = {.staged = false};
    fs_status_t        status, end;
    char               why[256];

    if (s->on_device &&
        fs_buffers_for_call(buffers, wrapper, comm->ours, &device, why,
                            sizeof(why)) != FS_OK) {
        complain(s, why);
    }
    device.consent = consent(s, device.consent);
    if (fs_topo_n_servers(comm->ours->topo) > 1) {
        __atomic_store_n(&wrapper->spans_servers, true, __ATOMIC_RELAXED);
    }
    fs_buffers_begin(buffers, s->calls, s->ctx, device);
    status = fs_comm_collective(comm->ours, s->calls->collective,
                                &buffers->call, ran);
    end    = fs_buffers_end(buffers, *ran, fs_buffers_are_free(status));
    return status == FS_OK ? end : status;
}

static int try(const serve_t *s)
{
    fs_wrapper_comm_t *comm = s->comm;
    fs_status_t        status;
    bool               ran = false;
    int                rc  = 0;

    status = run(s, &ran);
    if (status != FS_OK) {
        return failed(s, status);
    }
    if (!ran) {
        rc = leave(s);
    }
    if (rc != 0) {
        return rc;
    }
    fs_wrapper_count_outcome(comm, &comm->ours->outcome, true);
    if (comm->ours->params.verbose > 0 && comm->rank == 0) {
        fs_report_call(comm);
    }
    return 0;
}

/* ---- a call ---- */

/* Where there are accelerators a communicator may need this that is the MPI's alone. */
static fs_status_t make_buffers(fs_wrapper_comm_t *comm)
{
    return comm->buffers.counts.n_ranks > 0
               ? FS_OK
               : fs_buffers_init(&comm->buffers, comm->n_ranks, comm->rank);
}

/* On one server a call may take 200 ns: little stands before the MPI's own. */
int fs_wrapper_serve(fs_wrapper_comm_t *comm, const fs_wrapper_calls_t *calls,
                     void *ctx)
{
    fs_wrapper_t *wrapper   = comm->wrapper;
    bool          has_accel = fs_wrapper_has_accel(wrapper);
    serve_t       s         = {comm, calls, ctx, FS_OK, false};

    fs_wrapper_count(&wrapper->calls, 1);
    __atomic_store_n(&wrapper->last_algorithm, (unsigned)FS_ALG_NATIVE,
                     __ATOMIC_RELAXED);
    if (comm->record != NULL) {
        fs_wrapper_record_call(comm, calls, ctx);
    }
    if (comm->ours == NULL && !has_accel) {
        return calls->native(ctx, 0, 0);
    }
    if (make_buffers(comm) != FS_OK) {
        complain(&s, fs_strerror(FS_ERR_NOMEM));
        return calls->raise(ctx, FS_ERR_NOMEM);
    }
    fs_buffers_clear(&comm->buffers,
                     comm->ours != NULL ? comm->ours->topo : NULL);
    s.described = calls->describe(ctx, &comm->buffers);
    if (s.described == FS_ERR_INVAL) {
        return calls->native(ctx, 0, 0);
    }
    s.on_device = has_accel && fs_buffers_find(&comm->buffers, wrapper);
    return comm->ours == NULL ? run_native(&s) : try(&s);
}
