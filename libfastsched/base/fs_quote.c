/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fs_quote.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *fs_quote(const char *text, char *out, size_t len)
{
    size_t n = 0;

    for (; *text != '\0'; ++text) {
        unsigned char byte  = (unsigned char)*text;
        bool          plain = byte >= ' ' && byte < 0x7f;

        /* Room for this one, for "..." and for the end. */
        if (n + (plain ? 1 : 4) + 4 > len) {
            memcpy(out + n, "...", 4);
            return out;
        }
        n += (size_t)snprintf(out + n, len - n, plain ? "%c" : "\\x%02x", byte);
    }
    out[n] = '\0';
    return out;
}

const char *fs_quote_file(const char *text, char *out, size_t len)
{
    size_t n = 0;

    for (const char *p = text[0] == '\0' ? "comm" : text;
         *p != '\0' && n + 1 < len; ++p) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || *p == '_' || *p == '.';

        out[n++] = plain ? *p : '-';
    }
    out[n] = '\0';
    return out;
}
