/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast coll component: translates between Open MPI and libfastsched.
 */
#ifndef MCA_COLL_FAST_H
#define MCA_COLL_FAST_H

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/mca.h"
#include "ompi/op/op.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/util/output.h"

#include "wrapper/fs_setup_gather.h"
#include "wrapper/fs_wrapper.h"

/* The one block that knows the versions of the coll interface. */
#if defined(MCA_COLL_BASE_VERSION_3_0_0) /* Open MPI 6 */
#    define FAST_COLL_VERSION  MCA_COLL_BASE_VERSION_3_0_0
#    define FAST_COUNTS        ompi_count_array_t
#    define FAST_DISPLS        ompi_disp_array_t
#    define FAST_COUNT(_a, _i) ompi_count_array_get((_a), (_i))
#    define FAST_DISPL(_a, _i) ompi_disp_array_get((_a), (_i))
#    define FAST_ONE_COUNT     size_t
#else /* 4.1, 5.0 */
#    if defined(MCA_COLL_BASE_VERSION_2_4_0)
#        define FAST_COLL_VERSION MCA_COLL_BASE_VERSION_2_4_0
#    else
#        define FAST_COLL_VERSION MCA_COLL_BASE_VERSION_2_0_0
#    endif
#    define FAST_COUNTS        const int *
#    define FAST_DISPLS        const int *
#    define FAST_COUNT(_a, _i) ((size_t) (_a)[_i])
#    define FAST_DISPL(_a, _i) ((ptrdiff_t) (_a)[_i])
#    define FAST_ONE_COUNT     int
#endif

#if defined(MCA_COLL_BASE_VERSION_2_0_0) /* 4.1 */
#    include "opal/mca/pmix/pmix.h"
#    define FAST_PMIX_GLOBAL OPAL_PMIX_GLOBAL
#    define FAST_PMIX_STRING OPAL_STRING
#else
#    include "opal/mca/pmix/pmix-internal.h"
#    define FAST_PMIX_GLOBAL PMIX_GLOBAL
#    define FAST_PMIX_STRING PMIX_STRING
#endif

#define FAST_FALLBACK "all"
#define FAST_ABOVE    "above all others"

enum { FAST_MAX_PARAMS = 40, FAST_MAX_WRITTEN = 4, FAST_PRIORITY_WHEN_NAMED = 90 };

/* What MPI_T may write: the text that was read last. */
typedef struct fast_written {
    size_t row; /* of fs_params_info() */
    char text[64];
} fast_written_t;

/* Has a process of the job the same settings as this one? */
typedef enum fast_alike { FAST_UNKNOWN, FAST_ALIKE, FAST_UNLIKE } fast_alike_t;

typedef struct mca_coll_fast_component_t {
    mca_coll_base_component_t super;
    char *priority_text;          /* as typed */
    int priority;                 /* below 0: not to be used */
    char *fallback;               /* helpers under "--mca coll fast" */
    char *value[FAST_MAX_PARAMS]; /* of fs_params_info(k), as typed */
    fast_written_t written[FAST_MAX_WRITTEN];
    unsigned n_written;
    bool was_off;                 /* parameter algorithm, when the component was opened */
    char bad_value[512];          /* why they cannot be used, or "" */
    char standing[64];            /* FAST_ABOVE, or priority and a component that is not below it */
    char record[FS_SETTINGS_MAX]; /* coll_fast_settings.c */
    fast_alike_t *alike;          /* [ranks of the job] or NULL */
    bool watches_finalize;        /* coll_fast_host.c */
    bool explained;               /* why a communicator is left to others */
    char served_by[200];          /* wrapper.served_by */
    fs_wrapper_t wrapper;         /* its sums are the pvars */
} mca_coll_fast_component_t;

OMPI_DECLSPEC extern mca_coll_fast_component_t mca_coll_fast_component;

/* The calls that we serve: mca_coll_fast_alltoallv() and so on. */
#define FAST_SERVED(DO) \
    DO(alltoallv)       \
    DO(alltoall)        \
    DO(alltoallw)       \
    DO(ialltoallv)      \
    DO(ialltoall) DO(ialltoallw) DO(alltoallv_init) DO(alltoall_init) DO(alltoallw_init)

/* Likewise, with parameter allreduce. */
#define FAST_REDUCING(DO) DO(allreduce) DO(iallreduce) DO(allreduce_init)

/* What served a communicator before us, and what we need of it. */
#define FAST_NATIVE(DO) DO(allgather) FAST_REDUCING(DO) FAST_SERVED(DO)

#define FAST_NATIVE_FIELD(name)              \
    mca_coll_base_module_##name##_fn_t name; \
    mca_coll_base_module_t *name##_module;

typedef struct fast_native {
    FAST_NATIVE(FAST_NATIVE_FIELD)
} fast_native_t;

typedef struct mca_coll_fast_request mca_coll_fast_request_t;

/* One per communicator, which owns it. */
typedef struct mca_coll_fast_module_t {
    mca_coll_base_module_t super;
    ompi_communicator_t *comm;
    fast_native_t native;
    bool is_set_up; /* at the first call */
    fs_wrapper_comm_t shared;
    ompi_communicator_t *own; /* coll_fast_p2p.c */
    /* Where the first call was nonblocking, until the first that is not: */
    bool is_beside;
    bool is_never_beside; /* it is not, whatever call comes first */
    bool is_pending;      /* the set-up is not over */
    fs_status_t setup_status;
    int setup_tag;
    fs_setup_t setup;
    fs_setup_gather_t gather;
    struct mca_coll_fast_module_t *next_in_setup;
    mca_coll_fast_request_t *early; /* calls that wait for it */
} mca_coll_fast_module_t;

OBJ_CLASS_DECLARATION(mca_coll_fast_module_t);

/* coll_fast_module.c */
int mca_coll_fast_init_query(bool enable_progress_threads, bool enable_mpi_threads);
mca_coll_base_module_t *mca_coll_fast_comm_query(ompi_communicator_t *comm, int *priority);
void mca_coll_fast_free_spare(void);

/* coll_fast_settings.c: do all ranks come to our alltoallv? */
void mca_coll_fast_publish_settings(void);
/* The same answer on all ranks. */
bool mca_coll_fast_can_compare(ompi_communicator_t *comm);
/* The same answer on all that come; a line about it if it is no. */
bool mca_coll_fast_ranks_are_alike(ompi_communicator_t *comm);
/* After the fence of MPI_Init: no lower rank of it has a wrong parameter. */
bool mca_coll_fast_is_first_to_refuse(ompi_communicator_t *comm);

/* coll_fast_fallback.c */
bool mca_coll_fast_is_named(void);
/* The highest priority of the other components for communicators like ours; -1: there is none. */
int mca_coll_fast_highest_rival(const char **name_p);
const char *mca_coll_fast_unknown_helper(void);
int mca_coll_fast_add_helpers(void);

/* coll_fast_dtype.c: a call and its two sides */
typedef struct mca_coll_fast_block {
    char *start;
    ompi_datatype_t *dtype; /* not set if count is 0 */
    size_t count;
} mca_coll_fast_block_t;

typedef struct mca_coll_fast_side {
    char *buf;
    ompi_datatype_t *dtype;
    ompi_datatype_t *const *dtypes; /* if not NULL, of each block, and displs are bytes; not to be
                                       read of an empty one */
    bool even;                      /* all blocks have count elements and follow each other */
    size_t count;
    FAST_COUNTS counts; /* else these */
    FAST_DISPLS displs;
    mca_coll_fast_block_t *kept; /* [n_ranks] not NULL: all that, and what is the caller's is not
                                    looked at any more */
} mca_coll_fast_side_t;

typedef struct mca_coll_fast_call {
    mca_coll_fast_module_t *module;
    const void *sbuf;          /* may be MPI_IN_PLACE */
    mca_coll_fast_side_t send; /* in place: undefined, then the receive side */
    mca_coll_fast_side_t recv;
    ompi_op_t *op; /* of an allreduce: all else is in sbuf and the receive side. Else NULL */
} mca_coll_fast_call_t;

/* Look at all that is the caller's, and keep it; kept: [2 * n_ranks], the caller's own. In place
 * the second half is not used. */
void mca_coll_fast_keep(mca_coll_fast_call_t *call, mca_coll_fast_block_t *kept);

/* For fs_wrapper_calls_t; ctx is an mca_coll_fast_call_t. */
fs_status_t mca_coll_fast_describe(void *ctx, fs_buffers_t *b);
fs_status_t mca_coll_fast_pack(void *ctx, uint32_t block, uint64_t offset, uint64_t len, void *dst);
fs_status_t mca_coll_fast_unpack(void *ctx, uint32_t block, uint64_t offset, uint64_t len,
                                 const void *src);

/* How a collective is described and done; native is NULL in what is not blocking. */
#define FAST_CALLS(_name, _collective, _native)                                                   \
    {                                                                                             \
        .name = (_name), .collective = &(_collective), .describe = mca_coll_fast_describe,        \
        .pack = mca_coll_fast_pack, .unpack = mca_coll_fast_unpack, .raise = mca_coll_fast_raise, \
        .native = (_native)                                                                       \
    }

/* coll_fast_mpit.c: MPI_T's variables */
void mca_coll_fast_register_pvars(void);
/* Row k of fs_params_info() may be written. */
void mca_coll_fast_register_written(size_t k);
/* Take over what has been written since; a value that is not allowed changes nothing, and a line
 * says so. The first time nothing can be wrong. Before each call. */
void mca_coll_fast_read_written(void);

/* coll_fast_event.c: MPI_T's event, where Open MPI has any */
void mca_coll_fast_register_event(void);
/* Of the wrapper. */
void mca_coll_fast_call_is_over(const fs_wrapper_comm_t *comm, const fs_served_t *served);

/* coll_fast_host.c: the first call of a communicator sets it up, collectively; a nonblocking one
 * only begins with that, where ranks are on several servers */
int mca_coll_fast_set_up(mca_coll_fast_module_t *module);
void mca_coll_fast_begin_set_up(mca_coll_fast_module_t *module);
/* Serve a blocking call. */
int mca_coll_fast_serve(const fs_wrapper_calls_t *calls, mca_coll_fast_call_t *call);
/* together: all ranks are here, and can talk. */
void mca_coll_fast_teardown(mca_coll_fast_module_t *module, bool together);
void mca_coll_fast_net_is_up(fs_net_t *net);
void mca_coll_fast_register_progress(void);
void mca_coll_fast_close_network(void);
void mca_coll_fast_say(const char *line);
void mca_coll_fast_complain(const char *format, ...) __opal_attribute_format__(__printf__, 1, 2);
/* For fs_wrapper_calls_t. */
int mca_coll_fast_raise(void *ctx, fs_status_t status);

/* coll_fast_setup.c: a set-up that waits for nobody; the arguments are fs_setup_begin()'s */
void mca_coll_fast_set_up_beside(mca_coll_fast_module_t *module, const fs_native_t *native,
                                 const fs_member_t *member);
void mca_coll_fast_progress_set_ups(void);
void mca_coll_fast_wait_for_set_up(mca_coll_fast_module_t *module);
void mca_coll_fast_abandon_set_ups(void);

/* coll_fast_by_pair.c */
typedef struct fast_by_pair {
    ompi_request_t **messages; /* [2 * n_ranks] */
    char *copy;                /* of what is sent in place */
    int rc;                    /* the last error */
} fast_by_pair_t;

/* Of a call whose two sides are kept in one array, the receive side first. A rank that cannot ends
 * the job. */
void mca_coll_fast_begin_by_pair(fast_by_pair_t *p, mca_coll_fast_call_t *call, int tag);
/* Then p->rc is the call's. */
bool mca_coll_fast_by_pair_is_over(fast_by_pair_t *p, const mca_coll_fast_call_t *call);
/* All zero is fine. */
void mca_coll_fast_free_by_pair(fast_by_pair_t *p);

/* coll_fast_request.c: start a nonblocking call, or make a persistent one, which may set up its
 * communicator. call is copied. *request stays NULL if it is not ours: of allreduces before a call has
 * set the communicator up none is. */
int mca_coll_fast_start(const fs_wrapper_calls_t *calls, mca_coll_fast_call_t *call,
                        ompi_request_t **request);
int mca_coll_fast_init(const fs_wrapper_calls_t *calls, mca_coll_fast_call_t *call,
                       ompi_request_t **request);
/* The set-up is over: what early calls have waited for. */
void mca_coll_fast_begin_early(mca_coll_fast_module_t *module);
/* End those that the network has ended. */
void mca_coll_fast_end_requests(void);
/* The end of the component. */
void mca_coll_fast_close_requests(void);

/* coll_fast_p2p.c: Open MPI's own messages */
extern const fs_native_p2p_t mca_coll_fast_p2p;
void mca_coll_fast_close_p2p(mca_coll_fast_module_t *module);

/* coll_fast_alltoallv.c, coll_fast_alltoall.c, coll_fast_alltoallw.c, coll_fast_allreduce.c: by Open
 * MPI's interface. What a call begins with: */
#define FAST_ALLTOALLV                                                                   \
    const void *sbuf, FAST_COUNTS scounts, FAST_DISPLS sdispls, ompi_datatype_t *sdtype, \
        void *rbuf, FAST_COUNTS rcounts, FAST_DISPLS rdispls, ompi_datatype_t *rdtype,   \
        ompi_communicator_t *comm
#define FAST_ALLTOALL                                                             \
    const void *sbuf, FAST_ONE_COUNT scount, ompi_datatype_t *sdtype, void *rbuf, \
        FAST_ONE_COUNT rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm
#define FAST_ALLTOALLW                                                                           \
    const void *sbuf, FAST_COUNTS scounts, FAST_DISPLS sdispls, ompi_datatype_t *const *sdtypes, \
        void *rbuf, FAST_COUNTS rcounts, FAST_DISPLS rdispls, ompi_datatype_t *const *rdtypes,   \
        ompi_communicator_t *comm
#define FAST_ALLREDUCE                                                                         \
    const void *sbuf, void *rbuf, FAST_ONE_COUNT count, ompi_datatype_t *dtype, ompi_op_t *op, \
        ompi_communicator_t *comm

#define FAST_DECLARE(_name, ...)                                                               \
    int mca_coll_fast_##_name(__VA_ARGS__, mca_coll_base_module_t *module);                    \
    int mca_coll_fast_i##_name(__VA_ARGS__, ompi_request_t **request,                          \
                               mca_coll_base_module_t *module);                                \
    int mca_coll_fast_##_name##_init(__VA_ARGS__, ompi_info_t *info, ompi_request_t **request, \
                                     mca_coll_base_module_t *module);

FAST_DECLARE(alltoallv, FAST_ALLTOALLV)
FAST_DECLARE(alltoall, FAST_ALLTOALL)
FAST_DECLARE(alltoallw, FAST_ALLTOALLW)
FAST_DECLARE(allreduce, FAST_ALLREDUCE)

#endif
