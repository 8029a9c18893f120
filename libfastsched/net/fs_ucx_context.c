/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts of UCX: available resources, configuration, workers.
 *
 * Two contexts, because up to UCX 1.16 a context has one rendezvous threshold:
 * inside a server rendezvous saves a copy, but on TCP a mutual exchange by
 * rendezvous runs at half speed (each side's "ready to receive" waits in the
 * socket behind the other direction's data), while eager runs at line rate.
 * Where the wire is RDMA, rendezvous is left to UCX.
 *
 * On TCP the send buffer of our connections is bounded: a megabyte in the
 * kernel's buffer is a stage that is not over, and its tail collides with the
 * next sender's first bytes at the receiver.
 */
#include "net/fs_ucx.h"

#include <stdio.h>
#include <stdlib.h>

fs_status_t fs_ucx_refuse(const ucx_reason_t *why, const char *call,
                          ucs_status_t status)
{
    snprintf(why->text, why->len, "%s: %s", call,
             fs_ucx.ucs_status_string(status));
    return FS_ERR_TRANSPORT;
}

static fs_status_t read_config(ucp_config_t **config_p, const ucx_reason_t *why)
{
    ucs_status_t status = fs_ucx.ucp_config_read("FASTSCHED", NULL, config_p);

    return status == UCS_OK ? FS_OK
                            : fs_ucx_refuse(why, "ucp_config_read", status);
}

static fs_status_t make_context(ucx_context_t *c, const char *name,
                                ucp_config_t *config, const ucx_reason_t *why)
{
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES |
                      UCP_PARAM_FIELD_TAG_SENDER_MASK | UCP_PARAM_FIELD_NAME,
        .features        = UCX_FEATURES,
        .tag_sender_mask = UCX_MAX_RANKS - 1,
        .name            = name,
    };
    ucp_worker_params_t worker_params = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    ucs_status_t status;

    status = fs_ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params,
                                     config, &c->context);
    if (status != UCS_OK) {
        return fs_ucx_refuse(why, "ucp_init", status);
    }
    status = fs_ucx.ucp_worker_create(c->context, &worker_params, &c->worker);
    if (status != UCS_OK) {
        return fs_ucx_refuse(why, "ucp_worker_create", status);
    }
    status =
        fs_ucx.ucp_worker_get_address(c->worker, &c->address, &c->address_len);
    if (status != UCS_OK) {
        return fs_ucx_refuse(why, "ucp_worker_get_address", status);
    }
    return FS_OK;
}

/* From a context that opens no port yet. */
static ucs_status_t query_context(const ucp_config_t *config,
                                  fs_ucx_resources_t *found)
{
    ucp_params_t  params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                            .features   = UCX_FEATURES};
    ucp_context_h context;
    char         *text   = NULL;
    size_t        len    = 0;
    FILE         *file   = open_memstream(&text, &len);
    ucs_status_t  status = UCS_ERR_NO_MEMORY;

    if (file != NULL) {
        status = fs_ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params,
                                         config, &context);
        if (status == UCS_OK) {
            fs_ucx.ucp_context_print_info(context, file);
            fs_ucx.ucp_cleanup(context);
        }
        fclose(file);
    }
    if (status == UCS_OK && text != NULL) {
        fs_ucx_resources_read(text, found);
    }
    free(text);
    return status;
}

fs_status_t fs_ucx_find_resources(fs_ucx_resources_t *found,
                                  const ucx_reason_t *why)
{
    ucp_config_t *config = NULL;
    fs_status_t   status = read_config(&config, why);
    ucs_status_t  ucs;

    if (status != FS_OK) {
        return status;
    }
    ucs = query_context(config, found);
    fs_ucx.ucp_config_release(config);
    return ucs == UCS_OK ? FS_OK : fs_ucx_refuse(why, "ucp_init", ucs);
}

fs_status_t fs_ucx_context_open(ucx_context_t            *c,
                                const fs_ucx_resources_t *found,
                                const ucx_wire_t *wire, const ucx_reason_t *why)
{
    const char   *name   = wire == NULL ? "fastsched-local" : "fastsched-wire";
    ucp_config_t *config = NULL;
    fs_status_t   status = read_config(&config, why);
    ucs_status_t  ucs;

    if (status != FS_OK) {
        return status;
    }
    ucs    = wire == NULL ? fs_ucx_config_local(config, found)
                          : fs_ucx_config_wire(config, found, wire->tcp_sndbuf,
                                               wire->net_device);
    status = ucs == UCS_OK ? make_context(c, name, config, why)
                           : fs_ucx_refuse(why, "ucp_config_modify", ucs);
    fs_ucx.ucp_config_release(config);
    return status;
}

void fs_ucx_context_close(ucx_context_t *c)
{
    if (c->address != NULL) {
        fs_ucx.ucp_worker_release_address(c->worker, c->address);
    }
    if (c->worker != NULL) {
        fs_ucx.ucp_worker_destroy(c->worker);
    }
    if (c->context != NULL) {
        fs_ucx.ucp_cleanup(c->context);
    }
}
