/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameter record: what the calls of a communicator ask for, whoever serves them,
 * in trace/fs_record.h. All of it is local, and a failure is one warning of the
 * process. Callers test fs_wrapper_comm_t.record first: NULL is off.
 */
#ifndef FS_WRAPPER_RECORD_H
#define FS_WRAPPER_RECORD_H

#include "wrapper/fs_wrapper.h"

typedef struct fs_wrapper_record fs_wrapper_record_t;

/* If the parameter is set. id: equal on all ranks. */
void fs_wrapper_record_open(fs_wrapper_comm_t *comm, const fs_member_t *member,
                            uint64_t id);
/* Write what is left; more than once is fine. */
void fs_wrapper_record_close(fs_wrapper_comm_t *comm);

/* A call begins; it is described once more for that. */
void fs_wrapper_record_call(const fs_wrapper_comm_t  *comm,
                            const fs_wrapper_calls_t *calls, void *ctx);

/* The same of one that has been described, which may not be done twice. */
void fs_wrapper_record_described(const fs_wrapper_comm_t  *comm,
                                 const fs_wrapper_calls_t *calls,
                                 const fs_counts_t        *counts);

/* A persistent call has been made; returns its number for its starts. */
uint32_t fs_wrapper_record_init(const fs_wrapper_comm_t  *comm,
                                const fs_wrapper_calls_t *calls,
                                const fs_counts_t        *counts);
void fs_wrapper_record_start(const fs_wrapper_comm_t *comm, uint32_t number);

#endif
