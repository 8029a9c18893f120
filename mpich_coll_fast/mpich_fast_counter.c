/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpich_coll_fast.h"

#include "mpich_fast.h"

#include <limits.h>
#include <string.h>

__attribute__((visibility("default"))) unsigned long long mpich_fast_counter(const char *name)
{
    static const char calls_by[] = "calls_";
    const fs_wrapper_t *w = &mpich_fast_wrapper;

    if (0 == strncmp(name, calls_by, sizeof(calls_by) - 1)) {
        for (unsigned alg = FS_ALG_NATIVE + 1; alg < FS_N_ALGS; ++alg) {
            if (0 == strcmp(name + sizeof(calls_by) - 1, fs_alg_name((fs_alg_t) alg))) {
                return w->calls_by[alg];
            }
        }
    }
    return 0 == strcmp(name, "calls")            ? w->calls
           : 0 == strcmp(name, "inter_bytes")    ? w->inter_bytes
           : 0 == strcmp(name, "last_algorithm") ? w->last_algorithm
                                                 : ULLONG_MAX;
}
