/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fs_library.h"

#include <dlfcn.h>

void *fs_library_open(const char *const *files, int mode)
{
    void *library = NULL;

    while (library == NULL && *files != NULL) {
        library = dlopen(*files++, mode);
    }
    return library;
}

const char *fs_library_find(void *library, const char *const *names, size_t n,
                            bool interposed, void *functions)
{
    void      **function = functions;
    const char *missing  = NULL;

    for (size_t k = 0; k < n; ++k) {
        function[k] = interposed ? dlsym(RTLD_DEFAULT, names[k]) : NULL;
        if (function[k] == NULL) {
            function[k] = dlsym(library, names[k]);
        }
        if (function[k] == NULL) {
            missing = names[k];
        }
    }
    return missing;
}
