/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled, not run: is what libfastsched/accel has written down of CUDA's
 * driver what cuda.h says? */
#include "accel/fs_cuda.h"

#include <cuda.h>

_Static_assert((int)FS_CU_MEMORY_TYPE == CU_POINTER_ATTRIBUTE_MEMORY_TYPE, "");
_Static_assert((int)FS_CU_IS_MANAGED == CU_POINTER_ATTRIBUTE_IS_MANAGED, "");
_Static_assert((int)FS_CU_DEVICE_ORDINAL == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
               "");
_Static_assert((int)FS_CU_TYPE_DEVICE == CU_MEMORYTYPE_DEVICE, "");
_Static_assert((int)FS_CU_STREAM_NON_BLOCKING == CU_STREAM_NON_BLOCKING, "");
_Static_assert((int)CUDA_SUCCESS == 0, "");
_Static_assert(sizeof(CUresult) == sizeof(int), "");
_Static_assert(sizeof(CUpointer_attribute) == sizeof(int), "");
_Static_assert(sizeof(fs_cu_device_t) == sizeof(CUdevice), "");
_Static_assert(sizeof(fs_cu_context_t) == sizeof(CUcontext), "");
_Static_assert(sizeof(fs_cu_stream_t) == sizeof(CUstream), "");
_Static_assert(sizeof(fs_cu_address_t) == sizeof(CUdeviceptr), "");

/* With the arguments that we pass. */
int cuda_abi(void *p, size_t n)
{
    CUcontext context;
    CUdevice  device;
    CUstream  stream;

    return (int)cuPointerGetAttribute(p, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      (CUdeviceptr)0) +
           (int)cuDeviceGet(&device, 0) +
           (int)cuDevicePrimaryCtxRetain(&context, device) +
           (int)cuCtxPushCurrent_v2(context) +
           (int)cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) +
           (int)cuMemcpyAsync((CUdeviceptr)0, (CUdeviceptr)0, n, stream) +
           (int)cuStreamSynchronize(stream) + (int)cuStreamDestroy_v2(stream) +
           (int)cuCtxPopCurrent_v2(&context);
}
