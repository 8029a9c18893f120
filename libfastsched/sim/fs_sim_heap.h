/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens next: entries by time, each of which can be moved. */
#ifndef FS_SIM_HEAP_H
#define FS_SIM_HEAP_H

#include "fastsched.h"

enum { FS_SIM_NOT_QUEUED = UINT32_MAX };

typedef struct fs_sim_event {
    double   time;  /* seconds */
    uint64_t order; /* among events of one time, lowest first */
    uint32_t id;    /* 0 to below max_ids */
} fs_sim_event_t;

/* Zero-initialise. */
typedef struct fs_sim_heap {
    fs_sim_event_t *events; /* a binary heap */
    uint32_t       *place;  /* [max_ids] in events, or FS_SIM_NOT_QUEUED */
    uint32_t        n;
    uint32_t        max_ids;
} fs_sim_heap_t;

/* Room for ids below max_ids. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_sim_heap_reserve(fs_sim_heap_t *heap, uint32_t max_ids);
void        fs_sim_heap_fini(fs_sim_heap_t *heap);

/* Add an event, or move the one of this id. */
void fs_sim_heap_set(fs_sim_heap_t *heap, fs_sim_event_t event);

/* Remove the first; there is one. */
fs_sim_event_t fs_sim_heap_pop(fs_sim_heap_t *heap);

#endif
