/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the executor asks of a network. Two tables: a net is one per process, a
 * transport one per communicator. UCX implements them, and so does the
 * in-process network of the tests.
 *
 * Rules:
 *   - everything but fs_net_t.progress runs under the net's lock, callbacks
 *     included: they must only take notes;
 *   - a transfer ends with exactly one call of its done(), which may come from
 *     inside send() or recv();
 *   - messages match by (peer, key), all bits.
 */
#ifndef FS_TRANSPORT_H
#define FS_TRANSPORT_H

#include "fastsched_exec.h"

#include <pthread.h>

/* A message on its way. Owned by the caller until done(). */
typedef struct fs_xfer fs_xfer_t;
struct fs_xfer {
    void (*done)(fs_xfer_t *xfer, fs_status_t status, uint64_t len_bytes);
    fs_mem_kind_t mem;     /* that the message is in: one that the net takes */
    void         *request; /* the rest is the transport's, while in flight */
    fs_xfer_t    *next;
    fs_xfer_t    *prev;
    uint64_t      len_bytes; /* of a send */
    uint8_t       reach;     /* of a receive, fs_reach_t */
    bool          in_flight; /* of a receive */
};

/* The connection to a peer. */
typedef enum fs_reach {
    FS_REACH_NONE,
    FS_REACH_LOCAL, /* same server */
    FS_REACH_WIRE,  /* other server */
    FS_REACH_LATER  /* the same, connected when it is first needed */
} fs_reach_t;

typedef struct fs_transport fs_transport_t;

/* Granted instead of a count: this rank has given the communicator up. */
#define FS_GIVEN_UP UINT64_MAX

typedef struct fs_transport_ops {
    fs_status_t (*send)(fs_transport_t *transport, uint32_t peer, uint32_t key,
                        const void *buf, uint64_t len_bytes, fs_xfer_t *xfer);
    fs_status_t (*recv)(fs_transport_t *transport, uint32_t peer, uint32_t key,
                        void *buf, uint64_t len_bytes, fs_xfer_t *xfer);
    /* Try to take back a receive; done() still comes, now or later. */
    void (*cancel)(fs_transport_t *transport, fs_xfer_t *xfer);
    /* Tell a wire peer which messages it may send and which have arrived, see
     * fs_credit.h; or, with FS_GIVEN_UP, also after errors, that this rank has given
     * up. Never queues behind data. Counts only grow; a later one may stand in for
     * an earlier one, and one may come again, as a sign of life, or go to a peer of
     * the same server. */
    fs_status_t (*grant)(fs_transport_t *transport, uint32_t peer,
                         uint64_t count);
    /* Tell a wire peer a word of one's own, which comes as noted() there. Never
     * queues behind data; a later one may stand in for an earlier one, but they
     * come in order. NULL: this transport cannot. */
    fs_status_t (*note)(fs_transport_t *transport, uint32_t peer,
                        uint64_t word);
    void (*destroy)(fs_transport_t *transport);
} fs_transport_ops_t;

struct fs_transport {
    const fs_transport_ops_t *ops;
    fs_net_t                 *net;
    /* Set by the owner: a peer has granted. Under the lock. */
    void (*granted)(void *arg, uint32_t peer, uint64_t count);
    void *granted_arg;
    /* Likewise: a word has come; NULL: nobody hears. */
    void (*noted)(void *arg, uint32_t peer, uint64_t word);
    void *noted_arg;
    /* Grants of ours that wait for the network to take them. Who leaves a call
     * before may not look at the network again for a long time. */
    uint32_t n_grants_out;
    /* Messages inside a server it can tell apart in one call, by channel and
     * peer; 0: all that keys can. */
    uint32_t max_seq;
};

/* What a rank tells the others before they can talk to it. */
typedef struct fs_net_hello {
    uint64_t process[2]; /* identity of the process, random */
    uint64_t secret;     /* that of rank 0 is the communicator's */
    uint32_t group;      /* its name for this communicator */
    uint32_t address_len;
    uint64_t rdma; /* fs_net_t.rdma; fs_comm_network.c says so */
} fs_net_hello_t;

/* A communicator in the making. */
typedef struct fs_net_group {
    uint32_t              n_ranks;
    uint32_t              rank;
    uint32_t              group;   /* from hello() */
    const fs_net_hello_t *hello;   /* [n_ranks] */
    const char           *address; /* [n_ranks x stride] bytes */
    size_t                stride;
    const uint8_t        *reach; /* [n_ranks] fs_reach_t */
} fs_net_group_t;

typedef struct fs_net_ops {
    /* Start a communicator: what to tell the others. The address is the net's
     * and lives as long. */
    fs_status_t (*hello)(fs_net_t *net, fs_net_hello_t *hello,
                         const void **address);
    /* Give back a group for which connect() was not called. */
    void (*forget)(fs_net_t *net, uint32_t group);
    /* Make a transport to the peers in reach. On FS_ERR_UNREACHABLE
     * *failed_p is the first peer that cannot be reached. */
    fs_status_t (*connect)(fs_net_t *net, const fs_net_group_t *group,
                           fs_transport_t **transport_p, uint32_t *failed_p);
    unsigned (*progress)(fs_net_t *net);
    void (*destroy)(fs_net_t *net);
} fs_net_ops_t;

/* What goes on when the net has moved: the queue of a communicator, while there
 * is something in it. */
typedef struct fs_task fs_task_t;
struct fs_task {
    /* Once in every turn, under the lock; may take itself off the list. look: it
     * is time to look at the clock. */
    void (*turn)(fs_task_t *task, bool look);
    fs_task_t *next;
};

struct fs_net {
    const fs_net_ops_t *ops;
    pthread_mutex_t     lock;
    fs_task_t          *tasks;
    uint32_t            n_waiting; /* calls that turn it until they are done */
    uint32_t            n_locking; /* fs_net_lock() */
    struct fs_helper   *helper;    /* fs_helper.h; NULL: none */
    /* Of devices that messages may be in: bits 1 << fs_mem_kind_t. */
    unsigned    mem_kinds;
    bool        rdma; /* it reads and writes there itself, with no copies */
    bool        local_arrives; /* what is sent inside a server gets there even
                                  if this process looks at the net no more */
    const char *name;          /* for messages; NULL: none */
    bool lost; /* a communicator has died, perhaps with operations that never
                  end */
    uint64_t n_dropped;  /* messages that came with a wrong secret */
    uint64_t kept_bytes; /* for persistent calls, see fs_persistent.h */
    uint64_t events;     /* that fs_net_turn() has seen, ever */
    uint64_t n_ended;    /* messages and grants; who owns a transport counts */
    uint32_t turns;
    uint32_t idle; /* turns since the last event */
};

/* One turn: the network, then every task of the process. All that drive a net do
 * it by this call, under the lock. */
unsigned fs_net_turn(fs_net_t *net);

/* Take the lock in a call: the helper lets go of it. */
static inline void fs_net_lock(fs_net_t *net)
{
    (void)__atomic_fetch_add(&net->n_locking, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&net->lock);
    (void)__atomic_fetch_sub(&net->n_locking, 1, __ATOMIC_RELAXED);
}

/* Likewise under the lock. */
void fs_net_add(fs_net_t *net, fs_task_t *task);
void fs_net_remove(fs_net_t *net, fs_task_t *task);

/* In a wait, is it time to look at the clock and to let the MPI have a turn? */
static inline bool fs_net_is_quiet(unsigned events, unsigned turn)
{
    enum { BUSY_TURNS = 16 };

    return events == 0 || turn % BUSY_TURNS == 0;
}

/* Keys: channel, call or round, number. */
static inline uint32_t fs_key(uint32_t channel, uint32_t call, uint32_t seq)
{
    return channel << 28 | (call & 15) << 24 | seq;
}

#endif
