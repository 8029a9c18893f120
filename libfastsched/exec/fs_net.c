/* SPDX-License-Identifier: BSD-3-Clause */
/* The public calls of a network: the table behind them, and the lock. */
#include "exec/fs_transport.h"

unsigned fs_net_progress(fs_net_t *net)
{
    unsigned events;

    if (pthread_mutex_trylock(&net->lock) != 0) {
        return 0;
    }
    events = fs_net_turn(net);
    pthread_mutex_unlock(&net->lock);
    return events;
}

void fs_net_destroy(fs_net_t *net)
{
    if (net != NULL) {
        net->ops->destroy(net);
    }
}
