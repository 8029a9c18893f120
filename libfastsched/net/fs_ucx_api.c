/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/fs_ucx_api.h"

#include "base/fs_library.h"

#include <dlfcn.h>
#include <stdio.h>

fs_ucx_api_t fs_ucx;

#define FILE_NAME "libucp.so.0"

#define NAME(name) #name,
static const char *const names[] = {FS_UCX_CALLS(NAME)};

/* FS_UCX_LIBDIR is what pkg-config says of the UCX that configure found. */
fs_status_t fs_ucx_find(char *why, size_t why_len)
{
    static const char *const files[] = {FILE_NAME, FS_UCX_LIBDIR "/" FILE_NAME,
                                        NULL};
    void                    *library = fs_library_open(files, RTLD_LAZY);
    const char              *missing;

    if (library == NULL) {
        snprintf(why, why_len, "%s", dlerror());
        return FS_ERR_UNSUPPORTED;
    }
    missing = fs_library_find(library, names, sizeof(names) / sizeof(names[0]),
                              true, &fs_ucx);
    if (missing != NULL) {
        snprintf(why, why_len, FILE_NAME " has no %s, it is too old", missing);
        return FS_ERR_UNSUPPORTED;
    }
    return FS_OK;
}
