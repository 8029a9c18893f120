/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers for people: three digits and a unit. Exact ones are in the JSON. */
#ifndef FS_TOOL_UNITS_H
#define FS_TOOL_UNITS_H

#include <stdint.h>

typedef struct fs_tool_text {
    char s[32];
} fs_tool_text_t;

/* "2.93 s", "889 us"; seconds. */
fs_tool_text_t fs_tool_time_text(double seconds);

/* "201 MB", powers of 1000. */
fs_tool_text_t fs_tool_bytes_text(double bytes);

/* "400 Gbit/s"; bytes per second. */
fs_tool_text_t fs_tool_bits_text(double rate);

/* "450 GB/s". */
fs_tool_text_t fs_tool_rate_text(double rate);

#endif
