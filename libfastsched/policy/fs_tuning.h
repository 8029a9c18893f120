/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tuners have found, kept from run to run: parameter tuning, a file.
 *
 * JSON lines, an object for each class of calls in each place:
 *
 *   {"fastsched_tuning": 1, "layout": "4x4", "lanes": 4, "transport": "ucx",
 *    "mpi": "Open MPI v4.1.4", "collective": "alltoallv", "bytes_log2": 20,
 *    "mtm_band": 1, "skew_band": 0, "choice": "staged", "calls": 120,
 *    "native_ns_per_mib": 900, ...}
 *
 * Prices as in fs_tuner.h. Keys come in any order; other keys are ignored, and not
 * kept when the line is written anew. A line of another version, and one whose
 * collective or choice has a word that is not known here, is kept as it is. Blank lines are
 * skipped. Everything else is no line of ours: it is told, and a file with one is
 * read but never written.
 */
#ifndef FS_TUNING_H
#define FS_TUNING_H

#include "fastsched_exec.h"
#include "policy/fs_tuner.h"

#include <stddef.h>
#include <stdio.h>

enum { FS_TUNING_VERSION = 1, FS_TUNING_TEXT = 64, FS_TUNING_ENTRIES = 8192 };

/* Where times hold. Texts end with a zero, and what is behind that is zero. */
typedef struct fs_tuning_place {
    char     layout[FS_TUNING_TEXT]; /* "4x4", "4+4+2+1" */
    uint32_t lanes;                  /* of the server that has the most */
    char     transport[FS_TUNING_TEXT];
    char     mpi[FS_TUNING_TEXT];
} fs_tuning_place_t;

typedef struct fs_tuning_entry {
    fs_tuning_place_t place;
    uint32_t          of_class; /* fs_tuner_class() */
    fs_candidate_t    choice;
    uint64_t          price[FS_N_CANDIDATES]; /* 0: not known */
    uint64_t          n_calls;
} fs_tuning_entry_t;

/* All zero: nothing. */
struct fs_tuning {
    fs_tuning_entry_t *entries; /* by place, then class */
    size_t             n, max;
    char  *others; /* lines kept as they are, each with its newline */
    size_t others_len, others_max;
};

void fs_tuning_fini(fs_tuning_t *tuning);

bool fs_tuning_same_place(const fs_tuning_place_t *a,
                          const fs_tuning_place_t *b);

/* Add what is newer: its choice, the prices that it knows, its calls to those that
 * there are. FS_OK; FS_ERR_NOMEM, or FS_ERR_OVERFLOW: there are too many. */
fs_status_t fs_tuning_add(fs_tuning_t *tuning, const fs_tuning_entry_t *entry);

/* Add the lines of a text. Of those that are no lines of ours the first is told:
 * why is "line N: ...". FS_OK, FS_ERR_INVAL (the others have been added), or as
 * fs_tuning_add(). */
fs_status_t fs_tuning_parse(fs_tuning_t *tuning, const char *text,
                            size_t text_len, char *why, size_t why_len);

/* Print all lines. */
void fs_tuning_print(const fs_tuning_t *tuning, FILE *out);

/* ---- files: fs_tuning_file.c ---- */

/* Add what is in a file; one that does not exist is empty. FS_OK; else why is a
 * line that names the file: FS_ERR_INVAL as above, FS_ERR_NATIVE (it cannot be
 * read), FS_ERR_NOMEM, FS_ERR_OVERFLOW. */
fs_status_t fs_tuning_load(fs_tuning_t *tuning, const char *path, char *why,
                           size_t why_len);

/* Add learned to what is in a file by now, and replace it, in one step that no
 * reader sees half. Others that do so wait, by a lock on the file path.lock. As
 * fs_tuning_load(); after an error the file is as it was. */
fs_status_t fs_tuning_save(const fs_tuning_t *learned, const char *path,
                           char *why, size_t why_len);

#endif
