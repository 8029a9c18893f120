/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names that this library takes from the MPI.
 *
 * Each under both of its names: a tool that stands before us calls PMPI_, and
 * so do the Fortran 2008 bindings of some versions. A tool that stands behind us
 * gets what comes by the MPI_ name first, and its PMPI_ comes to us. What we leave
 * alone goes on with all its bits, because in an MPI with other handles it must
 * arrive whole.
 */
#include "mpich_fast_export.h"

#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

/* Two names. Declared here, as there is no mpi.h. */
#define EXPORT_AS(name, params, args, by_mpi_name) \
    EXPORT int MPI_##name params;                  \
    EXPORT int PMPI_##name params;                 \
    int MPI_##name params                          \
    {                                              \
        return by_mpi_name args;                   \
    }                                              \
    int PMPI_##name params                         \
    {                                              \
        return name##_body args;                   \
    }

/* One body, unless there is a tool behind us. */
#define EXPORT_BOTH(name, params, args)                                                    \
    static int name##_first params                                                         \
    {                                                                                      \
        static int(*first) params;                                                         \
                                                                                           \
        if (NULL == __atomic_load_n(&first, __ATOMIC_RELAXED)) {                           \
            int(*tool) params = (int(*) params) mpich_fast_tool("MPI_" #name);             \
            __atomic_store_n(&first, NULL == tool ? name##_body : tool, __ATOMIC_RELAXED); \
        }                                                                                  \
        return first args;                                                                 \
    }                                                                                      \
    EXPORT_AS(name, params, args, name##_first)

/* Found once; two threads that look at once find the same. */
#define NEXT(variable, type, name)                                                           \
    do {                                                                                     \
        if (NULL == __atomic_load_n(&(variable), __ATOMIC_RELAXED)) {                        \
            __atomic_store_n(&(variable), (type *) mpich_fast_next(name), __ATOMIC_RELAXED); \
        }                                                                                    \
    } while (0)

static int serve(const mpich_fast_args_t *args)
{
    return !mpich_fast_enabled || !mpich_fast_serves_alltoall ? args->by_mpi(args)
           : NULL == args->request                            ? mpich_fast_serve(args)
                                                              : mpich_fast_serve_nonblocking(args);
}

/* ---- MPI_Alltoallv, MPI_Alltoallv_c ---- */

typedef int alltoallv_fn_t(const void *sendbuf, const void *sendcounts, const void *sdispls,
                           mpich_fast_word_t sendtype, void *recvbuf, const void *recvcounts,
                           const void *rdispls, mpich_fast_word_t recvtype, mpich_fast_word_t comm);

typedef int ialltoallv_fn_t(const void *sendbuf, const void *sendcounts, const void *sdispls,
                            mpich_fast_word_t sendtype, void *recvbuf, const void *recvcounts,
                            const void *rdispls, mpich_fast_word_t recvtype, mpich_fast_word_t comm,
                            void *request);

static alltoallv_fn_t *next_alltoallv, *next_alltoallv_c;
static ialltoallv_fn_t *next_ialltoallv, *next_ialltoallv_c;

static int forward_alltoallv(const mpich_fast_args_t *a)
{
    alltoallv_fn_t *next;

    if (a->large) {
        NEXT(next_alltoallv_c, alltoallv_fn_t, "PMPI_Alltoallv_c");
        next = next_alltoallv_c;
    } else {
        NEXT(next_alltoallv, alltoallv_fn_t, "PMPI_Alltoallv");
        next = next_alltoallv;
    }
    return next(a->sendbuf, a->sendcounts, a->sdispls, a->sendtype, a->recvbuf, a->recvcounts,
                a->rdispls, a->recvtype, a->comm);
}

static int forward_ialltoallv(const mpich_fast_args_t *a)
{
    ialltoallv_fn_t *next;

    if (a->large) {
        NEXT(next_ialltoallv_c, ialltoallv_fn_t, "PMPI_Ialltoallv_c");
        next = next_ialltoallv_c;
    } else {
        NEXT(next_ialltoallv, ialltoallv_fn_t, "PMPI_Ialltoallv");
        next = next_ialltoallv;
    }
    return next(a->sendbuf, a->sendcounts, a->sdispls, a->sendtype, a->recvbuf, a->recvcounts,
                a->rdispls, a->recvtype, a->comm, a->request);
}

#define ALLTOALLV_PARAMS                                                                           \
    (const void *sendbuf, const void *sendcounts, const void *sdispls, mpich_fast_word_t sendtype, \
     void *recvbuf, const void *recvcounts, const void *rdispls, mpich_fast_word_t recvtype,       \
     mpich_fast_word_t comm)
#define ALLTOALLV_ARGS \
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)

static int alltoallv(const void *sendbuf, const void *sendcounts, const void *sdispls,
                     mpich_fast_word_t sendtype, void *recvbuf, const void *recvcounts,
                     const void *rdispls, mpich_fast_word_t recvtype, mpich_fast_word_t comm,
                     void *request, bool large)
{
    mpich_fast_args_t args = {.sendbuf = sendbuf,
                              .sendcounts = sendcounts,
                              .sdispls = sdispls,
                              .sendtype = sendtype,
                              .recvbuf = recvbuf,
                              .recvcounts = recvcounts,
                              .rdispls = rdispls,
                              .recvtype = recvtype,
                              .comm = comm,
                              .large = large,
                              .request = request,
                              .by_mpi = NULL == request ? forward_alltoallv : forward_ialltoallv};

    return serve(&args);
}

#define IALLTOALLV_PARAMS                                                                          \
    (const void *sendbuf, const void *sendcounts, const void *sdispls, mpich_fast_word_t sendtype, \
     void *recvbuf, const void *recvcounts, const void *rdispls, mpich_fast_word_t recvtype,       \
     mpich_fast_word_t comm, void *request)
#define IALLTOALLV_ARGS \
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, request)

/* request: NULL in a blocking call. */
#define ALLTOALLV_BODY(_name, _params, _request, _large)                                       \
    static int _name##_body _params                                                            \
    {                                                                                          \
        return alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, \
                         recvtype, comm, _request, _large);                                    \
    }

ALLTOALLV_BODY(Alltoallv, ALLTOALLV_PARAMS, NULL, false)
ALLTOALLV_BODY(Alltoallv_c, ALLTOALLV_PARAMS, NULL, true)
ALLTOALLV_BODY(Ialltoallv, IALLTOALLV_PARAMS, request, false)
ALLTOALLV_BODY(Ialltoallv_c, IALLTOALLV_PARAMS, request, true)

EXPORT_BOTH(Alltoallv, ALLTOALLV_PARAMS, ALLTOALLV_ARGS)
EXPORT_BOTH(Alltoallv_c, ALLTOALLV_PARAMS, ALLTOALLV_ARGS)
EXPORT_BOTH(Ialltoallv, IALLTOALLV_PARAMS, IALLTOALLV_ARGS)
EXPORT_BOTH(Ialltoallv_c, IALLTOALLV_PARAMS, IALLTOALLV_ARGS)

/* ---- MPI_Alltoallw, MPI_Alltoallw_c ---- */

typedef int alltoallw_fn_t(const void *sendbuf, const void *sendcounts, const void *sdispls,
                           const void *sendtypes, void *recvbuf, const void *recvcounts,
                           const void *rdispls, const void *recvtypes, mpich_fast_word_t comm);

typedef int ialltoallw_fn_t(const void *sendbuf, const void *sendcounts, const void *sdispls,
                            const void *sendtypes, void *recvbuf, const void *recvcounts,
                            const void *rdispls, const void *recvtypes, mpich_fast_word_t comm,
                            void *request);

static alltoallw_fn_t *next_alltoallw, *next_alltoallw_c;
static ialltoallw_fn_t *next_ialltoallw, *next_ialltoallw_c;

static int forward_alltoallw(const mpich_fast_args_t *a)
{
    alltoallw_fn_t *next;

    if (a->large) {
        NEXT(next_alltoallw_c, alltoallw_fn_t, "PMPI_Alltoallw_c");
        next = next_alltoallw_c;
    } else {
        NEXT(next_alltoallw, alltoallw_fn_t, "PMPI_Alltoallw");
        next = next_alltoallw;
    }
    return next(a->sendbuf, a->sendcounts, a->sdispls, a->sendtypes, a->recvbuf, a->recvcounts,
                a->rdispls, a->recvtypes, a->comm);
}

static int forward_ialltoallw(const mpich_fast_args_t *a)
{
    ialltoallw_fn_t *next;

    if (a->large) {
        NEXT(next_ialltoallw_c, ialltoallw_fn_t, "PMPI_Ialltoallw_c");
        next = next_ialltoallw_c;
    } else {
        NEXT(next_ialltoallw, ialltoallw_fn_t, "PMPI_Ialltoallw");
        next = next_ialltoallw;
    }
    return next(a->sendbuf, a->sendcounts, a->sdispls, a->sendtypes, a->recvbuf, a->recvcounts,
                a->rdispls, a->recvtypes, a->comm, a->request);
}

#define ALLTOALLW_PARAMS                                                                      \
    (const void *sendbuf, const void *sendcounts, const void *sdispls, const void *sendtypes, \
     void *recvbuf, const void *recvcounts, const void *rdispls, const void *recvtypes,       \
     mpich_fast_word_t comm)
#define ALLTOALLW_ARGS \
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)

static int alltoallw(const void *sendbuf, const void *sendcounts, const void *sdispls,
                     const void *sendtypes, void *recvbuf, const void *recvcounts,
                     const void *rdispls, const void *recvtypes, mpich_fast_word_t comm,
                     void *request, bool large)
{
    mpich_fast_args_t args = {.sendbuf = sendbuf,
                              .sendcounts = sendcounts,
                              .sdispls = sdispls,
                              .sendtypes = sendtypes,
                              .recvbuf = recvbuf,
                              .recvcounts = recvcounts,
                              .rdispls = rdispls,
                              .recvtypes = recvtypes,
                              .comm = comm,
                              .large = large,
                              .request = request,
                              .by_mpi = NULL == request ? forward_alltoallw : forward_ialltoallw};

    return NULL == recvtypes ? args.by_mpi(&args) : serve(&args);
}

#define IALLTOALLW_PARAMS                                                                     \
    (const void *sendbuf, const void *sendcounts, const void *sdispls, const void *sendtypes, \
     void *recvbuf, const void *recvcounts, const void *rdispls, const void *recvtypes,       \
     mpich_fast_word_t comm, void *request)
#define IALLTOALLW_ARGS                                                                      \
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, \
     request)

#define ALLTOALLW_BODY(_name, _params, _request, _large)                                        \
    static int _name##_body _params                                                             \
    {                                                                                           \
        return alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, \
                         recvtypes, comm, _request, _large);                                    \
    }

ALLTOALLW_BODY(Alltoallw, ALLTOALLW_PARAMS, NULL, false)
ALLTOALLW_BODY(Alltoallw_c, ALLTOALLW_PARAMS, NULL, true)
ALLTOALLW_BODY(Ialltoallw, IALLTOALLW_PARAMS, request, false)
ALLTOALLW_BODY(Ialltoallw_c, IALLTOALLW_PARAMS, request, true)

EXPORT_BOTH(Alltoallw, ALLTOALLW_PARAMS, ALLTOALLW_ARGS)
EXPORT_BOTH(Alltoallw_c, ALLTOALLW_PARAMS, ALLTOALLW_ARGS)
EXPORT_BOTH(Ialltoallw, IALLTOALLW_PARAMS, IALLTOALLW_ARGS)
EXPORT_BOTH(Ialltoallw_c, IALLTOALLW_PARAMS, IALLTOALLW_ARGS)

/* ---- MPI_Alltoall, MPI_Alltoall_c: the latter's counts are 64 bits in every MPI of this ABI ---- */

typedef int alltoall_fn_t(const void *sendbuf, int sendcount, mpich_fast_word_t sendtype,
                          void *recvbuf, int recvcount, mpich_fast_word_t recvtype,
                          mpich_fast_word_t comm);
typedef int alltoall_c_fn_t(const void *sendbuf, int64_t sendcount, mpich_fast_word_t sendtype,
                            void *recvbuf, int64_t recvcount, mpich_fast_word_t recvtype,
                            mpich_fast_word_t comm);

typedef int ialltoall_fn_t(const void *sendbuf, int sendcount, mpich_fast_word_t sendtype,
                           void *recvbuf, int recvcount, mpich_fast_word_t recvtype,
                           mpich_fast_word_t comm, void *request);
typedef int ialltoall_c_fn_t(const void *sendbuf, int64_t sendcount, mpich_fast_word_t sendtype,
                             void *recvbuf, int64_t recvcount, mpich_fast_word_t recvtype,
                             mpich_fast_word_t comm, void *request);

static alltoall_fn_t *next_alltoall;
static alltoall_c_fn_t *next_alltoall_c;
static ialltoall_fn_t *next_ialltoall;
static ialltoall_c_fn_t *next_ialltoall_c;

static int forward_alltoall(const mpich_fast_args_t *a)
{
    if (a->large) {
        NEXT(next_alltoall_c, alltoall_c_fn_t, "PMPI_Alltoall_c");
        return next_alltoall_c(a->sendbuf, *(const int64_t *) a->sendcounts, a->sendtype,
                               a->recvbuf, *(const int64_t *) a->recvcounts, a->recvtype, a->comm);
    }
    NEXT(next_alltoall, alltoall_fn_t, "PMPI_Alltoall");
    return next_alltoall(a->sendbuf, *(const int *) a->sendcounts, a->sendtype, a->recvbuf,
                         *(const int *) a->recvcounts, a->recvtype, a->comm);
}

static int forward_ialltoall(const mpich_fast_args_t *a)
{
    if (a->large) {
        NEXT(next_ialltoall_c, ialltoall_c_fn_t, "PMPI_Ialltoall_c");
        return next_ialltoall_c(a->sendbuf, *(const int64_t *) a->sendcounts, a->sendtype,
                                a->recvbuf, *(const int64_t *) a->recvcounts, a->recvtype, a->comm,
                                a->request);
    }
    NEXT(next_ialltoall, ialltoall_fn_t, "PMPI_Ialltoall");
    return next_ialltoall(a->sendbuf, *(const int *) a->sendcounts, a->sendtype, a->recvbuf,
                          *(const int *) a->recvcounts, a->recvtype, a->comm, a->request);
}

static int alltoall(const void *sendbuf, const void *sendcount, mpich_fast_word_t sendtype,
                    void *recvbuf, const void *recvcount, mpich_fast_word_t recvtype,
                    mpich_fast_word_t comm, void *request, bool large)
{
    mpich_fast_args_t args = {.sendbuf = sendbuf,
                              .sendcounts = sendcount,
                              .sendtype = sendtype,
                              .recvbuf = recvbuf,
                              .recvcounts = recvcount,
                              .recvtype = recvtype,
                              .comm = comm,
                              .large = large,
                              .even = true,
                              .request = request,
                              .by_mpi = NULL == request ? forward_alltoall : forward_ialltoall};

    return serve(&args);
}

#define ALLTOALL_PARAMS(_count)                                                        \
    (const void *sendbuf, _count sendcount, mpich_fast_word_t sendtype, void *recvbuf, \
     _count recvcount, mpich_fast_word_t recvtype, mpich_fast_word_t comm)
#define ALLTOALL_ARGS (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)

#define IALLTOALL_PARAMS(_count)                                                       \
    (const void *sendbuf, _count sendcount, mpich_fast_word_t sendtype, void *recvbuf, \
     _count recvcount, mpich_fast_word_t recvtype, mpich_fast_word_t comm, void *request)
#define IALLTOALL_ARGS (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request)

#define ALLTOALL_BODY(_name, _params, _request, _large)                                     \
    static int _name##_body _params                                                         \
    {                                                                                       \
        return alltoall(sendbuf, &sendcount, sendtype, recvbuf, &recvcount, recvtype, comm, \
                        _request, _large);                                                  \
    }

ALLTOALL_BODY(Alltoall, ALLTOALL_PARAMS(int), NULL, false)
ALLTOALL_BODY(Alltoall_c, ALLTOALL_PARAMS(int64_t), NULL, true)
ALLTOALL_BODY(Ialltoall, IALLTOALL_PARAMS(int), request, false)
ALLTOALL_BODY(Ialltoall_c, IALLTOALL_PARAMS(int64_t), request, true)

EXPORT_BOTH(Alltoall, ALLTOALL_PARAMS(int), ALLTOALL_ARGS)
EXPORT_BOTH(Alltoall_c, ALLTOALL_PARAMS(int64_t), ALLTOALL_ARGS)
EXPORT_BOTH(Ialltoall, IALLTOALL_PARAMS(int), IALLTOALL_ARGS)
EXPORT_BOTH(Ialltoall_c, IALLTOALL_PARAMS(int64_t), IALLTOALL_ARGS)

/* ---- MPI_Allreduce, MPI_Allreduce_c ---- */

#define ALLREDUCE_PARAMS(_count)                                               \
    (const void *sendbuf, void *recvbuf, _count count, mpich_fast_word_t type, \
     mpich_fast_word_t op, mpich_fast_word_t comm)
#define ALLREDUCE_ARGS (sendbuf, recvbuf, count, type, op, comm)

#define IALLREDUCE_PARAMS(_count)                                              \
    (const void *sendbuf, void *recvbuf, _count count, mpich_fast_word_t type, \
     mpich_fast_word_t op, mpich_fast_word_t comm, void *request)
#define IALLREDUCE_ARGS (sendbuf, recvbuf, count, type, op, comm, request)

typedef int allreduce_fn_t ALLREDUCE_PARAMS(int);
typedef int allreduce_c_fn_t ALLREDUCE_PARAMS(int64_t);
typedef int iallreduce_fn_t IALLREDUCE_PARAMS(int);
typedef int iallreduce_c_fn_t IALLREDUCE_PARAMS(int64_t);

static allreduce_fn_t *next_allreduce;
static allreduce_c_fn_t *next_allreduce_c;
static iallreduce_fn_t *next_iallreduce;
static iallreduce_c_fn_t *next_iallreduce_c;

static int forward_allreduce(const mpich_fast_args_t *a)
{
    if (a->large) {
        NEXT(next_allreduce_c, allreduce_c_fn_t, "PMPI_Allreduce_c");
        return next_allreduce_c(a->sendbuf, a->recvbuf, a->count, a->recvtype, a->op, a->comm);
    }
    NEXT(next_allreduce, allreduce_fn_t, "PMPI_Allreduce");
    return next_allreduce(a->sendbuf, a->recvbuf, (int) a->count, a->recvtype, a->op, a->comm);
}

static int forward_iallreduce(const mpich_fast_args_t *a)
{
    if (a->large) {
        NEXT(next_iallreduce_c, iallreduce_c_fn_t, "PMPI_Iallreduce_c");
        return next_iallreduce_c(a->sendbuf, a->recvbuf, a->count, a->recvtype, a->op, a->comm,
                                 a->request);
    }
    NEXT(next_iallreduce, iallreduce_fn_t, "PMPI_Iallreduce");
    return next_iallreduce(a->sendbuf, a->recvbuf, (int) a->count, a->recvtype, a->op, a->comm,
                           a->request);
}

#define ALLREDUCE_BODY(_name, _params, _request, _large, _forward)                          \
    static int _name##_body _params                                                         \
    {                                                                                       \
        mpich_fast_args_t args = {.sendbuf = sendbuf,                                       \
                                  .recvbuf = recvbuf,                                       \
                                  .recvtype = type,                                         \
                                  .comm = comm,                                             \
                                  .large = (_large),                                        \
                                  .reduces = true,                                          \
                                  .count = count,                                           \
                                  .op = op,                                                 \
                                  .request = (_request),                                    \
                                  .by_mpi = (_forward)};                                    \
                                                                                            \
        return mpich_fast_enabled ? mpich_fast_serve_allreduce(&args) : args.by_mpi(&args); \
    }

ALLREDUCE_BODY(Allreduce, ALLREDUCE_PARAMS(int), NULL, false, forward_allreduce)
ALLREDUCE_BODY(Allreduce_c, ALLREDUCE_PARAMS(int64_t), NULL, true, forward_allreduce)
ALLREDUCE_BODY(Iallreduce, IALLREDUCE_PARAMS(int), request, false, forward_iallreduce)
ALLREDUCE_BODY(Iallreduce_c, IALLREDUCE_PARAMS(int64_t), request, true, forward_iallreduce)

EXPORT_BOTH(Allreduce, ALLREDUCE_PARAMS(int), ALLREDUCE_ARGS)
EXPORT_BOTH(Allreduce_c, ALLREDUCE_PARAMS(int64_t), ALLREDUCE_ARGS)
EXPORT_BOTH(Iallreduce, IALLREDUCE_PARAMS(int), IALLREDUCE_ARGS)
EXPORT_BOTH(Iallreduce_c, IALLREDUCE_PARAMS(int64_t), IALLREDUCE_ARGS)

/* ---- MPI_Request_get_status: MPICH 4.0 does not ask us there ---- */

typedef int get_status_fn_t(mpich_fast_word_t request, int *flag, void *status);

static get_status_fn_t *next_get_status;

static int Request_get_status_body(mpich_fast_word_t request, int *flag, void *status)
{
    NEXT(next_get_status, get_status_fn_t, "PMPI_Request_get_status");
    if (mpich_fast_enabled) {
        mpich_fast_end_requests();
    }
    return next_get_status(request, flag, status);
}

EXPORT_BOTH(Request_get_status, (mpich_fast_word_t request, int *flag, void *status),
            (request, flag, status))

/* ---- MPI_Comm_free, MPI_Comm_disconnect: all ranks are in them, but not where MPICH lets the
 * communicator go ---- */

typedef int comm_free_fn_t(void *comm);

static comm_free_fn_t *next_comm_free, *next_comm_disconnect;

static void before_free(const void *comm)
{
    if (mpich_fast_enabled) {
        mpich_fast_before_free(comm);
    }
}

static int Comm_free_body(void *comm)
{
    NEXT(next_comm_free, comm_free_fn_t, "PMPI_Comm_free");
    before_free(comm);
    return next_comm_free(comm);
}

static int Comm_disconnect_body(void *comm)
{
    NEXT(next_comm_disconnect, comm_free_fn_t, "PMPI_Comm_disconnect");
    before_free(comm);
    return next_comm_disconnect(comm);
}

EXPORT_BOTH(Comm_free, (void *comm), (comm))
EXPORT_BOTH(Comm_disconnect, (void *comm), (comm))

/* ---- MPI_Init, MPI_Init_thread: the earliest moment to refuse a wrong value; and MPI_Session_init,
 * in which the ranks may meet before ---- */

typedef int init_fn_t(int *argc, char ***argv);
typedef int init_thread_fn_t(int *argc, char ***argv, int required, int *provided);
typedef int session_init_fn_t(mpich_fast_word_t info, mpich_fast_word_t errhandler, void *session);

static init_fn_t *next_init;
static init_thread_fn_t *next_init_thread;
static session_init_fn_t *next_session_init;

static void before(void)
{
    if (mpich_fast_enabled) {
        mpich_fast_before_init();
    }
}

static int after(int mpi_errno)
{
    if (0 == mpi_errno && mpich_fast_enabled) {
        mpich_fast_after_init();
    }
    return mpi_errno;
}

static int Init_body(int *argc, char ***argv)
{
    NEXT(next_init, init_fn_t, "PMPI_Init");
    mpich_fast_is_passed = false;
    before();
    return after(next_init(argc, argv));
}

static int Init_thread_body(int *argc, char ***argv, int required, int *provided)
{
    NEXT(next_init_thread, init_thread_fn_t, "PMPI_Init_thread");
    mpich_fast_is_passed = false;
    before();
    return after(next_init_thread(argc, argv, required, provided));
}

static int Session_init_body(mpich_fast_word_t info, mpich_fast_word_t errhandler, void *session)
{
    NEXT(next_session_init, session_init_fn_t, "PMPI_Session_init");
    before();
    return next_session_init(info, errhandler, session);
}

/* A tool passes us until its PMPI_Init has come here. */
#define EXPORT_INIT(name, params, args)                                    \
    static int name##_first params                                         \
    {                                                                      \
        int(*tool) params = (int(*) params) mpich_fast_tool("MPI_" #name); \
                                                                           \
        if (NULL == tool) {                                                \
            return name##_body args;                                       \
        }                                                                  \
        before();                                                          \
        mpich_fast_is_passed = true;                                       \
        return after(tool args);                                           \
    }                                                                      \
    EXPORT_AS(name, params, args, name##_first)

EXPORT_INIT(Init, (int *argc, char ***argv), (argc, argv))
EXPORT_INIT(Init_thread, (int *argc, char ***argv, int required, int *provided),
            (argc, argv, required, provided))
EXPORT_BOTH(Session_init, (mpich_fast_word_t info, mpich_fast_word_t errhandler, void *session),
            (info, errhandler, session))
