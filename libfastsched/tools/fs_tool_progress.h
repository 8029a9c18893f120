/* SPDX-License-Identifier: BSD-3-Clause */
/* A progress bar for work that takes more than a second. */
#ifndef FS_TOOL_PROGRESS_H
#define FS_TOOL_PROGRESS_H

#include <stdint.h>

/* Show text, a bar and the seconds on stderr, after a second and only if it is
 * a terminal; one at a time. text is borrowed until the end. total 0: not known,
 * no bar. */
void fs_tool_progress_begin(const char *text, uint64_t total);

/* So much of total is done. Cheap: the drawing is left to a thread. */
void fs_tool_progress_at(uint64_t done);

/* Wipe the line. */
void fs_tool_progress_end(void);

#endif
