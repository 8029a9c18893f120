/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled, not run: is what libfastsched/accel has written down of CUDA's
 * driver what cuda.h says? */
#include "accel/fs_cuda.h"

#include <cuda.h>
#include <stddef.h>

_Static_assert((int)FS_CU_CONTEXT == CU_POINTER_ATTRIBUTE_CONTEXT, "");
_Static_assert((int)FS_CU_MEMORY_TYPE == CU_POINTER_ATTRIBUTE_MEMORY_TYPE, "");
_Static_assert((int)FS_CU_SYNC_MEMOPS == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, "");
_Static_assert((int)FS_CU_IS_MANAGED == CU_POINTER_ATTRIBUTE_IS_MANAGED, "");
_Static_assert((int)FS_CU_DEVICE_ORDINAL == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
               "");
_Static_assert((int)FS_CU_TYPE_DEVICE == CU_MEMORYTYPE_DEVICE, "");
_Static_assert((int)FS_CU_STREAM_NON_BLOCKING == CU_STREAM_NON_BLOCKING, "");
_Static_assert((int)FS_CU_MULTIPROCESSOR_COUNT ==
                   CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
               "");
_Static_assert((int)FS_CU_EVENT_DISABLE_TIMING == CU_EVENT_DISABLE_TIMING, "");
_Static_assert((int)FS_CU_NOT_READY == CUDA_ERROR_NOT_READY, "");
_Static_assert((int)CUDA_SUCCESS == 0, "");
_Static_assert(sizeof(CUresult) == sizeof(int), "");
_Static_assert(sizeof(CUpointer_attribute) == sizeof(int), "");
_Static_assert(sizeof(fs_cu_device_t) == sizeof(CUdevice), "");
_Static_assert(sizeof(fs_cu_context_t) == sizeof(CUcontext), "");
_Static_assert(sizeof(fs_cu_stream_t) == sizeof(CUstream), "");
_Static_assert(sizeof(fs_cu_event_t) == sizeof(CUevent), "");
_Static_assert(sizeof(fs_cu_module_t) == sizeof(CUmodule), "");
_Static_assert(sizeof(fs_cu_function_t) == sizeof(CUfunction), "");
_Static_assert(sizeof(fs_cu_address_t) == sizeof(CUdeviceptr), "");

/* With the arguments that we pass. */
int cuda_abi(void *p, size_t n)
{
    CUcontext           context;
    CUdevice            device;
    CUstream            stream;
    CUevent             event;
    CUmodule            module;
    CUfunction          function;
    int                 value;
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;

    return (int)cuPointerGetAttributes(1, &attribute, &p, (CUdeviceptr)0) +
           (int)cuPointerSetAttribute(p, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                      (CUdeviceptr)0) +
           (int)cuDeviceGet(&device, 0) +
           (int)cuDevicePrimaryCtxRetain(&context, device) +
           (int)cuCtxPushCurrent_v2(context) +
           (int)cuDeviceGetAttribute(
               &value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) +
           (int)cuMemAlloc_v2((CUdeviceptr *)p, n) +
           (int)cuMemFree_v2((CUdeviceptr)0) + (int)cuMemAllocHost_v2(p, n) +
           (int)cuMemFreeHost(p) +
           (int)cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) +
           (int)cuEventRecord(event, stream) + (int)cuEventQuery(event) +
           (int)cuEventDestroy_v2(event) + (int)cuModuleLoadData(&module, p) +
           (int)cuModuleGetFunction(&function, module, "name") +
           (int)cuModuleUnload(module) +
           (int)cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream,
                               (void **)p, NULL) +
           (int)cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) +
           (int)cuMemcpyAsync((CUdeviceptr)0, (CUdeviceptr)0, n, stream) +
           (int)cuStreamSynchronize(stream) + (int)cuStreamDestroy_v2(stream) +
           (int)cuCtxPopCurrent_v2(&context);
}
