/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Part of MPICH once native/insert has put it there: included in coll_impl.c,
 * because a new file in a Makefile.mk would ask for automake. Opens the library
 * that serves the algorithms "fast", and does for it what it needs of MPICH.
 */
#include "fast_glue.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* What differs between the versions, and is not in fast_glue.h. */
#if MPICH_NUMVERSION < 40200000
#define FAST_ERRFLAG_OF(flag) (&(flag))
#else
#define FAST_ERRFLAG_OF(flag) (flag)
#endif
#if MPICH_NUMVERSION < 40100000
#define FAST_TYPEREP_FLAGS
#else
#define FAST_TYPEREP_FLAGS , MPIR_TYPEREP_FLAG_NONE
#endif
#if MPICH_NUMVERSION < 50000000
typedef MPIR_Errflag_t fast_errflag_t;
#define FAST_NO_ERROR MPIR_ERR_NONE
#define FAST_OF_HOOK
#define FAST_ALL_VCIS
#define FAST_NEW_VERTEX(vertex)
#define FAST_BYTE MPI_BYTE
#define FAST_INT MPI_INT
#define FAST_2INT MPI_2INT
#else
typedef int fast_errflag_t;
#define FAST_NO_ERROR 0
#define FAST_OF_HOOK int vci,
#define FAST_ALL_VCIS -1,
#define FAST_NEW_VERTEX(vertex) , (vertex)
/* Operations know no others below the functions of MPI. */
#define FAST_BYTE MPIR_BYTE_INTERNAL
#define FAST_INT MPIR_INT_INTERNAL
#define FAST_2INT MPIR_2INT_INTERNAL
#endif

/* An offset of a context, later an attribute; in all of them that of messages. */
#define FAST_PT2PT 0

/* Across the tables errors are classes. */
static int fast_class(int mpi_errno)
{
    return mpi_errno ? MPIR_ERR_GET_CLASS(mpi_errno) : MPI_SUCCESS;
}

/* Literal classes and texts: MPICH's maint/extracterrmsgs reads them here. */
static int fast_error(int error_class)
{
    switch (error_class) {
        case MPI_ERR_TRUNCATE:
            return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, "MPII_Coll_fast_serve",
                                        __LINE__, MPI_ERR_TRUNCATE, "**truncate", 0);
        case MPI_ERR_NO_MEM:
            return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, "MPII_Coll_fast_serve",
                                        __LINE__, MPI_ERR_NO_MEM, "**nomem", 0);
        default:
            return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, "MPII_Coll_fast_serve",
                                        __LINE__, MPI_ERR_OTHER, "**fail", 0);
    }
}

/* ---- what we do for the library ---- */

static int fast_decline(fast_call_t * call, const mpich_fast_native_args_t * args)
{
    return call->decline(args, call->comm_ptr, call->errflag);
}

static int fast_run(void *arg, const mpich_fast_native_args_t * args)
{
    fast_call_t *call = arg;

    call->mpi_errno = fast_decline(call, args);
    return fast_class(call->mpi_errno);
}

typedef struct {
    MPIR_Comm *user;
    MPIR_Comm *own;             /* the same ranks, for the library's messages; or NULL */
    bool reduces;               /* some allreduces are the library's, the same on all ranks */
    bool is_set_up;             /* at the first call for the library */
    void *state;                /* the library's; NULL: calls are MPICH's */
} fast_comm_t;

static int fast_allgather(void *comm, const void *in, ptrdiff_t len, void *out)
{
    fast_errflag_t errflag = FAST_NO_ERROR;

    return fast_class(MPIR_Allgather(in, len, FAST_BYTE, out, len, FAST_BYTE,
                                     ((fast_comm_t *) comm)->user, FAST_ERRFLAG_OF(errflag)));
}

/* Same ranks, same order, no attributes copied. */
static int fast_open(void *comm)
{
    fast_comm_t *fast = comm;

    return fast_class(MPIR_Comm_split_impl(fast->user, 0, fast->user->rank, &fast->own));
}

/* MPIR_Allreduce may be ours. */
static int fast_allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op,
                          MPIR_Comm * comm_ptr)
{
    fast_errflag_t errflag = FAST_NO_ERROR;

    return MPIR_Allreduce_intra_recursive_doubling(in, out, n, type, op, comm_ptr,
                                                   FAST_ERRFLAG_OF(errflag));
}

static int fast_least(void *comm, int mine, int *least)
{
    return fast_class(fast_allreduce(&mine, least, 1, FAST_INT, MPI_MIN,
                                     ((fast_comm_t *) comm)->user));
}

static void fast_progress(void)
{
    (void) MPID_Progress_test(NULL);
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

static unsigned (*fast_poll) (void);

static int fast_hook(FAST_OF_HOOK int *made_progress)
{
    *made_progress = fast_poll() > 0;
    return MPI_SUCCESS;
}

static int fast_hook_id = -1;

static int fast_watch(unsigned (*poll) (void))
{
    int mpi_errno;

    fast_poll = poll;
    mpi_errno = MPIR_Progress_hook_register(FAST_ALL_VCIS fast_hook, &fast_hook_id);
    if (!mpi_errno)
        MPIR_Progress_hook_activate(fast_hook_id);
    return fast_class(mpi_errno);
}

static int fast_isend(void *comm, const void *buf, ptrdiff_t len, int dest, int tag, void **request)
{
    return fast_class(MPID_Isend(buf, len, FAST_BYTE, dest, tag, ((fast_comm_t *) comm)->own,
                                 FAST_PT2PT, (MPIR_Request **) request));
}

static int fast_irecv(void *comm, void *buf, ptrdiff_t len, int source, int tag, void **request)
{
    return fast_class(MPID_Irecv(buf, len, FAST_BYTE, source < 0 ? MPI_ANY_SOURCE : source, tag,
                                 ((fast_comm_t *) comm)->own, FAST_PT2PT,
                                 (MPIR_Request **) request));
}

static int fast_test(void *request, bool * done, ptrdiff_t * len)
{
    MPIR_Request *req = request;
    int mpi_errno;

    *done = MPIR_Request_is_complete(req);
    if (!*done)
        return MPI_SUCCESS;
    *len = MPIR_STATUS_GET_COUNT(req->status);
    mpi_errno = fast_class(req->status.MPI_ERROR);
    if (req->kind == MPIR_REQUEST_KIND__RECV && MPIR_STATUS_GET_CANCEL_BIT(req->status))
        mpi_errno = MPI_ERR_OTHER;
    MPIR_Request_free(req);
    return mpi_errno;
}

static void fast_cancel(void *request)
{
    (void) MPID_Cancel_recv(request);
}

static void fast_describe(int type, mpich_fast_native_type_t * description)
{
    MPI_Aint true_extent, true_lb, extent, size;
    int contiguous;

    MPIR_Datatype_get_size_macro(type, size);
    MPIR_Datatype_get_extent_macro(type, extent);
    MPIR_Datatype_is_contig(type, &contiguous);
    MPIR_Type_get_true_extent_impl(type, &true_lb, &true_extent);
    *description = (mpich_fast_native_type_t) {
        .size = size,
        .extent = extent,
        .true_lb = true_lb,
        .contiguous = contiguous
    };
}

static int fast_pack(const void *from, ptrdiff_t n, int type, void *packed, ptrdiff_t len)
{
    MPI_Aint done;
    int mpi_errno = MPIR_Typerep_pack(from, n, type, 0, packed, len, &done FAST_TYPEREP_FLAGS);

    return mpi_errno || done == len ? fast_class(mpi_errno) : MPI_ERR_OTHER;
}

static int fast_unpack(const void *packed, ptrdiff_t len, void *to, ptrdiff_t n, int type)
{
    MPI_Aint done;
    int mpi_errno = MPIR_Typerep_unpack(packed, len, to, n, type, 0, &done FAST_TYPEREP_FLAGS);

    return mpi_errno || done == len ? fast_class(mpi_errno) : MPI_ERR_OTHER;
}

/* In a type of 5.0 stands which one it is of those that programs name. */
static int fast_name_of(int type)
{
#if MPICH_NUMVERSION >= 50000000
    if (HANDLE_IS_BUILTIN(type) && (type & 0xff))
        return MPIR_DATATYPE_GET_ORIG_BUILTIN(type);
#endif
    return type;
}

static int fast_reduce(const void *from, void *to, ptrdiff_t n, int type, int op)
{
    return fast_class(MPIR_Reduce_local(from, to, n, type, op));
}

static bool fast_commutes(int op)
{
    return MPIR_Op_is_commutative(op);
}

static void fast_hold(int type)
{
    MPIR_Datatype_add_ref_if_not_builtin(type);
}

static void fast_release(int type)
{
    MPIR_Datatype_release_if_not_builtin(type);
}

static void fast_hold_comm(void *comm)
{
    MPIR_Comm_add_ref(((fast_comm_t *) comm)->user);
}

static void fast_release_comm(void *comm)
{
    (void) MPIR_Comm_release(((fast_comm_t *) comm)->user);
}

static void fast_abort(int exit_status)
{
    MPID_Abort(MPIR_Process.comm_world, MPI_SUCCESS, exit_status, "stopped by libmpich_coll_fast");
    MPL_exit(exit_status);      /* 5.0 only asks for the end */
}

static const mpich_fast_services_t fast_services = {
    .allgather = fast_allgather,
    .open = fast_open,
    .least = fast_least,
    .progress = fast_progress,
    .watch = fast_watch,
    .isend = fast_isend,
    .irecv = fast_irecv,
    .test = fast_test,
    .cancel = fast_cancel,
    .describe = fast_describe,
    .pack = fast_pack,
    .unpack = fast_unpack,
    .name_of = fast_name_of,
    .reduce = fast_reduce,
    .commutes = fast_commutes,
    .hold = fast_hold,
    .release = fast_release,
    .hold_comm = fast_hold_comm,
    .release_comm = fast_release_comm,
    .run = fast_run,
    .abort = fast_abort,
};

/* ---- the library ---- */

static const mpich_fast_native_t *fast_library;
static mpich_fast_refusal_t fast_refusal;

static int fast_at_finalize(void *ignored)
{
    (void) ignored;
    if (fast_hook_id >= 0)
        MPIR_Progress_hook_deregister(fast_hook_id);
    fast_library->finalize();
    return MPI_SUCCESS;
}

static void fast_open_library(void)
{
    const char *name = MPIR_CVAR_COLL_FAST_LIBRARY;
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    mpich_fast_native_open_t *open = NULL;

    if (handle)
        open = (mpich_fast_native_open_t *) dlsym(handle, "mpich_fast_native_open");
    if (!open) {
        snprintf(fast_refusal.why, sizeof(fast_refusal.why), "%s. Set LD_LIBRARY_PATH, or "
                 "MPIR_CVAR_COLL_FAST_LIBRARY to the path of libmpich_coll_fast.so; "
                 "or choose another algorithm", dlerror());
        return;
    }
    strcpy(fast_refusal.why, "the library is of another version than our lines in this MPICH");
    fast_library = open(MPICH_FAST_NATIVE_VERSION, &fast_services, MPIR_Process.rank,
                        MPIR_Process.size, &fast_refusal);
    if (fast_library) {
        fast_refusal.why[0] = 0;
        MPIR_Add_finalize(fast_at_finalize, NULL, MPIR_FINALIZE_CALLBACK_PRIO + 1);
    }
}

static const mpich_fast_native_t *fast_get_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, fast_open_library);
    return fast_library;
}

/* ---- communicators ---- */

/* All calls on it are MPICH's. */
static fast_comm_t fast_unused;

typedef enum { FAST_GOES, FAST_REFUSED, FAST_STOPS } fast_verdict_t;

/* Once in a process: it is the same for every communicator. */
static void fast_say_refusal(void)
{
    static bool said;

    if (!said && fast_refusal.stop)
        fprintf(stderr, "coll fast: %s\n", fast_refusal.why);
    else if (!said)
        fprintf(stderr, "coll fast: not used: rank %d: %s\n", MPIR_Process.rank,
                fast_refusal.why[0] ? fast_refusal.why : "out of memory");
    said = true;
}

/* The library has to be on all ranks: where it is missing on one, none uses it. */
static int fast_agree(MPIR_Comm * comm_ptr, fast_verdict_t verdict, bool * all_go)
{
    struct {
        int verdict, rank;
    } mine = { verdict, comm_ptr->rank }, worst = mine;
    int mpi_errno = fast_allreduce(&mine, &worst, 1, FAST_2INT, MPI_MAXLOC, comm_ptr);

    *all_go = !mpi_errno && worst.verdict == FAST_GOES;
    if (!*all_go && worst.rank == comm_ptr->rank)
        fast_say_refusal();
    if (worst.verdict == FAST_STOPS) {
        usleep(200000);         /* for hydra to read it */
        fast_abort(1);
    }
    return mpi_errno;
}

int MPII_Coll_fast_comm_cleanup(MPIR_Comm * comm_ptr)
{
    fast_comm_t *fast = comm_ptr->coll_fast;
    int mpi_errno = MPI_SUCCESS;

    if (fast && fast != &fast_unused) {
        if (fast->state)
            fast_library->comm_free(fast->state);
        if (fast->own)
            mpi_errno = MPIR_Comm_release(fast->own);
        MPL_free(fast);
    }
    comm_ptr->coll_fast = NULL;
    return mpi_errno;
}

/* Have all ranks the same ones? */
static int fast_compare_reductions(MPIR_Comm * comm_ptr, bool * reduces)
{
    static bool said;
    int mine = fast_library->reductions();
    int both[2] = { mine, -mine }, most[2] = { 0, 0 };
    int mpi_errno = fast_allreduce(both, most, 2, FAST_INT, MPI_MAX, comm_ptr);

    *reduces = !mpi_errno && mine != 0 && most[0] == -most[1];
    if (most[0] != -most[1] && comm_ptr->rank == 0 && !said) {
        fprintf(stderr, "coll fast: FASTSCHED_ALLREDUCE or FASTSCHED_ALLREDUCE_MIN differs between "
                "ranks: MPI_Allreduce goes to the MPI\n");
        said = true;
    }
    return mpi_errno;
}

/* At the first call, whosoever it will be. Where a rank has no memory, calls on the communicator are
 * MPICH's on all. */
static int fast_join(MPIR_Comm * comm_ptr)
{
    fast_comm_t *fast = MPL_calloc(1, sizeof(*fast), MPL_MEM_OTHER);
    bool all_go, here = fast_get_library() && fast;
    int mpi_errno = fast_agree(comm_ptr, fast_refusal.stop ? FAST_STOPS : here ? FAST_GOES :
                               FAST_REFUSED, &all_go);

    if (!all_go) {
        MPL_free(fast);
        comm_ptr->coll_fast = &fast_unused;
        return mpi_errno;
    }
    fast->user = comm_ptr;
    comm_ptr->coll_fast = fast;
    return fast_compare_reductions(comm_ptr, &fast->reduces);
}

static int fast_set_up(MPIR_Comm * comm_ptr)
{
    fast_comm_t *fast = comm_ptr->coll_fast;
    mpich_fast_native_comm_t member = {.comm = fast,
        .name = comm_ptr->name[0] ? comm_ptr->name : "a communicator",
        .rank = comm_ptr->rank,
        .size = comm_ptr->local_size,
        .world_rank = MPIR_Process.rank
    };
    int mpi_errno, error_class;

    fast->is_set_up = true;     /* it calls MPICH */
    mpi_errno = MPID_Get_node_id(comm_ptr, comm_ptr->rank, &member.node);
    MPIR_ERR_CHECK(mpi_errno);
    error_class = fast_library->comm_create(&member, &fast->state);
    if (error_class == MPI_ERR_NO_MEM) {
        mpi_errno = MPII_Coll_fast_comm_cleanup(comm_ptr);
        comm_ptr->coll_fast = &fast_unused;
    } else if (error_class)
        mpi_errno = fast_error(error_class);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- a call ---- */

/* MPICH reduces before MPI_Init is over, too. */
static bool fast_can_serve(MPIR_Comm * comm_ptr, const mpich_fast_native_args_t * args)
{
#ifdef ENABLE_THREADCOMM
    if (comm_ptr->threadcomm)
        return false;
#endif
    if (args->reduces &&
        MPL_atomic_load_int(&MPIR_Process.mpich_state) != MPICH_MPI_STATE__INITIALIZED)
        return false;
    return comm_ptr->local_size > 1;
}

/* The library's state; NULL: the call is MPICH's. */
static int fast_get_state(MPIR_Comm * comm_ptr, const mpich_fast_native_args_t * args,
                          bool blocking, bool may_create, void **state)
{
    fast_comm_t *fast;
    int mpi_errno = MPI_SUCCESS;

    *state = NULL;
    if (!fast_can_serve(comm_ptr, args))
        return MPI_SUCCESS;
    if (!comm_ptr->coll_fast && may_create)
        mpi_errno = fast_join(comm_ptr);
    fast = comm_ptr->coll_fast;
    if (mpi_errno || !fast || fast == &fast_unused ||
        (args->reduces && !(fast->reduces && fast_library->takes(args, blocking))))
        return mpi_errno;
    if (!fast->is_set_up && may_create)
        mpi_errno = fast_set_up(comm_ptr);
    if (!mpi_errno)
        *state = ((fast_comm_t *) comm_ptr->coll_fast)->state;
    return mpi_errno;
}

int MPII_Coll_fast_serve(const mpich_fast_native_args_t * args, fast_call_t * call)
{
    int mpi_errno, error_class;
    void *state;

    mpi_errno = fast_get_state(call->comm_ptr, args, true, true, &state);
    MPIR_ERR_CHECK(mpi_errno);
    if (!state)
        return fast_decline(call, args);
    error_class = fast_library->serve(state, args, call);
    if (error_class)
        mpi_errno = call->mpi_errno ? call->mpi_errno : fast_error(error_class);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- a nonblocking or persistent call: a schedule of one operation of the library ---- */

static int fast_issue_started(void *operation, int *done)
{
    (void) operation;
    *done = 0;
    return MPI_SUCCESS;
}

static int fast_issue_again(void *operation, int *done)
{
    fast_library->start_again(operation);
    *done = 0;
    return MPI_SUCCESS;
}

static int fast_is_complete(void *operation, int *is_complete)
{
    bool done;

    (void) fast_library->test(operation, &done);
    *is_complete = done;
    return MPI_SUCCESS;
}

/* Behind the operation: an error of this one is the request's, one of that would be the progress
 * engine's. */
static int fast_tell(MPIR_Comm * comm, int tag, void *operation)
{
    bool done;
    int error_class = fast_library->test(operation, &done);

    (void) comm;
    (void) tag;
    return error_class ? fast_error(error_class) : MPI_SUCCESS;
}

static int fast_free(void *operation)
{
    fast_library->free(operation);
    return MPI_SUCCESS;
}

int MPII_Coll_fast_sched(const mpich_fast_native_args_t * args, MPIR_Comm * comm_ptr,
                         MPIR_TSP_sched_t sched, bool * declined)
{
    bool is_persistent = ((MPII_Genutil_sched_t *) sched)->is_persistent;
    int mpi_errno, error_class, type, vertex, told = 0;
    void *state, *operation = NULL;

    mpi_errno = fast_get_state(comm_ptr, args, false, is_persistent, &state);
    MPIR_ERR_CHECK(mpi_errno);
    if (state) {
        error_class = is_persistent ? fast_library->init(state, args, &operation) :
            fast_library->start(state, args, &operation);
        if (error_class) {
            mpi_errno = fast_error(error_class);
            goto fn_fail;
        }
    }
    *declined = !operation;
    if (!operation)
        goto fn_exit;
    type = MPIR_TSP_sched_new_type(sched, is_persistent ? fast_issue_again : fast_issue_started,
                                   fast_is_complete, fast_free);
    mpi_errno = MPIR_TSP_sched_generic(type, operation, sched, 0, NULL, &vertex);
    MPIR_ERR_CHECK(mpi_errno);
    (void) told;                /* before 5.0 the new vertex is what it returns */
    (void) MPIR_TSP_sched_cb(fast_tell, operation, sched, 1, &vertex FAST_NEW_VERTEX(&told));

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
