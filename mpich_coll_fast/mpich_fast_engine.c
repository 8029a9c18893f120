/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI's datatype engine as those outside have it. */
#include "mpich_fast.h"

#include <limits.h>

/* How a type was made. Of one that was made with large counts the older calls would not tell. */
typedef struct envelope {
    MPI_Count integers, addresses, counts, types;
    int combiner;
} envelope_t;

static envelope_t get_envelope(MPI_Datatype type)
{
    envelope_t e = {.counts = 0};
    int integers, addresses, types;

    if (NULL != mpi.Type_get_envelope_c) {
        mpi.Type_get_envelope_c(type, &e.integers, &e.addresses, &e.counts, &e.types, &e.combiner);
    } else {
        mpi.Type_get_envelope(type, &integers, &addresses, &types, &e.combiner);
        e.integers = integers;
        e.addresses = addresses;
        e.types = types;
    }
    return e;
}

/* Of a type made from one other: that one. */
static MPI_Datatype get_base(MPI_Datatype type, const envelope_t *e)
{
    MPI_Datatype base;
    MPI_Aint addresses[2];
    MPI_Count counts[2];
    int integers[2];

    if (NULL != mpi.Type_get_contents_c) {
        mpi.Type_get_contents_c(type, e->integers, e->addresses, e->counts, e->types, integers,
                                addresses, counts, &base);
    } else {
        mpi.Type_get_contents(type, (int) e->integers, (int) e->addresses, (int) e->types, integers,
                              addresses, &base);
    }
    return base;
}

static bool is_dense(MPI_Datatype type);

static bool is_base_dense(MPI_Datatype type, const envelope_t *e)
{
    MPI_Datatype base = get_base(type, e);
    bool dense = is_dense(base);
    MPI_Aint lb, extent;
    MPI_Count size;

    mpi.Type_size_x(base, &size);
    mpi.Type_get_extent(base, &lb, &extent);
    if (MPI_COMBINER_NAMED != get_envelope(base).combiner) {
        mpi.Type_free(&base);
    }
    return dense && (MPI_COMBINER_CONTIGUOUS != e->combiner || size == extent);
}

/* Packed, one element looks as in memory. Size and true extent alone do not tell: a type may list
 * its parts in any order. */
static bool is_dense(MPI_Datatype type)
{
    MPI_Aint lb, extent;
    MPI_Count size;
    envelope_t e;

    mpi.Type_size_x(type, &size);
    mpi.Type_get_true_extent(type, &lb, &extent);
    if (size != extent) {
        return false;
    }
    e = get_envelope(type);
    switch (e.combiner) {
    case MPI_COMBINER_NAMED:
        return true;
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_RESIZED:
        return is_base_dense(type, &e);
    default:
        return false;
    }
}

/* ---- sizes, and packing ---- */

static MPI_Count get_size(MPI_Datatype type)
{
    MPI_Count size = 0;

    mpi.Type_size_x(type, &size);
    return size;
}

static void describe(MPI_Datatype type, mpich_fast_layout_t *layout)
{
    MPI_Aint lb, true_extent;

    layout->size = get_size(type);
    mpi.Type_get_extent(type, &lb, &layout->extent);
    mpi.Type_get_true_extent(type, &layout->true_lb, &true_extent);
}

/* Elements in memory, as MPI_Pack takes them. */
typedef struct place {
    void *start;
    int n;
    MPI_Datatype type;
} place_t;

/* MPICH refuses MPI_BOTTOM there, where types that have addresses in them start. The elements become
 * one that starts elsewhere, at the place_t: its type says how far away they are. */
static int place_open(place_t *place)
{
    MPI_Aint at = (MPI_Aint) (0 - (uintptr_t) place);
    int mpi_errno;

    if (MPI_BOTTOM != place->start) {
        return MPI_SUCCESS;
    }
    mpi_errno = mpi.Type_create_hindexed(1, &place->n, &at, place->type, &place->type);
    place->start = place;
    place->n = 1;
    return MPI_SUCCESS == mpi_errno ? mpi.Type_commit(&place->type) : mpi_errno;
}

static void place_close(place_t *place)
{
    if (place == place->start) {
        mpi.Type_free(&place->type);
    }
}

static int pack_place(const place_t *place, void *packed, MPI_Count len)
{
    MPI_Count large_position = 0;
    int position = 0;

    return len > INT_MAX ? mpi.Pack_c(place->start, place->n, place->type, packed, len,
                                      &large_position, MPI_COMM_SELF)
                         : mpi.Pack(place->start, place->n, place->type, packed, (int) len,
                                    &position, MPI_COMM_SELF);
}

static int pack(const void *from, int n, MPI_Datatype type, void *packed, MPI_Count len)
{
    place_t place = {(void *) (uintptr_t) from, n, type};
    int mpi_errno = place_open(&place);

    if (MPI_SUCCESS == mpi_errno) {
        mpi_errno = pack_place(&place, packed, len);
        place_close(&place);
    }
    return mpi_errno;
}

static int unpack_place(const void *packed, MPI_Count len, const place_t *place)
{
    MPI_Count large_position = 0;
    int position = 0;

    return len > INT_MAX ? mpi.Unpack_c(packed, len, &large_position, place->start, place->n,
                                        place->type, MPI_COMM_SELF)
                         : mpi.Unpack(packed, (int) len, &position, place->start, place->n,
                                      place->type, MPI_COMM_SELF);
}

static int unpack(const void *packed, MPI_Count len, void *to, int n, MPI_Datatype type)
{
    place_t place = {to, n, type};
    int mpi_errno = place_open(&place);

    if (MPI_SUCCESS == mpi_errno) {
        mpi_errno = unpack_place(packed, len, &place);
        place_close(&place);
    }
    return mpi_errno;
}

static bool packs_large(void)
{
    return NULL != mpi.Pack_c && NULL != mpi.Unpack_c;
}

static MPI_Datatype name(MPI_Datatype type)
{
    return type;
}

static int reduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op)
{
    return mpi.Reduce_local(from, to, n, type, op);
}

static bool commutes(MPI_Op op)
{
    int answer = 0;

    mpi.Op_commutative(op, &answer);
    return answer != 0;
}

static int hold(MPI_Datatype type, MPI_Datatype *own_p)
{
    return mpi.Type_dup(type, own_p);
}

static void release(MPI_Datatype *own)
{
    (void) mpi.Type_free(own);
}

static const mpich_fast_engine_t outside = {
    .size = get_size,
    .name = name,
    .describe = describe,
    .is_dense = is_dense,
    .pack = pack,
    .unpack = unpack,
    .packs_large = packs_large,
    .reduce = reduce,
    .commutes = commutes,
    .hold = hold,
    .release = release,
};

const mpich_fast_engine_t *mpich_fast_engine = &outside;
