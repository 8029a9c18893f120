/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as users write them, in parameters and options. True if the text is
 * one and nothing else; else *value_p is unspecified. Nothing is rounded,
 * clipped or cut off. */
#ifndef FS_VALUE_H
#define FS_VALUE_H

#include <stdbool.h>
#include <stdint.h>

/* Whole, in decimal. */
bool fs_value_number(const char *text, uint64_t *value_p);

/* A whole number and perhaps k, m, g, t, also as capitals, or KiB, MiB, GiB,
 * TiB: powers of 1024; or kB (KB), MB, GB, TB: powers of 1000. */
bool fs_value_bytes(const char *text, uint64_t *value_p);

/* Up to three decimals: 2.2 is 2200. */
bool fs_value_milli(const char *text, uint64_t *value_p);

/* Bits per second: a number and bit, kbit, mbit, gbit or tbit, or kBps, MBps,
 * GBps or TBps, powers of 1000; or 0. All but bit may have up to three decimals. */
bool fs_value_rate(const char *text, uint64_t *value_p);

#endif
