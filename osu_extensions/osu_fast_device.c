/* SPDX-License-Identifier: BSD-3-Clause */
#include "osu_fast_device.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- where buffers are ---- */

const char *osu_memory_name(osu_memory_t memory)
{
    static const char *const names[] = {OSU_MEMORY_MAP(FS_LIST_NAME)};

    return names[memory];
}

osu_verdict_t osu_parse_memory(const char *text, osu_memory_t *memory_p,
                               char *why)
{
    for (int i = 0; i < OSU_N_MEMORIES; ++i) {
        if (strcmp(text, osu_memory_name((osu_memory_t)i)) == 0) {
            *memory_p = (osu_memory_t)i;
            return OSU_RUN;
        }
    }
#define X(_memory, _word) ", " #_word
    return osu_bad(why, "-d \"%s\": allowed: %s", text, &OSU_MEMORY_MAP(X)[2]);
#undef X
}

/* ---- a driver's library ---- */

/* The first that there is; why ends with what is wrong with the first. */
static void *open_library(const char *const *names, char why[OSU_WHY_LEN])
{
    void *library = NULL;

    for (size_t i = 0; library == NULL && names[i] != NULL; ++i) {
        library = dlopen(names[i], RTLD_NOW);
        if (library == NULL && i == 0) {
            snprintf(why, OSU_WHY_LEN, "no driver: %s", dlerror());
        }
    }
    return library;
}

/* 0: it is there. */
static int find(void *library, const char *name, void **call_p,
                char why[OSU_WHY_LEN])
{
    *call_p = dlsym(library, name);
    if (*call_p == NULL) {
        snprintf(why, OSU_WHY_LEN, "the driver has no %s", name);
    }
    return *call_p == NULL;
}

static int no_device(char why[OSU_WHY_LEN], const char *call, int error)
{
    snprintf(why, OSU_WHY_LEN, "no device: %s: error %d", call, error);
    return 1;
}

/* Fields of a structure of calls; and to look one up, without an error before:
 * NAME(what follows the prefix, type). */
#define FIELD(name, type) __typeof__((type)0) name;
#define FIND_CUDA(name, type) \
    error = error || find(library, "cu" #name, (void **)&cu.name, why);
#define FIND_HIP(name, type) \
    error = error || find(library, "hip" #name, (void **)&hip.name, why);

/* ---- CUDA ---- */

enum { CU_MEM_ATTACH_GLOBAL = 1 };

#define CUDA_CALLS(NAME)                                         \
    NAME(Init, int (*)(unsigned))                                \
    NAME(DeviceGetCount, int (*)(int *))                         \
    NAME(DeviceGet, int (*)(int *, int))                         \
    NAME(DevicePrimaryCtxRetain, int (*)(void **, int))          \
    NAME(CtxSetCurrent, int (*)(void *))                         \
    NAME(CtxSynchronize, int (*)(void))                          \
    NAME(MemAlloc_v2, int (*)(uint64_t *, size_t))               \
    NAME(MemAllocManaged, int (*)(uint64_t *, size_t, unsigned)) \
    NAME(MemFree_v2, int (*)(uint64_t))                          \
    NAME(Memcpy, int (*)(uint64_t, uint64_t, size_t))            \
    NAME(MemsetD8_v2, int (*)(uint64_t, unsigned char, size_t))

static struct {
    CUDA_CALLS(FIELD)
} cu;

/* The primary context is the one that the runtime and MPIs use. */
static int cuda_use(int ordinal)
{
    void *context;
    int   handle;
    int   error = cu.DeviceGet(&handle, ordinal);

    if (error == 0) {
        error = cu.DevicePrimaryCtxRetain(&context, handle);
    }
    return error != 0 ? error : cu.CtxSetCurrent(context);
}

static int cuda_open(int local_rank, char why[OSU_WHY_LEN])
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    void                    *library = open_library(names, why);
    int                      error = library == NULL, n = 0;

    CUDA_CALLS(FIND_CUDA)
    if (error != 0) {
        return error;
    }
    error = cu.Init(0);
    if (error != 0) {
        return no_device(why, "cuInit", error);
    }
    error = cu.DeviceGetCount(&n);
    if (error != 0 || n == 0) {
        return no_device(why, "cuDeviceGetCount", error);
    }
    error = cuda_use(local_rank % n);
    return error == 0 ? 0 : no_device(why, "cuCtxSetCurrent", error);
}

static int cuda_alloc(void **p, size_t len, bool managed)
{
    uint64_t address = 0;
    int      error   = managed
                           ? cu.MemAllocManaged(&address, len, CU_MEM_ATTACH_GLOBAL)
                           : cu.MemAlloc_v2(&address, len);

    *p = (void *)(uintptr_t)address;
    return error;
}

static int cuda_free(void *p)
{
    return cu.MemFree_v2((uintptr_t)p);
}

static int cuda_copy(void *dst, const void *src, size_t len)
{
    int error = cu.Memcpy((uintptr_t)dst, (uintptr_t)src, len);

    return error != 0 ? error : cu.CtxSynchronize();
}

static int cuda_set(void *p, int value, size_t len)
{
    int error = cu.MemsetD8_v2((uintptr_t)p, (unsigned char)value, len);

    return error != 0 ? error : cu.CtxSynchronize();
}

static const osu_driver_t cuda = {cuda_open, cuda_alloc, cuda_free, cuda_copy,
                                  cuda_set};

/* ---- HIP ---- */

enum { HIP_MEM_ATTACH_GLOBAL = 1, HIP_MEMCPY_DEFAULT = 4 };

#define HIP_CALLS(NAME)                                      \
    NAME(GetDeviceCount, int (*)(int *))                     \
    NAME(SetDevice, int (*)(int))                            \
    NAME(DeviceSynchronize, int (*)(void))                   \
    NAME(Malloc, int (*)(void **, size_t))                   \
    NAME(MallocManaged, int (*)(void **, size_t, unsigned))  \
    NAME(Free, int (*)(void *))                              \
    NAME(Memcpy, int (*)(void *, const void *, size_t, int)) \
    NAME(Memset, int (*)(void *, int, size_t))

static struct {
    HIP_CALLS(FIELD)
} hip;

static int hip_open(int local_rank, char why[OSU_WHY_LEN])
{
    static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                        "libamdhip64.so.5", NULL};
    void                    *library = open_library(names, why);
    int                      error = library == NULL, n = 0;

    HIP_CALLS(FIND_HIP)
    if (error != 0) {
        return error;
    }
    error = hip.GetDeviceCount(&n);
    if (error != 0 || n == 0) {
        return no_device(why, "hipGetDeviceCount", error);
    }
    error = hip.SetDevice(local_rank % n);
    return error == 0 ? 0 : no_device(why, "hipSetDevice", error);
}

static int hip_alloc(void **p, size_t len, bool managed)
{
    return managed ? hip.MallocManaged(p, len, HIP_MEM_ATTACH_GLOBAL)
                   : hip.Malloc(p, len);
}

static int hip_free(void *p)
{
    return hip.Free(p);
}

static int hip_copy(void *dst, const void *src, size_t len)
{
    int error = hip.Memcpy(dst, src, len, HIP_MEMCPY_DEFAULT);

    return error != 0 ? error : hip.DeviceSynchronize();
}

static int hip_set(void *p, int value, size_t len)
{
    int error = hip.Memset(p, value, len);

    return error != 0 ? error : hip.DeviceSynchronize();
}

static const osu_driver_t rocm = {hip_open, hip_alloc, hip_free, hip_copy,
                                  hip_set};

/* ---- which device ---- */

/* As the launcher says: Open MPI, MPICH and Intel MPI, Slurm; -1: it does not. */
static int launcher_says(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK",
                                        "MPI_LOCALRANKID", "SLURM_LOCALID"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        const char *value = getenv(names[i]);
        char       *end;
        long        rank = value == NULL ? -1 : strtol(value, &end, 10);

        if (rank >= 0 && end != value && *end == '\0' && rank <= INT32_MAX) {
            return (int)rank;
        }
    }
    return -1;
}

static int mpi_says(MPI_Comm comm)
{
    MPI_Comm host;
    int      rank;

    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank);
    MPI_Comm_free(&host);
    return rank;
}

static void try_driver(osu_device_t *device, const osu_driver_t *driver,
                       const char *name, int local_rank)
{
    char   why[OSU_WHY_LEN] = "";
    size_t at               = strlen(device->why);

    if (driver->open(local_rank, why) == 0) {
        device->driver = driver;
        return;
    }
    snprintf(device->why + at, sizeof(device->why) - at, "%s%s: %s",
             at == 0 ? "" : "; ", name, why);
}

static void open_device(osu_device_t *device, int local_rank)
{
    device->tried = true;
    if (device->memory != OSU_ROCM) {
        try_driver(device, &cuda, "CUDA", local_rank);
    }
    if (device->memory != OSU_CUDA && device->driver == NULL) {
        try_driver(device, &rocm, "HIP", local_rank);
    }
}

void osu_device_open(osu_memory_t memory, osu_device_t *device)
{
    int local_rank = launcher_says();

    *device = (osu_device_t){.memory = memory, .tried = memory == OSU_HOST};
    if (!device->tried && local_rank >= 0) {
        open_device(device, local_rank);
    }
}

bool osu_device_ready(MPI_Comm comm, osu_device_t *device,
                      char why[OSU_WHY_LEN])
{
    int local_rank = mpi_says(comm), n, rank, lowest;

    if (!device->tried) {
        open_device(device, local_rank);
    }
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &rank);
    lowest = device->memory == OSU_HOST || device->driver != NULL ? n : rank;
    MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, comm);
    if (lowest == n) {
        return true;
    }
    snprintf(why, OSU_WHY_LEN, "-d %s: %.*s", osu_memory_name(device->memory),
             OSU_WHY_LEN - 32, device->why);
    MPI_Bcast(why, OSU_WHY_LEN, MPI_CHAR, lowest, comm);
    return false;
}

/* ---- memory ---- */

void *osu_device_alloc(const osu_device_t *device, size_t len)
{
    void *p = NULL;

    if (device->driver == NULL) {
        return malloc(len);
    }
    return device->driver->alloc(&p, len, device->memory == OSU_MANAGED) == 0
               ? p
               : NULL;
}

void osu_device_free(const osu_device_t *device, void *p)
{
    if (device->driver == NULL) {
        free(p);
    } else if (p != NULL) {
        device->driver->free(p);
    }
}

static void must(const osu_device_t *device, const char *what, int error)
{
    if (error != 0) {
        fprintf(stderr, "-d %s: the driver cannot %s: error %d\n",
                osu_memory_name(device->memory), what, error);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

void osu_device_copy(const osu_device_t *device, void *dst, const void *src,
                     size_t len)
{
    if (device->driver == NULL) {
        memcpy(dst, src, len);
    } else if (len > 0) {
        must(device, "copy", device->driver->copy(dst, src, len));
    }
}

void osu_device_set(const osu_device_t *device, void *p, int value, size_t len)
{
    if (device->driver == NULL) {
        memset(p, value, len);
    } else if (len > 0) {
        must(device, "set memory", device->driver->set(p, value, len));
    }
}
