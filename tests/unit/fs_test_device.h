/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the drivers of tests/accel, which no CPU may touch but at its alias. */
#ifndef FS_TEST_DEVICE_H
#define FS_TEST_DEVICE_H

#include <stddef.h>

/* "accel/libcuda.so.1", say. It stays. */
void fs_test_device_load(const char *library);

void *fs_test_device_alloc(size_t len);
void  fs_test_device_free(void *address);
void *fs_test_device_alias(const void *address);

/* Kernels that have run. */
unsigned fs_test_device_kernels(void);

#endif
