/* SPDX-License-Identifier: BSD-3-Clause */
/* What is written in Python (tools/python): traces and drawings. Nothing else
 * needs python3. */
#ifndef FS_TOOL_PYTHON_H
#define FS_TOOL_PYTHON_H

#include <stdbool.h>
#include <stdio.h>

enum { FS_TOOL_PYTHON_ARGS = 10 };

/* Become the Python command that args names; NULL is behind the last of up to
 * FS_TOOL_PYTHON_ARGS. `what` names the action for the error message if there
 * is no python3, which ends the command. */
_Noreturn void fs_tool_python_become(const char *what, const char *const *args);

/* Start it beside us. It reads what is written to the file; one at a time. */
FILE *fs_tool_python_start(const char *what, const char *const *args);

/* Close the file and wait for its end; its failure ends the command. */
void fs_tool_python_end(FILE *file);

/* Is the file of a drawing standard output, "-", so that nothing else may go
 * there? NULL: there is none. */
bool fs_tool_is_stdout(const char *path);

#endif
