/* SPDX-License-Identifier: BSD-3-Clause */
/* The three ways to write down a cluster: "4x4", "4+4+2+1", "@0,1,0,1". */
#include "fastsched.h"

#include <stdio.h>

#define ALLOWED                                                          \
    "allowed: 4x4 (servers x ranks), 4+4+2+1 (ranks of each server) or " \
    "@0,1,0,1 (server of each rank)"

/* Read a decimal number below 2^32; false if there is none. */
static bool read_u32(const char **text_p, uint32_t *value_p)
{
    const char *p     = *text_p;
    uint64_t    value = 0;

    if (*p < '0' || *p > '9') {
        return false;
    }
    for (; *p >= '0' && *p <= '9'; ++p) {
        value = value * 10 + (uint64_t)(*p - '0');
        if (value > UINT32_MAX) {
            return false;
        }
    }
    *text_p  = p;
    *value_p = (uint32_t)value;
    return true;
}

/* Append n ranks of a server; counts past n_ranks without writing there. */
static void append(uint32_t *server_of, uint32_t n_ranks, uint64_t *n_p,
                   uint32_t server, uint32_t n)
{
    uint64_t end = *n_p + n;

    for (uint64_t r = *n_p; r < end && r < n_ranks; ++r) {
        server_of[r] = server;
    }
    *n_p = end;
}

static bool parse_product(const char *p, uint32_t n_ranks, uint32_t *server_of,
                          uint64_t *n_p)
{
    uint32_t servers, ranks;

    if (!read_u32(&p, &servers) || *p++ != 'x' || !read_u32(&p, &ranks) ||
        *p != '\0' || servers == 0 || ranks == 0) {
        return false;
    }
    if ((uint64_t)servers * ranks != n_ranks) {
        *n_p = (uint64_t)servers * ranks;
        return true;
    }
    for (uint32_t s = 0; s < servers; ++s) {
        append(server_of, n_ranks, n_p, s, ranks);
    }
    return true;
}

static bool parse_sum(const char *p, uint32_t n_ranks, uint32_t *server_of,
                      uint64_t *n_p)
{
    uint32_t ranks, server = 0;

    do {
        if (!read_u32(&p, &ranks) || ranks == 0) {
            return false;
        }
        append(server_of, n_ranks, n_p, server++, ranks);
    } while (*p++ == '+');
    return p[-1] == '\0';
}

static bool parse_list(const char *p, uint32_t n_ranks, uint32_t *server_of,
                       uint64_t *n_p)
{
    uint32_t server;

    do {
        if (!read_u32(&p, &server)) {
            return false;
        }
        append(server_of, n_ranks, n_p, server, 1);
    } while (*p++ == ',');
    return p[-1] == '\0';
}

fs_status_t fs_topo_parse(const char *text, uint32_t n_ranks,
                          uint32_t *server_of, char *why, size_t why_len)
{
    uint64_t n = 0;
    bool     ok;

    if (text[0] == '@') {
        ok = parse_list(text + 1, n_ranks, server_of, &n);
    } else {
        ok = parse_product(text, n_ranks, server_of, &n) ||
             (n = 0, parse_sum(text, n_ranks, server_of, &n));
    }
    if (!ok) {
        snprintf(why, why_len, "\"%s\" does not describe servers; " ALLOWED,
                 text);
        return FS_ERR_INVAL;
    }
    if (n != n_ranks) {
        snprintf(why, why_len,
                 "\"%s\" describes %llu ranks, but there are %u; " ALLOWED,
                 text, (unsigned long long)n, n_ranks);
        return FS_ERR_INVAL;
    }
    return FS_OK;
}
