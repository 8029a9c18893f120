/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libfastsched needs of Open MPI: servers, a gather, progress; and
 * what happens at both ends of a communicator's and of the process's life.
 */
#include "coll_fast.h"

#include <stdarg.h>
#include <stdlib.h>

#include "ompi/attribute/attribute.h"
#include "ompi/proc/proc.h"
#include "ompi/runtime/mpiruntime.h"
#include "opal/mca/hwloc/base/base.h"
#include "opal/runtime/opal_progress.h"

/* Not opal_show_help(): mpirun may drop its text when the job ends at once, and
 * Open MPI 6 reads no help files of others. Every rank speaks for itself. */
void mca_coll_fast_complain(const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    opal_output(0, "coll fast: %s", text);
}

void mca_coll_fast_say(const char *line)
{
    if (!fs_setup_keeps(line)) {
        mca_coll_fast_complain("%s", line);
    }
}

int mca_coll_fast_raise(void *ctx, fs_status_t status)
{
    (void) ctx;
    switch (status) {
    case FS_OK:
        return MPI_SUCCESS;
    case FS_ERR_NOMEM:
        return MPI_ERR_NO_MEM;
    case FS_ERR_MISMATCH:
    case FS_ERR_TRUNCATE:
        return MPI_ERR_TRUNCATE;
    default:
        return MPI_ERR_OTHER;
    }
}

/* ---- the network of the process ---- */

static fs_net_t *net_up; /* a thread may set it, see coll_fast_setup.c */
static bool is_registered;

static int progress(void)
{
    fs_net_t *net = __atomic_load_n(&net_up, __ATOMIC_ACQUIRE);
    unsigned events = NULL != net ? fs_net_progress(net) : 0;

    mca_coll_fast_progress_set_ups();
    mca_coll_fast_end_requests();
    return (int) events;
}

void mca_coll_fast_register_progress(void)
{
    if (!__atomic_exchange_n(&is_registered, true, __ATOMIC_RELAXED)) {
        opal_progress_register(progress);
    }
}

void mca_coll_fast_net_is_up(fs_net_t *net)
{
    __atomic_store_n(&net_up, net, __ATOMIC_RELEASE);
    mca_coll_fast_register_progress();
}

/* After MPI_Finalize's fence: every rank has ended its last call. Until then
 * our progress stays registered, for the peers. */
void mca_coll_fast_close_network(void)
{
    if (is_registered) {
        opal_progress_unregister(progress);
    }
    is_registered = false;
    net_up = NULL;
    fs_wrapper_fini(&mca_coll_fast_component.wrapper);
}

/* ---- a communicator ---- */

static fs_status_t allgather(void *ctx, const void *in, size_t len, void *out)
{
    mca_coll_fast_module_t *module = ctx;
    int rc = module->native.allgather(in, (int) len, MPI_BYTE, out, (int) len, MPI_BYTE,
                                      module->comm, module->native.allgather_module);

    return OMPI_SUCCESS == rc ? FS_OK : FS_ERR_NATIVE;
}

static fs_status_t agree(void *ctx, fs_status_t mine)
{
    mca_coll_fast_module_t *module = ctx;
    int in = mine, worst;
    int rc = module->native.allreduce(&in, &worst, 1, MPI_INT, MPI_MIN, module->comm,
                                      module->native.allreduce_module);

    return OMPI_SUCCESS == rc ? (fs_status_t) worst : FS_ERR_NATIVE;
}

static void host_progress(void *ctx)
{
    (void) ctx;
    opal_progress();
}

/* Without MPI_Init (sessions) there is no MPI_COMM_WORLD, but its ranks are known. */
static uint32_t world_rank(void)
{
    return OPAL_PROC_MY_NAME.vpid;
}

/* The lowest rank of the communicator on this rank's node, or what parameter
 * servers defines. */
static uint32_t server_label(ompi_communicator_t *comm)
{
    int me = ompi_comm_rank(comm);

    if (NULL != mca_coll_fast_component.wrapper.world_server) {
        return mca_coll_fast_component.wrapper.world_server[world_rank()];
    }
    for (int r = 0; r < me; ++r) {
        ompi_proc_t *proc = ompi_comm_peer_lookup(comm, r);

        if (OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags)) {
            return (uint32_t) r;
        }
    }
    return (uint32_t) me;
}

/* As far as a rank can know alone; the same answer on all ranks of a job. */
static bool spans_servers(ompi_communicator_t *comm)
{
    const uint32_t *server = mca_coll_fast_component.wrapper.world_server;
    int n = ompi_comm_size(comm);

    for (int r = 0; r < n; ++r) {
        const opal_proc_t *proc = &ompi_comm_peer_lookup(comm, r)->super;

        if (NULL == server ? !OPAL_PROC_ON_LOCAL_NODE(proc->proc_flags)
                           : server[proc->proc_name.vpid] != server[world_rank()]) {
            return true;
        }
    }
    return false;
}

/* Open MPI has a lock meanwhile, so nothing should wait here for other ranks. Calls that are under way
 * keep the communicator, and its end is theirs; but sums of all ranks need all of them. */
static int on_free(MPI_Comm comm, int keyval, void *attribute, void *extra)
{
    mca_coll_fast_module_t *module = attribute;
    bool is_idle = !__atomic_load_n(&module->is_pending, __ATOMIC_ACQUIRE)
                   && fs_wrapper_is_idle(&module->shared);

    (void) comm;
    (void) keyval;
    (void) extra;
    if (is_idle || mca_coll_fast_component.wrapper.params.stats) {
        mca_coll_fast_teardown(module, true);
    }
    return MPI_SUCCESS;
}

static void end(void *module)
{
    mca_coll_fast_teardown(module, true);
}

static int on_finalize(MPI_Comm comm, int keyval, void *attribute, void *extra)
{
    (void) comm;
    (void) keyval;
    (void) attribute;
    (void) extra;
    mca_coll_fast_abandon_set_ups();
    mca_coll_fast_end_requests(); /* which keep communicators */
    fs_wrapper_report_all(&mca_coll_fast_component.wrapper, end);
    return MPI_SUCCESS;
}

static int watch(ompi_communicator_t *comm, MPI_Comm_delete_attr_function *then, void *attribute)
{
    ompi_attribute_fn_ptr_union_t at_end = {.attr_communicator_delete_fn = then}, no_copy;
    int keyval, rc;

    /* Its type differs from one version to the next. */
    no_copy.attr_communicator_copy_fn =
        (__typeof__(no_copy.attr_communicator_copy_fn)) (void (*)(void)) MPI_COMM_NULL_COPY_FN;
    rc = ompi_attr_create_keyval(COMM_ATTR, no_copy, at_end, &keyval, NULL, 0, NULL);
    if (OMPI_SUCCESS == rc) {
        rc = ompi_attr_set_c(COMM_ATTR, comm, &comm->c_keyhash, keyval, attribute, false);
        (void) ompi_attr_free_keyval(COMM_ATTR, &keyval, false);
    }
    return rc;
}

/* MPI_Comm_free() and MPI_Finalize delete attributes first, while all ranks are here and can
 * talk: of the communicator, and of MPI_COMM_SELF. Without MPI_Init there is none of these, and what
 * is never freed ends alone. */
static int watch_end(mca_coll_fast_module_t *module)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;
    int rc = OMPI_SUCCESS;

    if (ompi_mpi_state >= OMPI_MPI_STATE_INIT_COMPLETED
        && !__atomic_exchange_n(&c->watches_finalize, true, __ATOMIC_RELAXED)) {
        rc = watch(&ompi_mpi_comm_self.comm, on_finalize, c);
        c->watches_finalize = OMPI_SUCCESS == rc;
    }
    return OMPI_SUCCESS == rc ? watch(module->comm, on_free, module) : rc;
}

static fs_native_t make_native(mca_coll_fast_module_t *module)
{
    fs_native_t native = fs_wrapper_native(&mca_coll_fast_component.wrapper, module);

    native.allgather = allgather;
    native.agree = agree;
    native.progress = host_progress;
    native.p2p = &mca_coll_fast_p2p;
    return native;
}

static fs_member_t make_member(mca_coll_fast_module_t *module)
{
    return (fs_member_t){.n_ranks = (uint32_t) ompi_comm_size(module->comm),
                         .rank = (uint32_t) ompi_comm_rank(module->comm),
                         .server_label = server_label(module->comm),
                         .world_rank = world_rank(),
                         .status = OMPI_SUCCESS == watch_end(module) ? FS_OK : FS_ERR_NOMEM,
                         .comm_name = module->comm->c_name};
}

/* Local. False: it is not to be set up. */
static bool may_set_up(mca_coll_fast_module_t *module)
{
    fs_wrapper_t *wrapper = &mca_coll_fast_component.wrapper;

    module->is_set_up = true;
    module->shared = (fs_wrapper_comm_t){.wrapper = wrapper,
                                         .name = module->comm->c_name,
                                         .n_ranks = (uint32_t) ompi_comm_size(module->comm),
                                         .rank = (uint32_t) ompi_comm_rank(module->comm)};
    if (!mca_coll_fast_ranks_are_alike(module->comm)) {
        wrapper->declined = true;
        return false;
    }
    return true;
}

int mca_coll_fast_set_up(mca_coll_fast_module_t *module)
{
    fs_wrapper_t *wrapper = &mca_coll_fast_component.wrapper;
    fs_native_t native;
    fs_member_t member;

    if (module->is_beside) { /* all ranks know what has become of it in this call */
        mca_coll_fast_wait_for_set_up(module);
        module->is_beside = false;
    }
    if (NULL != module->shared.ours || !module->is_set_up) {
        mca_coll_fast_read_written();
    }
    if (module->is_set_up || !may_set_up(module)) {
        return OMPI_SUCCESS;
    }
    native = make_native(module);
    member = make_member(module);
    return FS_ERR_UNREACHABLE
                   == fs_wrapper_open(wrapper, &module->shared, &wrapper->params, &native, &member)
               ? mca_coll_fast_raise(NULL, FS_ERR_UNREACHABLE)
               : OMPI_SUCCESS;
}

/* What fs_comm_serves_nonblocking() will say, as far as every rank knows it now: by parameters that
 * are compared before anything begins, as they were then: MPI_T may have written others since. */
static bool might_serve_nonblocking(const mca_coll_fast_module_t *module)
{
    const fs_params_t *params = &mca_coll_fast_component.wrapper.params;

    return params->nonblocking && !mca_coll_fast_component.was_off
           && params->transport != FS_TRANSPORT_MPI && mca_coll_fast_can_compare(module->comm)
           && spans_servers(module->comm);
}

void mca_coll_fast_begin_set_up(mca_coll_fast_module_t *module)
{
    fs_native_t native;
    fs_member_t member;

    if (module->is_set_up || module->is_never_beside) {
        return;
    }
    module->is_never_beside = !might_serve_nonblocking(module);
    mca_coll_fast_read_written();
    if (module->is_never_beside || !may_set_up(module)) {
        return;
    }
    native = make_native(module);
    member = make_member(module);
    module->is_beside = true;
    mca_coll_fast_set_up_beside(module, &native, &member);
}

int mca_coll_fast_serve(const fs_wrapper_calls_t *calls, mca_coll_fast_call_t *call)
{
    mca_coll_fast_module_t *module = call->module;
    int rc = mca_coll_fast_set_up(module);

    return OMPI_SUCCESS == rc ? fs_wrapper_serve(&module->shared, calls, call) : rc;
}

/* Called more than once. */
void mca_coll_fast_teardown(mca_coll_fast_module_t *module, bool together)
{
    if (together) {
        mca_coll_fast_wait_for_set_up(module);
        fs_wrapper_report(&module->shared);
    }
    fs_wrapper_close(&module->shared);
    mca_coll_fast_close_p2p(module);
}
