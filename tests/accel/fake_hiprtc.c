/* SPDX-License-Identifier: BSD-3-Clause */
/* A compiler that knows one program: the kernel, which fake_cuda.c runs as it is.
 * Part of libamdhip64 up to version 6, then libhiprtc. */
#include <stdlib.h>
#include <string.h>

static char       program;
static const char code[] = ".version of the fake compiler";

/* As in hiprtc.h. */
enum { RTC_SUCCESS = 0, RTC_INVALID_PROGRAM = 4, RTC_COMPILATION = 6 };

int hiprtcCreateProgram(void **program_p, const char *source, const char *name,
                        int n_headers, const char **headers, const char **names)
{
    *program_p = &program;
    return strstr(source, "KERNEL fs_do_pieces(const piece_t") != NULL &&
                   name != NULL && n_headers == 0 && headers == NULL &&
                   names == NULL
               ? RTC_SUCCESS
               : RTC_INVALID_PROGRAM;
}

/* FAKE_HIPRTC_FAILS: for this GPU it cannot. */
int hiprtcCompileProgram(void *what, int n_options, const char **options)
{
    return what != &program || n_options != 1 ||
                   strcmp(options[0], "--offload-arch=gfx90a:xnack-") != 0
               ? RTC_INVALID_PROGRAM
           : getenv("FAKE_HIPRTC_FAILS") != NULL ? RTC_COMPILATION
                                                 : RTC_SUCCESS;
}

int hiprtcGetCodeSize(void *what, size_t *size_p)
{
    *size_p = sizeof(code);
    return what == &program ? RTC_SUCCESS : RTC_INVALID_PROGRAM;
}

int hiprtcGetCode(void *what, char *into)
{
    memcpy(into, code, sizeof(code));
    return what == &program ? RTC_SUCCESS : RTC_INVALID_PROGRAM;
}

int hiprtcDestroyProgram(void **program_p)
{
    int known = *program_p == &program;

    *program_p = NULL;
    return known ? RTC_SUCCESS : RTC_INVALID_PROGRAM;
}
