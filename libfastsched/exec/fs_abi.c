/* SPDX-License-Identifier: BSD-3-Clause */
#include "fastsched_abi.h"

#include <string.h>

const char *fs_abi_mismatch(fs_abi_t abi)
{
    fs_abi_t own = fs_abi();

    return memcmp(&abi, &own, sizeof(own)) == 0
               ? NULL
               : "the program was built for another version of libfastsched.so "
                 "than the one that was loaded (" FS_VERSION
                 "): put the right one first in LD_LIBRARY_PATH, or build the "
                 "program again";
}
