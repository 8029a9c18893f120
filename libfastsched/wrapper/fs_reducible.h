/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which reductions may be ours: an MPI's operation on one of its types. For files that
 * have included mpi.h, of any MPI; FS_BFLOAT_TYPES are rows of a table below, with types
 * for which mpi.h may have no name.
 *
 * Types with gaps are not here. "exact": the result does not depend on the order of the
 * operands, that is, on who comes late.
 */
#ifndef FS_REDUCIBLE_H
#define FS_REDUCIBLE_H

#include "base/fs_arith.h"
#include "fastsched_exec.h"

/* What the elements of a type are. */
enum {
    FS_KIND_SIGNED       = 1,
    FS_KIND_UNSIGNED     = 2,
    FS_KIND_LOGICAL      = 4,
    FS_KIND_BYTE         = 8,
    FS_KIND_INTEGER_PAIR = 16,
    FS_KIND_REAL         = 32,
    FS_KIND_HALF         = 64,
    FS_KIND_BFLOAT       = 128,
    FS_KIND_COMPLEX      = 256,
    FS_KIND_REAL_PAIR    = 512,
    FS_KIND_INTEGER      = FS_KIND_SIGNED | FS_KIND_UNSIGNED,
    FS_KINDS_EXACT       = FS_KIND_INTEGER | FS_KIND_LOGICAL | FS_KIND_BYTE |
                     FS_KIND_INTEGER_PAIR,
    FS_KINDS_ALL = 1023
};

/* 0: none of these. */
static inline unsigned fs_kind_of_type(MPI_Datatype type)
{
    static const struct {
        MPI_Datatype type;
        unsigned     kind;
    } rows[] = {
        {MPI_DOUBLE, FS_KIND_REAL},
        {MPI_FLOAT, FS_KIND_REAL},
        {MPI_INT, FS_KIND_SIGNED},
        {MPI_LONG, FS_KIND_SIGNED},
        {MPI_UNSIGNED, FS_KIND_UNSIGNED},
        {MPI_UNSIGNED_LONG, FS_KIND_UNSIGNED},
        {MPI_LONG_LONG_INT, FS_KIND_SIGNED},
        {MPI_UNSIGNED_LONG_LONG, FS_KIND_UNSIGNED},
        {MPI_INT64_T, FS_KIND_SIGNED},
        {MPI_UINT64_T, FS_KIND_UNSIGNED},
        {MPI_INT32_T, FS_KIND_SIGNED},
        {MPI_UINT32_T, FS_KIND_UNSIGNED},
        {MPI_INT16_T, FS_KIND_SIGNED},
        {MPI_UINT16_T, FS_KIND_UNSIGNED},
        {MPI_INT8_T, FS_KIND_SIGNED},
        {MPI_UINT8_T, FS_KIND_UNSIGNED},
        {MPI_SHORT, FS_KIND_SIGNED},
        {MPI_UNSIGNED_SHORT, FS_KIND_UNSIGNED},
        {MPI_SIGNED_CHAR, FS_KIND_SIGNED},
        {MPI_UNSIGNED_CHAR, FS_KIND_UNSIGNED},
        {MPI_AINT, FS_KIND_SIGNED},
        {MPI_OFFSET, FS_KIND_SIGNED},
        {MPI_INTEGER, FS_KIND_SIGNED},
#ifdef MPI_INTEGER4
        {MPI_INTEGER4, FS_KIND_SIGNED},
#endif
#ifdef MPI_INTEGER8
        {MPI_INTEGER8, FS_KIND_SIGNED},
#endif
        {MPI_LOGICAL, FS_KIND_LOGICAL},
        {MPI_C_BOOL, FS_KIND_LOGICAL},
        {MPI_BYTE, FS_KIND_BYTE},
        {MPI_2INT, FS_KIND_INTEGER_PAIR},
        {MPI_2INTEGER, FS_KIND_INTEGER_PAIR},
        {MPI_LONG_DOUBLE, FS_KIND_REAL},
        {MPI_REAL, FS_KIND_REAL},
        {MPI_DOUBLE_PRECISION, FS_KIND_REAL},
#ifdef MPI_REAL4
        {MPI_REAL4, FS_KIND_REAL},
#endif
#ifdef MPI_REAL8
        {MPI_REAL8, FS_KIND_REAL},
#endif
#ifdef MPIX_C_FLOAT16
        {MPIX_C_FLOAT16, FS_KIND_HALF},
#endif
#ifdef FS_BFLOAT_TYPES
        FS_BFLOAT_TYPES
#endif
#ifdef MPI_C_FLOAT_COMPLEX
        {MPI_C_FLOAT_COMPLEX, FS_KIND_COMPLEX},
#endif
#ifdef MPI_C_DOUBLE_COMPLEX
        {MPI_C_DOUBLE_COMPLEX, FS_KIND_COMPLEX},
#endif
        {MPI_COMPLEX, FS_KIND_COMPLEX},
        {MPI_DOUBLE_COMPLEX, FS_KIND_COMPLEX},
        {MPI_FLOAT_INT, FS_KIND_REAL_PAIR},
        {MPI_2REAL, FS_KIND_REAL_PAIR},
        {MPI_2DOUBLE_PRECISION, FS_KIND_REAL_PAIR},
    };

    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); ++k) {
        if (rows[k].type == type && type != MPI_DATATYPE_NULL) {
            return rows[k].kind;
        }
    }
    return 0;
}

/* The kinds that an operation of the MPI is for; 0: it is a program's own, or for no
 * allreduce. MPICH 5.0.1 only adds bfloat16, and half where the C compiler has no such
 * type; other results are wrong. */
static inline unsigned fs_kinds_of_op(MPI_Op op)
{
    static const unsigned number     = FS_KIND_INTEGER | FS_KIND_REAL;
    static const unsigned short_real = FS_KIND_HALF | FS_KIND_BFLOAT;

    return op == MPI_SUM    ? number | short_real | FS_KIND_COMPLEX
           : op == MPI_PROD ? number | FS_KIND_COMPLEX
           : op == MPI_MIN || op == MPI_MAX ? number
           : op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR
               ? FS_KIND_INTEGER | FS_KIND_LOGICAL
           : op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR
               ? FS_KIND_INTEGER | FS_KIND_BYTE
           : op == MPI_MINLOC || op == MPI_MAXLOC
               ? FS_KIND_INTEGER_PAIR | FS_KIND_REAL_PAIR
               : 0;
}

/* mode: fs_allreduce_mode_t, not OFF. commutes: this is a program's own operation, and
 * it does. */
static inline bool fs_is_reducible(uint32_t mode, MPI_Op op, MPI_Datatype type,
                                   bool commutes)
{
    unsigned kinds = commutes ? FS_KINDS_ALL : fs_kinds_of_op(op);

    if (mode == FS_ALLREDUCE_EXACT) {
        kinds = commutes ? 0 : kinds & FS_KINDS_EXACT;
    }
    return (kinds & fs_kind_of_type(type)) != 0;
}

/* How a device does it: fs_device_how(); 0: it does not. size: of the type, in bytes. */
static inline uint32_t fs_device_how_of(MPI_Op op, MPI_Datatype type,
                                        size_t size)
{
    unsigned kind = fs_kind_of_type(type);
    int      step = (int)fs_log2_up((uint32_t)size); /* 1, 2, 4, 8 bytes */
    fs_device_op_t does  = op == MPI_SUM   ? FS_DEVICE_SUM
                           : op == MPI_MIN ? FS_DEVICE_MIN
                                           : FS_DEVICE_MAX;
    int            what  = kind == FS_KIND_SIGNED     ? FS_DEVICE_I8 + step
                           : kind == FS_KIND_UNSIGNED ? FS_DEVICE_U8 + step
                           : kind == FS_KIND_HALF     ? FS_DEVICE_F16
                           : kind == FS_KIND_BFLOAT   ? FS_DEVICE_BF16
                           : kind != FS_KIND_REAL     ? FS_N_DEVICE_TYPES
                           : size == 4                ? FS_DEVICE_F32
                           : size == 8                ? FS_DEVICE_F64
                                                      : FS_N_DEVICE_TYPES;
    bool           known = op == MPI_SUM || op == MPI_MIN || op == MPI_MAX;

    return known && what < FS_N_DEVICE_TYPES
               ? fs_device_how(does, (fs_device_type_t)what)
               : 0;
}

#endif
