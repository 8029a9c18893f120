/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To be preloaded: a program with functions that are called as some of ours are.
 * Whoever of us calls one of them ends here. As libucp.so.0: a UCX that lacks
 * everything.
 */
#include <stdio.h>
#include <stdlib.h>

#define TAKE(name)                                                          \
    void name(void);                                                        \
    void name(void)                                                         \
    {                                                                       \
        fputs("take_names: " #name " of the program was called\n", stderr); \
        abort();                                                            \
    }

TAKE(fs_bounds)
TAKE(fs_comm_alltoallv)
TAKE(fs_comm_create)
TAKE(fs_net_progress)
TAKE(fs_params_init)
TAKE(fs_plan_create)
TAKE(fs_schedule_create)
TAKE(fs_select)
TAKE(fs_strerror)
TAKE(fs_topo_create)
TAKE(fs_traffic_sum)
