/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_layout.h"

#include "mpi_test.h"

enum { INT = sizeof(int) };

static layout_t finish(layout_t layout)
{
    MPI_Aint lb, extent;
    int      size;

    if (!layout.predefined) {
        must(MPI_Type_commit(&layout.type), "MPI_Type_commit");
    }
    MPI_Type_get_extent(layout.type, &lb, &extent);
    MPI_Type_size(layout.type, &size);
    layout.extent = extent;
    layout.size   = 0;
    for (int i = 0; i < layout.n_runs; ++i) {
        layout.size += layout.runs[i].len;
    }
    if (layout.size != (size_t)size) {
        fail("layout %s: %zu bytes listed, MPI says %d", layout.name,
             layout.size, size);
    }
    return layout;
}

void layout_free(layout_t *layout)
{
    if (!layout->predefined) {
        MPI_Type_free(&layout->type);
    }
}

/* The type is replaced by one with another lower bound and extent. */
static void resize(MPI_Datatype *type, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype old = *type;

    must(MPI_Type_create_resized(old, lb, extent, type),
         "MPI_Type_create_resized");
    MPI_Type_free(&old);
}

/* ---- bytes ---- */

static layout_t make_bytes(int which)
{
    (void)which;
    return finish((layout_t){.name       = "MPI_BYTE",
                             .type       = MPI_BYTE,
                             .predefined = 1,
                             .per_unit   = 1,
                             .n_runs     = 1,
                             .runs       = {{0, 1}}});
}

/* ---- three ints ---- */

static layout_t ints_plain(void)
{
    return (layout_t){.name       = "MPI_INT",
                      .type       = MPI_INT,
                      .predefined = 1,
                      .per_unit   = 3,
                      .n_runs     = 1,
                      .runs       = {{0, INT}}};
}

static layout_t ints_contiguous(void)
{
    layout_t l = {.name     = "contiguous(3)",
                  .per_unit = 1,
                  .n_runs   = 1,
                  .runs     = {{0, 3 * INT}}};

    MPI_Type_contiguous(3, MPI_INT, &l.type);
    return l;
}

static layout_t ints_vector(void)
{
    layout_t l = {.name     = "vector(3,1,2)",
                  .per_unit = 1,
                  .n_runs   = 3,
                  .runs     = {{0, INT}, {2 * INT, INT}, {4 * INT, INT}}};

    MPI_Type_vector(3, 1, 2, MPI_INT, &l.type);
    return l;
}

static layout_t ints_resized(void)
{
    layout_t l = {.name     = "resized vector",
                  .per_unit = 1,
                  .n_runs   = 3,
                  .runs     = {{0, INT}, {2 * INT, INT}, {4 * INT, INT}}};

    MPI_Type_vector(3, 1, 2, MPI_INT, &l.type);
    resize(&l.type, 0, 7 * INT);
    return l;
}

/* Contiguous data, but elements are apart. */
static layout_t ints_apart(void)
{
    layout_t l = {.name     = "resized contiguous",
                  .per_unit = 1,
                  .n_runs   = 1,
                  .runs     = {{0, 3 * INT}}};

    MPI_Type_contiguous(3, MPI_INT, &l.type);
    resize(&l.type, 0, 4 * INT);
    return l;
}

/* Data in front of the address given, and not in the order of memory. */
static layout_t ints_scattered(void)
{
    MPI_Aint at[3] = {3 * INT, -2 * INT, 0};
    layout_t l     = {.name     = "negative lb",
                      .per_unit = 1,
                      .n_runs   = 3,
                      .runs     = {{3 * INT, INT}, {-2 * INT, INT}, {0, INT}}};

    MPI_Type_create_hindexed_block(3, 1, at, MPI_INT, &l.type);
    return l;
}

/* Contiguous data away from the address, with a lower bound before it. */
static layout_t ints_shifted(void)
{
    MPI_Aint at = 5 * INT;
    layout_t l  = {.name     = "shifted",
                   .per_unit = 1,
                   .n_runs   = 1,
                   .runs     = {{5 * INT, 3 * INT}}};

    MPI_Type_create_hindexed_block(1, 3, &at, MPI_INT, &l.type);
    resize(&l.type, -INT, 3 * INT);
    return l;
}

static layout_t make_ints(int which)
{
    static layout_t (*const makers[])(void) = {
        ints_plain, ints_contiguous, ints_vector, ints_resized,
        ints_apart, ints_scattered,  ints_shifted};

    return finish(makers[which]());
}

/* ---- structs ---- */

static layout_t make_struct(const char *name, const int at_bytes[3],
                            MPI_Aint extent)
{
    int          lens[3]  = {1, 1, 1};
    MPI_Aint     at[3]    = {at_bytes[0], at_bytes[1], at_bytes[2]};
    MPI_Datatype types[3] = {MPI_CHAR, MPI_INT, MPI_DOUBLE};
    layout_t     l        = {.name     = name,
                             .per_unit = 1,
                             .n_runs   = 3,
                             .runs     = {{at[0], 1}, {at[1], INT}, {at[2], 8}}};

    MPI_Type_create_struct(3, lens, at, types, &l.type);
    resize(&l.type, 0, extent);
    return finish(l);
}

static layout_t make_structs(int which)
{
    static const struct {
        const char *name;
        int         at[3];
        int         extent;
    } rows[] = {{"padded struct", {0, 4, 8}, 16},
                {"packed struct", {0, 1, 1 + INT}, 1 + INT + 8},
                {"reordered struct", {12, 8, 0}, 24}};

    return make_struct(rows[which].name, rows[which].at, rows[which].extent);
}

/* ---- MPI's pair types have gaps, too ---- */

static layout_t packed_pair(const char *name, MPI_Datatype first, int len)
{
    int          lens[2]  = {1, 1};
    MPI_Aint     at[2]    = {0, len};
    MPI_Datatype types[2] = {first, MPI_INT};
    layout_t     l        = {.name     = name,
                             .per_unit = 1,
                             .n_runs   = 1,
                             .runs     = {{0, (size_t)len + INT}}};

    MPI_Type_create_struct(2, lens, at, types, &l.type);
    resize(&l.type, 0, len + INT);
    return finish(l);
}

static layout_t make_short_int(int which)
{
    struct pair {
        short a;
        int   b;
    };

    if (which == 1) {
        return packed_pair("packed short, int", MPI_SHORT, sizeof(short));
    }
    return finish((layout_t){
        .name       = "MPI_SHORT_INT",
        .type       = MPI_SHORT_INT,
        .predefined = 1,
        .per_unit   = 1,
        .n_runs     = 2,
        .runs       = {{0, sizeof(short)}, {offsetof(struct pair, b), INT}}});
}

static layout_t make_double_int(int which)
{
    struct pair {
        double a;
        int    b;
    };

    if (which == 1) {
        return packed_pair("packed double, int", MPI_DOUBLE, sizeof(double));
    }
    return finish((layout_t){
        .name       = "MPI_DOUBLE_INT",
        .type       = MPI_DOUBLE_INT,
        .predefined = 1,
        .per_unit   = 1,
        .n_runs     = 2,
        .runs       = {{0, sizeof(double)}, {offsetof(struct pair, b), INT}}});
}

static layout_t make_long_double_int(int which)
{
    struct pair {
        long double a;
        int         b;
    };

    if (which == 1) {
        return packed_pair("packed long double, int", MPI_LONG_DOUBLE,
                           sizeof(long double));
    }
    return finish((layout_t){
        .name       = "MPI_LONG_DOUBLE_INT",
        .type       = MPI_LONG_DOUBLE_INT,
        .predefined = 1,
        .per_unit   = 1,
        .n_runs     = 2,
        .runs = {{0, sizeof(long double)}, {offsetof(struct pair, b), INT}}});
}

/* ---- basic types wider than an int: a chunk may end inside one ---- */

static layout_t make_doubles(int which)
{
    enum { D = sizeof(double) };
    layout_t l = {.name     = "vector(2,1,3) of doubles",
                  .per_unit = 1,
                  .n_runs   = 2,
                  .runs     = {{0, D}, {3 * D, D}}};

    if (which == 0) {
        return finish((layout_t){.name       = "MPI_DOUBLE",
                                 .type       = MPI_DOUBLE,
                                 .predefined = 1,
                                 .per_unit   = 2,
                                 .n_runs     = 1,
                                 .runs       = {{0, D}}});
    }
    MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &l.type);
    return finish(l);
}

/* Open MPI 5.0.7 unpacks into the gaps of complex numbers further apart, also without us. */
#if OMPI_MAJOR_VERSION == 5
enum { HAS_COMPLEX_GAPS = 0 };
#else
enum { HAS_COMPLEX_GAPS = 1 };
#endif

static layout_t make_complexes(int which)
{
    enum { Z = 2 * sizeof(double) };
    layout_t l = {.name     = "resized complex",
                  .per_unit = 1,
                  .n_runs   = 1,
                  .runs     = {{0, Z}}};

    if (which == 0 || !HAS_COMPLEX_GAPS) {
        return finish((layout_t){.name       = "MPI_C_DOUBLE_COMPLEX",
                                 .type       = MPI_C_DOUBLE_COMPLEX,
                                 .predefined = 1,
                                 .per_unit   = 1,
                                 .n_runs     = 1,
                                 .runs       = {{0, Z}}});
    }
    MPI_Type_contiguous(1, MPI_C_DOUBLE_COMPLEX, &l.type);
    resize(&l.type, 0, Z + 8);
    return finish(l);
}

/* ---- columns: the true extent is larger than the extent ---- */

static layout_t make_columns(int which)
{
    const ptrdiff_t row = (ptrdiff_t)LAYOUT_COLUMNS * INT;
    layout_t        l   = {.name     = "column",
                           .per_unit = 1,
                           .n_runs   = 3,
                           .runs     = {{0, INT}, {row, INT}, {2 * row, INT}}};

    if (which == 1) {
        return finish(ints_contiguous());
    }
    MPI_Type_vector(3, 1, LAYOUT_COLUMNS, MPI_INT, &l.type);
    resize(&l.type, 0, INT);
    return finish(l);
}

/* ---- elements that are larger than a message between servers may be ---- */

static layout_t make_planes(int which)
{
    enum { PART = 30001 };
    MPI_Aint at[3] = {2 * PART, -PART, 0};
    layout_t l     = {.name     = "planes apart",
                      .per_unit = 1,
                      .n_runs   = 3,
                      .runs     = {{0, PART}, {2 * PART, PART}, {4 * PART, PART}}};

    if (which == 0) {
        MPI_Type_vector(3, PART, 2 * PART, MPI_BYTE, &l.type);
        return finish(l);
    }
    if (which == 1) {
        l = (layout_t){.name     = "planes together",
                       .per_unit = 1,
                       .n_runs   = 1,
                       .runs     = {{0, 3 * PART}}};
        MPI_Type_contiguous(3 * PART, MPI_BYTE, &l.type);
        return finish(l);
    }
    l = (layout_t){.name     = "planes in another order",
                   .per_unit = 1,
                   .n_runs   = 3,
                   .runs     = {{2 * PART, PART}, {-PART, PART}, {0, PART}}};
    MPI_Type_create_hindexed_block(3, PART, at, MPI_BYTE, &l.type);
    return finish(l);
}

/* ---- nothing at all, three times ---- */

static layout_t make_empty(int which)
{
    layout_t l  = {.name = "contiguous(0)", .per_unit = 1};
    MPI_Aint at = 8;

    if (which == 0) {
        MPI_Type_contiguous(0, MPI_INT, &l.type);
    } else if (which == 1) {
        l.name = "resized contiguous(0)";
        MPI_Type_contiguous(0, MPI_INT, &l.type);
        resize(&l.type, 0, 16);
    } else {
        l.name = "hindexed of no blocks";
        MPI_Type_create_hindexed_block(0, 1, &at, MPI_INT, &l.type);
    }
    return finish(l);
}

/* ---- structs as nobody would write them ---- */

/* What the signature has, and how long each item is in memory. */
static int draw_items(uint32_t signature, MPI_Datatype *types, int *lens,
                      layout_t *l)
{
    static const int sizes[] = {1, sizeof(short), INT, sizeof(double)};
    MPI_Datatype     basic[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    int              n       = 1 + (int)(draw(signature, 0, 1) % 6);

    for (int k = 0; k < n; ++k) {
        uint32_t which = draw(signature, (uint32_t)k, 2) % 4;

        lens[k]        = 1 + (int)(draw(signature, (uint32_t)k, 3) % 5);
        types[k]       = basic[which];
        l->runs[k].len = (size_t)(lens[k] * sizes[which]);
    }
    return n;
}

/* In memory the items are in another order, with gaps, and anywhere from 40
 * bytes before the address on. Returns where the next element may start. */
static ptrdiff_t draw_places(uint32_t place, layout_t *l)
{
    int       start = (int)(draw(place, 0, 4) % (uint32_t)l->n_runs);
    ptrdiff_t at    = (ptrdiff_t)(draw(place, 0, 5) % 81) - 40;

    for (int k = 0; k < l->n_runs; ++k) {
        run_t *run = &l->runs[(start + k) % l->n_runs];

        at += draw(place, (uint32_t)k, 6) % 2 * (draw(place, 0, 7) % 9);
        run->at = at;
        at += (ptrdiff_t)run->len;
    }
    return at;
}

/* which: the signature in the low bits, what it looks like in memory above. */
static layout_t make_random(int which)
{
    uint32_t     signature = (uint32_t)which % RANDOM_SIGNATURES;
    uint32_t     place     = (uint32_t)which / RANDOM_SIGNATURES;
    layout_t     l         = {.name = "random struct", .per_unit = 1};
    MPI_Datatype types[LAYOUT_MAX_RUNS];
    MPI_Aint     at[LAYOUT_MAX_RUNS], low = PTRDIFF_MAX, high;
    int          lens[LAYOUT_MAX_RUNS];

    l.n_runs = draw_items(signature, types, lens, &l);
    high     = draw_places(place, &l) + draw(place, 0, 8) % 17;
    for (int k = 0; k < l.n_runs; ++k) {
        at[k] = l.runs[k].at;
        low   = at[k] < low ? at[k] : low;
    }
    low -= draw(place, 0, 9) % 17;
    MPI_Type_create_struct(l.n_runs, lens, at, types, &l.type);
    /* Elements may follow each other upwards or downwards. */
    resize(&l.type, low, draw(place, 0, 10) % 4 == 0 ? low - high : high - low);
    return finish(l);
}

const family_t families[N_FAMILIES] = {
    [FAMILY_BYTES]   = {"bytes", 1, make_bytes},
    [FAMILY_INTS]    = {"ints", 7, make_ints},
    [FAMILY_STRUCTS] = {"structs", 3, make_structs},
    [FAMILY_PAIRS_S] = {"short-int", 2, make_short_int},
    [FAMILY_PAIRS_D] = {"double-int", 2, make_double_int},
    [FAMILY_PAIRS_L] = {"long-double-int", 2, make_long_double_int},
    [FAMILY_DOUBLES] = {"doubles", 2, make_doubles},
    [FAMILY_COMPLEX] = {"complex", 2, make_complexes},
    [FAMILY_COLUMNS] = {"columns", 2, make_columns},
    [FAMILY_PLANES]  = {"planes", 3, make_planes},
    [FAMILY_EMPTY]   = {"empty", 3, make_empty},
    [FAMILY_RANDOM]  = {"random", 1, make_random},
};
