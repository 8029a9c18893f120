/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel of fs_kernel.cu for a device of HIP. Code of AMD's GPUs is for one
 * model only, so it is compiled there and then, by hiprtc: up to ROCm 6 that is
 * part of the runtime, from 7 on a library beside it, which stays loaded, as a
 * compiler is not made to be unloaded.
 */
#include "accel/fs_hip.h"

#include "base/fs_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

#define NAME(name, type) "hiprtc" #name,
static const char *const names[] = {RTC_CALLS(NAME)};

static bool find_calls(rtc_t *rtc, void *library)
{
    return library != NULL &&
           fs_library_find(library, names, sizeof(names) / sizeof(names[0]),
                           false, rtc) == NULL;
}

/* Of the runtime's major version. */
static void *open_library(int version)
{
    static const char *const files[] = {"libhiprtc.so.5", "libhiprtc.so.6",
                                        "libhiprtc.so.7"};
    int                      major   = version / FS_HIP_VERSION_PER_MAJOR;

    return major < 5 || major > 7 ? NULL : dlopen(files[major - 5], RTLD_LAZY);
}

/* The model of a device, "gfx90a:sramecc+:xnack-" say. hipDeviceProp_t is not the
 * same in all versions, and grows; but it has this one text that begins so. */
static bool find_model(const fs_hip_calls_t *hip, void *runtime, int ordinal,
                       char *model, size_t len)
{
    enum { ENOUGH = 16384 };
    int (*properties)(void *, int);
    char  *props = calloc(1, ENOUGH);
    size_t at    = 0;

    *(void **)&properties = dlsym(runtime, "hipGetDevicePropertiesR0600");
    if (properties == NULL) {
        *(void **)&properties = dlsym(runtime, "hipGetDeviceProperties");
    }
    if (props == NULL || properties == NULL ||
        !fs_hip_good(hip, properties(props, ordinal))) {
        free(props);
        return false;
    }
    while (at < ENOUGH - len && strncmp(props + at, "gfx", 3) != 0) {
        ++at;
    }
    snprintf(model, len, "%s", props + at);
    free(props);
    return model[0] != '\0';
}

/* NULL: it cannot; else to be freed. */
static char *compile(const rtc_t *rtc, const char *model)
{
    char        option[128];
    const char *options[] = {option};
    void       *program   = NULL;
    char       *code      = NULL;
    size_t      len       = 0;

    snprintf(option, sizeof(option), "--offload-arch=%s", model);
    if (rtc->CreateProgram(&program, fs_kernel_source, "fs_kernel.cu", 0, NULL,
                           NULL) != 0) {
        return NULL;
    }
    if (rtc->CompileProgram(program, 1, options) == 0 &&
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

void fs_hip_load_kernel(const fs_hip_calls_t *hip, void *runtime, int ordinal,
                        fs_hip_device_t *device)
{
    rtc_t rtc;
    char  model[64];
    int   version = 0;

    if (!fs_hip_good(hip, hip->RuntimeGetVersion(&version)) ||
        !find_model(hip, runtime, ordinal, model, sizeof(model)) ||
        !(find_calls(&rtc, runtime) ||
          find_calls(&rtc, open_library(version)))) {
        return;
    }
    device->code = compile(&rtc, model);
    if (device->code == NULL ||
        !fs_hip_good(hip, hip->ModuleLoadData(&device->module, device->code))) {
        device->module = NULL;
    }
    if (device->module == NULL ||
        !fs_hip_good(hip,
                     hip->ModuleGetFunction(&device->kernel, device->module,
                                            "fs_do_pieces"))) {
        fs_hip_unload_kernel(hip, device);
    }
}

void fs_hip_unload_kernel(const fs_hip_calls_t *hip, fs_hip_device_t *device)
{
    if (device->module != NULL) {
        (void)fs_hip_good(hip, hip->ModuleUnload(device->module));
    }
    free(device->code);
    device->module = NULL;
    device->code   = NULL;
}
