/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collecting: an array of events that doubles. An operation's times are kept
 * beside its program until it ends, and become one event then.
 *
 * Grants come whenever the network is looked at, from any thread, in a call or
 * between calls: hence the lock.
 */
#include "trace/fs_trace.h"

#include "base/fs_arith.h"
#include "base/fs_grow.h"
#include "base/fs_clock.h"
#include "base/fs_quote.h"
#include "trace/fs_boot.h"
#include "trace/fs_trace_file.h"
#include "sched/plan/fs_plan.h"
#include "sched/model/fs_topo.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NONE = UINT32_MAX, SHORTEST_WAIT_NS = 1000, MAX_EVENTS = 1 << 20 };

typedef struct op_times {
    uint64_t ready;
    uint64_t post;
    uint64_t count;
    uint32_t by;
    uint8_t  slot;
} op_times_t;

/* Spans that may overlap: messages between servers and inside, each way, and
 * what a rank does alone. */
enum { N_LANES = 5 };

struct fs_trace {
    pthread_mutex_t  lock;
    fs_trace_book_t  book;
    size_t           max_events;
    size_t           max_calls;
    char            *texts; /* of the origin */
    const fs_plan_t *plan;
    const fs_call_t *call;
    op_times_t      *ops; /* [max_ops]; NULL while nothing runs */
    uint32_t         max_ops;
    bool             in_call; /* and it has a record, the last of the calls */
    bool             running;
    uint64_t         last_post[2];  /* of a wire message, by kind SEND, RECV */
    uint64_t         busy[N_LANES]; /* slots, a bit each */
    fs_trace_phase_t phase;         /* or FS_TRACE_PHASES */
    uint64_t         phase_begin;
};

/* ---- life ---- */

/* Servers that started together share a clock, containers on one machine too:
 * the kernel gives each start a name. */
static void name_clock(char *name, size_t len)
{
    if (!fs_boot_name(name, len)) {
        gethostname(name, len);
        name[len - 1] = '\0';
    }
}

/* Equal in all communicators of a process: spawned processes have ranks in an
 * MPI_COMM_WORLD of their own, containers have pids of their own. */
static void name_process(char *name, size_t len)
{
    struct stat pids = {0};

    (void)stat("/proc/self/ns/pid", &pids);
    snprintf(name, len, "%llx.%lx", (unsigned long long)pids.st_ino,
             (unsigned long)getpid());
}

static fs_status_t check_dir(const char *dir, char *why, size_t why_len)
{
    if ((mkdir(dir, 0777) != 0 && errno != EEXIST) ||
        access(dir, W_OK | X_OK) != 0) {
        snprintf(why, why_len, "no trace: %s: %s", dir, strerror(errno));
        return FS_ERR_NATIVE;
    }
    return FS_OK;
}

static bool copy_texts(fs_trace_t *trace, const fs_trace_origin_t *origin)
{
    const char *name    = origin->comm_name == NULL ? "" : origin->comm_name;
    size_t      dir_len = strlen(origin->dir) + 1;
    size_t      len     = strlen(name) + 1;

    trace->texts = malloc(dir_len + len);
    if (trace->texts == NULL) {
        return false;
    }
    memcpy(trace->texts, origin->dir, dir_len);
    memcpy(trace->texts + dir_len, name, len);
    trace->book.origin.dir       = trace->texts;
    trace->book.origin.comm_name = trace->texts + dir_len;
    return true;
}

fs_status_t fs_trace_create(const fs_trace_origin_t *origin,
                            fs_trace_t **trace_p, char *why, size_t why_len)
{
    fs_status_t status = check_dir(origin->dir, why, why_len);
    fs_trace_t *trace;

    if (status != FS_OK) {
        return status;
    }
    trace = calloc(1, sizeof(*trace));
    if (trace == NULL) {
        return FS_ERR_NOMEM;
    }
    pthread_mutex_init(&trace->lock, NULL);
    trace->phase       = FS_TRACE_PHASES;
    trace->book.origin = *origin;
    if (origin->max_events == 0) {
        trace->book.origin.max_events = MAX_EVENTS;
    }
    if (!copy_texts(trace, origin)) {
        fs_trace_destroy(trace);
        return FS_ERR_NOMEM;
    }
    name_clock(trace->book.clock, sizeof(trace->book.clock));
    name_process(trace->book.process, sizeof(trace->book.process));
    trace->book.epoch = fs_clock_ns(CLOCK_REALTIME) - fs_now_ns();
    *trace_p          = trace;
    return FS_OK;
}

void fs_trace_destroy(fs_trace_t *trace)
{
    if (trace != NULL) {
        pthread_mutex_destroy(&trace->lock);
        free(trace->texts);
        free(trace->ops);
        free(trace->book.events);
        free(trace->book.calls);
        free(trace);
    }
}

/* ---- the array; from here on under the lock ---- */

/* The last call; in_call, or n_calls is not 0. */
static fs_traced_call_t *current(fs_trace_t *trace)
{
    return &trace->book.calls[trace->book.n_calls - 1];
}

static void add(fs_trace_t *trace, fs_event_t event)
{
    fs_trace_book_t *book   = &trace->book;
    fs_event_t      *events = fs_grow(book->events, book->n_events,
                                      &trace->max_events, book->origin.max_events,
                                      sizeof(event));

    if (events == NULL) {
        ++book->dropped;
        return;
    }
    event.call   = book->n_calls > 0 ? (uint32_t)current(trace)->number : 0;
    book->events = events;
    events[book->n_events++] = event;
}

/* ---- calls ---- */

static void end_phase(fs_trace_t *trace, uint64_t time)
{
    if (trace->phase != FS_TRACE_PHASES) {
        add(trace, (fs_event_t){.kind = FS_EVENT_PHASE,
                                .op   = trace->phase,
                                .post = trace->phase_begin,
                                .end  = time});
    }
    trace->phase       = FS_TRACE_PHASES;
    trace->phase_begin = time;
}

static void add_call(fs_trace_t *trace, uint64_t number)
{
    fs_trace_book_t  *book  = &trace->book;
    fs_traced_call_t *calls = fs_grow(book->calls, book->n_calls,
                                      &trace->max_calls,
                                      book->origin.max_events, sizeof(*calls));

    trace->in_call = calls != NULL;
    if (calls == NULL) {
        ++book->dropped;
        return;
    }
    book->calls = calls;
    calls[book->n_calls++] =
        (fs_traced_call_t){.number = number, .begin = fs_now_ns()};
}

void fs_trace_begin(fs_trace_t *trace, uint64_t call)
{
    pthread_mutex_lock(&trace->lock);
    add_call(trace, call);
    pthread_mutex_unlock(&trace->lock);
}

void fs_trace_enter(fs_trace_t *trace, fs_trace_phase_t phase)
{
    pthread_mutex_lock(&trace->lock);
    end_phase(trace, fs_now_ns());
    trace->phase = phase;
    pthread_mutex_unlock(&trace->lock);
}

void fs_trace_decision(fs_trace_t *trace, const fs_choice_t *choice,
                       uint64_t inter_bytes, uint64_t lower_bound)
{
    pthread_mutex_lock(&trace->lock);
    if (trace->in_call) {
        fs_traced_call_t *call = current(trace);

        call->choice      = *choice;
        call->inter_bytes = inter_bytes;
        call->lower_bound = lower_bound;
    }
    pthread_mutex_unlock(&trace->lock);
}

void fs_trace_early(fs_trace_t *trace, uint64_t bytes)
{
    pthread_mutex_lock(&trace->lock);
    if (trace->in_call) {
        current(trace)->early_bytes += bytes; /* of all that a frame drains */
    }
    pthread_mutex_unlock(&trace->lock);
}

static void add_planned(fs_trace_t *trace, const fs_transfer_t *t)
{
    const fs_trace_origin_t *origin = &trace->book.origin;
    bool sends = t->src == fs_topo_server(origin->topo, origin->rank);

    add(trace, (fs_event_t){.kind    = FS_EVENT_PLANNED,
                            .ready   = t->start,
                            .bytes   = t->bytes,
                            .op_kind = sends ? FS_OP_SEND : FS_OP_RECV,
                            .peer    = sends ? t->dst : t->src});
}

void fs_trace_planned(fs_trace_t *trace, const fs_schedule_t *lane)
{
    pthread_mutex_lock(&trace->lock);
    for (size_t k = 0; k < lane->n_transfers && trace->in_call; ++k) {
        add_planned(trace, &lane->transfers[k]);
    }
    pthread_mutex_unlock(&trace->lock);
}

void fs_trace_end(fs_trace_t *trace, fs_status_t status)
{
    pthread_mutex_lock(&trace->lock);
    end_phase(trace, fs_now_ns());
    if (trace->in_call) {
        current(trace)->end    = trace->phase_begin;
        current(trace)->status = status;
    }
    trace->in_call = trace->running = false;
    pthread_mutex_unlock(&trace->lock);
}

/* ---- operations ---- */

static bool reserve(fs_trace_t *trace, uint32_t n_ops)
{
    op_times_t *ops;

    if (n_ops <= trace->max_ops) {
        return true;
    }
    ops = malloc(n_ops * sizeof(*ops));
    if (ops == NULL) {
        return false;
    }
    free(trace->ops);
    trace->ops     = ops;
    trace->max_ops = n_ops;
    return true;
}

static void start_run(fs_trace_t *trace, const fs_plan_t *plan)
{
    fs_traced_call_t *call = current(trace);

    call->run            = fs_now_ns();
    call->decompose      = plan->decompose;
    call->n_stages       = plan->n_stages;
    call->total_per_lane = plan->total_per_lane;
    trace->last_post[0] = trace->last_post[1] = call->run;
    memset(trace->busy, 0, sizeof(trace->busy));
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        trace->ops[k] = (op_times_t){.ready = call->run, .by = NONE};
    }
}

void fs_trace_run(fs_trace_t *trace, const fs_plan_t *plan,
                  const fs_call_t *call)
{
    pthread_mutex_lock(&trace->lock);
    trace->plan    = plan;
    trace->call    = call;
    trace->running = trace->in_call && reserve(trace, plan->n_ops);
    if (trace->running) {
        start_run(trace, plan);
    } else {
        trace->book.dropped += plan->n_ops;
    }
    pthread_mutex_unlock(&trace->lock);
}

void fs_trace_ready(fs_trace_t *trace, uint32_t op, uint32_t by)
{
    pthread_mutex_lock(&trace->lock);
    if (trace->running) {
        trace->ops[op].ready = fs_now_ns();
        trace->ops[op].by    = by;
    }
    pthread_mutex_unlock(&trace->lock);
}

static uint64_t *busy_of(fs_trace_t *trace, const fs_op_t *op)
{
    if (!fs_op_is_message(op)) {
        return &trace->busy[N_LANES - 1];
    }
    return &trace->busy[(op->channel == FS_CH_WIRE ? 0 : 2) +
                        (op->kind == FS_OP_RECV)];
}

/* What overlaps in time is drawn side by side; beyond the last slot no more. */
static uint8_t take_slot(uint64_t *busy)
{
    uint32_t slot = ~*busy == 0 ? FS_TRACE_SLOTS - 1
                                : (uint32_t)__builtin_ctzll(~*busy);

    *busy |= UINT64_C(1) << slot;
    return (uint8_t)slot;
}

/* A wire message waits for its turn and for its peer; before its turn it is
 * not the one that holds up the others. */
static void add_wait(fs_trace_t *trace, const fs_op_t *op, uint32_t id)
{
    uint64_t *last = &trace->last_post[op->kind == FS_OP_RECV];
    uint64_t  post = trace->ops[id].post;
    uint64_t  from = fs_u64_max(*last, trace->ops[id].ready);

    *last = post;
    if (post >= from + SHORTEST_WAIT_NS) {
        add(trace, (fs_event_t){.kind    = FS_EVENT_WAIT,
                                .op_kind = op->kind,
                                .channel = op->channel,
                                .op      = id,
                                .peer    = op->peer,
                                .bytes   = op->len_bytes,
                                .post    = from,
                                .end     = post});
    }
}

void fs_trace_post(fs_trace_t *trace, uint32_t op, uint64_t count)
{
    pthread_mutex_lock(&trace->lock);
    if (trace->running) {
        const fs_op_t *o     = &trace->plan->ops[op];
        op_times_t    *times = &trace->ops[op];

        times->post  = fs_now_ns();
        times->count = count;
        times->slot  = take_slot(busy_of(trace, o));
        if (fs_op_is_wire(o)) {
            add_wait(trace, o, op);
        }
    }
    pthread_mutex_unlock(&trace->lock);
}

/* Where a copy or a reduction reads or writes. */
static uint8_t buffer_of(const fs_place_t *place, bool packed)
{
    return (uint8_t)(place->buffer == FS_BUF_STAGING || !packed
                         ? place->buffer
                         : FS_BUF_PACKED + place->buffer);
}

void fs_trace_ended(fs_trace_t *trace, uint32_t op)
{
    pthread_mutex_lock(&trace->lock);
    if (trace->running) {
        const fs_op_t    *o     = &trace->plan->ops[op];
        const op_times_t *times = &trace->ops[op];
        fs_event_t        event = {.kind    = FS_EVENT_OP,
                                   .op_kind = o->kind,
                                   .channel = o->channel,
                                   .slot    = times->slot,
                                   .op      = op,
                                   .by      = times->by,
                                   .peer    = o->peer,
                                   .bytes   = o->len_bytes,
                                   .count   = times->count,
                                   .ready   = times->ready,
                                   .post    = times->post,
                                   .end     = fs_now_ns()};

        event.src = buffer_of(&o->src, trace->call->send_block == NULL);
        event.dst = buffer_of(&o->dst, trace->call->recv_block == NULL);
        *busy_of(trace, o) &= ~(UINT64_C(1) << times->slot);
        add(trace, event);
    }
    pthread_mutex_unlock(&trace->lock);
}

void fs_trace_grant(fs_trace_t *trace, bool given, uint32_t peer,
                    uint64_t count)
{
    pthread_mutex_lock(&trace->lock);
    add(trace, (fs_event_t){.kind    = FS_EVENT_GRANT,
                            .op_kind = given ? FS_OP_RECV : FS_OP_SEND,
                            .peer    = peer,
                            .count   = count,
                            .end     = fs_now_ns()});
    pthread_mutex_unlock(&trace->lock);
}

/* ---- the file ---- */

/* Letters that every file system takes. The rank is the communicator's: after
 * MPI_Comm_spawn() two of its processes may have one world rank. */
static void file_name(const fs_trace_origin_t *origin, char *name, size_t len)
{
    char comm[48];

    snprintf(name, len, "%s/fast-%s-%llx-rank%u.json", origin->dir,
             fs_quote_file(origin->comm_name, comm, sizeof(comm)),
             (unsigned long long)origin->comm_id, origin->rank);
}

fs_status_t fs_trace_write(fs_trace_t *trace, char *why, size_t why_len)
{
    char  name[FS_TRACE_MAX + 128];
    FILE *file;
    bool  failed;

    if (trace->book.n_calls == 0) {
        return FS_OK;
    }
    file_name(&trace->book.origin, name, sizeof(name));
    file = fopen(name, "w");
    if (file == NULL) {
        snprintf(why, why_len, "no trace: %s: %s", name, strerror(errno));
        return FS_ERR_NATIVE;
    }
    pthread_mutex_lock(&trace->lock);
    fs_trace_print(file, &trace->book);
    pthread_mutex_unlock(&trace->lock);
    failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) {
        snprintf(why, why_len, "the trace is incomplete: %s: %s", name,
                 strerror(errno));
        return FS_ERR_NATIVE;
    }
    return FS_OK;
}
