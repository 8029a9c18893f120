/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Module: one per communicator. Selection is local work only; whatever needs
 * the other ranks waits for the first blocking alltoallv.
 */
#include "coll_fast.h"

#include <stdlib.h>

#include "ompi/errhandler/errcode.h"
#include "ompi/runtime/mpiruntime.h"

static void construct(mca_coll_fast_module_t *module)
{
    module->comm = NULL;
    module->state = FAST_UNTRIED;
    module->coll = NULL;
    module->scratch = NULL;
    module->previous_allgather = NULL;
    module->previous_allgather_module = NULL;
    module->previous_alltoallv = NULL;
    module->previous_alltoallv_module = NULL;
}

static void destruct(mca_coll_fast_module_t *module)
{
    mca_coll_fast_teardown(module);
    if (NULL != module->previous_allgather_module) {
        OBJ_RELEASE(module->previous_allgather_module);
    }
    if (NULL != module->previous_alltoallv_module) {
        OBJ_RELEASE(module->previous_alltoallv_module);
    }
}

OBJ_CLASS_INSTANCE(mca_coll_fast_module_t, mca_coll_base_module_t, construct, destruct);

int mca_coll_fast_init_query(bool enable_progress_threads, bool enable_mpi_threads)
{
    (void) enable_progress_threads;
    (void) enable_mpi_threads; /* all state is under the network's lock */
    return OMPI_SUCCESS;
}

/* Capture what was there before us; it is what we fall back to. */
static int enable(mca_coll_base_module_t *base, ompi_communicator_t *comm)
{
    mca_coll_fast_module_t *module = (mca_coll_fast_module_t *) base;

    if (NULL == comm->c_coll->coll_allgather || NULL == comm->c_coll->coll_alltoallv) {
        if (0 == ompi_comm_rank(comm)) {
            mca_coll_fast_complain(
                "not used on %s: coll_fast_priority %d must be above that of the "
                "components that serve allgather and alltoallv",
                comm->c_name, mca_coll_fast_component.priority);
        }
        return OMPI_ERR_NOT_FOUND;
    }
    module->comm = comm;
    module->previous_allgather = comm->c_coll->coll_allgather;
    module->previous_allgather_module = comm->c_coll->coll_allgather_module;
    OBJ_RETAIN(module->previous_allgather_module);
    module->previous_alltoallv = comm->c_coll->coll_alltoallv;
    module->previous_alltoallv_module = comm->c_coll->coll_alltoallv_module;
    OBJ_RETAIN(module->previous_alltoallv_module);
#if defined(MCA_COLL_BASE_VERSION_3_0_0)
    MCA_COLL_INSTALL_API(comm, alltoallv, mca_coll_fast_alltoallv, &module->super, "fast");
#endif
    return OMPI_SUCCESS;
}

static int disable(mca_coll_base_module_t *base, ompi_communicator_t *comm)
{
    mca_coll_fast_module_t *module = (mca_coll_fast_module_t *) base;

    mca_coll_fast_teardown(module);
#if defined(MCA_COLL_BASE_VERSION_3_0_0)
    if (comm->c_coll->coll_alltoallv_module == &module->super) {
        MCA_COLL_INSTALL_API(comm, alltoallv, module->previous_alltoallv,
                             module->previous_alltoallv_module, "fast");
    }
#else
    (void) comm;
#endif
    return OMPI_SUCCESS;
}

static int effective_priority(void)
{
    int priority = mca_coll_fast_component.priority;

    return priority < 0 && mca_coll_fast_is_named() ? FAST_PRIORITY_WHEN_NAMED : priority;
}

/* Parameter nodes names the server of every rank of MPI_COMM_WORLD, the first
 * communicator that is ever queried. */
static void read_nodes(ompi_communicator_t *world)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;
    char why[400];

    if ('\0' == c->params.nodes[0] || NULL != c->world_server || '\0' != c->bad_value[0]) {
        return;
    }
    c->world_server = calloc(ompi_comm_size(world), sizeof(*c->world_server));
    if (NULL == c->world_server) {
        snprintf(c->bad_value, sizeof(c->bad_value), "nodes: out of memory");
    } else if (FS_OK
               != fs_topo_parse(c->params.nodes, ompi_comm_size(world), c->world_server, why,
                                sizeof(why))) {
        snprintf(c->bad_value, sizeof(c->bad_value), "nodes: %s", why);
    }
}

mca_coll_base_module_t *mca_coll_fast_comm_query(ompi_communicator_t *comm, int *priority)
{
    mca_coll_fast_module_t *module;

    *priority = effective_priority();
    if (*priority < 0 || OMPI_COMM_IS_INTER(comm)) {
        return NULL;
    }
    if (&ompi_mpi_comm_world.comm == comm) {
        mca_coll_fast_component.on_world_rank_0 = 0 == ompi_comm_rank(comm);
        read_nodes(comm);
        if ('\0' != mca_coll_fast_component.bad_value[0]) {
            mca_coll_fast_complain("parameter coll_fast_%s; the job stops here",
                                   mca_coll_fast_component.bad_value);
            (void) ompi_mpi_abort(comm, MPI_ERR_ARG);
            return NULL;
        }
    }
    if (ompi_comm_size(comm) < 2) {
        return NULL;
    }
    module = OBJ_NEW(mca_coll_fast_module_t);
    if (NULL == module) {
        return NULL;
    }
    module->super.coll_module_enable = enable;
    module->super.coll_module_disable = disable;
    module->super.coll_alltoallv = mca_coll_fast_alltoallv;
    return &module->super;
}
