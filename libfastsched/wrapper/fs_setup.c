/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrapper/fs_setup.h"

#include "base/fs_thread.h"
#include "comm/fs_comm.h"
#include "wrapper/fs_remember.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

/* ---- in the thread ---- */

static _Thread_local fs_setup_t *of_this_thread;

bool fs_setup_keeps(const char *line)
{
    fs_setup_t *s = of_this_thread;
    size_t      used;

    if (s != NULL) {
        used = strlen(s->lines);
        snprintf(s->lines + used, sizeof(s->lines) - used, "%s\n", line);
    }
    return s != NULL;
}

static fs_status_t ask(fs_setup_t *s, fs_setup_question_t question)
{
    fs_status_t answer;

    pthread_mutex_lock(&s->lock);
    s->question = question;
    s->state    = FS_SETUP_ASKS;
    while (s->state == FS_SETUP_ASKS) {
        pthread_cond_wait(&s->answered, &s->lock);
    }
    answer = s->question.status;
    pthread_mutex_unlock(&s->lock);
    return answer;
}

static fs_status_t gather(void *ctx, const void *in, size_t len, void *out)
{
    return ask(ctx, (fs_setup_question_t){.in = in, .len = len, .out = out});
}

static fs_status_t agree(void *ctx, fs_status_t mine)
{
    return ask(ctx, (fs_setup_question_t){.status = mine});
}

static void yield(void *ctx)
{
    (void)ctx;
    sched_yield();
}

static void *run(void *arg)
{
    fs_setup_t *s      = arg;
    fs_native_t native = s->native;

    of_this_thread   = s;
    native.ctx       = s;
    native.allgather = gather;
    native.agree     = agree;
    native.progress  = yield;
    native.p2p       = NULL;
    s->status        = fs_wrapper_open_unlisted(s->wrapper, s->comm, &s->params,
                                                &native, &s->member);
    pthread_mutex_lock(&s->lock);
    s->state = FS_SETUP_OVER;
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- whoever progresses it ---- */

/* Without a thread all that is left is to say so: a set-up begins with an
 * agreement, and ends there. */
void fs_setup_begin(fs_setup_t *s, fs_wrapper_t *wrapper,
                    fs_wrapper_comm_t *comm, const fs_native_t *native,
                    const fs_member_t *member)
{
    *s = (fs_setup_t){.wrapper = wrapper,
                      .comm    = comm,
                      .params  = wrapper->params,
                      .native  = *native,
                      .member  = *member,
                      .state   = FS_SETUP_RUNS};
    (void)fs_remember_mpi_name(wrapper); /* not in the thread */
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->answered, NULL);
    s->has_thread = fs_thread_create(&s->thread, NULL, run, s) == 0;
    if (!s->has_thread) {
        s->question = (fs_setup_question_t){.status = FS_ERR_NOMEM};
        s->state    = FS_SETUP_ASKS;
    }
}

fs_setup_state_t fs_setup_look(fs_setup_t *s)
{
    fs_setup_state_t state;

    pthread_mutex_lock(&s->lock);
    state = s->state;
    pthread_mutex_unlock(&s->lock);
    return state;
}

void fs_setup_answer(fs_setup_t *s, fs_status_t status)
{
    pthread_mutex_lock(&s->lock);
    s->question.status = status;
    s->state           = s->has_thread ? FS_SETUP_RUNS : FS_SETUP_OVER;
    pthread_cond_signal(&s->answered);
    pthread_mutex_unlock(&s->lock);
}

static void say_lines(fs_setup_t *s)
{
    char *at = s->lines, *end;

    while ((end = strchr(at, '\n')) != NULL) {
        *end = '\0';
        s->wrapper->say(at);
        at = end + 1;
    }
}

/* What the communicator wants of the MPI from now on it gets without a thread. */
static void hand_over(const fs_setup_t *s)
{
    fs_native_t *native = &s->comm->ours->native;

    native->ctx       = s->native.ctx;
    native->allgather = s->native.allgather;
    native->agree     = s->native.agree;
    native->progress  = s->native.progress;
}

fs_status_t fs_setup_end(fs_setup_t *s)
{
    if (s->has_thread) {
        pthread_join(s->thread, NULL);
    }
    say_lines(s);
    if (s->comm->ours != NULL) {
        hand_over(s);
        fs_wrapper_list(s->comm);
    }
    pthread_cond_destroy(&s->answered);
    pthread_mutex_destroy(&s->lock);
    return s->has_thread ? s->status : FS_ERR_NOMEM;
}
