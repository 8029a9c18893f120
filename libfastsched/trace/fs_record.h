/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the calls of one rank on one communicator ask for, in a file: see
 * fs_record_code.h. Every rank writes its own, DIR/NAME-ID/rankR.record, with
 * nobody's help: a program may end as it likes, and fs_recording.h puts the files
 * together.
 *
 * Bytes are collected and written in blocks; no file stays open. Memory: a block,
 * 10 bytes for each rank, and 16 KiB.
 *
 * All calls may come from several threads.
 */
#ifndef FS_RECORD_H
#define FS_RECORD_H

#include "fastsched_exec.h"

/* Functions of the MPI, by number in the file: new ones go to the end. */
#define FS_RECORD_CALL_MAP(X) \
    X(MPI_Alltoallv)          \
    X(MPI_Alltoall)           \
    X(MPI_Alltoallw)          \
    X(MPI_Ialltoallv)         \
    X(MPI_Ialltoall)          \
    X(MPI_Ialltoallw)         \
    X(MPI_Alltoallv_init)     \
    X(MPI_Alltoall_init)      \
    X(MPI_Alltoallw_init)

/* k-th of them; NULL behind the last. */
const char *fs_record_function(uint64_t k);

/* Of a communicator's name in the file, and of a line about a failure. */
enum { FS_RECORD_NAME = 256, FS_RECORD_WHY = 4096 + 256 };

typedef struct fs_record fs_record_t;

/* Whose. All is borrowed during fs_record_create() only. */
typedef struct fs_record_origin {
    const char *dir; /* made if it is not there, its parent must be */
    const char *comm_name;
    uint64_t
        comm_id; /* equal on its ranks, different for other communicators */
    uint32_t n_ranks;
    uint32_t rank;
    uint32_t world_rank;
    uint32_t server; /* a label, equal for ranks of one server */
    uint64_t limit;  /* bytes of the file, about */
} fs_record_origin_t;

/* FS_OK; FS_ERR_NOMEM; FS_ERR_NATIVE: no file can be written there. why is one
 * line. */
fs_status_t fs_record_create(const fs_record_origin_t *origin,
                             fs_record_t **record_p, char *why, size_t why_len);

/* A call enters; function: its name in the list, others are not recorded. bytes:
 * [n_ranks] that it sends to each. */
void fs_record_call(fs_record_t *record, const char *function,
                    const uint64_t *bytes);
/* A persistent call has been made, and its starts will be seen. Returns its number
 * for them. */
uint32_t fs_record_init(fs_record_t *record, const char *function,
                        const uint64_t *bytes);
void     fs_record_start(fs_record_t *record, uint32_t number);

/* If the file could not be written: the reason, one line, once. Else NULL. */
const char *fs_record_failure(fs_record_t *record);

/* Write what is left. As fs_record_failure(), after which it can be freed. */
const char *fs_record_finish(fs_record_t *record);

/* NULL is fine. Nothing is written. */
void fs_record_destroy(fs_record_t *record);

#endif
