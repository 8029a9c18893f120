/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the drivers of tests/accel, which no CPU may touch but at its alias. */
#ifndef FS_TEST_DEVICE_H
#define FS_TEST_DEVICE_H

#include <stddef.h>

/* "accel/libcuda.so.1", say. It stays. */
void fs_test_device_load(const char *library);

/* Two devices, 0 and 1. */
void *fs_test_device_alloc(size_t len, int device);
void  fs_test_device_free(void *address);
void *fs_test_device_alias(const void *address);

/* The n-th call of that name from now on fails. */
void fs_test_device_fail(const char *name, unsigned n);
/* How many have: 1 or 0. */
unsigned fs_test_device_has_failed(void);

/* Kernels that have run. */
unsigned fs_test_device_kernels(void);

#endif
