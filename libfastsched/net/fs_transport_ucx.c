/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport of one communicator over UCP: tagged messages for data, an
 * active message for grants.
 *
 * Between servers each peer has two endpoints. On TCP all data of an endpoint
 * shares one socket, and a grant behind a megabyte of data would come a stage
 * late; on its own endpoint it is there within a round trip.
 *
 * Receives never complete at once: up to UCX 1.13 the length of a message that
 * was there already is reported to the callback alone.
 *
 * Grants only grow, so one that is posted while the last is still going out
 * needs no queue: the newest count is sent when the endpoint is free again.
 */
#include "net/fs_ucx.h"

#include <stdlib.h>
#include <string.h>

fs_status_t fs_ucx_status(ucs_status_t status)
{
    switch (status) {
    case UCS_OK:
        return FS_OK;
    case UCS_ERR_NO_MEMORY:
        return FS_ERR_NOMEM;
    case UCS_ERR_MESSAGE_TRUNCATED:
        return FS_ERR_TRUNCATE;
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_NO_DEVICE:
    case UCS_ERR_NOT_CONNECTED:
        return FS_ERR_UNREACHABLE;
    default:
        return FS_ERR_TRANSPORT;
    }
}

ucs_memory_type_t fs_ucx_memory_type(fs_mem_kind_t kind)
{
    static const ucs_memory_type_t types[] = {
#define X(_kind, _word, _ucx) [_kind] = UCS_MEMORY_TYPE_##_ucx,
        FS_MEM_MAP(X)
#undef X
    };

    return types[kind];
}

static ucp_tag_t make_tag(const ucx_group_t *group, uint32_t key,
                          uint32_t receiver_group, uint32_t src)
{
    return ((ucp_tag_t)key << (UCX_GROUP_BITS + UCX_RANK_BITS) |
            (ucp_tag_t)receiver_group << UCX_RANK_BITS | src) ^
           group->secret;
}

/* ---- what is not ours ---- */

/* A connected communicator of this process, by what the tag says without its
 * secret. Receives compare all 64 bits; this is for messages that none has met. */
static bool is_for(const ucx_group_t *group, ucp_tag_t tag)
{
    ucp_tag_t plain = tag ^ group->secret;

    return group->links != NULL &&
           (plain >> UCX_RANK_BITS) % UCX_MAX_GROUPS == group->name &&
           plain % UCX_MAX_RANKS < group->n_ranks;
}

static bool is_ours(const ucx_net_t *net, ucp_tag_t tag)
{
    uint32_t n_left = net->n_groups;

    for (uint32_t k = 0; n_left > 0 && k < UCX_MAX_GROUPS; ++k) {
        if (net->groups[k] != NULL) {
            if (is_for(net->groups[k], tag)) {
                return true;
            }
            --n_left;
        }
    }
    return false;
}

/* Taken out of UCX's queue, such a message keeps its memory, but no receive will
 * meet it. It is not received: what it says of itself may be wrong. Those behind
 * an early message of ours wait until that has been received. */
void fs_ucx_drop_foreign(ucx_net_t *net, ucx_context_t *c)
{
    ucp_tag_recv_info_t info;

    while (fs_ucx.ucp_tag_probe_nb(c->worker, 0, 0, 0, &info) != NULL &&
           info.sender_tag != c->early) {
        if (is_ours(net, info.sender_tag)) {
            c->early = info.sender_tag;
            return;
        }
        (void)fs_ucx.ucp_tag_probe_nb(c->worker, info.sender_tag, UINT64_MAX, 1,
                                      &info);
        ++net->super.n_dropped;
    }
}

/* ---- tagged messages ---- */

static void send_ended(void *request, ucs_status_t status, void *user_data)
{
    fs_xfer_t *xfer = user_data;

    fs_ucx.ucp_request_free(request);
    xfer->request = NULL;
    xfer->done(xfer, fs_ucx_status(status), xfer->len_bytes);
}

static void recv_ended(void *request, ucs_status_t status,
                       const ucp_tag_recv_info_t *info, void *user_data)
{
    fs_xfer_t *xfer = user_data;
    uint64_t   len  = status == UCS_OK ? info->length : 0;

    fs_ucx.ucp_request_free(request); /* and info with it */
    xfer->request   = NULL;
    xfer->in_flight = false;
    xfer->done(xfer, fs_ucx_status(status), len);
}

static fs_status_t ucx_send(fs_transport_t *transport, uint32_t peer,
                            uint32_t key, const void *buf, uint64_t len_bytes,
                            fs_xfer_t *xfer)
{
    ucx_group_t        *group = (ucx_group_t *)transport;
    const ucx_link_t   *link  = &group->links[peer];
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_MEMORY_TYPE,
        .cb.send     = send_ended,
        .user_data   = xfer,
        .memory_type = fs_ucx_memory_type(xfer->mem),
    };
    ucs_status_ptr_t request;

    if (link->reach == FS_REACH_NONE) {
        return FS_ERR_UNREACHABLE;
    }
    xfer->len_bytes = len_bytes;
    request         = fs_ucx.ucp_tag_send_nbx(
                link->reach == FS_REACH_LOCAL ? link->peer->local : link->peer->data,
        buf, len_bytes, make_tag(group, key, link->group, group->rank), &param);
    if (UCS_PTR_IS_ERR(request)) {
        return fs_ucx_status(UCS_PTR_STATUS(request));
    }
    if (request == NULL) {
        xfer->done(xfer, FS_OK, len_bytes);
    } else {
        xfer->request = request;
    }
    return FS_OK;
}

static ucp_worker_h worker_of(const ucx_group_t *group, uint8_t reach)
{
    const ucx_net_t *net = (const ucx_net_t *)group->super.net;

    return reach == FS_REACH_LOCAL ? net->local.worker : net->wire.worker;
}

static fs_status_t ucx_recv(fs_transport_t *transport, uint32_t peer,
                            uint32_t key, void *buf, uint64_t len_bytes,
                            fs_xfer_t *xfer)
{
    ucx_group_t        *group = (ucx_group_t *)transport;
    const ucx_link_t   *link  = &group->links[peer];
    ucp_request_param_t param = {
        .op_attr_mask =
            UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
            UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
        .cb.recv     = recv_ended,
        .user_data   = xfer,
        .memory_type = fs_ucx_memory_type(xfer->mem),
    };
    ucs_status_ptr_t request;

    if (link->reach == FS_REACH_NONE) {
        return FS_ERR_UNREACHABLE;
    }
    xfer->reach     = link->reach;
    xfer->in_flight = true; /* recv_ended() may run before the call returns */
    request         = fs_ucx.ucp_tag_recv_nbx(
                worker_of(group, link->reach), buf, len_bytes,
                make_tag(group, key, group->name, peer), UINT64_MAX, &param);
    if (UCS_PTR_IS_ERR(request)) {
        return fs_ucx_status(UCS_PTR_STATUS(request));
    }
    if (xfer->in_flight) {
        xfer->request = request;
    }
    return FS_OK;
}

static void ucx_cancel(fs_transport_t *transport, fs_xfer_t *xfer)
{
    ucx_group_t *group = (ucx_group_t *)transport;

    if (xfer->request != NULL) {
        fs_ucx.ucp_request_cancel(worker_of(group, xfer->reach), xfer->request);
    }
}

/* ---- grants ---- */

static fs_status_t push_grant(ucx_link_t *link);

static void free_group(ucx_group_t *group)
{
    free(group->links);
    free(group);
}

static void grant_ended(void *request, ucs_status_t status, void *user_data)
{
    ucx_link_t  *link  = user_data;
    ucx_group_t *group = link->owner;

    if (status != UCS_OK) {
        group->grant_status = fs_ucx_status(status);
    }
    fs_ucx.ucp_request_free(request);
    link->grant_busy = false;
    --group->super.n_grants_out;
    if (group->destroyed) {
        if (group->super.n_grants_out == 0) {
            free_group(group);
        }
    } else if (link->grant_wanted > link->grant.count) {
        fs_status_t pushed = push_grant(link);

        group->grant_status = pushed != FS_OK ? pushed : group->grant_status;
    }
}

static fs_status_t push_grant(ucx_link_t *link)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send   = grant_ended,
        .user_data = link,
    };
    ucs_status_ptr_t request;

    link->grant = (ucx_grant_t){link->owner->secret, link->group,
                                link->owner->rank, link->grant_wanted};
    request     = fs_ucx.ucp_am_send_nbx(
            link->reach == FS_REACH_LOCAL ? link->peer->local : link->peer->ctrl,
        UCX_AM_GRANT, &link->grant, sizeof(link->grant), NULL, 0, &param);
    if (UCS_PTR_IS_ERR(request)) {
        return fs_ucx_status(UCS_PTR_STATUS(request));
    }
    if (request != NULL) {
        link->grant_busy = true;
        ++link->owner->super.n_grants_out;
    }
    return FS_OK;
}

static fs_status_t ucx_grant(fs_transport_t *transport, uint32_t peer,
                             uint64_t count)
{
    ucx_link_t *link = &((ucx_group_t *)transport)->links[peer];

    if (link->reach == FS_REACH_NONE) {
        return FS_ERR_UNREACHABLE;
    }
    if (link->owner->grant_status != FS_OK && count != FS_GIVEN_UP) {
        return link->owner->grant_status; /* of an earlier one */
    }
    link->grant_wanted = count;
    return link->grant_busy ? FS_OK : push_grant(link);
}

/* NULL: it is not for us. */
static ucx_group_t *find_group(const ucx_net_t *net, const ucx_grant_t *grant)
{
    ucx_group_t *group =
        grant->group < UCX_MAX_GROUPS ? net->groups[grant->group] : NULL;

    return group != NULL && group->secret == grant->secret &&
                   grant->rank < group->n_ranks
               ? group
               : NULL;
}

ucs_status_t fs_ucx_on_grant(void *arg, const void *header, size_t header_len,
                             void *data, size_t len,
                             const ucp_am_recv_param_t *param)
{
    ucx_net_t   *net = arg;
    ucx_grant_t  grant;
    ucx_group_t *group = NULL;

    (void)data;
    (void)len;
    (void)param;
    if (header_len == sizeof(grant)) {
        memcpy(&grant, header, sizeof(grant)); /* it need not be aligned */
        group = find_group(net, &grant);
    }
    if (group == NULL) {
        ++net->super.n_dropped;
    } else if (group->super.granted != NULL) {
        group->super.granted(group->super.granted_arg, grant.rank, grant.count);
    }
    return UCS_OK;
}

static void ucx_destroy(fs_transport_t *transport)
{
    ucx_group_t *group = (ucx_group_t *)transport;
    ucx_net_t   *net   = (ucx_net_t *)transport->net;

    net->groups[group->name] = NULL;
    --net->n_groups;
    group->destroyed = true;
    if (group->super.n_grants_out == 0) {
        free_group(group);
    }
}

const fs_transport_ops_t fs_ucx_transport_ops = {
    .send    = ucx_send,
    .recv    = ucx_recv,
    .cancel  = ucx_cancel,
    .grant   = ucx_grant,
    .destroy = ucx_destroy,
};
