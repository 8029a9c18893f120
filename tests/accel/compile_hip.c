/* SPDX-License-Identifier: BSD-3-Clause */
/* compile_hip ARCH: does HIP's own compiler take our kernel for such a GPU? None is
 * needed. 0 yes, 1 no, 77 there is no HIP. For test_kernel.sh. */
#include "accel/fs_backend.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77 };

typedef struct compiler {
    int (*create)(void **, const char *, const char *, int, const char **,
                  const char **);
    int (*compile)(void *, int, const char **);
    int (*log_size)(void *, size_t *);
    int (*log)(void *, char *);
    int (*destroy)(void **);
} compiler_t;

static void *open_hip(void)
{
    static const char *const names[] = {"libhiprtc.so.7", "libhiprtc.so.6",
                                        "libhiprtc.so.5", "libamdhip64.so.6",
                                        "libamdhip64.so.5"};
    void                    *library = NULL;

    for (size_t k = 0; library == NULL && k < sizeof(names) / sizeof(*names);
         ++k) {
        library = dlopen(names[k], RTLD_NOW);
    }
    return library;
}

static void print_log(const compiler_t *hip, void *program)
{
    size_t len  = 0;
    char  *text = NULL;

    if (hip->log_size(program, &len) == 0) {
        text = calloc(len + 1, 1);
    }
    if (text != NULL && hip->log(program, text) == 0) {
        puts(text);
    }
    free(text);
}

int main(int argc, char **argv)
{
    compiler_t  hip;
    char        option[64];
    const char *options[] = {option};
    void       *library   = open_hip(), *program;

    if (argc != 2 || library == NULL) {
        return argc != 2 ? EXIT_FAILURE : SKIPPED;
    }
    *(void **)&hip.create   = dlsym(library, "hiprtcCreateProgram");
    *(void **)&hip.compile  = dlsym(library, "hiprtcCompileProgram");
    *(void **)&hip.log_size = dlsym(library, "hiprtcGetProgramLogSize");
    *(void **)&hip.log      = dlsym(library, "hiprtcGetProgramLog");
    *(void **)&hip.destroy  = dlsym(library, "hiprtcDestroyProgram");
    snprintf(option, sizeof(option), "--offload-arch=%s", argv[1]);
    if (hip.create == NULL || hip.compile == NULL || hip.log_size == NULL ||
        hip.log == NULL || hip.destroy == NULL) {
        return SKIPPED; /* a runtime whose compiler is apart */
    }
    if (hip.create(&program, fs_kernel_source, "fs_kernel.cu", 0, NULL, NULL) !=
        0) {
        return EXIT_FAILURE;
    }
    if (hip.compile(program, 1, options) != 0) {
        print_log(&hip, program);
        return EXIT_FAILURE;
    }
    return hip.destroy(&program) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
