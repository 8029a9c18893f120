/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fs_tool_units.h"

#include <stdio.h>

/* Units are a thousand of the one before each; value is in the first. */
static fs_tool_text_t text(double value, const char *const units[])
{
    fs_tool_text_t text;
    int            decimals;

    while (value >= 999.5 && units[1] != NULL) {
        value /= 1000;
        ++units;
    }
    decimals = value >= 99.95 || value == 0 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(text.s, sizeof(text.s), "%.*f %s", decimals, value, *units);
    return text;
}

fs_tool_text_t fs_tool_time_text(double seconds)
{
    static const char *const units[] = {"ns", "us", "ms", "s", NULL};

    return text(seconds * 1e9, units);
}

/* A whole number of bytes has no decimals. */
fs_tool_text_t fs_tool_bytes_text(double bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", NULL};
    fs_tool_text_t           whole;

    if (bytes >= 1000) {
        return text(bytes / 1000, units);
    }
    snprintf(whole.s, sizeof(whole.s), "%.0f B", bytes);
    return whole;
}

fs_tool_text_t fs_tool_bits_text(double rate)
{
    static const char *const units[] = {"bit/s",  "kbit/s", "Mbit/s",
                                        "Gbit/s", "Tbit/s", NULL};

    return text(rate * 8, units);
}

fs_tool_text_t fs_tool_rate_text(double rate)
{
    static const char *const units[] = {"B/s",  "kB/s", "MB/s",
                                        "GB/s", "TB/s", NULL};

    return text(rate, units);
}
