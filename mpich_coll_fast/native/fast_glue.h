/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Part of MPICH once native/insert has put it there: what the algorithms "fast"
 * have in common. Written for MPICH 4.0 to 4.2 and 5.0.
 */
#ifndef FAST_GLUE_H
#define FAST_GLUE_H

#include "mpiimpl.h"
#include "mpich_fast_native.h"
#include "../transports/gentran/gentran_types.h"

#if MPICH_NUMVERSION < 40200000
#define FAST_ERRFLAG MPIR_Errflag_t *
#elif MPICH_NUMVERSION < 50000000
#define FAST_ERRFLAG MPIR_Errflag_t
#else
#define FAST_ERRFLAG int        /* attributes, an error among them */
#endif

/* A call in hand. */
typedef struct {
    MPIR_Comm *comm_ptr;
    FAST_ERRFLAG errflag;
    /* By an algorithm that "auto" would have used. It may not be MPIR_..._allcomm_auto, which may
     * have chosen us. */
    int (*decline) (const mpich_fast_native_args_t * args, MPIR_Comm * comm_ptr,
                    FAST_ERRFLAG errflag);
    int mpi_errno;              /* of decline(), if the library has called it */
} fast_call_t;

/* An allreduce, as the library has it. */
static inline mpich_fast_native_args_t fast_reduction(const void *sendbuf, void *recvbuf,
                                                      MPI_Aint count, MPI_Datatype datatype,
                                                      MPI_Op op)
{
    return (mpich_fast_native_args_t) {
        .sendbuf = sendbuf,
        .recvbuf = recvbuf,
        .recvtype = datatype,
        .reduces = true,
        .count = count,
        .op = op
    };
}

/* By the library, which opens at the first call of the process; or by decline(). */
int MPII_Coll_fast_serve(const mpich_fast_native_args_t * args, fast_call_t * call);

/* Likewise nonblocking, or persistent if the schedule is. *declined: it is still empty, on all ranks,
 * and for an algorithm of MPICH; so it is before a blocking or persistent call on the
 * communicator. */
int MPII_Coll_fast_sched(const mpich_fast_native_args_t * args, MPIR_Comm * comm_ptr,
                         MPIR_TSP_sched_t sched, bool * declined);

#endif
