/* SPDX-License-Identifier: BSD-3-Clause */
/* A progress bar. A thread draws it, because the work may be one long call into
 * the library; the work only stores how far it is. */
#include "tools/fs_tool_progress.h"

#include "tools/fs_tool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 30, FIRST_MS = 1000, EVERY_MS = 250 };

struct fs_tool_progress {
    const char      *text;
    uint64_t         total;
    uint64_t         start_ns;
    _Atomic uint64_t done;
    bool             shown; /* written by the thread, read after it ended */
    bool             over;  /* under lock */
    pthread_mutex_t  lock;
    pthread_cond_t   wake;
    pthread_t        thread;
};

static void draw(fs_tool_progress_t *progress)
{
    char     bar[BAR_WIDTH + 1];
    uint64_t seconds = (fs_tool_now_ns() - progress->start_ns) /
                       UINT64_C(1000000000);
    double part;

    progress->shown = true;
    if (progress->total == 0) {
        fprintf(stderr, "\r\033[K%s ... %llu s", progress->text,
                (unsigned long long)seconds);
        fflush(stderr);
        return;
    }
    part = (double)atomic_load(&progress->done) / (double)progress->total;
    part = part > 1 ? 1 : part;
    for (int i = 0; i < BAR_WIDTH; ++i) {
        bar[i] = i < (int)(part * BAR_WIDTH) ? '#' : '.';
    }
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r\033[K%s [%s] %3.0f%% %llu s", progress->text, bar,
            part * 100, (unsigned long long)seconds);
    fflush(stderr);
}

static void add_ms(struct timespec *time, long ms)
{
    time->tv_nsec += ms % 1000 * 1000000;
    time->tv_sec += ms / 1000 + time->tv_nsec / 1000000000;
    time->tv_nsec %= 1000000000;
}

static void *run(void *arg)
{
    fs_tool_progress_t *progress = arg;
    struct timespec     next;

    clock_gettime(CLOCK_MONOTONIC, &next);
    add_ms(&next, FIRST_MS);
    pthread_mutex_lock(&progress->lock);
    while (!progress->over) {
        if (pthread_cond_timedwait(&progress->wake, &progress->lock, &next) !=
                0 &&
            !progress->over) {
            draw(progress);
            add_ms(&next, EVERY_MS);
        }
    }
    pthread_mutex_unlock(&progress->lock);
    return NULL;
}

fs_tool_progress_t *fs_tool_progress_begin(const char *text, uint64_t total)
{
    fs_tool_progress_t *progress;
    pthread_condattr_t  attr;

    if (!isatty(STDERR_FILENO)) {
        return NULL;
    }
    progress = calloc(1, sizeof(*progress));
    if (progress == NULL) {
        return NULL;
    }
    progress->text     = text;
    progress->total    = total;
    progress->start_ns = fs_tool_now_ns();
    pthread_mutex_init(&progress->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&progress->wake, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&progress->thread, NULL, run, progress) != 0) {
        pthread_cond_destroy(&progress->wake);
        pthread_mutex_destroy(&progress->lock);
        free(progress);
        return NULL;
    }
    return progress;
}

void fs_tool_progress_at(fs_tool_progress_t *progress, uint64_t done)
{
    if (progress != NULL) {
        atomic_store(&progress->done, done);
    }
}

void fs_tool_progress_end(fs_tool_progress_t *progress)
{
    if (progress == NULL) {
        return;
    }
    pthread_mutex_lock(&progress->lock);
    progress->over = true;
    pthread_cond_signal(&progress->wake);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    if (progress->shown) {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
    }
    pthread_cond_destroy(&progress->wake);
    pthread_mutex_destroy(&progress->lock);
    free(progress);
}
