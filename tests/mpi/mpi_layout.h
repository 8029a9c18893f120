/* SPDX-License-Identifier: BSD-3-Clause */
/* A datatype together with the list of its bytes, made by hand and not asked
 * of the MPI: where byte k of an element must be found in memory. */
#ifndef MPI_LAYOUT_H
#define MPI_LAYOUT_H

#include <mpi.h>
#include <stddef.h>

enum { LAYOUT_MAX_RUNS = 8 };

/* Bytes that are together, relative to the start of the element. */
typedef struct run {
    ptrdiff_t at;
    size_t    len;
} run_t;

typedef struct layout {
    const char  *name;
    MPI_Datatype type;
    int          predefined; /* not ours to free */
    ptrdiff_t    extent;
    size_t       size;     /* bytes of data in an element */
    int          per_unit; /* elements in one unit: equal bytes in a family */
    int          n_runs;
    run_t        runs[LAYOUT_MAX_RUNS]; /* in the order of the type map */
} layout_t;

/* Layouts of one family have equal type signatures, unit for unit: one may be
 * sent where another is received. */
typedef struct family {
    const char *name;
    int         n_layouts;
    layout_t (*make)(int which);
} family_t;

enum {
    FAMILY_BYTES,   /* MPI_BYTE, for the cases that are not about types */
    FAMILY_INTS,    /* three ints: contiguous, vector, resized, scattered */
    FAMILY_STRUCTS, /* char, int, double: padded, packed, in another order */
    FAMILY_PAIRS_S, /* MPI_SHORT_INT and a packed twin */
    FAMILY_PAIRS_D, /* MPI_DOUBLE_INT and a packed twin */
    FAMILY_PAIRS_L, /* MPI_LONG_DOUBLE_INT and a packed twin */
    FAMILY_DOUBLES, /* plain, and a vector */
    FAMILY_COMPLEX, /* plain, and resized */
    FAMILY_COLUMNS, /* columns of a matrix: elements that interleave */
    FAMILY_PLANES,  /* 90 kB in one element: apart, together, out of order */
    FAMILY_EMPTY,   /* zero bytes each */
    FAMILY_RANDOM,  /* structs of any items, in any order, with any gaps */
    N_FAMILIES
};

/* In FAMILY_RANDOM any number is a layout. Those that differ by a multiple of
 * this have equal type signatures, and only those. */
enum { RANDOM_SIGNATURES = 1024 };

extern const family_t families[N_FAMILIES];

/* Largest number of elements of FAMILY_COLUMNS, holes included, in a buffer. */
enum { LAYOUT_COLUMNS = 100000 };

void layout_free(layout_t *layout);

#endif
