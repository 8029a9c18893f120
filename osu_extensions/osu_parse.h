/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of options. What is wrong goes to why: the option, its value and what is
 * allowed. */
#ifndef OSU_PARSE_H
#define OSU_PARSE_H

#include "sched/model/fs_arrival.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#define OSU_WHY_LEN 512 /* one line that says what is wrong */

typedef enum osu_verdict {
    OSU_RUN,
    OSU_HELP,
    OSU_VERSION,
    OSU_BAD /* why says what and what is allowed */
} osu_verdict_t;

/* Sets why, as printf() does; OSU_BAD. */
osu_verdict_t osu_bad(char *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As getopt_long(), but for its words; '?': why says what is wrong. */
int osu_next_option(int argc, char **argv, const char *letters,
                    const struct option *options, char *why);

/* A whole number with an optional suffix k, m or g. *end_p: what follows. */
bool osu_read_number(const char *text, uint64_t *value_p, const char **end_p);

/* Such a number and nothing else. */
osu_verdict_t osu_parse_count(const char *option, const char *text,
                              uint64_t min, uint64_t max, uint64_t *value_p,
                              char *why);

/* Bits per second: 50mbit. */
osu_verdict_t osu_parse_rate(const char *text, double *rate_p, char *why);

/* Goes into JSON as it is. */
osu_verdict_t osu_check_label(const char *option, const char *text, char *why);

/* A rank of --arrival that is late must be there. text: as given. */
bool osu_check_arrival(const fs_arrival_t *arrival, const char *text,
                       uint32_t n_ranks, char *why);

#endif
