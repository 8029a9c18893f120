/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of ours in somebody else's process. */
#ifndef FS_THREAD_H
#define FS_THREAD_H

#include <pthread.h>
#include <signal.h>

/* As pthread_create(), but signals are for the program's own threads. */
static inline int fs_thread_create(pthread_t            *thread,
                                   const pthread_attr_t *attributes,
                                   void *(*run)(void *), void *arg)
{
    sigset_t all, before;
    int      error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, attributes, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

#endif
