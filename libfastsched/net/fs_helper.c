/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/fs_helper.h"

#include "base/fs_thread.h"
#include "base/fs_value.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

/* Naps between two looks: the shortest after a message has ended, then longer and
 * longer ones. So it comes late by no more than the message has taken, while others
 * are on their way, and takes little of a core that it shares with the program. What
 * the network does in between, packets say, needs nobody. */
enum { SHORTEST_NS = 10000, LONGEST_NS = 1000000, SLACK_NS = 1000 };

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

/* One turn, then a nap. Returns that of the next turn. */
static long progress(fs_net_t *net, long nap_ns)
{
    const struct timespec nap     = {0, nap_ns};
    uint64_t              n_ended = net->n_ended;

    bool more;

    (void)fs_net_turn(net);
    more = net->n_ended != n_ended;
    pthread_mutex_unlock(&net->lock);
    if (!more) {
        nanosleep(&nap, NULL);
    }
    while (__atomic_load_n(&net->n_locking, __ATOMIC_RELAXED) > 0) {
        sched_yield(); /* a mutex is not fair */
    }
    pthread_mutex_lock(&net->lock);
    return more                      ? SHORTEST_NS
           : 2 * nap_ns < LONGEST_NS ? 2 * nap_ns
                                     : LONGEST_NS;
}

static void *run(void *arg)
{
    fs_helper_t *helper = arg;
    fs_net_t    *net    = helper->net;
    long         nap_ns = SHORTEST_NS;

    (void)prctl(PR_SET_TIMERSLACK, SLACK_NS); /* else each takes 50 us more */
    pthread_mutex_lock(&net->lock);
    while (!helper->stops) {
        if (has_to_do(net)) {
            nap_ns = progress(net, nap_ns);
        } else {
            pthread_cond_wait(&helper->wake, &net->lock);
            nap_ns = SHORTEST_NS;
        }
    }
    pthread_mutex_unlock(&net->lock);
    return NULL;
}

/* ---- its life ---- */

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
    error = error == 0
                ? fs_thread_create(&helper->thread, &attributes, run, helper)
                : error;
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
