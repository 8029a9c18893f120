/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that progresses a net while the program computes. It never calls the
 * MPI: who posts what it is to progress makes sure that nothing has to be packed.
 *
 * It sleeps while there is nothing to do, and while a call waits, which progresses
 * the net itself.
 */
#ifndef FS_HELPER_H
#define FS_HELPER_H

#include "net/fs_transport.h"

#include <sched.h>

typedef struct fs_helper fs_helper_t;

/* Cores of the machine, such as 0,4-7. False: the text is no such list. */
bool fs_helper_read_cores(const char *text, cpu_set_t *cores);

/* Of the net. cores: where it may run; NULL: where the process may.
 * FS_OK, FS_ERR_NOMEM (no thread could be made) */
fs_status_t fs_helper_start(fs_net_t *net, const cpu_set_t *cores);

/* NULL is fine. */
void fs_helper_stop(fs_helper_t *helper);

/* Under the lock: there is something to progress, and nobody waits. NULL is fine. */
void fs_helper_wake(fs_helper_t *helper);

#endif
