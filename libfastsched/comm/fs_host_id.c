/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/fs_host_id.h"

#include "base/fs_digest.h"
#include "trace/fs_boot.h"

#include <string.h>
#include <sys/stat.h>

uint64_t fs_host_id(void)
{
    char        boot[64];
    struct stat shm;

    if (!fs_boot_name(boot, sizeof(boot)) || stat("/dev/shm", &shm) != 0) {
        return 0;
    }
    return fs_digest_add(fs_digest_add_bytes(0, boot, strlen(boot)),
                         shm.st_dev);
}
