/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/fs_sim_heap.h"

#include <stdlib.h>

fs_status_t fs_sim_heap_reserve(fs_sim_heap_t *heap, uint32_t max_ids)
{
    fs_sim_event_t *events;
    uint32_t       *place;

    events = realloc(heap->events, max_ids * sizeof(*events));
    if (events == NULL) {
        return FS_ERR_NOMEM;
    }
    heap->events = events;
    place        = realloc(heap->place, max_ids * sizeof(*place));
    if (place == NULL) {
        return FS_ERR_NOMEM;
    }
    heap->place = place;
    for (; heap->max_ids < max_ids; ++heap->max_ids) {
        place[heap->max_ids] = FS_SIM_NOT_QUEUED;
    }
    return FS_OK;
}

void fs_sim_heap_fini(fs_sim_heap_t *heap)
{
    free(heap->events);
    free(heap->place);
}

static bool earlier(const fs_sim_event_t *a, const fs_sim_event_t *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void put(fs_sim_heap_t *heap, uint32_t k, fs_sim_event_t event)
{
    heap->events[k]       = event;
    heap->place[event.id] = k;
}

/* Place k is free: the event goes there, or as far towards the root as it is
 * earlier. */
static void rise(fs_sim_heap_t *heap, uint32_t k, fs_sim_event_t event)
{
    while (k > 0 && earlier(&event, &heap->events[(k - 1) / 2])) {
        put(heap, k, heap->events[(k - 1) / 2]);
        k = (k - 1) / 2;
    }
    put(heap, k, event);
}

static void sink(fs_sim_heap_t *heap, uint32_t k, fs_sim_event_t event)
{
    for (;;) {
        uint32_t child = 2 * k + 1;

        if (child + 1 < heap->n &&
            earlier(&heap->events[child + 1], &heap->events[child])) {
            ++child;
        }
        if (child >= heap->n || !earlier(&heap->events[child], &event)) {
            break;
        }
        put(heap, k, heap->events[child]);
        k = child;
    }
    put(heap, k, event);
}

void fs_sim_heap_set(fs_sim_heap_t *heap, fs_sim_event_t event)
{
    uint32_t k = heap->place[event.id];

    if (k == FS_SIM_NOT_QUEUED) {
        rise(heap, heap->n++, event);
    } else if (earlier(&event, &heap->events[k])) {
        rise(heap, k, event);
    } else {
        sink(heap, k, event);
    }
}

fs_sim_event_t fs_sim_heap_pop(fs_sim_heap_t *heap)
{
    fs_sim_event_t first = heap->events[0];
    fs_sim_event_t last  = heap->events[--heap->n];

    heap->place[first.id] = FS_SIM_NOT_QUEUED;
    if (heap->n > 0) {
        sink(heap, 0, last);
    }
    return first;
}
