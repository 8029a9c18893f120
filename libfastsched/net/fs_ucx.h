/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files about UCX. */
#ifndef FS_UCX_H
#define FS_UCX_H

#include "net/fs_transport.h"
#include "net/fs_ucx_config.h"

/* Tags: key (32 bits), the receiver's group (14), the sender's rank (18); all of
 * them mixed with the communicator's secret. */
enum {
    UCX_GROUP_BITS = 14,
    UCX_RANK_BITS  = 18,
    UCX_MAX_GROUPS = 1 << UCX_GROUP_BITS,
    UCX_MAX_RANKS  = 1 << UCX_RANK_BITS,
    UCX_AM_WORD    = 7, /* id of the one active message */
    UCX_SHORT      = 4096, /* bytes of a message that data must not hold up */
    UCX_FEATURES   = UCP_FEATURE_TAG | UCP_FEATURE_AM
};

/* Endpoints to another process, shared by all communicators. */
typedef struct ucx_peer {
    uint64_t process[2];
    ucp_ep_h local;
    ucp_ep_h data; /* on the wire */
    ucp_ep_h ctrl; /* on the wire: a word never queues behind data */
} ucx_peer_t;

typedef struct ucx_context {
    ucp_context_h  context;
    ucp_worker_h   worker;
    ucp_address_t *address;
    size_t         address_len;
    ucp_tag_t      early; /* of a message of ours that nobody waits for yet */
} ucx_context_t;

/* Configuration of the wire in addition to UCX's environment. */
typedef struct ucx_wire {
    uint64_t    tcp_sndbuf;
    const char *net_device;
} ucx_wire_t;

/* Where an error is described. */
typedef struct ucx_reason {
    char  *text;
    size_t len;
} ucx_reason_t;

/* Find the resources that UCX can use on this machine. */
fs_status_t fs_ucx_find_resources(fs_ucx_resources_t *found,
                                  const ucx_reason_t *why);

/* Configured by UCX's environment, then by us. wire: NULL for "local". To be
 * closed even after an error. */
fs_status_t fs_ucx_context_open(ucx_context_t            *c,
                                const fs_ucx_resources_t *found,
                                const ucx_wire_t         *wire,
                                const ucx_reason_t       *why);
void        fs_ucx_context_close(ucx_context_t *c);

/* A call of UCX has failed: write the reason; returns FS_ERR_TRANSPORT. */
fs_status_t fs_ucx_refuse(const ucx_reason_t *why, const char *call,
                          ucs_status_t status);

typedef struct ucx_group ucx_group_t;

typedef struct ucx_net {
    fs_net_t           super; /* first */
    fs_ucx_resources_t found;
    ucx_context_t      local;
    ucx_context_t      wire;
    uint64_t           process[2];
    char               name[256];
    char              *address; /* length of local, local, wire */
    size_t             address_len;
    ucx_peer_t       **peers; /* hash table, open addressing */
    size_t             n_peers;
    size_t             max_peers; /* power of two */
    ucx_group_t      **groups;    /* [UCX_MAX_GROUPS] by name */
    uint32_t           n_groups;
    uint32_t           next_group;
} ucx_net_t;

/* What goes out on the control endpoint: grants and notes. */
typedef enum ucx_kind { UCX_GRANT, UCX_NOTE, UCX_N_KINDS } ucx_kind_t;

typedef struct ucx_word {
    uint64_t secret;
    uint16_t group; /* the receiver's name for the communicator */
    uint16_t kind;  /* ucx_kind_t */
    uint32_t rank;  /* who says it */
    uint64_t value;
} ucx_word_t;

typedef struct ucx_link ucx_link_t;

/* The words of one kind to a peer. */
typedef struct ucx_out {
    ucx_link_t *link;
    uint64_t    wanted; /* the newest; sent when not busy */
    ucx_word_t  word;   /* in flight while busy */
    bool        busy;
} ucx_out_t;

/* One peer of a communicator. */
struct ucx_link {
    ucx_peer_t  *peer;
    uint32_t     group;   /* the peer's name for the communicator */
    uint8_t      reach;   /* fs_reach_t; LATER until it is connected */
    char        *address; /* for that; else NULL */
    ucx_out_t    out[UCX_N_KINDS];
    ucx_group_t *owner;
};

struct ucx_group {
    fs_transport_t super; /* first */
    uint32_t       name;
    uint32_t       rank;
    uint32_t       n_ranks;
    uint64_t       secret;
    fs_status_t    out_status; /* of words that failed after the call */
    bool           destroyed;  /* freed when the last word is out */
    ucx_link_t    *links;      /* [n_ranks] */
};

extern const fs_transport_ops_t fs_ucx_transport_ops;

/* Messages that came before we wait for them: drop what is not ours. */
void fs_ucx_drop_foreign(ucx_net_t *net, ucx_context_t *context);

/* Connect a peer that was to be connected later. FS_OK, FS_ERR_NOMEM,
 * FS_ERR_UNREACHABLE. */
fs_status_t fs_ucx_connect_link(ucx_link_t *link);

void fs_ucx_free_group(ucx_group_t *group);

/* The handler of UCX_AM_WORD; arg is the ucx_net_t. */
ucs_status_t fs_ucx_on_word(void *arg, const void *header, size_t header_len,
                            void *data, size_t len,
                            const ucp_am_recv_param_t *param);

/* As a status of ours. */
fs_status_t fs_ucx_status(ucs_status_t status);
/* As UCX's. */
ucs_memory_type_t fs_ucx_memory_type(fs_mem_kind_t kind);

#endif
