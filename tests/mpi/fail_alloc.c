/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded: an allocation by our libraries, or all from there on, fails when
 * mpi_nomem asks for it.
 * Ours are those with "fast" in the name of their file; who allocates is where
 * the call returns to. On glibc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

void *__libc_malloc(size_t len);
void *__libc_calloc(size_t n, size_t len);
void *__libc_realloc(void *p, size_t len);

void fail_alloc_arm(unsigned n, int and_all);
int  fail_alloc_disarm(void);

static __thread unsigned left; /* until the one that fails; 0: none will */
static __thread bool     armed, for_good;

/* The n-th from now on, from 1, of this thread; and all after it. */
void fail_alloc_arm(unsigned n, int and_all)
{
    left     = n;
    armed    = n > 0;
    for_good = and_all;
}

/* Has one failed? */
int fail_alloc_disarm(void)
{
    armed = false;
    return left == 0;
}

static bool is_ours(const void *caller)
{
    Dl_info     info;
    const char *slash;

    if (dladdr(caller, &info) == 0 || info.dli_fname == NULL) {
        return false;
    }
    slash = strrchr(info.dli_fname, '/');
    return strstr(slash == NULL ? info.dli_fname : slash, "fast") != NULL;
}

static bool fails(const void *caller)
{
    if (!armed || (left == 0 && !for_good) || !is_ours(caller)) {
        return false;
    }
    left -= left > 0;
    return left == 0;
}

void *malloc(size_t len)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(len);
}

void *calloc(size_t n, size_t len)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, len);
}

void *realloc(void *p, size_t len)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, len);
}
