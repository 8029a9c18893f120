/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A libcuda.so.1 without a GPU: enough of the driver for libfastsched, over
 * memory of the host that no CPU may touch. What is "on the device" is mapped
 * twice: where the program is told it is, without any access, so that whoever
 * touches it ends with SIGSEGV; and at an alias, known to this library and to
 * the tests. Copies and kernels run when somebody waits for their stream, not
 * before, and only with a context that is current.
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* For tests, without a context. */
int fake_cuda_alloc(uint64_t *address_p, size_t len_bytes, int device);
int fake_cuda_free(uint64_t address);

/* From now on the n-th call of the function of that name fails; NULL: none. The
 * name stays. */
void fake_cuda_fail(const char *name, unsigned n);
/* It has. */
int fake_cuda_has_failed(void);

/* Where a test may look at the memory at an address of the device. */
void *fake_cuda_alias(uint64_t address);

/* Kernels that have run. */
unsigned fake_cuda_kernels(void);

#endif
