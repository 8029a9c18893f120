/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MPI's own MPI_Alltoallv, in the process and while fast is there.
 *
 * Open MPI: on a duplicate whose info keeps fast out of the selection, so that
 * the components below it serve all of its collectives. MPICH: by the address of
 * the function in the MPI's library, which the preloaded one stands before.
 */
#include "stress.h"

#include <dlfcn.h>

#ifdef OPEN_MPI

MPI_Comm reference_open(MPI_Comm comm)
{
    MPI_Comm reference;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "ompi_comm_coll_preference", "^fast");
    must(MPI_Comm_dup_with_info(comm, info, &reference),
         "MPI_Comm_dup_with_info");
    MPI_Info_free(&info);
    return reference;
}

void reference_close(MPI_Comm *reference)
{
    must(MPI_Comm_free(reference), "MPI_Comm_free");
}

alltoallv_fn reference_function(void)
{
    return MPI_Alltoallv;
}

#else

MPI_Comm reference_open(MPI_Comm comm)
{
    return comm;
}

void reference_close(MPI_Comm *reference)
{
    *reference = MPI_COMM_NULL;
}

static alltoallv_fn find(void)
{
    void *library = dlopen("libmpich.so.12", RTLD_LAZY | RTLD_NOLOAD);
    void *function;

    if (library == NULL) {
        library = dlopen("libmpi.so.12", RTLD_LAZY | RTLD_NOLOAD);
    }
    function = library != NULL ? dlsym(library, "PMPI_Alltoallv") : NULL;
    if (function == NULL) {
        fail("the MPI's own MPI_Alltoallv is not found");
    }
    return (alltoallv_fn)function;
}

alltoallv_fn reference_function(void)
{
    static alltoallv_fn own; /* two threads that look find the same */

    if (own == NULL) {
        own = find();
    }
    return own;
}

#endif
