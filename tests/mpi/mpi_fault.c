/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Alltoallv while something goes wrong. Plain MPI-3.
 *
 *   mpi_fault [--OPTION [VALUE]]...
 *
 *   --bytes N    a multiple of 8, from each rank to each other default 100000
 *   --calls N    calls, each checked byte by byte              default 3
 *   --nonblocking  MPI_Ialltoallv, and MPI_Wait at once
 *   --comms N    communicators made, used and freed before     default 0
 *   --kill RANK  SIGKILL to itself, --after MS into the second call
 *   --stop RANK  SIGSTOP likewise: alive, and mute
 *   --pause RANK likewise, but only for --pause-ms MS
 *   --suspend MS every rank, SIGSTOP to itself MS into the second call, and its
 *                process id is said before: somebody has to continue them
 *   --late RANK  enters the second call --late-ms MS late, --after if not given
 *   --island N   ranks exchange bytes inside rows of N only
 *   --sink N     only the first N ranks get bytes
 *   --return     errors come back; otherwise MPI's default error handler acts
 *   --abort      after an error that came back: MPI_Abort,
 *   --finalize   or MPI_Finalize and exit(3); otherwise exit(3)
 *   --linger MS  before that, for others to have their error, too
 *
 * Every rank prints a line at the end, or after its error: how it ended, and
 * the seconds of its last call. Rank 0 says when the second call begins.
 * Status 0: all calls and all bytes were right, and with --comms no rank has
 * more open descriptors at the end than after the first of them.
 */
#include "mpi_pattern.h"

#include <dirent.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RANKS = 256 };

static struct {
    int  bytes, calls, comms, island, sink;
    int  kill, stop, late, pause;
    int  after_ms, late_ms, pause_ms, suspend_ms, linger_ms;
    bool come_back, abort, finalize, nonblocking;
} opt = {.bytes   = 100000,
         .calls   = 3,
         .kill    = -1,
         .stop    = -1,
         .late    = -1,
         .late_ms = -1,
         .pause   = -1};

static int            rank, size;
static int            counts[MAX_RANKS], expected[MAX_RANKS], displs[MAX_RANKS];
static unsigned char *send_buf, *recv_buf;

static void usage(void)
{
    fprintf(stderr, "mpi_fault: see the top of mpi_fault.c\n");
    exit(2);
}

static void read_options(int argc, char **argv)
{
    static const struct {
        const char *name;
        int        *value;
    } numbers[] = {
        {"--bytes", &opt.bytes},        {"--calls", &opt.calls},
        {"--comms", &opt.comms},        {"--island", &opt.island},
        {"--sink", &opt.sink},          {"--kill", &opt.kill},
        {"--stop", &opt.stop},          {"--late", &opt.late},
        {"--pause", &opt.pause},        {"--after", &opt.after_ms},
        {"--pause-ms", &opt.pause_ms},  {"--linger", &opt.linger_ms},
        {"--suspend", &opt.suspend_ms}, {"--late-ms", &opt.late_ms},
    };
    size_t n = sizeof(numbers) / sizeof(numbers[0]), k;

    for (int a = 1; a < argc; ++a) {
        for (k = 0; k < n && strcmp(argv[a], numbers[k].name) != 0; ++k) {
        }
        if (k < n && a + 1 < argc) {
            *numbers[k].value = atoi(argv[++a]);
        } else if (strcmp(argv[a], "--return") == 0) {
            opt.come_back = true;
        } else if (strcmp(argv[a], "--nonblocking") == 0) {
            opt.nonblocking = true;
        } else if (strcmp(argv[a], "--abort") == 0) {
            opt.abort = true;
        } else if (strcmp(argv[a], "--finalize") == 0) {
            opt.finalize = true;
        } else {
            usage();
        }
    }
}

static int count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int  n   = 0;

    while (dir != NULL && readdir(dir) != NULL) {
        ++n;
    }
    closedir(dir);
    return n;
}

static void wait_ms(int ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&pause, NULL);
}

/* The signal comes from the kernel, in whatever the rank is doing then. */
static void send_later(int signal_number, int ms)
{
    struct sigevent   event = {.sigev_notify = SIGEV_SIGNAL,
                               .sigev_signo  = signal_number};
    struct itimerspec when  = {
         .it_value = {ms / 1000, ms % 1000 * 1000000L + 1}};
    timer_t timer;

    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &when, NULL) != 0) {
        perror("mpi_fault: timer");
        exit(1);
    }
}

/* The rank itself is idle; its sockets are not. */
static void pause_now(int signal_number)
{
    (void)signal_number;
    wait_ms(opt.pause_ms);
}

static void let_it_happen(int call)
{
    if (call != 1) {
        return;
    }
    if (rank == 0) {
        printf("mpi_fault: second call\n");
        fflush(stdout);
    }
    if (rank == opt.kill || rank == opt.stop) {
        send_later(rank == opt.kill ? SIGKILL : SIGSTOP, opt.after_ms);
    }
    if (rank == opt.pause) {
        signal(SIGALRM, pause_now);
        send_later(SIGALRM, opt.after_ms);
    }
    if (opt.suspend_ms > 0) {
        printf("mpi_fault: rank %d: process %d\n", rank, (int)getpid());
        fflush(stdout);
        send_later(SIGSTOP, opt.suspend_ms);
    }
    if (rank == opt.late) {
        wait_ms(opt.late_ms >= 0 ? opt.late_ms : opt.after_ms);
    }
}

/* Whole words of the pattern: a megabyte per pair is soon written. */
static uint64_t *words_of(unsigned char *buf, int peer)
{
    return (uint64_t *)(void *)(buf + displs[peer]);
}

static void fill(uint32_t round)
{
    for (int r = 0; r < size; ++r) {
        uint64_t  key = pattern_key((uint32_t)rank, (uint32_t)r, round);
        uint64_t *to  = words_of(send_buf, r);

        for (size_t k = 0; k < (size_t)opt.bytes / sizeof(*to); ++k) {
            to[k] = pattern_word(key, k);
        }
    }
    memset(recv_buf, 0xEE, (size_t)opt.bytes * (size_t)size);
}

static bool arrived(uint32_t round)
{
    for (int r = 0; r < size; ++r) {
        uint64_t  key  = pattern_key((uint32_t)r, (uint32_t)rank, round);
        uint64_t *from = words_of(recv_buf, r);

        for (size_t k = 0; k < (size_t)expected[r] / sizeof(*from); ++k) {
            if (from[k] != pattern_word(key, k)) {
                return false;
            }
        }
    }
    return true;
}

static void say(const char *how, double seconds)
{
    printf("mpi_fault: rank %d: %s, %.2f s\n", rank, how, seconds);
    fflush(stdout);
}

static int call_mpi(MPI_Comm comm)
{
    MPI_Request request;
    int         rc;

    if (!opt.nonblocking) {
        return MPI_Alltoallv(send_buf, counts, displs, MPI_BYTE, recv_buf,
                             expected, displs, MPI_BYTE, comm);
    }
    rc = MPI_Ialltoallv(send_buf, counts, displs, MPI_BYTE, recv_buf, expected,
                        displs, MPI_BYTE, comm, &request);
    return rc == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
}

/* One call; does not come back from an error. */
static bool exchange(MPI_Comm comm, uint32_t round, double *seconds_p)
{
    double start;
    int    rc;

    fill(round);
    MPI_Barrier(comm);
    let_it_happen((int)round);
    start      = MPI_Wtime();
    rc         = call_mpi(comm);
    *seconds_p = MPI_Wtime() - start;
    if (rc != MPI_SUCCESS) {
        say("error", *seconds_p);
        wait_ms(opt.linger_ms);
        if (opt.abort) {
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
        if (opt.finalize) {
            MPI_Finalize();
        }
        exit(3);
    }
    return arrived(round);
}

/* Communicators come and go; what they opened must go with them. */
static bool leaves_nothing(void)
{
    double   seconds;
    int      first = 0, last = 0;
    MPI_Comm comm;

    for (int k = 0; k < opt.comms; ++k) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (!exchange(comm, 1000 + (uint32_t)k, &seconds)) {
            return false;
        }
        MPI_Comm_free(&comm);
        last  = count_descriptors();
        first = k == 0 ? last : first;
    }
    if (last > first) {
        printf("mpi_fault: rank %d: %d descriptors, then %d\n", rank, first,
               last);
    }
    return last <= first;
}

static bool has_bytes(int src, int dst)
{
    return (opt.island == 0 || src / opt.island == dst / opt.island) &&
           (opt.sink == 0 || dst < opt.sink);
}

int main(int argc, char **argv)
{
    bool   right;
    double seconds = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    read_options(argc, argv);
    if (size > MAX_RANKS || opt.bytes % 8 != 0) {
        usage();
    }
    send_buf = malloc((size_t)opt.bytes * (size_t)size + 1);
    recv_buf = malloc((size_t)opt.bytes * (size_t)size + 1);
    for (int r = 0; r < size; ++r) {
        counts[r]   = has_bytes(rank, r) ? opt.bytes : 0;
        expected[r] = has_bytes(r, rank) ? opt.bytes : 0;
        displs[r]   = r * opt.bytes;
    }
    if (opt.come_back) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    right = leaves_nothing();
    for (int call = 0; call < opt.calls && right; ++call) {
        right = exchange(MPI_COMM_WORLD, (uint32_t)call, &seconds);
    }
    say(right ? "ok" : "WRONG", seconds);
    free(send_buf);
    free(recv_buf);
    MPI_Finalize();
    return !right;
}
