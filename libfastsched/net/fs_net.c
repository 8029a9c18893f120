/* SPDX-License-Identifier: BSD-3-Clause */
/* The public calls of a network: the table behind them, and the lock. */
#include "net/fs_transport.h"

/*
 * Between our calls there are only the last messages of a call and connections
 * that peers make. Progressing an idle TCP network is a system call, at every
 * turn of an MPI that waits for something else: so after PATIENCE turns without
 * events only one turn in RARELY progresses our network.
 */
enum { PATIENCE = 64, RARELY = 32 };

unsigned fs_net_turn(fs_net_t *net)
{
    unsigned events = net->ops->progress(net);
    bool     check  = fs_net_is_quiet(events, ++net->turns);

    net->events += events;
    net->idle = events > 0 ? 0 : net->idle + 1;
    for (fs_task_t *task = net->tasks, *next; task != NULL; task = next) {
        next = task->next;
        task->turn(task, check);
    }
    return events;
}

void fs_net_add(fs_net_t *net, fs_task_t *task)
{
    task->next = net->tasks;
    net->tasks = task;
}

void fs_net_remove(fs_net_t *net, fs_task_t *task)
{
    fs_task_t **at = &net->tasks;

    while (*at != task) {
        at = &(*at)->next;
    }
    *at = task->next;
}

/* Is there a request that no waiting thread progresses? */
static bool is_needed(const fs_net_t *net)
{
    return net->tasks != NULL && net->n_waiting == 0;
}

unsigned fs_net_progress(fs_net_t *net)
{
    unsigned events = 0;

    if (pthread_mutex_trylock(&net->lock) != 0) {
        return 0;
    }
    if (is_needed(net) || net->idle < PATIENCE || net->idle % RARELY == 0) {
        events = fs_net_turn(net);
    } else {
        ++net->idle;
    }
    pthread_mutex_unlock(&net->lock);
    return events;
}

void fs_net_destroy(fs_net_t *net)
{
    if (net != NULL) {
        net->ops->destroy(net);
    }
}
