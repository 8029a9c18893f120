/* SPDX-License-Identifier: BSD-3-Clause */
#include "osu_parse.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

osu_verdict_t osu_bad(char *why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, OSU_WHY_LEN, format, args);
    va_end(args);
    return OSU_BAD;
}

int osu_next_option(int argc, char **argv, const char *letters,
                    const struct option *options, char *why)
{
    int option;

    opterr = 0; /* rank 0 alone complains */
    option = getopt_long(argc, argv, letters, options, NULL);
    if (option == ':') {
        osu_bad(why, "option \"%s\" needs a value; -h lists all options",
                argv[optind - 1]);
    } else if (option == '?') {
        osu_bad(why, "unknown option \"%s\"; -h lists all options",
                argv[optind - 1]);
    }
    return option == ':' ? '?' : option;
}

bool osu_read_number(const char *text, uint64_t *value_p, const char **end_p)
{
    static const char suffixes[] = "kmg";
    const char       *suffix;
    char             *end;

    errno    = 0;
    *value_p = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
    if (!isdigit((unsigned char)*text) || errno != 0) {
        return false;
    }
    suffix = *end == '\0' ? NULL
                          : strchr(suffixes, tolower((unsigned char)*end));
    if (suffix != NULL) {
        unsigned shift = 10 * (unsigned)(suffix - suffixes + 1);

        if (*value_p > UINT64_MAX >> shift) {
            return false;
        }
        *value_p <<= shift;
        end++;
    }
    *end_p = end;
    return true;
}

osu_verdict_t osu_parse_count(const char *option, const char *text,
                              uint64_t min, uint64_t max, uint64_t *value_p,
                              char *why)
{
    const char *end;

    if (!osu_read_number(text, value_p, &end) || *end != '\0' ||
        *value_p < min || *value_p > max) {
        return osu_bad(why, "%s \"%s\": allowed: %llu to %llu", option, text,
                       (unsigned long long)min, (unsigned long long)max);
    }
    return OSU_RUN;
}

osu_verdict_t osu_parse_rate(const char *text, double *rate_p, char *why)
{
    static const struct {
        const char *unit;
        double      factor;
    } units[] = {{"bit", 1},
                 {"kbit", 1e3},
                 {"mbit", 1e6},
                 {"gbit", 1e9},
                 {"tbit", 1e12}};
    char  *end;
    double value = strtod(text, &end);

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); ++i) {
        if (isdigit((unsigned char)*text) && strcmp(end, units[i].unit) == 0 &&
            isfinite(value) && value > 0) {
            *rate_p = value * units[i].factor;
            return OSU_RUN;
        }
    }
    return osu_bad(why,
                   "--rate \"%s\": allowed: a number above 0 and a unit of "
                   "bit, kbit, mbit, gbit or tbit, as in 50mbit",
                   text);
}

osu_verdict_t osu_check_label(const char *option, const char *text, char *why)
{
    for (const char *p = text; *p != '\0'; ++p) {
        if ((unsigned char)*p < ' ' || *p == '"' || *p == '\\') {
            return osu_bad(why,
                           "%s \"%s\": allowed: no quotes, backslashes or "
                           "control characters",
                           option, text);
        }
    }
    return OSU_RUN;
}

bool osu_check_arrival(const fs_arrival_t *arrival, const char *text,
                       uint32_t n_ranks, char *why)
{
    if (arrival->rank < n_ranks) {
        return true;
    }
    osu_bad(why, "--arrival \"%s\": allowed: ranks below %u", text, n_ranks);
    return false;
}
