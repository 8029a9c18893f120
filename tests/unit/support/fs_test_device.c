/* SPDX-License-Identifier: BSD-3-Clause */
#include "fs_test_device.h"

#include <check.h>
#include <dlfcn.h>
#include <stdint.h>

static int (*alloc_memory)(uint64_t *address_p, size_t len_bytes, int device);
static int (*free_memory)(uint64_t address);
static void *(*find_alias)(uint64_t address);
static unsigned (*n_kernels)(void);
static int (*has_failed)(void);
static void (*fail_call)(const char *name, unsigned n);

void fs_test_device_load(const char *name)
{
    void *library = dlopen(name, RTLD_NOW);

    ck_assert_msg(library != NULL, "%s", dlerror());
    *(void **)&alloc_memory = dlsym(library, "fake_cuda_alloc");
    *(void **)&free_memory  = dlsym(library, "fake_cuda_free");
    *(void **)&find_alias   = dlsym(library, "fake_cuda_alias");
    *(void **)&n_kernels    = dlsym(library, "fake_cuda_kernels");
    *(void **)&fail_call    = dlsym(library, "fake_cuda_fail");
    *(void **)&has_failed   = dlsym(library, "fake_cuda_has_failed");
}

void *fs_test_device_alloc(size_t len, int device)
{
    uint64_t address = 0;

    ck_assert_int_eq(alloc_memory(&address, len, device), 0);
    return (void *)(uintptr_t)address;
}

void fs_test_device_free(void *address)
{
    ck_assert_int_eq(free_memory((uintptr_t)address), 0);
}

void *fs_test_device_alias(const void *address)
{
    return find_alias((uintptr_t)address);
}

unsigned fs_test_device_has_failed(void)
{
    return (unsigned)has_failed();
}

void fs_test_device_fail(const char *name, unsigned n)
{
    fail_call(name, n);
}

unsigned fs_test_device_kernels(void)
{
    return n_kernels();
}
