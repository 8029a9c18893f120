/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into MPICH's ranks: who finds nothing on the network gives the core
 * away, as Open MPI does with mpi_yield_when_idle. MPICH's ch4 never does, and
 * with more ranks than cores one that has work waits for others to be preempted.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <sys/epoll.h>

typedef int epoll_wait_fn(int fd, struct epoll_event *events, int max,
                          int timeout_ms);

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
    static epoll_wait_fn *next;
    int                   n;

    if (next == NULL) {
        next = (epoll_wait_fn *)dlsym(RTLD_NEXT, "epoll_wait");
    }
    n = next(fd, events, max, timeout_ms);
    if (n == 0 && timeout_ms == 0) {
        sched_yield();
    }
    return n;
}
