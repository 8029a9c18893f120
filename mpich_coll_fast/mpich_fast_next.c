/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MPI behind us. There is no undefined PMPI_ symbol in this library and no
 * MPI that it needs, so that it can be preloaded into anything: hydra, a shell,
 * a Python that opens the MPI much later.
 */
#include "mpich_fast.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mpich_fast_mpi_t mpi;

/* After us in the order of loading; or where somebody has opened an MPI for himself. */
static void *find(const char *name)
{
    static const char *const libraries[] = {MPICH_FAST_LIBRARIES};
    void *function = dlsym(RTLD_NEXT, name);

    for (size_t k = 0; NULL == function && k < sizeof(libraries) / sizeof(libraries[0]); ++k) {
        void *library = dlopen(libraries[k], RTLD_LAZY | RTLD_NOLOAD);

        if (NULL != library) {
            function = dlsym(library, name);
            dlclose(library); /* it stays: we have not loaded it */
        }
    }
    return function;
}

void *mpich_fast_next(const char *name)
{
    void *function = find(name);

    if (NULL == function) {
        fprintf(stderr,
                "coll fast: no %s in this process; " MPICH_FAST_NAME
                " needs an MPI library after it\n",
                name);
        abort();
    }
    return function;
}

bool mpich_fast_is_passed;

/* The MPI is where PMPI_Init is: somebody may stand before a single PMPI_ function of it. */
void *mpich_fast_tool(const char *name)
{
    char behind[64];
    Dl_info of_tool, of_mpi;
    void *tool = find(name), *init = find("PMPI_Init");

    snprintf(behind, sizeof(behind), "P%s", name);
    if (NULL == tool || NULL == init || NULL == find(behind)
        || (mpich_fast_is_passed && mpich_fast_enabled) || 0 == dladdr(tool, &of_tool)
        || 0 == dladdr(init, &of_mpi)) {
        return NULL;
    }
    return of_tool.dli_fbase == of_mpi.dli_fbase ? NULL : tool;
}

/* ---- is it of our ABI? ---- */

typedef int abi_version_fn_t(int *major, int *minor);

/* It is a call that may be made before MPI_Init, and has no handles. */
static bool is_of_standard_abi(void)
{
    abi_version_fn_t *get_abi = (abi_version_fn_t *) find("PMPI_Abi_get_version");
    int major = -1, minor;

    return NULL != get_abi && 0 == get_abi(&major, &minor) && major >= 0;
}

#ifdef FS_MPI_ABI

static const char *refuse_abi(void)
{
    return is_of_standard_abi() ? NULL : "it has another";
}

#else

typedef int library_version_fn_t(char *version, int *len);

/* Nor has this call any. */
static const char *refuse_abi(void)
{
    static const char *const known[] = {"MPICH", "Intel(R) MPI", "MVAPICH", "ParaStation"};
    static char version[MPI_MAX_LIBRARY_VERSION_STRING * 2];
    library_version_fn_t *get_version = (library_version_fn_t *) find("PMPI_Get_library_version");
    int len;

    if (is_of_standard_abi()) {
        return "it has the ABI of the MPI 5 standard";
    }
    if (NULL == get_version || 0 != get_version(version, &len)) {
        return "it does not say what it is";
    }
    version[strcspn(version, "\n")] = '\0';
    for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); ++k) {
        if (NULL != strstr(version, known[k])) {
            return NULL;
        }
    }
    return version;
}

#endif

#define FIND(name)  mpi.name = (__typeof__(mpi.name)) find("PMPI_" #name);
#define CHECK(name) missing = NULL == mpi.name ? "it has no PMPI_" #name : missing;

const char *mpich_fast_find_mpi(void)
{
    const char *missing = refuse_abi();

    if (NULL == missing) {
        MPICH_FAST_CALLS(FIND)
        MPICH_FAST_NEW_CALLS(FIND)
#ifndef FS_MPI_ABI
        mpi.Xgrequest_start = (__typeof__(mpi.Xgrequest_start)) find("PMPIX_Grequest_start");
        mpi.Async_start = (__typeof__(mpi.Async_start)) find("PMPIX_Async_start");
#endif
        MPICH_FAST_CALLS(CHECK)
    }
    return missing;
}
