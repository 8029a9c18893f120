/* SPDX-License-Identifier: BSD-3-Clause */
/* A libamdhip64 without a GPU: the memory and the streams of fake_cuda.c under
 * HIP's names. MAJOR: its version, 6 or 7. */
#include "fake_cuda.c"

#if MAJOR < 7
#include "fake_hiprtc.c"
#endif

enum {
    VERSION             = MAJOR * 10000000,
    MEMCPY_DEFAULT      = 4,
    HIP_MULTIPROCESSORS = 63
};

/* Disable timing, release to system. */
#define EVENT_FLAGS 0x80000002u

static _Thread_local int current_device;

/* Of this thread: HIP keeps it until somebody asks. */
static _Thread_local int last_error;

static int noted(int error)
{
    last_error = error != SUCCESS ? error : last_error;
    return error;
}

int hipPointerGetAttribute(void *value, int which, void *address)
{
    return noted(fake_cuda_attribute(value, which, (uintptr_t)address));
}

int hipRuntimeGetVersion(int *version_p)
{
    *version_p = VERSION;
    return SUCCESS;
}

int hipGetDevice(int *device_p)
{
    *device_p = current_device;
    return SUCCESS;
}

int hipSetDevice(int device)
{
    if (device < 0 || device >= N_DEVICES) {
        return noted(INVALID_VALUE);
    }
    current_device = device;
    return SUCCESS;
}

int hipFree(void *address)
{
    return noted(fake_cuda_free((uintptr_t)address));
}

int hipGetLastError(void)
{
    int error = last_error;

    last_error = SUCCESS;
    return error;
}

/* The device of a thread is its context. */
#define ON_DEVICE(call)                                                    \
    (cuCtxPushCurrent_v2(&contexts[current_device]) == 0 ? on_device(call) \
                                                         : OUT_OF_MEMORY)

static int on_device(int error)
{
    --depth;
    return noted(error);
}

int hipHostMalloc(void **address_p, size_t len_bytes, unsigned flags)
{
    return flags != 0 ? noted(INVALID_VALUE)
                      : ON_DEVICE(cuMemAllocHost_v2(address_p, len_bytes));
}

int hipHostFree(void *address)
{
    return ON_DEVICE(cuMemFreeHost(address));
}

int hipMalloc(void **address_p, size_t len_bytes)
{
    uint64_t address = 0;
    int      error   = ON_DEVICE(cuMemAlloc_v2(&address, len_bytes));

    *address_p = (void *)(uintptr_t)address;
    return error;
}

int hipStreamCreateWithFlags(stream_t **stream_p, unsigned flags)
{
    return ON_DEVICE(cuStreamCreate(stream_p, flags));
}

int hipStreamDestroy(stream_t *stream)
{
    return ON_DEVICE(cuStreamDestroy_v2(stream));
}

int hipEventCreateWithFlags(event_t **event_p, unsigned flags)
{
    return flags != EVENT_FLAGS ? noted(INVALID_VALUE)
                                : ON_DEVICE(cuEventCreate(event_p, flags));
}

int hipEventDestroy(event_t *event)
{
    return ON_DEVICE(cuEventDestroy_v2(event));
}

int hipEventRecord(event_t *event, stream_t *stream)
{
    return ON_DEVICE(cuEventRecord(event, stream));
}

int hipEventQuery(event_t *event)
{
    return noted(cuEventQuery(event));
}

int hipMemcpyAsync(void *dst, const void *src, size_t len, int kind,
                   stream_t *stream)
{
    return kind != MEMCPY_DEFAULT
               ? INVALID_VALUE
               : ON_DEVICE(cuMemcpyAsync((uintptr_t)dst, (uintptr_t)src, len,
                                         stream));
}

int hipStreamSynchronize(stream_t *stream)
{
    return cuStreamSynchronize(stream);
}

/* The model stands somewhere in hipDeviceProp_t. */
int hipGetDevicePropertiesR0600(void *properties, int device)
{
    enum { AT = 1160 };

    strcpy((char *)properties + AT, "gfx90a:xnack-");
    return device >= 0 && device < N_DEVICES ? SUCCESS : noted(INVALID_VALUE);
}

int hipDeviceGetAttribute(int *value, int which, int device)
{
    return which == HIP_MULTIPROCESSORS
               ? cuDeviceGetAttribute(value, MULTIPROCESSOR_COUNT, device)
               : INVALID_VALUE;
}

/* The code stays the caller's until the module is unloaded. */
static const void *loaded_code[N_DEVICES];

int hipModuleLoadData(void **module_p, const void *code_of_it)
{
    loaded_code[current_device] = code_of_it;
    return ON_DEVICE(cuModuleLoadData(module_p, code_of_it));
}

int hipModuleGetFunction(void **function_p, void *of, const char *name)
{
    return noted(cuModuleGetFunction(function_p, of, name));
}

int hipModuleUnload(void *what)
{
    loaded_code[current_device] = NULL;
    return ON_DEVICE(cuModuleUnload(what));
}

int hipModuleLaunchKernel(void *what, unsigned blocks, unsigned y, unsigned z,
                          unsigned threads, unsigned thread_y,
                          unsigned thread_z, unsigned shared, stream_t *stream,
                          void **params, void **extra)
{
    if (strncmp(loaded_code[current_device], ".version", strlen(".version")) !=
        0) {
        abort();
    }
    return ON_DEVICE(cuLaunchKernel(what, blocks, y, z, threads, thread_y,
                                    thread_z, shared, stream, params, extra));
}

int hipGetDeviceCount(int *n_p)
{
    return cuDeviceGetCount(n_p);
}

int hipDeviceSynchronize(void)
{
    return SUCCESS;
}

int hipMallocManaged(void **address_p, size_t len_bytes, unsigned flags)
{
    uint64_t address = 0;
    int      error   = ON_DEVICE(cuMemAllocManaged(&address, len_bytes, flags));

    *address_p = (void *)(uintptr_t)address;
    return error;
}

int hipMemcpy(void *dst, const void *src, size_t len, int kind)
{
    if (kind != MEMCPY_DEFAULT) {
        return INVALID_VALUE;
    }
    memcpy(reachable((uintptr_t)dst), reachable((uintptr_t)src), len);
    return SUCCESS;
}

int hipMemset(void *dst, int value, size_t len)
{
    if (find((uintptr_t)dst) == NULL) {
        return INVALID_VALUE;
    }
    memset(reachable((uintptr_t)dst), value, len);
    return SUCCESS;
}
