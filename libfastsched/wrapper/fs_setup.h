/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set-up of a communicator beside the program: for a first call that must not
 * wait for other ranks.
 *
 * fs_wrapper_open() runs in a thread of its own. What it wants of the MPI, gathers
 * and agreements, it asks; whoever progresses the MPI asks back what is wanted, does
 * it without waiting, and answers. So what communicates is called by the program's
 * own threads, and lines for people are said by them.
 */
#ifndef FS_SETUP_H
#define FS_SETUP_H

#include "wrapper/fs_wrapper.h"

/* Of each rank len bytes, in rank order; or, if out is NULL, the lowest status. */
typedef struct fs_setup_question {
    const void *in;
    size_t      len;
    void       *out;
    fs_status_t status; /* this rank's; and the answer */
} fs_setup_question_t;

typedef enum fs_setup_state {
    FS_SETUP_RUNS,
    FS_SETUP_ASKS,
    FS_SETUP_OVER
} fs_setup_state_t;

typedef struct fs_setup {
    fs_wrapper_t       *wrapper;
    fs_wrapper_comm_t  *comm;
    fs_params_t         params; /* of the wrapper, when it began */
    fs_native_t         native; /* once it is over */
    fs_member_t         member;
    pthread_t           thread;
    bool                has_thread;
    pthread_mutex_t     lock;
    pthread_cond_t      answered;
    fs_setup_state_t    state;
    fs_setup_question_t question;
    fs_status_t         status;
    char                lines[1024]; /* to be said, each with its end */
} fs_setup_t;

/* As fs_wrapper_open(), but local. setup stays where it is; comm is not to be used
 * meanwhile. The MPI's own messages do not take the place of a network
 * that does not reach all ranks. */
void fs_setup_begin(fs_setup_t *setup, fs_wrapper_t *wrapper,
                    fs_wrapper_comm_t *comm, const fs_native_t *native,
                    const fs_member_t *member);

/* Any thread, one at a time. */
fs_setup_state_t fs_setup_look(fs_setup_t *setup);

/* It ASKS setup->question: the answer, of all ranks. */
void fs_setup_answer(fs_setup_t *setup, fs_status_t status);

/* It is OVER. Returns what fs_wrapper_open() said; FS_ERR_NOMEM if there was no
 * thread. */
fs_status_t fs_setup_end(fs_setup_t *setup);

/* For fs_wrapper_t.say(): if this is the thread of a set-up, it is said at its end. */
bool fs_setup_keeps(const char *line);

#endif
