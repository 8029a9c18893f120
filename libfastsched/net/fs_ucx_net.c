/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX in this process: its two contexts (fs_ucx_context.c), and the endpoints
 * that communicators share.
 *
 * When a peer dies. Endpoints have UCX's error mode NONE. Mode PEER was tried,
 * with UCX 1.13 on TCP: it costs no time there, but its endpoints never use
 * shared memory, which carries the wire where one host plays several servers;
 * what it costs on RDMA we could not measure. It brings little: in either mode
 * a send to a dead process fails within a second, words included, and a rank
 * that only receives from it notices it when other peers give up, or by the
 * watchdog. Neither mode notices a link that is down: TCP tries for a quarter
 * of an hour.
 *
 * Known limits, of UCX 1.13. Inside a server, CMA aborts a process that reads
 * from one that is gone. On TCP, a message that is sent without a copy when the
 * peer dies is ended twice, and builds with assertions, such as Debian's, abort.
 * FASTSCHED_UCX_ZCOPY_THRESH=inf prevents the latter, for about a fifth more
 * CPU time; not our default, since all that is lost is the wording of the end.
 * And ours: endpoints stay until the end, also those of processes that have left.
 */
#include "fastsched_ucx.h"

#include "net/fs_ucx.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ---- address: both workers' in one blob ---- */

static fs_status_t make_address(ucx_net_t *net)
{
    uint64_t local_len = net->local.address_len;
    char    *p;

    net->address_len = sizeof(local_len) + net->local.address_len +
                       net->wire.address_len;
    net->address = malloc(net->address_len);
    if (net->address == NULL) {
        return FS_ERR_NOMEM;
    }
    p = net->address;
    memcpy(p, &local_len, sizeof(local_len));
    p += sizeof(local_len);
    memcpy(p, net->local.address, net->local.address_len);
    p += net->local.address_len;
    memcpy(p, net->wire.address, net->wire.address_len);
    return FS_OK;
}

static const ucp_address_t *local_address(const char *blob)
{
    return (const ucp_address_t *)(blob + sizeof(uint64_t));
}

static const ucp_address_t *wire_address(const char *blob)
{
    uint64_t local_len;

    memcpy(&local_len, blob, sizeof(local_len));
    return (const ucp_address_t *)(blob + sizeof(local_len) + local_len);
}

/* ---- memory kinds and name ---- */

static unsigned mem_kinds_of(const ucx_context_t *c)
{
    ucp_context_attr_t attr  = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};
    unsigned           kinds = 0;

    if (fs_ucx.ucp_context_query(c->context, &attr) == UCS_OK) {
        for (int k = FS_MEM_HOST + 1; k < FS_N_MEM_KINDS; ++k) {
            if (attr.memory_types >> fs_ucx_memory_type((fs_mem_kind_t)k) & 1) {
                kinds |= 1u << k;
            }
        }
    }
    return kinds;
}

/* "UCX 1.13.1 (/usr/lib/libucp.so.0)": there may be several. */
static void describe(ucx_net_t *net)
{
    Dl_info info = {.dli_fname = "?"};

    (void)dladdr((const void *)(uintptr_t)fs_ucx.ucp_get_version_string, &info);
    snprintf(net->name, sizeof(net->name), "UCX %s (%s)",
             fs_ucx.ucp_get_version_string(), info.dli_fname);
    net->super.name      = net->name;
    net->super.mem_kinds = mem_kinds_of(&net->local) & mem_kinds_of(&net->wire);
}

/* ---- peers ---- */

static ucx_peer_t **find_slot(ucx_peer_t **peers, size_t max,
                              const uint64_t process[2])
{
    size_t k = process[0] & (max - 1); /* ids are random: no hash needed */

    while (peers[k] != NULL && (peers[k]->process[0] != process[0] ||
                                peers[k]->process[1] != process[1])) {
        k = (k + 1) & (max - 1);
    }
    return &peers[k];
}

static bool grow_peers(ucx_net_t *net)
{
    size_t       max   = net->max_peers == 0 ? 64 : 2 * net->max_peers;
    ucx_peer_t **peers = calloc(max, sizeof(*peers));

    if (peers == NULL) {
        return false;
    }
    for (size_t k = 0; k < net->max_peers; ++k) {
        if (net->peers[k] != NULL) {
            *find_slot(peers, max, net->peers[k]->process) = net->peers[k];
        }
    }
    free(net->peers);
    net->peers     = peers;
    net->max_peers = max;
    return true;
}

static ucx_peer_t *get_peer(ucx_net_t *net, const uint64_t process[2])
{
    ucx_peer_t **slot;

    if (2 * net->n_peers >= net->max_peers && !grow_peers(net)) {
        return NULL;
    }
    slot = find_slot(net->peers, net->max_peers, process);
    if (*slot == NULL) {
        *slot = calloc(1, sizeof(**slot));
        if (*slot == NULL) {
            return NULL;
        }
        memcpy((*slot)->process, process, sizeof((*slot)->process));
        ++net->n_peers;
    }
    return *slot;
}

/* UCX has several words for "no way to that peer". */
static fs_status_t make_ep(const ucx_context_t *c, const ucp_address_t *address,
                           ucp_ep_h *ep_p)
{
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
        .address    = address,
    };
    ucs_status_t status;

    if (*ep_p != NULL) {
        return FS_OK;
    }
    status = fs_ucx.ucp_ep_create(c->worker, &params, ep_p);
    if (status == UCS_OK || status == UCS_ERR_NO_MEMORY) {
        return fs_ucx_status(status);
    }
    *ep_p = NULL;
    return FS_ERR_UNREACHABLE;
}

/* Both ends create data, then ctrl: UCX pairs the n-th endpoints of a pair. */
static fs_status_t connect_peer(ucx_net_t *net, ucx_peer_t *peer, uint8_t reach,
                                const char *blob)
{
    fs_status_t status;

    if (reach == FS_REACH_LOCAL) {
        return make_ep(&net->local, local_address(blob), &peer->local);
    }
    status = make_ep(&net->wire, wire_address(blob), &peer->data);
    if (status == FS_OK) {
        status = make_ep(&net->wire, wire_address(blob), &peer->ctrl);
    }
    return status;
}

/* ---- communicators ---- */

/* A name is used again only after all others: late messages find nobody. */
static fs_status_t ucx_hello(fs_net_t *super, fs_net_hello_t *hello,
                             const void **address)
{
    ucx_net_t   *net = (ucx_net_t *)super;
    ucx_group_t *group;
    uint32_t     tries = 0;

    while (net->groups[net->next_group] != NULL) {
        net->next_group = (net->next_group + 1) % UCX_MAX_GROUPS;
        if (++tries == UCX_MAX_GROUPS) {
            return FS_ERR_UNSUPPORTED;
        }
    }
    if (getrandom(&hello->secret, sizeof(hello->secret), 0) !=
        sizeof(hello->secret)) {
        return FS_ERR_TRANSPORT;
    }
    group = calloc(1, sizeof(*group));
    if (group == NULL) {
        return FS_ERR_NOMEM;
    }
    group->name              = net->next_group;
    net->groups[group->name] = group;
    ++net->n_groups;
    net->next_group = (net->next_group + 1) % UCX_MAX_GROUPS;
    memcpy(hello->process, net->process, sizeof(hello->process));
    hello->group       = group->name;
    hello->address_len = (uint32_t)net->address_len;
    *address           = net->address;
    return FS_OK;
}

static void ucx_forget(fs_net_t *super, uint32_t name)
{
    ucx_net_t *net = (ucx_net_t *)super;

    free(net->groups[name]);
    net->groups[name] = NULL;
    --net->n_groups;
}

static fs_status_t keep_address(ucx_link_t *link, const fs_net_group_t *spec,
                                uint32_t r)
{
    link->address = malloc(spec->stride);
    if (link->address == NULL) {
        return FS_ERR_NOMEM;
    }
    memcpy(link->address, spec->address + r * spec->stride, spec->stride);
    return FS_OK;
}

fs_status_t fs_ucx_connect_link(ucx_link_t *link)
{
    ucx_net_t  *net = (ucx_net_t *)link->owner->super.net;
    fs_status_t status =
        connect_peer(net, link->peer, FS_REACH_WIRE, link->address);

    if (status == FS_OK) {
        link->reach = FS_REACH_WIRE;
        free(link->address);
        link->address = NULL;
    }
    return status;
}

static fs_status_t link_peers(ucx_net_t *net, ucx_group_t *group,
                              const fs_net_group_t *spec, uint32_t *failed_p)
{
    fs_status_t status = FS_OK;

    for (uint32_t r = 0; r < spec->n_ranks && status == FS_OK; ++r) {
        ucx_link_t *link = &group->links[r];

        link->owner = group;
        link->group = spec->hello[r].group;
        link->reach = spec->reach[r];
        for (unsigned kind = 0; kind < UCX_N_KINDS; ++kind) {
            link->out[kind].link = link;
        }
        if (link->reach == FS_REACH_NONE) {
            continue;
        }
        link->peer = get_peer(net, spec->hello[r].process);
        status     = link->peer == NULL ? FS_ERR_NOMEM
                     : link->reach == FS_REACH_LATER
                         ? keep_address(link, spec, r)
                         : connect_peer(net, link->peer, link->reach,
                                        spec->address + r * spec->stride);
        *failed_p  = r;
    }
    return status;
}

static fs_status_t ucx_connect(fs_net_t *super, const fs_net_group_t *spec,
                               fs_transport_t **transport_p, uint32_t *failed_p)
{
    ucx_net_t   *net    = (ucx_net_t *)super;
    ucx_group_t *group  = net->groups[spec->group];
    fs_status_t  status = FS_ERR_UNSUPPORTED;

    group->n_ranks = spec->n_ranks;
    if (spec->n_ranks <= UCX_MAX_RANKS) {
        group->links = calloc(spec->n_ranks, sizeof(*group->links));
        status       = group->links == NULL ? FS_ERR_NOMEM
                                            : link_peers(net, group, spec, failed_p);
    }
    if (status != FS_OK) {
        net->groups[spec->group] = NULL;
        --net->n_groups;
        fs_ucx_free_group(group);
        return status;
    }
    group->super.ops = &fs_ucx_transport_ops;
    group->super.net = super;
    group->rank      = spec->rank;
    group->secret    = spec->hello[0].secret;
    *transport_p     = &group->super;
    return FS_OK;
}

static unsigned ucx_progress(fs_net_t *super)
{
    ucx_net_t *net    = (ucx_net_t *)super;
    unsigned   events = fs_ucx.ucp_worker_progress(net->wire.worker) +
                      fs_ucx.ucp_worker_progress(net->local.worker);

    if (events == 0) {
        fs_ucx_drop_foreign(net, &net->wire);
        fs_ucx_drop_foreign(net, &net->local);
    }
    return events;
}

/* ---- the end ---- */

/* Of operations that never end UCX still holds memory, and since 1.16 it aborts
 * if a context goes before that: it stays, and with it UCX's code, as UCX may have
 * threads. */
static void leave_contexts(void)
{
    Dl_info info;

    if (dladdr((const void *)(uintptr_t)fs_ucx.ucp_get_version_string, &info) !=
        0) {
        (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

/* Endpoints go with their workers. Closing them one by one would flush, and on
 * TCP a flush waits for an answer of the peer, which may be gone. */
static void ucx_free(fs_net_t *super)
{
    ucx_net_t *net = (ucx_net_t *)super;

    if (super->lost) {
        leave_contexts();
    } else {
        fs_ucx_context_close(&net->wire);
        fs_ucx_context_close(&net->local);
    }
    for (size_t k = 0; k < net->max_peers; ++k) {
        free(net->peers[k]);
    }
    for (uint32_t k = 0; net->groups != NULL && k < UCX_MAX_GROUPS; ++k) {
        if (net->groups[k] != NULL) {
            fs_ucx_free_group(net->groups[k]);
        }
    }
    free(net->groups);
    free(net->peers);
    free(net->address);
    pthread_mutex_destroy(&net->super.lock);
    free(net);
}

static const fs_net_ops_t net_ops = {
    .hello    = ucx_hello,
    .forget   = ucx_forget,
    .connect  = ucx_connect,
    .progress = ucx_progress,
    .destroy  = ucx_free,
};

static fs_status_t set_word_handler(ucx_net_t *net, const ucx_reason_t *why)
{
    ucp_am_handler_param_t param = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                      UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id  = UCX_AM_WORD,
        .cb  = fs_ucx_on_word,
        .arg = net,
    };
    ucs_status_t status =
        fs_ucx.ucp_worker_set_am_recv_handler(net->wire.worker, &param);

    if (status == UCS_OK) {
        status =
            fs_ucx.ucp_worker_set_am_recv_handler(net->local.worker, &param);
    }
    return status == UCS_OK
               ? FS_OK
               : fs_ucx_refuse(why, "ucp_worker_set_am_recv_handler", status);
}

fs_status_t fs_ucx_create(uint64_t tcp_sndbuf, const char *net_device,
                          fs_net_t **net_p, char *why, size_t why_len)
{
    ucx_net_t       *net    = calloc(1, sizeof(*net));
    const ucx_wire_t wire   = {tcp_sndbuf, net_device};
    ucx_reason_t     reason = {why, why_len};
    fs_status_t      status = FS_ERR_NOMEM;

    snprintf(why, why_len, "out of memory");
    if (net == NULL) {
        return status;
    }
    net->super.ops = &net_ops;
    pthread_mutex_init(&net->super.lock, NULL);
    net->groups = calloc(UCX_MAX_GROUPS, sizeof(*net->groups));
    if (net->groups != NULL && getrandom(net->process, sizeof(net->process),
                                         0) == sizeof(net->process)) {
        status           = fs_ucx_find(why, why_len);
        net->local.early = net->wire.early = net->process[0]; /* no tag yet */
    }
    if (status == FS_OK) {
        status                   = fs_ucx_find_resources(&net->found, &reason);
        net->super.rdma          = net->found.rdma;
        net->super.local_arrives = net->found.shared; /* or TCP carries it */
    }
    if (status == FS_OK) {
        status = fs_ucx_context_open(&net->local, &net->found, NULL, &reason);
    }
    if (status == FS_OK) {
        status = fs_ucx_context_open(&net->wire, &net->found, &wire, &reason);
    }
    if (status == FS_OK) {
        status = set_word_handler(net, &reason);
    }
    if (status == FS_OK) {
        status = make_address(net);
    }
    if (status == FS_OK) {
        describe(net);
    }
    if (status != FS_OK) {
        ucx_free(&net->super);
        return status;
    }
    *net_p = &net->super;
    return FS_OK;
}
