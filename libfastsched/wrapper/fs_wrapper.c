/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrapper/fs_wrapper.h"

#include "accel/fs_accel.h"
#include "base/fs_strbuf.h"
#include "net/fs_helper.h"
#include "wrapper/fs_remember.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- parameters ---- */

fs_status_t fs_wrapper_parse(fs_wrapper_t *wrapper,
                             const char *(*value)(size_t                 k,
                                                  const fs_param_info_t *info),
                             char *why, size_t why_len)
{
    const fs_param_info_t *info;
    fs_status_t            status = FS_OK;

    fs_params_init(&wrapper->params);
    for (size_t k = 0; status == FS_OK && (info = fs_params_info(k)) != NULL;
         ++k) {
        const char *text = value(k, info);

        if (text != NULL) {
            status =
                fs_params_set(&wrapper->params, info->name, text, why, why_len);
        }
    }
    return status == FS_OK ? fs_params_check(&wrapper->params, why, why_len)
                           : status;
}

fs_status_t fs_wrapper_place(fs_wrapper_t *wrapper, uint32_t n_ranks, char *why,
                             size_t why_len)
{
    char        reason[400];
    fs_status_t status;

    if (wrapper->params.servers[0] == '\0') {
        return FS_OK;
    }
    wrapper->world_server = calloc(n_ranks, sizeof(*wrapper->world_server));
    if (wrapper->world_server == NULL) {
        snprintf(why, why_len, "servers: out of memory");
        return FS_ERR_NOMEM;
    }
    status = fs_topo_parse(wrapper->params.servers, n_ranks,
                           wrapper->world_server, reason, sizeof(reason));
    if (status != FS_OK) {
        snprintf(why, why_len, "servers: %s", reason);
    }
    return status;
}

void fs_wrapper_look_for_unknown(const fs_wrapper_t *wrapper,
                                 const char         *prefix,
                                 bool (*is_known)(const char *entry),
                                 const char *page)
{
    char        text[256];
    fs_strbuf_t line;

    for (char **entry = environ; *entry != NULL; ++entry) {
        if (strncmp(*entry, prefix, strlen(prefix)) == 0 &&
            !is_known(*entry + strlen(prefix))) {
            line = (fs_strbuf_t){text, sizeof(text), 0};
            fs_strbuf_add(
                &line,
                "unknown parameter %.*s, which has no effect; see man %s",
                (int)strcspn(*entry, "="), *entry, page);
            wrapper->say(text);
        }
    }
}

/* ---- what there is once ---- */

/* Without it calls only make progress in the MPI's. */
static void start_helper(fs_wrapper_t *wrapper, fs_net_t *net)
{
    const char *text = wrapper->params.progress_thread;
    cpu_set_t   cores;
    bool        any = strcmp(text, "on") == 0;

    if (strcmp(text, "off") == 0) {
        return;
    }
    if (!any) {
        (void)fs_helper_read_cores(text, &cores);
    }
    if (fs_helper_start(net, any ? NULL : &cores) != FS_OK) {
        wrapper->say("parameter progress_thread: no thread could be started "
                     "on these cores; going on without");
    }
}

static void create_net(fs_wrapper_t *wrapper)
{
    fs_net_t *net = NULL;

    wrapper->net_status = wrapper->create_net(
        wrapper->params.tcp_sndbuf, fs_nics_device(wrapper->nics), &net,
        wrapper->no_net, sizeof(wrapper->no_net));
    if (wrapper->net_status != FS_OK) {
        return;
    }
    start_helper(wrapper, net);
    /* Other threads look at it without the lock, see fs_wrapper_net(). */
    __atomic_store_n(&wrapper->net, net, __ATOMIC_RELEASE);
    if (wrapper->net_is_up != NULL) {
        wrapper->net_is_up(net);
    }
}

/* For want of memory it is tried again: the next communicator may find some. */
static fs_net_t *get_net(void *process)
{
    fs_wrapper_t *wrapper = process;
    fs_net_t     *net;

    pthread_mutex_lock(&wrapper->lock);
    if (wrapper->net == NULL &&
        (wrapper->net_status == FS_OK || wrapper->net_status == FS_ERR_NOMEM)) {
        create_net(wrapper);
    }
    net = wrapper->net;
    pthread_mutex_unlock(&wrapper->lock);
    return net;
}

static const char *why_no_net(void *process)
{
    return ((const fs_wrapper_t *)process)->no_net;
}

static fs_nics_t *get_nics(void *process)
{
    fs_wrapper_t *wrapper = process;
    fs_nics_t    *nics;

    pthread_mutex_lock(&wrapper->lock);
    if (wrapper->nics == NULL) {
        (void)fs_nics_create(wrapper->params.nics, &wrapper->nics);
    }
    nics = wrapper->nics;
    pthread_mutex_unlock(&wrapper->lock);
    return nics;
}

static void warn(void *process, const char *line)
{
    ((const fs_wrapper_t *)process)->say(line);
}

fs_native_t fs_wrapper_native(fs_wrapper_t *wrapper, void *ctx)
{
    return (fs_native_t){.ctx        = ctx,
                         .process    = wrapper,
                         .net        = get_net,
                         .why_no_net = why_no_net,
                         .nics       = get_nics,
                         .tuning     = fs_remember_tuning,
                         .warn       = warn,
                         .wanted     = &wrapper->params};
}

/* What the MPI says of itself, by the functions that Open MPI and MPICH have for
 * it; under both of the names that they have for AMD's. */
static unsigned find_mem_kinds(void)
{
    static const struct {
        const char *name;
        unsigned    mem_kinds;
    } questions[] = {
        {"MPIX_Query_cuda_support",
         1u << FS_MEM_CUDA | 1u << FS_MEM_CUDA_MANAGED},
        {"MPIX_Query_rocm_support",
         1u << FS_MEM_ROCM | 1u << FS_MEM_ROCM_MANAGED},
        {"MPIX_Query_hip_support",
         1u << FS_MEM_ROCM | 1u << FS_MEM_ROCM_MANAGED},
    };
    unsigned mem_kinds = 0;

    for (size_t k = 0; k < sizeof(questions) / sizeof(questions[0]); ++k) {
        int (*is_supported)(void) = NULL;

        *(void **)&is_supported = dlsym(RTLD_DEFAULT, questions[k].name);
        if (is_supported != NULL && is_supported() == 1) {
            mem_kinds |= questions[k].mem_kinds;
        }
    }
    return mem_kinds;
}

void fs_wrapper_find_accel(fs_wrapper_t *wrapper)
{
    pthread_mutex_lock(&wrapper->lock);
    if (wrapper->accel == NULL && wrapper->params.accel) {
        wrapper->mem_kinds = find_mem_kinds();
        /* Other threads look at it without the lock, see fs_wrapper_has_accel(). */
        __atomic_store_n(&wrapper->accel, fs_accel_create(), __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&wrapper->lock);
}

void fs_wrapper_fini(fs_wrapper_t *wrapper)
{
    fs_accel_destroy(wrapper->accel);
    if (wrapper->net != NULL) {
        fs_helper_stop(wrapper->net->helper);
    }
    fs_net_destroy(wrapper->net);
    fs_nics_destroy(wrapper->nics);
    fs_remember_fini(wrapper);
    free(wrapper->world_server);
    wrapper->net          = NULL;
    wrapper->nics         = NULL;
    wrapper->world_server = NULL;
    wrapper->accel        = NULL;
}
