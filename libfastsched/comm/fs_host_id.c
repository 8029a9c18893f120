/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/fs_host_id.h"

#include "base/fs_digest.h"

#include <stdio.h>
#include <sys/stat.h>

uint64_t fs_host_id(void)
{
    FILE       *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    uint64_t    id   = 0;
    struct stat shm;
    int         byte;

    if (file == NULL) {
        return 0;
    }
    while ((byte = getc(file)) != EOF) {
        id = fs_digest_add(id, (uint64_t)byte);
    }
    (void)fclose(file);
    return id == 0 || stat("/dev/shm", &shm) != 0
               ? 0
               : fs_digest_add(id, shm.st_dev);
}
