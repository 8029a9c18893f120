/* SPDX-License-Identifier: BSD-3-Clause */
/* Bold and colours on a terminal. Nothing is said by colour alone. */
#ifndef FS_TOOL_STYLE_H
#define FS_TOOL_STYLE_H

typedef enum fs_tool_style {
    FS_TOOL_PLAIN,
    FS_TOOL_BOLD,
    FS_TOOL_GREEN, /* bold */
    FS_TOOL_YELLOW /* bold */
} fs_tool_style_t;

/* What switches standard output to a style. Empty if that is no terminal, or
 * one without colours (TERM=dumb), or if NO_COLOR is in the environment. */
const char *fs_tool_style(fs_tool_style_t style);

#endif
