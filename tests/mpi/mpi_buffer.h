/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A buffer of blocks, one for each peer, written twice: in memory the MPI sees,
 * and in a model of what that memory must be after the call. Compared whole,
 * gaps of types, holes between blocks and the guards at both ends count as much
 * as the data.
 */
#ifndef MPI_BUFFER_H
#define MPI_BUFFER_H

#include "mpi_layout.h"

#include <stdint.h>

/* Where the blocks are in the buffer. */
typedef enum placement {
    PLACE_PACKED,   /* in rank order, one after the other */
    PLACE_HOLES,    /* in rank order, elements left out between them */
    PLACE_REVERSED, /* last rank first, with holes */
    PLACE_NEGATIVE, /* reversed, all displacements negative */
    PLACE_SHUFFLED, /* in no order, with holes */
    N_PLACEMENTS
} placement_t;

typedef struct buffer {
    layout_t       layout; /* owned */
    int            n_peers;
    int           *counts; /* [n_peers] elements */
    int           *displs; /* [n_peers] extents */
    size_t         len;
    unsigned char *memory;
    unsigned char *model;   /* what memory must be after the call */
    size_t         origin;  /* where address is in them */
    unsigned char *address; /* what MPI is given: in memory, or on a device */
    uint64_t       device;  /* the start of memory there; 0: on the host */
} buffer_t;

/* units: [n_peers] units of the layout's family. round decides the holes, and
 * with --device where the buffer is, if may_be_device. */
void buffer_init(buffer_t *b, layout_t layout, int n_peers,
                 const uint32_t *units, placement_t placement, uint32_t round,
                 int may_be_device);
void buffer_fini(buffer_t *b);

/* Fill both; poison differs from byte to byte, so that a gap that was copied
 * along shows. */
void buffer_poison(buffer_t *b, uint32_t salt);

/* Write the block of a peer; to is b->memory or b->model. */
void buffer_write(const buffer_t *b, unsigned char *to, int peer, uint64_t key);

/* The peer whose block has a byte at a position of the buffer, and which byte
 * it is; or -1. */
int buffer_locate(const buffer_t *b, size_t position, size_t *offset_p);

/* calloc() that cannot fail. */
void *zalloc(size_t n, size_t size);

#endif
