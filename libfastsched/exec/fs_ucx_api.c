/* SPDX-License-Identifier: BSD-3-Clause */
#include "exec/fs_ucx_api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

fs_ucx_api_t fs_ucx;

#define FILE_NAME "libucp.so.0"

/* FS_UCX_LIBDIR is what pkg-config says of the UCX that configure found. */
static void *open_library(void)
{
    void *library = dlopen(FILE_NAME, RTLD_LAZY);

    return library != NULL ? library
                           : dlopen(FS_UCX_LIBDIR "/" FILE_NAME, RTLD_LAZY);
}

/* As the loader would: what stands before UCX, a tool say, comes first. */
static void *find(void *library, const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);

    return function != NULL ? function : dlsym(library, name);
}

#define FIND(name)                                 \
    *(void **)&fs_ucx.name = find(library, #name); \
    missing                = fs_ucx.name == NULL ? #name : missing;

fs_status_t fs_ucx_find(char *why, size_t why_len)
{
    const char *missing = NULL;
    void       *library = open_library();

    if (library == NULL) {
        snprintf(why, why_len, "%s", dlerror());
        return FS_ERR_UNSUPPORTED;
    }
    FS_UCX_CALLS(FIND)
    if (missing != NULL) {
        snprintf(why, why_len, FILE_NAME " has no %s, it is too old", missing);
        return FS_ERR_UNSUPPORTED;
    }
    return FS_OK;
}
