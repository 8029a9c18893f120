/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport of one communicator over UCP: tagged messages for data, an
 * active message for words, that is grants and notes.
 *
 * Between servers each peer has two endpoints. On TCP all data of an endpoint
 * shares one socket, and a word behind a megabyte of data would come a stage
 * late; on its own endpoint it is there within a round trip.
 *
 * Receives never complete at once: up to UCX 1.13 the length of a message that
 * was there already is reported to the callback alone.
 *
 * A word stands for those before it, so one that is posted while the last is still
 * going out needs no queue: the newest is sent when the endpoint is free again.
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

/* ---- connections ---- */

static fs_status_t be_connected(ucx_link_t *link)
{
    return link->reach == FS_REACH_NONE    ? FS_ERR_UNREACHABLE
           : link->reach == FS_REACH_LATER ? fs_ucx_connect_link(link)
                                           : FS_OK;
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

/* A summary is not to wait for data that goes early. */
static ucp_ep_h endpoint_for(const ucx_link_t *link, uint32_t key,
                             uint64_t len_bytes)
{
    bool is_short = key >> 28 == FS_CH_LAST && len_bytes <= UCX_SHORT;

    return link->reach == FS_REACH_LOCAL ? link->peer->local
           : is_short                    ? link->peer->ctrl
                                         : link->peer->data;
}

static fs_status_t ucx_send(fs_transport_t *transport, uint32_t peer,
                            uint32_t key, const void *buf, uint64_t len_bytes,
                            fs_xfer_t *xfer)
{
    ucx_group_t        *group = (ucx_group_t *)transport;
    ucx_link_t         *link  = &group->links[peer];
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_MEMORY_TYPE,
        .cb.send     = send_ended,
        .user_data   = xfer,
        .memory_type = fs_ucx_memory_type(xfer->mem),
    };
    ucs_status_ptr_t request;
    fs_status_t      status = be_connected(link);

    if (status != FS_OK) {
        return status;
    }
    xfer->len_bytes = len_bytes;
    request         = fs_ucx.ucp_tag_send_nbx(
                endpoint_for(link, key, len_bytes), buf, len_bytes,
                make_tag(group, key, link->group, group->rank), &param);
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

/* ---- words: grants and notes ---- */

static fs_status_t push_word(ucx_out_t *out, ucx_kind_t kind);

void fs_ucx_free_group(ucx_group_t *group)
{
    for (uint32_t r = 0; group->links != NULL && r < group->n_ranks; ++r) {
        free(group->links[r].address);
    }
    free(group->links);
    free(group);
}

static void word_ended(void *request, ucs_status_t status, void *user_data)
{
    ucx_out_t   *out   = user_data;
    ucx_group_t *group = out->link->owner;

    if (status != UCS_OK) {
        group->out_status = fs_ucx_status(status);
    }
    fs_ucx.ucp_request_free(request);
    out->busy = false;
    --group->super.n_grants_out;
    if (group->destroyed) {
        if (group->super.n_grants_out == 0) {
            fs_ucx_free_group(group);
        }
    } else if (out->wanted != out->word.value) {
        fs_status_t pushed = push_word(out, out->word.kind);

        group->out_status = pushed != FS_OK ? pushed : group->out_status;
    }
}

static fs_status_t push_word(ucx_out_t *out, ucx_kind_t kind)
{
    const ucx_link_t   *link  = out->link;
    ucx_group_t        *group = link->owner;
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send   = word_ended,
        .user_data = out,
    };
    ucs_status_ptr_t request;

    out->word = (ucx_word_t){group->secret, (uint16_t)link->group,
                             (uint16_t)kind, group->rank, out->wanted};
    request   = fs_ucx.ucp_am_send_nbx(
          link->reach == FS_REACH_LOCAL ? link->peer->local : link->peer->ctrl,
        UCX_AM_WORD, &out->word, sizeof(out->word), NULL, 0, &param);
    if (UCS_PTR_IS_ERR(request)) {
        return fs_ucx_status(UCS_PTR_STATUS(request));
    }
    if (request != NULL) {
        out->busy = true;
        ++group->super.n_grants_out;
    }
    return FS_OK;
}

static fs_status_t send_word(fs_transport_t *transport, uint32_t peer,
                             ucx_kind_t kind, uint64_t value)
{
    ucx_link_t *link   = &((ucx_group_t *)transport)->links[peer];
    ucx_out_t  *out    = &link->out[kind];
    fs_status_t status = value == FS_GIVEN_UP && link->reach == FS_REACH_LATER
                             ? FS_ERR_UNREACHABLE /* it waits for nothing */
                             : be_connected(link);

    if (status != FS_OK) {
        return status;
    }
    if (link->owner->out_status != FS_OK && value != FS_GIVEN_UP) {
        return link->owner->out_status; /* of an earlier one */
    }
    out->wanted = value;
    return out->busy ? FS_OK : push_word(out, kind);
}

static fs_status_t ucx_grant(fs_transport_t *transport, uint32_t peer,
                             uint64_t count)
{
    return send_word(transport, peer, UCX_GRANT, count);
}

static fs_status_t ucx_note(fs_transport_t *transport, uint32_t peer,
                            uint64_t word)
{
    return send_word(transport, peer, UCX_NOTE, word);
}

/* NULL: it is not for us. */
static ucx_group_t *find_group(const ucx_net_t *net, const ucx_word_t *word)
{
    ucx_group_t *group = word->group < UCX_MAX_GROUPS ? net->groups[word->group]
                                                      : NULL;

    return group != NULL && group->secret == word->secret &&
                   word->rank < group->n_ranks
               ? group
               : NULL;
}

ucs_status_t fs_ucx_on_word(void *arg, const void *header, size_t header_len,
                            void *data, size_t len,
                            const ucp_am_recv_param_t *param)
{
    ucx_net_t      *net = arg;
    ucx_word_t      word;
    ucx_group_t    *group = NULL;
    fs_transport_t *t;

    (void)data;
    (void)len;
    (void)param;
    if (header_len == sizeof(word)) {
        memcpy(&word, header, sizeof(word)); /* it need not be aligned */
        group = find_group(net, &word);
    }
    if (group == NULL) {
        ++net->super.n_dropped;
        return UCS_OK;
    }
    t = &group->super;
    if (word.kind == UCX_GRANT && t->granted != NULL) {
        t->granted(t->granted_arg, word.rank, word.value);
    } else if (word.kind == UCX_NOTE && t->noted != NULL) {
        t->noted(t->noted_arg, word.rank, word.value);
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
        fs_ucx_free_group(group);
    }
}

const fs_transport_ops_t fs_ucx_transport_ops = {
    .send    = ucx_send,
    .recv    = ucx_recv,
    .cancel  = ucx_cancel,
    .grant   = ucx_grant,
    .note    = ucx_note,
    .destroy = ucx_destroy,
};
