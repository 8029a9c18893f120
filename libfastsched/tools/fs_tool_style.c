/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fs_tool_style.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* no-color.org: NO_COLOR counts unless it is empty. */
static bool has_colours(void)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return (no == NULL || *no == '\0') && terminal != NULL &&
           strcmp(terminal, "dumb") != 0 && isatty(STDOUT_FILENO);
}

const char *fs_tool_style(fs_tool_style_t style)
{
    static const char *const codes[] = {
        [FS_TOOL_PLAIN]  = "\033[0m",
        [FS_TOOL_BOLD]   = "\033[1m",
        [FS_TOOL_GREEN]  = "\033[1;32m",
        [FS_TOOL_YELLOW] = "\033[1;33m",
    };

    return has_colours() ? codes[style] : "";
}
