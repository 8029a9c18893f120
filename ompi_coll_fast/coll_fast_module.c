/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Module: one per communicator. Selection is local work only; whatever needs
 * the other ranks waits for the first call.
 */
#include "coll_fast.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ompi/errhandler/errcode.h"
#include "ompi/runtime/mpiruntime.h"

static void construct(mca_coll_fast_module_t *module)
{
    module->comm = NULL;
    module->native = (fast_native_t){.allgather = NULL};
    module->is_set_up = false;
    module->shared = (fs_wrapper_comm_t){.wrapper = &mca_coll_fast_component.wrapper};
    module->own = NULL;
    module->is_beside = module->is_never_beside = module->is_pending = false;
    module->early = NULL;
}

#define RELEASE(name)                              \
    if (NULL != module->native.name##_module) {    \
        OBJ_RELEASE(module->native.name##_module); \
    }

static void destruct(mca_coll_fast_module_t *module)
{
    mca_coll_fast_teardown(module, false);
    FAST_NATIVE(RELEASE)
}

OBJ_CLASS_INSTANCE(mca_coll_fast_module_t, mca_coll_base_module_t, construct, destruct);

int mca_coll_fast_init_query(bool enable_progress_threads, bool enable_mpi_threads)
{
    (void) enable_progress_threads;
    (void) enable_mpi_threads; /* all state is under the network's lock */
    return OMPI_SUCCESS;
}

#define IS_MISSING(name) NULL == comm->c_coll->coll_##name ||

#define SAVE(name)                                                     \
    module->native.name = comm->c_coll->coll_##name;                   \
    module->native.name##_module = comm->c_coll->coll_##name##_module; \
    OBJ_RETAIN(module->native.name##_module);

/* Open MPI 6 leaves it to modules to install their functions. */
#if defined(MCA_COLL_BASE_VERSION_3_0_0)
#    define INSTALL(name) \
        MCA_COLL_INSTALL_API(comm, name, mca_coll_fast_##name, &module->super, "fast");
#    define UNINSTALL(name)                                                                     \
        if (comm->c_coll->coll_##name##_module == &module->super) {                             \
            MCA_COLL_INSTALL_API(comm, name, module->native.name, module->native.name##_module, \
                                 "fast");                                                       \
        }
#else
#    define INSTALL(name)
#    define UNINSTALL(name)
#endif

/* Where the user has not asked for it nothing of ours stands before the MPI's. */
static bool serves_allreduce(void)
{
    return FS_ALLREDUCE_OFF != mca_coll_fast_component.wrapper.params.allreduce;
}

#define SERVE(name) module->super.coll_##name = mca_coll_fast_##name;

/* Capture what was there before us; it is what we fall back to. Nothing here may fail on one rank
 * alone: the others would wait for it. */
static int enable(mca_coll_base_module_t *base, ompi_communicator_t *comm)
{
    mca_coll_fast_module_t *module = (mca_coll_fast_module_t *) base;

    if (FAST_NATIVE(IS_MISSING) false) {
        if (&ompi_mpi_comm_world.comm == comm && 0 == ompi_comm_rank(comm)) {
            mca_coll_fast_complain("not used: no other component serves allgather, allreduce, "
                                   "alltoall, alltoallv, alltoallw and their nonblocking and "
                                   "persistent forms, or coll_fast_priority %d is not above "
                                   "theirs",
                                   mca_coll_fast_component.priority);
        }
        return OMPI_ERR_NOT_FOUND;
    }
    module->comm = comm;
    FAST_NATIVE(SAVE)
    FAST_SERVED(INSTALL)
    if (serves_allreduce()) {
        FAST_REDUCING(INSTALL)
    }
    return OMPI_SUCCESS;
}

static int disable(mca_coll_base_module_t *base, ompi_communicator_t *comm)
{
    mca_coll_fast_module_t *module = (mca_coll_fast_module_t *) base;

    mca_coll_fast_teardown(module, false);
    (void) comm;
    FAST_SERVED(UNINSTALL)
    if (serves_allreduce()) {
        FAST_REDUCING(UNINSTALL)
    }
    return OMPI_SUCCESS;
}

/* One line for all ranks with wrong parameters, before the job ends: an abort
 * silences the other ranks, so those wait for the one that speaks. In MPI_Init; without
 * it (sessions) where the first communicator is made. */
static void refuse(ompi_communicator_t *comm)
{
    enum { END_COMES_S = 5 };

    if (mca_coll_fast_is_first_to_refuse(comm)) {
        mca_coll_fast_complain("parameter coll_fast_%s; the job stops here",
                               mca_coll_fast_component.bad_value);
    } else {
        sleep(END_COMES_S);
    }
    (void) ompi_mpi_abort(comm, MPI_ERR_ARG);
}

/* The component that serves alltoallv instead of us, by the name of its
 * file. */
static void note_server(const ompi_communicator_t *comm)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;
    const char *file;
    Dl_info info;

    if (mca_coll_fast_alltoallv == comm->c_coll->coll_alltoallv
        || 0 == dladdr((void *) (uintptr_t) comm->c_coll->coll_alltoallv, &info)) {
        return;
    }
    file = strrchr(info.dli_fname, '/');
    snprintf(c->served_by, sizeof(c->served_by),
             "MPI_Alltoallv is served by %.64s (coll_fast_priority is %.63s)",
             NULL == file ? info.dli_fname : file + 1, c->standing);
    c->wrapper.served_by = c->served_by;
}

/* One is always kept ahead: a communicator may begin where there is no memory, one of our own in
 * the middle of a call, say. */
static mca_coll_fast_module_t *spare;

static mca_coll_fast_module_t *new_module(void)
{
    mca_coll_fast_module_t *module = OBJ_NEW(mca_coll_fast_module_t), *next, *none = NULL;

    if (NULL == module) {
        return __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQ_REL);
    }
    if (NULL == __atomic_load_n(&spare, __ATOMIC_RELAXED)) {
        next = OBJ_NEW(mca_coll_fast_module_t);
        if (NULL != next
            && !__atomic_compare_exchange_n(&spare, &none, next, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED)) {
            OBJ_RELEASE(next);
        }
    }
    return module;
}

void mca_coll_fast_free_spare(void)
{
    if (NULL != spare) {
        OBJ_RELEASE(spare);
    }
}

mca_coll_base_module_t *mca_coll_fast_comm_query(ompi_communicator_t *comm, int *priority)
{
    mca_coll_fast_module_t *module;

    *priority = mca_coll_fast_component.priority;
    if (*priority < 0 || OMPI_COMM_IS_INTER(comm)) {
        return NULL;
    }
    if ('\0' != mca_coll_fast_component.bad_value[0]) {
        refuse(comm);
        return NULL;
    }
    if (&ompi_mpi_comm_self.comm == comm && NULL != ompi_mpi_comm_world.comm.c_coll) {
        note_server(&ompi_mpi_comm_world.comm); /* which comes first */
    }
    if (ompi_comm_size(comm) < 2) {
        return NULL;
    }
    module = new_module();
    if (NULL == module) {
        /* Without us here the others would wait in their first call, for good. */
        mca_coll_fast_complain("out of memory on rank %d of a new communicator; the job stops here",
                               ompi_comm_rank(comm));
        (void) ompi_mpi_abort(comm, MPI_ERR_NO_MEM);
        return NULL;
    }
    module->super.coll_module_enable = enable;
    module->super.coll_module_disable = disable;
    FAST_SERVED(SERVE)
    if (serves_allreduce()) {
        FAST_REDUCING(SERVE)
    }
    return &module->super;
}
