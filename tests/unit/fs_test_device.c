/* SPDX-License-Identifier: BSD-3-Clause */
#include "fs_test_device.h"

#include <check.h>
#include <dlfcn.h>
#include <stdint.h>

static int (*alloc_memory)(uint64_t *address_p, size_t len_bytes);
static int (*free_memory)(uint64_t address);
static void *(*find_alias)(uint64_t address);
static unsigned (*n_kernels)(void);

void fs_test_device_load(const char *name)
{
    void *library = dlopen(name, RTLD_NOW);

    ck_assert_msg(library != NULL, "%s", dlerror());
    *(void **)&alloc_memory = dlsym(library, "cuMemAlloc_v2");
    *(void **)&free_memory  = dlsym(library, "cuMemFree_v2");
    *(void **)&find_alias   = dlsym(library, "fake_cuda_alias");
    *(void **)&n_kernels    = dlsym(library, "fake_cuda_kernels");
}

void *fs_test_device_alloc(size_t len)
{
    uint64_t address = 0;

    ck_assert_int_eq(alloc_memory(&address, len), 0);
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

unsigned fs_test_device_kernels(void)
{
    return n_kernels();
}
