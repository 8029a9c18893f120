/* SPDX-License-Identifier: BSD-3-Clause */
/* A progress bar. A thread draws it, because the work may be one long call into
 * the library; the work only stores how far it is. */
#include "tools/fs_tool_progress.h"

#include "tools/fs_tool.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 30, FIRST_MS = 1000, EVERY_MS = 250 };

static struct {
    const char      *text;
    uint64_t         total;
    uint64_t         start_ns;
    _Atomic uint64_t done;
    bool             runs;  /* there is a thread */
    bool             shown; /* written by the thread, read after it ended */
    sem_t            over;
    pthread_t        thread;
} bar;

static void draw(void)
{
    unsigned long long seconds = (fs_tool_now_ns() - bar.start_ns) / 1000000000;
    double             part    = (double)bar.done / (double)bar.total;
    int                full;

    if (bar.total == 0) {
        fprintf(stderr, "\r\033[K%s ... %llu s", bar.text, seconds);
    } else {
        part = part > 1 ? 1 : part;
        full = (int)(part * BAR_WIDTH);
        fprintf(stderr, "\r\033[K%s [%.*s%.*s] %3.0f%% %llu s", bar.text, full,
                "##############################", BAR_WIDTH - full,
                "..............................", part * 100, seconds);
    }
    fflush(stderr);
    bar.shown = true;
}

static void *run(void *unused)
{
    struct timespec next;

    clock_gettime(CLOCK_REALTIME, &next);
    for (long ms = FIRST_MS;; ms = EVERY_MS) {
        next.tv_nsec += ms % 1000 * 1000000;
        next.tv_sec += ms / 1000 + next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        if (sem_timedwait(&bar.over, &next) == 0) {
            return unused;
        }
        draw();
    }
}

void fs_tool_progress_begin(const char *text, uint64_t total)
{
    if (!isatty(STDERR_FILENO)) {
        return;
    }
    bar.text     = text;
    bar.total    = total;
    bar.start_ns = fs_tool_now_ns();
    bar.done     = 0;
    bar.shown    = false;
    sem_init(&bar.over, 0, 0);
    bar.runs = pthread_create(&bar.thread, NULL, run, NULL) == 0;
}

void fs_tool_progress_at(uint64_t done)
{
    bar.done = done;
}

void fs_tool_progress_end(void)
{
    if (!bar.runs) {
        return;
    }
    sem_post(&bar.over);
    pthread_join(bar.thread, NULL);
    sem_destroy(&bar.over);
    bar.runs = false;
    if (bar.shown) {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
    }
}
