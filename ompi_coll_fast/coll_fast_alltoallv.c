/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Alltoallv, blocking. */
#include "coll_fast.h"

/* One true line per call, on rank 0 of the communicator. */
static void report(const mca_coll_fast_module_t *module)
{
    const fs_wrapper_t *w = &mca_coll_fast_component.wrapper;

    if (w->params.verbose > 0 && 0 == ompi_comm_rank(module->comm)) {
        fs_wrapper_report(w, module->coll, module->comm->c_name);
    }
}

static int failed(const mca_coll_fast_module_t *module, fs_status_t status)
{
    mca_coll_fast_complain("MPI_Alltoallv failed on %s: %s", module->comm->c_name,
                           fs_coll_error(module->coll));
    return mca_coll_fast_error(status);
}

static int run(mca_coll_fast_module_t *module, const fast_args_t *args, bool *ran)
{
    const fs_call_t *call =
        mca_coll_fast_call_begin(module->scratch, args, mca_coll_fast_on_device(module, args));
    fs_status_t status =
        fs_wrapper_alltoallv(&mca_coll_fast_component.wrapper, module->coll, call, ran);

    /* After a failed exchange the network may still read the in-place copy. */
    mca_coll_fast_call_end(module->scratch, FS_OK == status || FS_ERR_MISMATCH == status
                                                || FS_ERR_UNSUPPORTED == status);
    return FS_OK == status ? OMPI_SUCCESS : failed(module, status);
}

/* To what served the communicator before us. */
static int call_previous(mca_coll_fast_module_t *module, const fast_args_t *a)
{
    return module->previous_alltoallv(a->sbuf, a->scounts, a->sdispls, a->sdtype, a->rbuf,
                                      a->rcounts, a->rdispls, a->rdtype, module->comm,
                                      module->previous_alltoallv_module);
}

static int forward(mca_coll_fast_module_t *module, const fast_args_t *args)
{
    return mca_coll_fast_by_host(module, args, call_previous);
}

/* If it fails on this rank alone, the others may yet wait for our word about its time. */
static int run_previous(mca_coll_fast_module_t *module, const fast_args_t *a)
{
    int rc = forward(module, a);
    fs_status_t status = fs_coll_host_done(module->coll);

    return OMPI_SUCCESS != rc || FS_OK == status ? rc : failed(module, status);
}

/* All that this rank sends. Looked at before anything else is, so it is short. */
static uint64_t sent_bytes(const mca_coll_fast_module_t *module, const fast_args_t *a)
{
    bool in_place = MPI_IN_PLACE == a->sbuf;
    FAST_COUNTS counts = in_place ? a->rcounts : a->scounts;
    int size = ompi_comm_size(module->comm);
    uint64_t count = 0;
    size_t type_size;

    ompi_datatype_type_size(in_place ? a->rdtype : a->sdtype, &type_size);
    for (int r = 0; r < size; ++r) {
        count += FAST_COUNT(counts, r);
    }
    return count * type_size;
}

static int serve(mca_coll_fast_module_t *module, const fast_args_t *args)
{
    bool ran = false;
    int rc = OMPI_SUCCESS;

    if (!fs_coll_skip(module->coll, sent_bytes(module, args))) {
        rc = run(module, args, &ran);
    }
    if (OMPI_SUCCESS == rc && !ran) {
        rc = run_previous(module, args);
    }
    if (OMPI_SUCCESS == rc) {
        report(module);
    }
    return rc;
}

/* On one server a call may take 200 ns: little stands before previous_alltoallv. */
int mca_coll_fast_alltoallv(const void *sbuf, FAST_COUNTS scounts, FAST_DISPLS sdispls,
                            ompi_datatype_t *sdtype, void *rbuf, FAST_COUNTS rcounts,
                            FAST_DISPLS rdispls, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                            mca_coll_base_module_t *base)
{
    mca_coll_fast_module_t *module = (mca_coll_fast_module_t *) base;
    fast_args_t args = {sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype, NULL};
    mca_coll_fast_next_fn_t *next;

    (void) comm;
    fs_wrapper_enter(&mca_coll_fast_component.wrapper);
    if (FAST_UNTRIED == module->state) {
        int rc = mca_coll_fast_setup(module);

        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    next = FAST_READY == module->state ? serve : forward;
    return fs_wrapper_has_accel(&mca_coll_fast_component.wrapper)
               ? mca_coll_fast_look_for_device(module, &args, next)
               : next(module, &args);
}
