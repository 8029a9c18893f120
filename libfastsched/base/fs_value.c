/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fs_value.h"

#include "base/fs_arith.h"

#include <stddef.h>
#include <string.h>

static bool read_digits(const char **p, uint64_t *value_p)
{
    const char *start = *p;

    for (*value_p = 0; **p >= '0' && **p <= '9'; ++*p) {
        if (!fs_u64_mul(*value_p, 10, value_p) ||
            !fs_u64_add(*value_p, (uint64_t)(**p - '0'), value_p)) {
            return false;
        }
    }
    return *p != start;
}

bool fs_value_number(const char *text, uint64_t *value_p)
{
    return read_digits(&text, value_p) && *text == '\0';
}

bool fs_value_bytes(const char *text, uint64_t *value_p)
{
    static const char letters[] = "kKmMgGtT";
    const char       *letter;
    uint64_t          thousand = 1024, unit = 1;

    if (!read_digits(&text, value_p)) {
        return false;
    }
    if (*text == '\0') {
        return true;
    }
    letter = strchr(letters, *text++);
    if (strcmp(text, "B") == 0) {
        thousand = 1000;
    } else if (letter == NULL || (*text != '\0' && strcmp(text, "iB") != 0)) {
        return false;
    }
    for (ptrdiff_t k = 0; letter != NULL && k <= (letter - letters) / 2; ++k) {
        unit *= thousand;
    }
    return letter != NULL && fs_u64_mul(*value_p, unit, value_p);
}

/* A whole number and what is behind its point, in thousandths. */
static bool read_parts(const char **p, uint64_t *whole_p, uint64_t *milli_p)
{
    const char *point;

    *milli_p = 0;
    if (!read_digits(p, whole_p)) {
        return false;
    }
    if (**p != '.') {
        return true;
    }
    point = (*p)++;
    if (!read_digits(p, milli_p) || *p - point > 4) {
        return false;
    }
    for (const char *end = *p; end - point < 4; ++end) {
        *milli_p *= 10;
    }
    return true;
}

bool fs_value_milli(const char *text, uint64_t *value_p)
{
    uint64_t milli;

    return read_parts(&text, value_p, &milli) && *text == '\0' &&
           fs_u64_mul(*value_p, 1000, value_p) &&
           fs_u64_add(*value_p, milli, value_p);
}

bool fs_value_rate(const char *text, uint64_t *value_p)
{
    static const struct {
        const char *unit;
        uint64_t    bits;
    } units[]         = {{"bit", 1},
                         {"kbit", 1000},
                         {"mbit", 1000000},
                         {"gbit", 1000000000},
                         {"tbit", UINT64_C(1000000000000)},
                         {"kBps", 8000},
                         {"MBps", 8000000},
                         {"GBps", UINT64_C(8000000000)},
                         {"TBps", UINT64_C(8000000000000)}};
    const char *unit  = text;
    uint64_t    milli = 0;

    if (!read_parts(&unit, value_p, &milli)) {
        return false;
    }
    if (*unit == '\0') {
        return *value_p == 0 && milli == 0; /* else a unit is missing */
    }
    for (size_t k = 0; k < sizeof(units) / sizeof(units[0]); ++k) {
        if (strcmp(unit, units[k].unit) == 0) {
            bool whole = memchr(text, '.', (size_t)(unit - text)) == NULL;

            return (whole || units[k].bits >= 1000) &&
                   fs_u64_mul(*value_p, units[k].bits, value_p) &&
                   fs_u64_add(*value_p, units[k].bits / 1000 * milli, value_p);
        }
    }
    return false;
}
