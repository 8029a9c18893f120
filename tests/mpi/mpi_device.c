/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_test.h"

#include <dlfcn.h>

static int (*alloc_memory)(uint64_t *address_p, size_t len_bytes, int device);
static int (*free_memory)(uint64_t address);
static void *(*find_alias)(uint64_t address);

void device_open(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);

    if (driver == NULL) {
        fail("--device: %s", dlerror());
    }
    *(void **)&alloc_memory = dlsym(driver, "fake_cuda_alloc");
    *(void **)&free_memory  = dlsym(driver, "fake_cuda_free");
    *(void **)&find_alias   = dlsym(driver, "fake_cuda_alias");
    if (find_alias == NULL) {
        fail("--device is for the driver of tests/accel");
    }
}

void device_alloc(size_t len, int device, uint64_t *address_p,
                  unsigned char **alias_p)
{
    if (alloc_memory(address_p, len, device) != 0) {
        fail("no memory on the device");
    }
    *alias_p = find_alias(*address_p);
}

void device_free(uint64_t address)
{
    (void)free_memory(address);
}
