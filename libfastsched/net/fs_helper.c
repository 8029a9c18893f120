/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/fs_helper.h"

#include "base/fs_clock.h"
#include "base/fs_value.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* After an event it looks for the next one without a pause; then now and then. What
 * ranks of a server write into shared memory is no event of the network. */
enum { SPIN_NS = 200000, NAP_NS = 100000 };

struct fs_helper {
    fs_net_t      *net;
    pthread_t      thread;
    pthread_cond_t wake;
    bool           stops;
};

/* ---- the thread ---- */

static bool has_to_do(const fs_net_t *net)
{
    return net->tasks != NULL && net->n_waiting == 0;
}

/* Returns the time of the last event. */
static uint64_t progress(fs_net_t *net, uint64_t event_ns)
{
    const struct timespec nap    = {0, NAP_NS};
    unsigned              events = fs_net_turn(net);
    uint64_t              now_ns = fs_now_ns();

    pthread_mutex_unlock(&net->lock);
    if (events > 0) {
        event_ns = now_ns;
    } else if (now_ns - event_ns > SPIN_NS) {
        nanosleep(&nap, NULL);
    }
    while (__atomic_load_n(&net->n_locking, __ATOMIC_RELAXED) > 0) {
        sched_yield(); /* a mutex is not fair */
    }
    pthread_mutex_lock(&net->lock);
    return event_ns;
}

static void *run(void *arg)
{
    fs_helper_t *helper   = arg;
    fs_net_t    *net      = helper->net;
    uint64_t     event_ns = 0;

    pthread_mutex_lock(&net->lock);
    while (!helper->stops) {
        if (has_to_do(net)) {
            event_ns = progress(net, event_ns);
        } else {
            pthread_cond_wait(&helper->wake, &net->lock);
            event_ns = fs_now_ns();
        }
    }
    pthread_mutex_unlock(&net->lock);
    return NULL;
}

/* ---- its life ---- */

/* Signals are for the program's own threads. */
static int create(fs_helper_t *helper, const pthread_attr_t *attributes)
{
    sigset_t all, before;
    int      error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&helper->thread, attributes, run, helper);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

fs_status_t fs_helper_start(fs_net_t *net, const cpu_set_t *cores)
{
    fs_helper_t   *helper = calloc(1, sizeof(*helper));
    pthread_attr_t attributes;
    int            error;

    if (helper == NULL) {
        return FS_ERR_NOMEM;
    }
    helper->net = net;
    pthread_cond_init(&helper->wake, NULL);
    pthread_attr_init(&attributes);
    error = cores != NULL ? pthread_attr_setaffinity_np(&attributes,
                                                        sizeof(*cores), cores)
                          : 0;
    error = error == 0 ? create(helper, &attributes) : error;
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        pthread_cond_destroy(&helper->wake);
        free(helper);
        return FS_ERR_NOMEM;
    }
    net->helper = helper;
    return FS_OK;
}

void fs_helper_stop(fs_helper_t *helper)
{
    fs_net_t *net;

    if (helper == NULL) {
        return;
    }
    net = helper->net;
    pthread_mutex_lock(&net->lock);
    helper->stops = true;
    pthread_cond_signal(&helper->wake);
    pthread_mutex_unlock(&net->lock);
    pthread_join(helper->thread, NULL);
    pthread_cond_destroy(&helper->wake);
    free(helper);
    net->helper = NULL;
}

void fs_helper_wake(fs_helper_t *helper)
{
    if (helper != NULL && has_to_do(helper->net)) {
        pthread_cond_signal(&helper->wake);
    }
}

/* ---- cores ---- */

static bool read_core(const char **text, uint64_t *core_p)
{
    size_t len = strspn(*text, "0123456789");
    char   digits[8];

    if (len == 0 || len >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, *text, len);
    digits[len] = '\0';
    *text += len;
    return fs_value_number(digits, core_p) && *core_p < CPU_SETSIZE;
}

/* One, or the first and the last of several. */
static bool read_range(const char **text, cpu_set_t *cores)
{
    uint64_t first, last;

    if (!read_core(text, &first)) {
        return false;
    }
    last = first;
    if (**text == '-') {
        ++*text;
        if (!read_core(text, &last)) {
            return false;
        }
    }
    for (uint64_t core = first; core <= last; ++core) {
        CPU_SET((size_t)core, cores);
    }
    return first <= last;
}

bool fs_helper_read_cores(const char *text, cpu_set_t *cores)
{
    CPU_ZERO(cores);
    while (read_range(&text, cores)) {
        if (*text == '\0') {
            return true;
        }
        if (*text++ != ',') {
            return false;
        }
    }
    return false;
}
