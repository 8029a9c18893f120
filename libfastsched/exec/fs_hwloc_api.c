/* SPDX-License-Identifier: BSD-3-Clause */
#include "exec/fs_hwloc_api.h"

#include <dlfcn.h>

#define FILE_NAME "libhwloc.so.15" /* of hwloc 2 */

fs_hwloc_api_t fs_hwloc;

/* FS_HWLOC_LIBDIR is what pkg-config says of the hwloc that configure found. */
static void *open_library(void)
{
    void *library = dlopen(FILE_NAME, RTLD_LAZY);

    return library != NULL ? library
                           : dlopen(FS_HWLOC_LIBDIR "/" FILE_NAME, RTLD_LAZY);
}

#define FIND(name)                                    \
    *(void **)&fs_hwloc.name = dlsym(library, #name); \
    found                    = found && fs_hwloc.name != NULL;

bool fs_hwloc_find(void)
{
    void *library = open_library();
    bool  found   = library != NULL;

    if (found) {
        FS_HWLOC_CALLS(FIND)
    }
    return found;
}
