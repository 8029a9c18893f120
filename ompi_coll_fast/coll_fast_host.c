/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libfastsched asks of Open MPI: who is where, a gather, progress; and
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

int mca_coll_fast_error(fs_status_t status)
{
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
    return (int) fs_net_progress(mca_coll_fast_component.wrapper.net);
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
    fs_wrapper_close(&mca_coll_fast_component.wrapper);
}

/* ---- a communicator ---- */

static fs_net_t *get_net(void *ctx)
{
    (void) ctx;
    return fs_wrapper_net(&mca_coll_fast_component.wrapper);
}

static const char *why_no_net(void *ctx)
{
    (void) ctx;
    return fs_wrapper_no_net(&mca_coll_fast_component.wrapper);
}

static fs_nics_t *get_nics(void *ctx)
{
    (void) ctx;
    return fs_wrapper_nics(&mca_coll_fast_component.wrapper);
}

static fs_status_t allgather(void *ctx, const void *in, size_t len, void *out)
{
    mca_coll_fast_module_t *module = ctx;
    int rc = module->previous_allgather(in, (int) len, MPI_BYTE, out, (int) len, MPI_BYTE,
                                        module->comm, module->previous_allgather_module);

    return OMPI_SUCCESS == rc ? FS_OK : FS_ERR_HOST;
}

static fs_status_t agree(void *ctx, fs_status_t mine)
{
    mca_coll_fast_module_t *module = ctx;
    int in = mine, worst;
    int rc = module->previous_allreduce(&in, &worst, 1, MPI_INT, MPI_MIN, module->comm,
                                        module->previous_allreduce_module);

    return OMPI_SUCCESS == rc ? (fs_status_t) worst : FS_ERR_HOST;
}

static void host_progress(void *ctx)
{
    (void) ctx;
    opal_progress();
}

static void host_warn(void *ctx, const char *line)
{
    (void) ctx;
    mca_coll_fast_say(line);
}

/* The lowest rank of the communicator on this rank's node, or what parameter
 * nodes says. */
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

/* Whatever goes wrong goes wrong on every rank: fs_coll_create() agrees. */
static int setup_failed(mca_coll_fast_module_t *module, fs_status_t status, const char *why)
{
    module->state = FAST_OFF;
    mca_coll_fast_component.wrapper.declined = true;
    if (FS_ERR_UNREACHABLE == status
        && FS_TRANSPORT_UCX == mca_coll_fast_component.wrapper.params.transport) {
        mca_coll_fast_complain("MPI_Alltoallv fails on %s: %s, and coll_fast_transport is \"ucx\"",
                               module->comm->c_name, why);
        return mca_coll_fast_error(status);
    }
    if (0 == ompi_comm_rank(module->comm)) {
        mca_coll_fast_complain("not used on %s: %s", module->comm->c_name, why);
    }
    return OMPI_SUCCESS;
}

static int on_free(MPI_Comm comm, int keyval, void *attribute, void *extra)
{
    (void) comm;
    (void) keyval;
    (void) extra;
    mca_coll_fast_teardown(attribute, true);
    return MPI_SUCCESS;
}

/* All that a call needs on this rank. */
static fs_status_t make_scratch(mca_coll_fast_module_t *module)
{
    int size = ompi_comm_size(module->comm);
    bool looks = fs_wrapper_has_accel(&mca_coll_fast_component.wrapper);

    module->scratch = mca_coll_fast_scratch_new(size);
    module->looked = looks ? mca_coll_fast_scratch_new(size) : NULL;
    return NULL == module->scratch || (looks && NULL == module->looked) ? FS_ERR_NOMEM : FS_OK;
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
    fs_wrapper_farewell_all(&mca_coll_fast_component.wrapper, end);
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

int mca_coll_fast_setup(mca_coll_fast_module_t *module)
{
    fs_host_t host = {.ctx = module,
                      .allgather = allgather,
                      .agree = agree,
                      .progress = host_progress,
                      .net = get_net,
                      .why_no_net = why_no_net,
                      .nics = get_nics,
                      .warn = host_warn,
                      .p2p = &mca_coll_fast_p2p};
    fs_member_t member = {.n_ranks = (uint32_t) ompi_comm_size(module->comm),
                          .rank = (uint32_t) ompi_comm_rank(module->comm),
                          .server_label = server_label(module->comm),
                          .world_rank = (uint32_t) ompi_comm_rank(&ompi_mpi_comm_world.comm),
                          .comm_name = module->comm->c_name};
    char why[256] = "";
    fs_status_t status;

    if (!mca_coll_fast_ranks_are_alike(module->comm)) {
        mca_coll_fast_component.wrapper.declined = true;
        module->state = FAST_OFF;
        return OMPI_SUCCESS;
    }
    fs_wrapper_find_accel(&mca_coll_fast_component.wrapper);
    host.mem_kinds = mca_coll_fast_component.wrapper.mem_kinds;
    member.status = make_scratch(module);
    if (FS_OK == member.status && MPI_SUCCESS != watch_end(module)) {
        member.status = FS_ERR_NOMEM;
    }
    status = fs_coll_create(&host, &mca_coll_fast_component.wrapper.params, &member, &module->coll,
                            why, sizeof(why));
    if (FS_OK != status) {
        return setup_failed(module, status, why);
    }
    module->state = fs_coll_active(module->coll) ? FAST_READY : FAST_OFF;
    if (FAST_READY == module->state) {
        fs_wrapper_welcome(&mca_coll_fast_component.wrapper, module->coll, module->comm->c_name);
    }
    return OMPI_SUCCESS;
}

/* Called more than once. */
void mca_coll_fast_teardown(mca_coll_fast_module_t *module, bool together)
{
    if (NULL != module->coll) {
        fs_wrapper_farewell(&mca_coll_fast_component.wrapper, module->coll, together);
    }
    fs_coll_destroy(module->coll);
    mca_coll_fast_close_p2p(module);
    mca_coll_fast_scratch_free(module->scratch);
    mca_coll_fast_scratch_free(module->looked);
    module->coll = NULL;
    module->scratch = NULL;
    module->looked = NULL;
    module->state = FAST_OFF;
}
