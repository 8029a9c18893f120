/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libfastsched needs of Open MPI: servers, a gather, progress; and
 * what happens at both ends of a communicator's and of the process's life.
 */
#include "coll_fast.h"

#include <stdarg.h>
#include <stdlib.h>

#include "ompi/proc/proc.h"
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
    mca_coll_fast_complain("%s", line);
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

static int progress(void)
{
    unsigned events = fs_net_progress(mca_coll_fast_component.wrapper.net);

    mca_coll_fast_end_requests();
    return (int) events;
}

void mca_coll_fast_net_is_up(fs_net_t *net)
{
    (void) net;
    opal_progress_register(progress);
}

/* After MPI_Finalize's fence: every rank has ended its last call. Until then
 * our progress stays registered, for the peers. */
void mca_coll_fast_close_network(void)
{
    if (NULL != mca_coll_fast_component.wrapper.net) {
        opal_progress_unregister(progress);
    }
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

/* The lowest rank of the communicator on this rank's node, or what parameter
 * servers defines. */
static uint32_t server_label(ompi_communicator_t *comm)
{
    int me = ompi_comm_rank(comm);

    if (NULL != mca_coll_fast_component.wrapper.world_server) {
        return mca_coll_fast_component.wrapper
            .world_server[ompi_comm_rank(&ompi_mpi_comm_world.comm)];
    }
    for (int r = 0; r < me; ++r) {
        ompi_proc_t *proc = ompi_comm_peer_lookup(comm, r);

        if (OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags)) {
            return (uint32_t) r;
        }
    }
    return (uint32_t) me;
}

static int on_free(MPI_Comm comm, int keyval, void *attribute, void *extra)
{
    (void) comm;
    (void) keyval;
    (void) extra;
    mca_coll_fast_teardown(attribute, true);
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
    mca_coll_fast_end_requests(); /* which keep communicators */
    fs_wrapper_report_all(&mca_coll_fast_component.wrapper, end);
    return MPI_SUCCESS;
}

static int watch(MPI_Comm comm, MPI_Comm_delete_attr_function *then, void *attribute)
{
    int keyval;
    int rc = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, then, &keyval, NULL);

    if (MPI_SUCCESS == rc) {
        rc = PMPI_Comm_set_attr(comm, keyval, attribute);
        (void) PMPI_Comm_free_keyval(&keyval);
    }
    return rc;
}

/* MPI_Comm_free() and MPI_Finalize delete attributes first, while all ranks are here and can
 * talk: of the communicator, and of MPI_COMM_SELF. Without MPI_Init there is none of these, and what
 * is never freed ends alone. */
static int watch_end(mca_coll_fast_module_t *module)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;
    int initialized = 0, rc = MPI_SUCCESS;

    (void) PMPI_Initialized(&initialized);
    if (initialized && !__atomic_exchange_n(&c->watches_finalize, true, __ATOMIC_RELAXED)) {
        rc = watch(MPI_COMM_SELF, on_finalize, c);
        c->watches_finalize = MPI_SUCCESS == rc;
    }
    return MPI_SUCCESS == rc ? watch(module->comm, on_free, module) : rc;
}

static int set_up(mca_coll_fast_module_t *module)
{
    fs_wrapper_t *wrapper = &mca_coll_fast_component.wrapper;
    fs_native_t native = fs_wrapper_native(wrapper, module);
    fs_member_t member = {.n_ranks = (uint32_t) ompi_comm_size(module->comm),
                          .rank = (uint32_t) ompi_comm_rank(module->comm),
                          .server_label = server_label(module->comm),
                          .world_rank = (uint32_t) ompi_comm_rank(&ompi_mpi_comm_world.comm),
                          .comm_name = module->comm->c_name};

    native.allgather = allgather;
    native.agree = agree;
    native.progress = host_progress;
    native.p2p = &mca_coll_fast_p2p;
    module->is_set_up = true;
    module->shared = (fs_wrapper_comm_t){.wrapper = wrapper,
                                         .name = module->comm->c_name,
                                         .n_ranks = member.n_ranks,
                                         .rank = member.rank};
    if (!mca_coll_fast_ranks_are_alike(module->comm)) {
        wrapper->declined = true;
        return OMPI_SUCCESS;
    }
    if (MPI_SUCCESS != watch_end(module)) {
        member.status = FS_ERR_NOMEM;
    }
    return FS_ERR_UNREACHABLE == fs_wrapper_open(wrapper, &module->shared, &native, &member)
               ? mca_coll_fast_raise(NULL, FS_ERR_UNREACHABLE)
               : OMPI_SUCCESS;
}

int mca_coll_fast_serve(const fs_wrapper_calls_t *calls, mca_coll_fast_call_t *call)
{
    mca_coll_fast_module_t *module = call->module;
    int rc = module->is_set_up ? OMPI_SUCCESS : set_up(module);

    return OMPI_SUCCESS == rc ? fs_wrapper_serve(&module->shared, calls, call) : rc;
}

/* Called more than once. */
void mca_coll_fast_teardown(mca_coll_fast_module_t *module, bool together)
{
    fs_wrapper_close(&module->shared, together);
    mca_coll_fast_close_p2p(module);
}
