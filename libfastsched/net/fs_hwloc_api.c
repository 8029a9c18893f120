/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/fs_hwloc_api.h"

#include "base/fs_library.h"

#include <dlfcn.h>

#define FILE_NAME "libhwloc.so.15" /* of hwloc 2 */

fs_hwloc_api_t fs_hwloc;

#define NAME(name) #name,
static const char *const names[] = {FS_HWLOC_CALLS(NAME)};

/* FS_HWLOC_LIBDIR is what pkg-config says of the hwloc that configure found. */
bool fs_hwloc_find(void)
{
    static const char *const files[] = {FILE_NAME,
                                        FS_HWLOC_LIBDIR "/" FILE_NAME, NULL};
    void                    *library = fs_library_open(files, RTLD_LAZY);

    return library != NULL &&
           fs_library_find(library, names, sizeof(names) / sizeof(names[0]),
                           false, &fs_hwloc) == NULL;
}
