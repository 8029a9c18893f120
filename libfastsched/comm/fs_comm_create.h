/* SPDX-License-Identifier: BSD-3-Clause */
/* The creation of a communicator: shared by the two files that do it. */
#ifndef FS_COMM_CREATE_H
#define FS_COMM_CREATE_H

#include "comm/fs_comm.h"
#include "comm/fs_params.h"
#include "net/fs_nics.h"

/* The set-up record of a rank. */
typedef struct fs_creation_record {
    uint32_t magic;
    uint32_t server_label;
    uint64_t params;
    uint64_t shm_id[2]; /* of the segment it would make as a leader */
    uint64_t has_accel;
    uint64_t host; /* fs_host_id() where server_from_mpi; otherwise 0 */
} fs_creation_record_t;

typedef struct fs_creation_verdict {
    int32_t  status; /* fs_status_t */
    uint32_t peer;   /* that cannot be reached; the rank itself: no network */
} fs_creation_verdict_t;

typedef struct fs_creation_value {
    char text[FS_PARAM_TEXT_MAX];
} fs_creation_value_t;

typedef struct fs_creation {
    fs_comm_t             *comm;
    const fs_native_t     *native;
    const fs_member_t     *member;
    fs_creation_record_t  *records;   /* [n_ranks] */
    fs_net_hello_t        *hellos;    /* [n_ranks] */
    fs_creation_verdict_t *verdicts;  /* [n_ranks] */
    uint32_t              *labels;    /* [n_ranks] */
    fs_nic_list_t         *nics;      /* [n_ranks] */
    uint32_t              *nic;       /* [n_ranks] chosen of these */
    fs_creation_value_t   *values;    /* [n_ranks] */
    uint8_t               *reach;     /* [n_ranks] */
    char                  *addresses; /* [n_ranks x stride], and this rank's */
    size_t                 stride;
    void                  *shared; /* with the server's ranks, or NULL */
    char                  *why;
    size_t                 why_len;
} fs_creation_t;

/* ---- fs_comm_create.c ---- */

/* Write an error's reason to c->why; returns status. */
fs_status_t fs_creation_explain(fs_creation_t *c, fs_status_t status,
                                const char *text, uint32_t rank, uint32_t peer);

/* Gather a record of each rank on all ranks. */
fs_status_t fs_creation_gather(fs_creation_t *c, const void *mine, size_t len,
                               void *all);

/* An error of one rank alone, mostly lack of memory, becomes that of all
 * ranks. */
fs_status_t fs_creation_agree(fs_creation_t *c, fs_status_t status);

/* The same with the rank's number: the first bad verdict is that of all
 * ranks. */
fs_status_t fs_creation_agree_on(fs_creation_t *c, fs_status_t status,
                                 uint32_t peer);

void fs_comm_warn(const fs_comm_t *comm, const char *line);

/* ---- fs_comm_network.c ---- */

/* Before the network is opened, so that it can be bound to a NIC. */
fs_status_t fs_creation_choose_nics(fs_creation_t *c);

/* All ranks use the same network: they have agreed on the status. */
fs_status_t fs_creation_find_network(fs_creation_t *c);

/* Release everything that fs_creation_find_network() has made. */
void fs_comm_close_network(fs_comm_t *comm);

#endif
