/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled, not run: is what libfastsched/accel has written down of HIP's
 * runtime what hip_runtime_api.h says? */
#include "accel/fs_hip.h"

#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

_Static_assert((int)FS_HIP_MEMORY_TYPE == HIP_POINTER_ATTRIBUTE_MEMORY_TYPE,
               "");
_Static_assert((int)FS_HIP_IS_MANAGED == HIP_POINTER_ATTRIBUTE_IS_MANAGED, "");
_Static_assert((int)FS_HIP_DEVICE_ORDINAL ==
                   HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
               "");
#if HIP_VERSION_MAJOR < 6
_Static_assert((int)FS_HIP_TYPE_DEVICE_5 == hipMemoryTypeDevice, "");
#else
_Static_assert((int)FS_HIP_TYPE_DEVICE == hipMemoryTypeDevice, "");
#endif
_Static_assert((int)FS_HIP_MEMCPY_DEFAULT == hipMemcpyDefault, "");
_Static_assert((int)FS_HIP_STREAM_NON_BLOCKING == hipStreamNonBlocking, "");
_Static_assert((int)FS_HIP_EVENT_DISABLE_TIMING == hipEventDisableTiming, "");
_Static_assert(FS_HIP_EVENT_RELEASE_TO_SYSTEM == hipEventReleaseToSystem, "");
_Static_assert((int)FS_HIP_MULTIPROCESSOR_COUNT ==
                   hipDeviceAttributeMultiprocessorCount,
               "");
_Static_assert((int)FS_HIP_NOT_READY == hipErrorNotReady, "");
_Static_assert((int)hipSuccess == 0 && (int)HIPRTC_SUCCESS == 0, "");
_Static_assert(sizeof(hipDeviceProp_t) < 8192, "find_model() has room for it");
_Static_assert(sizeof(hipError_t) == sizeof(int), "");
_Static_assert(sizeof(hipPointer_attribute) == sizeof(int), "");
_Static_assert(sizeof(hipMemcpyKind) == sizeof(int), "");
_Static_assert(sizeof(hipDeviceptr_t) == sizeof(void *), "");
_Static_assert(sizeof(hipStream_t) == sizeof(void *), "");
_Static_assert(sizeof(hipEvent_t) == sizeof(void *), "");

/* With the arguments that we pass. */
int hip_abi(void *p, size_t n)
{
    hipStream_t     stream;
    hipEvent_t      event;
    hipModule_t     module;
    hipFunction_t   kernel;
    hiprtcProgram   program;
    hipDeviceProp_t properties;
    const char     *options[] = {p};
    size_t          size;
    int             device;

    return (int)hipPointerGetAttribute(p, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                       p) +
           (int)hipRuntimeGetVersion(&device) + (int)hipGetDevice(&device) +
           (int)hipSetDevice(device) +
           (int)hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) +
           (int)hipMemcpyAsync(p, p, n, hipMemcpyDefault, stream) +
           (int)hipGetLastError() + (int)hipMalloc((void **)p, n) +
           (int)hipFree(p) + (int)hipHostMalloc((void **)p, n, 0) +
           (int)hipHostFree(p) +
           (int)hipEventCreateWithFlags(&event, hipEventDisableTiming) +
           (int)hipEventRecord(event, stream) + (int)hipEventQuery(event) +
           (int)hipDeviceGetAttribute(
               &device, hipDeviceAttributeMultiprocessorCount, device) +
           (int)hipGetDeviceProperties(&properties, device) +
           (int)hiprtcCreateProgram(&program, p, p, 0, NULL, NULL) +
           (int)hiprtcCompileProgram(program, 1, options) +
           (int)hiprtcGetCodeSize(program, &size) +
           (int)hiprtcGetCode(program, p) +
           (int)hiprtcDestroyProgram(&program) +
           (int)hipModuleLoadData(&module, p) +
           (int)hipModuleGetFunction(&kernel, module, p) +
           (int)hipModuleLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream,
                                      (void **)p, NULL) +
           (int)hipModuleUnload(module) + (int)hipEventDestroy(event) +
           (int)hipStreamSynchronize(stream) + (int)hipStreamDestroy(stream);
}
