/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel of fs_copy.cu for a device of HIP. Code of AMD's GPUs is for one
 * model only, so it is compiled there and then, by hiprtc: part of the runtime up
 * to ROCm 6, and a library beside it. It stays loaded, as a compiler is not made
 * to be unloaded.
 */
#include "accel/fs_hip.h"

#include <dlfcn.h>
#include <stdlib.h>

/* DO(name without "hiprtc", type). All return 0 for success. */
#define RTC_CALLS(DO)                                                   \
    DO(CreateProgram, int (*)(void **, const char *, const char *, int, \
                              const char **, const char **))            \
    DO(CompileProgram, int (*)(void *, int, const char **))             \
    DO(GetCodeSize, int (*)(void *, size_t *))                          \
    DO(GetCode, int (*)(void *, char *))                                \
    DO(DestroyProgram, int (*)(void **))

typedef struct rtc {
    RTC_CALLS(FS_HIP_FIELD)
} rtc_t;

#define FIND(name, type)                                   \
    *(void **)&rtc->name = dlsym(library, "hiprtc" #name); \
    found                = found && rtc->name != NULL;

static bool find_calls(rtc_t *rtc, void *library)
{
    bool found = library != NULL;

    if (found) {
        RTC_CALLS(FIND)
    }
    return found;
}

/* Of the runtime's major version. */
static void *open_library(int version)
{
    static const char *const names[] = {"libhiprtc.so.5", "libhiprtc.so.6",
                                        "libhiprtc.so.7"};
    int                      major   = version / FS_HIP_VERSION_PER_MAJOR;

    return major < 5 || major > 7 ? NULL : dlopen(names[major - 5], RTLD_LAZY);
}

/* For the current device. NULL: it cannot; else to be freed. */
static char *compile(const rtc_t *rtc)
{
    void  *program = NULL;
    char  *code    = NULL;
    size_t len     = 0;

    if (rtc->CreateProgram(&program, fs_copy_source, "fs_copy.cu", 0, NULL,
                           NULL) != 0) {
        return NULL;
    }
    if (rtc->CompileProgram(program, 0, NULL) == 0 &&
        rtc->GetCodeSize(program, &len) == 0 && len > 0) {
        code = malloc(len);
    }
    if (code != NULL && rtc->GetCode(program, code) != 0) {
        free(code);
        code = NULL;
    }
    rtc->DestroyProgram(&program);
    return code;
}

void fs_hip_load_kernel(const fs_hip_calls_t *hip, void *runtime,
                        fs_hip_device_t *device)
{
    rtc_t rtc;
    int   version = 0;

    (void)hip->RuntimeGetVersion(&version);
    if (find_calls(&rtc, runtime) || find_calls(&rtc, open_library(version))) {
        device->code = compile(&rtc);
    }
    if (device->code == NULL ||
        hip->ModuleLoadData(&device->module, device->code) != 0) {
        device->module = NULL;
    } else if (hip->ModuleGetFunction(&device->kernel, device->module,
                                      "fs_copy_pieces") != 0) {
        fs_hip_unload_kernel(hip, device);
    }
    (void)hip->GetLastError(); /* it is not the program's */
}

void fs_hip_unload_kernel(const fs_hip_calls_t *hip, fs_hip_device_t *device)
{
    if (device->module != NULL) {
        hip->ModuleUnload(device->module);
    }
    free(device->code);
    device->module = NULL;
    device->code   = NULL;
}
