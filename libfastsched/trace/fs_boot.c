/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/fs_boot.h"

#include <stdio.h>
#include <string.h>

bool fs_boot_name(char *name, size_t len)
{
    FILE *file  = fopen("/proc/sys/kernel/random/boot_id", "re");
    bool  known = file != NULL && fgets(name, (int)len, file) != NULL;

    if (file != NULL) {
        (void)fclose(file);
    }
    if (known) {
        name[strcspn(name, "\n")] = '\0';
    }
    return known;
}
