/* SPDX-License-Identifier: BSD-3-Clause */
/* What is written in Python (tools/python): traces and drawings. Nothing else
 * needs python3. */
#ifndef FS_TOOL_PYTHON_H
#define FS_TOOL_PYTHON_H

#include <stdio.h>
#include <sys/types.h>

enum { FS_TOOL_PYTHON_ARGS = 10 };

/* Become the Python command that args names; NULL is behind the last of up to
 * FS_TOOL_PYTHON_ARGS. Returns only with an exit code, after a message; `what`
 * is what that says cannot be done. */
int fs_tool_python_become(const char *what, const char *const *args);

/* Start it beside us; it reads what is written to *in_p. FS_TOOL_OK, or an exit
 * code after a message. */
int fs_tool_python_start(const char *what, const char *const *args,
                         pid_t *pid_p, FILE **in_p);

/* Its exit code, once it has read all. */
int fs_tool_python_end(pid_t pid, FILE *in);

#endif
