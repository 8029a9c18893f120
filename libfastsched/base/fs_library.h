/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of a library that is not linked with but found at run time. A list
 * of them, DO(name, ...), makes a struct of pointers to functions and, in the
 * same order, an array of their names.
 */
#ifndef FS_LIBRARY_H
#define FS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* dlopen() of the first that can be opened, of files up to a NULL. NULL: none
 * can, and dlerror() tells of the last. */
void *fs_library_open(const char *const *files, int mode);

/*
 * Look up n functions. functions is a struct of n pointers. interposed: what
 * stands before the library, a tool say, comes first, as with the loader.
 * Returns the name of one that the library lacks, NULL if it has them all.
 */
const char *fs_library_find(void *library, const char *const *names, size_t n,
                            bool interposed, void *functions);

#endif
