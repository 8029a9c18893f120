/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fastsched stragglar: allreduce schedules, round by round, and what they cost
 * in the alpha-beta model when one rank comes late. With several late ranks or with
 * servers, the simulator compares the ways as well (fs_tool_late.h).
 *
 * A round takes alpha plus the bytes that one rank sends or receives over the
 * rate of its port. Early rounds run while the straggler is awaited; as far as
 * they take longer than its delay, it waits for them.
 */
#include "sched/allreduce/fs_straggler.h"
#include "tools/fs_tool_late.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { WHY_LEN = 200, TEXT_WORDS = 12, DEFAULT_RANKS = 8 };

typedef struct args {
    uint32_t            algorithm; /* fs_straggler_kind_t */
    uint32_t            n_ranks;
    uint32_t            straggler;
    uint64_t            bytes;
    uint32_t            alpha; /* thousandths of microseconds */
    uint64_t            rate;  /* bits per second */
    uint32_t            delay; /* thousandths of microseconds */
    bool                verify;
    bool                summary;
    uint32_t            json;
    fs_tool_late_args_t late_args;
    fs_tool_late_t      late;
} args_t;

/* Microseconds. */
typedef struct times {
    double early;
    double late;
    double exposed;  /* from the straggler's arrival to the end */
    double total;    /* from when the others are ready */
    double best;     /* exposed, if the straggler is late enough */
    double worst;    /* exposed, if it is not late */
    double ring;     /* exposed, of the ring */
    double critical; /* least delay with which exposed is no more than ring; NaN
                        if none is enough */
} times_t;

static const char *algorithm_word(uint32_t k)
{
    return fs_straggler_name((fs_straggler_kind_t)k);
}

/* ---- times ---- */

static double positive(double x)
{
    return x > 0 ? x : 0;
}

/* What a schedule cuts: with servers, what each of their ranks exchanges. */
static uint64_t part_bytes(const args_t *args)
{
    return args->algorithm == FS_STRAGGLER_HIERARCHICAL
               ? args->bytes
               : args->bytes / args->late.n_local;
}

/* n_chunks chunks of an n-th of the buffer each, in n_rounds rounds. */
static double time_of(const args_t *args, double n_rounds, double n_chunks,
                      double n)
{
    double bytes = n_chunks * (double)part_bytes(args) / n;

    return n_rounds * args->alpha / 1e3 + bytes * 8e6 / (double)args->rate;
}

static times_t times_of(const args_t *args, const fs_straggler_t *schedule)
{
    double  delay = args->delay / 1e3, n = schedule->n_ranks;
    times_t t;

    t.early   = time_of(args, schedule->n_early, (double)schedule->early_chunks,
                        schedule->n_chunks);
    t.late    = time_of(args, schedule->n_rounds - schedule->n_early,
                        (double)schedule->late_chunks, schedule->n_chunks);
    t.exposed = positive(t.early - delay) + t.late;
    t.total   = delay + t.exposed;
    t.best    = t.late;
    t.worst   = t.early + t.late;
    t.ring    = time_of(args, 2 * (n - 1), 2 * (n - 1), n);
    t.critical = t.late > t.ring ? (double)NAN : positive(t.worst - t.ring);
    return t;
}

/* ---- text ---- */

static const fs_straggler_msg_t *find_reply(const fs_straggler_t     *schedule,
                                            uint32_t                  round,
                                            const fs_straggler_msg_t *msg)
{
    const fs_straggler_msg_t *reply = &schedule->msgs[schedule->first[round]];
    const fs_straggler_msg_t *end = &schedule->msgs[schedule->first[round + 1]];

    while (reply < end && (reply->src != msg->dst || reply->dst != msg->src)) {
        ++reply;
    }
    return reply < end ? reply : NULL;
}

static void print_chunks(const fs_straggler_msg_t *msg)
{
    printf("%s%u", msg->reduce ? "+" : "", msg->chunk);
    if (msg->n_chunks > 1) {
        printf("-%u", msg->chunk + msg->n_chunks - 1);
    }
}

/* An exchange in one word, at its lower rank; a message alone in another. */
static void print_word(const fs_straggler_msg_t *msg,
                       const fs_straggler_msg_t *reply)
{
    printf("  %u%s%u ", msg->src, reply == NULL ? ">" : "=", msg->dst);
    print_chunks(msg);
    if (reply != NULL) {
        putchar('/');
        print_chunks(reply);
    }
}

static void print_round(const fs_straggler_t *schedule, uint32_t round)
{
    size_t   first = schedule->first[round], end = schedule->first[round + 1];
    uint32_t left = TEXT_WORDS;
    size_t   i    = first;

    printf("%5u  %s", round, round < schedule->n_early ? "early" : "late ");
    for (; i < end && left > 0; ++i) {
        const fs_straggler_msg_t *msg   = &schedule->msgs[i];
        const fs_straggler_msg_t *reply = find_reply(schedule, round, msg);

        if (reply == NULL || msg->src < msg->dst) {
            print_word(msg, reply);
            left--;
        }
    }
    if (i < end) {
        printf("  ... %zu messages in all", end - first);
    }
    putchar('\n');
}

static void print_time(const char *what, double us)
{
    printf("%-22s %14.1f\n", what, us);
}

static void print_times(const args_t *args, const times_t *t)
{
    printf("\nmicroseconds for %" PRIu64 " bytes at %g Gbit/s, alpha %.3f us, "
           "delay %.3f us\n",
           part_bytes(args), (double)args->rate / 1e9, args->alpha / 1e3,
           args->delay / 1e3);
    print_time("early rounds", t->early);
    print_time("late rounds", t->late);
    print_time("from its arrival", t->exposed);
    print_time("  with a long delay", t->best);
    print_time("  with no delay", t->worst);
    print_time("ring", t->ring);
    if (isnan(t->critical)) {
        printf("the ring is faster with any delay\n");
    } else {
        print_time("critical delay", t->critical);
    }
}

static void print_text(const args_t *args, const fs_straggler_t *schedule,
                       const fs_tool_late_ways_t *ways)
{
    uint32_t n_late = schedule->n_rounds - schedule->n_early;
    times_t  t      = times_of(args, schedule);

    printf("%s, %u %s, straggler", algorithm_word(args->algorithm),
           schedule->n_ranks,
           schedule->n_ranks == args->late.n_servers && args->late.n_local > 1
               ? "servers"
               : "ranks");
    for (uint32_t k = 0; k < schedule->n_late; ++k) {
        printf(" %u", schedule->late[k]);
    }
    putchar('\n');
    printf("%u early and %u late rounds", schedule->n_early, n_late);
    if (schedule->kind == FS_STRAGGLER_STRAGGLAR) {
        printf(" (at least %u)", fs_straggler_min_rounds(schedule->n_ranks));
    }
    printf("; %u chunks, sent in sequence: %" PRIu64 " early, %" PRIu64
           " late\n",
           schedule->n_chunks, schedule->early_chunks, schedule->late_chunks);
    if (args->verify) {
        printf("verified: every rank ends with every chunk of every rank, "
               "once\n");
    }
    if (!args->summary) {
        printf("\nround  when   messages: a=b c/d  a sends chunk c to b, b "
               "sends d to a\n"
               "                        a>b c    a sends chunk c to b;  + to "
               "be added\n");
    }
    for (uint32_t r = 0; !args->summary && r < schedule->n_rounds; ++r) {
        print_round(schedule, r);
    }
    print_times(args, &t);
    if (ways != NULL) {
        fs_tool_late_ways_text(&args->late, ways);
    }
}

/* ---- JSON ---- */

static void write_times(fs_json_t *json, const args_t *args, const times_t *t)
{
    fs_json_u64(json, "bytes", args->bytes);
    fs_json_real(json, "alpha_us", args->alpha / 1e3, 3);
    fs_json_u64(json, "rate_bits", args->rate);
    fs_json_real(json, "delay_us", args->delay / 1e3, 3);
    fs_json_real(json, "early_us", t->early, 3);
    fs_json_real(json, "late_us", t->late, 3);
    fs_json_real(json, "exposed_us", t->exposed, 3);
    fs_json_real(json, "total_us", t->total, 3);
    fs_json_real(json, "best_us", t->best, 3);
    fs_json_real(json, "worst_us", t->worst, 3);
    fs_json_real(json, "ring_us", t->ring, 3);
    fs_json_real(json, "critical_delay_us", t->critical, 3);
}

static void write_rounds(fs_json_t *json, const fs_straggler_t *schedule)
{
    fs_json_open(json, "rounds", '[');
    for (uint32_t round = 0; round < schedule->n_rounds; ++round) {
        fs_json_open(json, NULL, '{');
        fs_json_bool(json, "early", round < schedule->n_early);
        fs_json_open(json, "messages", '[');
        for (size_t i = schedule->first[round]; i < schedule->first[round + 1];
             ++i) {
            const fs_straggler_msg_t *msg = &schedule->msgs[i];

            fs_json_open(json, NULL, '[');
            fs_json_u64(json, NULL, msg->src);
            fs_json_u64(json, NULL, msg->dst);
            fs_json_u64(json, NULL, msg->chunk);
            fs_json_u64(json, NULL, msg->n_chunks);
            fs_json_text(json, NULL, msg->reduce ? "reduce" : "replace");
            fs_json_close(json);
        }
        fs_json_close(json);
        fs_json_close(json);
    }
    fs_json_close(json);
}

static void print_json(const args_t *args, const fs_straggler_t *schedule,
                       uint64_t plan_ns, const fs_tool_late_ways_t *ways)
{
    times_t   t = times_of(args, schedule);
    fs_json_t json;

    fs_json_init(&json, stdout, 2);
    fs_json_open(&json, NULL, '{');
    fs_json_text(&json, "algorithm", algorithm_word(args->algorithm));
    fs_json_u64(&json, "ranks", schedule->n_ranks);
    fs_json_u64(&json, "straggler", schedule->straggler);
    fs_json_u64(&json, "chunks", schedule->n_chunks);
    fs_json_u64(&json, "early_rounds", schedule->n_early);
    fs_json_u64(&json, "late_rounds", schedule->n_rounds - schedule->n_early);
    if (schedule->kind == FS_STRAGGLER_STRAGGLAR) {
        fs_json_u64(&json, "min_late_rounds",
                    fs_straggler_min_rounds(schedule->n_ranks));
    } else {
        fs_json_text(&json, "min_late_rounds", NULL);
    }
    fs_json_u64(&json, "early_chunks", schedule->early_chunks);
    fs_json_u64(&json, "late_chunks", schedule->late_chunks);
    fs_json_u64(&json, "messages", schedule->n_msgs);
    fs_json_real(&json, "plan_us", (double)plan_ns / 1e3, 1);
    fs_json_bool(&json, "verified", args->verify);
    write_times(&json, args, &t);
    if (ways != NULL) {
        fs_tool_late_ways_json(&json, &args->late, ways);
    }
    if (!args->summary) {
        write_rounds(&json, schedule);
    }
    fs_json_close(&json);
}

/* ---- the command ---- */

static fs_status_t create(const args_t *args, fs_straggler_t **schedule_p)
{
    const fs_tool_late_t *late = &args->late;

    switch (args->algorithm) {
    case FS_STRAGGLER_STREAM:
        return fs_straggler_create_stream(late->n_servers, late->server,
                                          late->n_late_servers,
                                          args->late_args.n_pieces, schedule_p);
    case FS_STRAGGLER_HIERARCHICAL:
        return fs_straggler_create_hierarchical(late->n_servers, late->n_local,
                                                schedule_p);
    default:
        return fs_straggler_create(
            (fs_straggler_kind_t)args->algorithm, late->n_servers,
            late->server[late->n_late_servers - 1], schedule_p);
    }
}

static void check_stream(const args_t *args)
{
    uint32_t n = args->late.n_servers;

    if (args->algorithm == FS_STRAGGLER_STREAM &&
        (n < 2 || n > FS_STRAGGLER_MAX_STREAM ||
         args->late.n_late_servers > n / 2)) {
        fs_tool_bad("--algorithm stream: allowed with 2 to %u ranks, or "
                    "servers, half of them late at most; there are %u, and %u "
                    "late",
                    (unsigned)FS_STRAGGLER_MAX_STREAM, n,
                    args->late.n_late_servers);
    }
}

static void show(const args_t *args)
{
    char                why[WHY_LEN] = "";
    uint64_t            begin        = fs_tool_now_ns(), plan_ns;
    fs_straggler_t     *schedule;
    fs_status_t         status;
    fs_tool_late_ways_t ways;
    bool                simulates = fs_tool_late_is_given(&args->late_args);

    fs_tool_must(create(args, &schedule), "stragglar");
    plan_ns = fs_tool_now_ns() - begin;
    if (args->verify) {
        status = fs_straggler_check(schedule, why, sizeof(why));
        if (status == FS_ERR_INVAL) {
            fs_tool_failed("the schedule is wrong: %s", why);
        }
        fs_tool_must(status, "--verify");
    }
    if (simulates) {
        const fs_tool_late_cluster_t cluster = {args->bytes, args->rate,
                                                args->alpha};

        fs_tool_late_ways_run(&args->late_args, &args->late, &cluster, &ways);
    }
    if (args->json) {
        print_json(args, schedule, plan_ns, simulates ? &ways : NULL);
    } else {
        print_text(args, schedule, simulates ? &ways : NULL);
    }
    fs_straggler_destroy(schedule);
}

void fs_cmd_stragglar(int argc, char **argv)
{
    fs_tool_options_t options = {
        .usage = "stragglar [OPTIONS]\n\n"
                 "Allreduce schedules for when ranks come late, and the usual "
                 "ones."};
    args_t args = {.n_ranks   = DEFAULT_RANKS,
                   .straggler = UINT32_MAX,
                   .bytes     = UINT64_C(1) << 30,
                   .alpha     = 3000,
                   .rate      = UINT64_C(3600000000000)};

    const fs_tool_option_t rows[] = {
        {FS_TOOL_TITLE, .name = "Schedule"},
        {FS_TOOL_U32, "ranks", "N", "ranks (", .value = &args.n_ranks, 1,
         FS_STRAGGLER_MAX_RANKS},
        {FS_TOOL_U32, "straggler", "R",
         "the rank that comes late, default the last", .value = &args.straggler,
         0, FS_STRAGGLER_MAX_RANKS - 1},
        {FS_TOOL_WORD, "algorithm", "NAME", .value = &args.algorithm,
         .word = algorithm_word},
        {FS_TOOL_FLAG, "verify", NULL,
         "prove that it is an allreduce; exit with 1 if not",
         .value = &args.verify},
        {FS_TOOL_TITLE, .name = "Times"},
        {FS_TOOL_BYTES, "bytes", "BYTES", "the buffer (", .value = &args.bytes,
         0, UINT64_C(1) << 50},
        {FS_TOOL_MILLI, "alpha-us", "US", "cost of a round (",
         .value = &args.alpha, 0, UINT32_MAX},
        {FS_TOOL_RATE, "rate", "RATE",
         "rate of a rank's port, default 3600gbit (450 GB/s)",
         .value = &args.rate, 1, UINT64_MAX},
        {FS_TOOL_MILLI, "delay-us", "US",
         "delay of the straggler after the others (", .value = &args.delay, 0,
         UINT32_MAX},
    };
    const fs_tool_option_t output[] = {
        {FS_TOOL_TITLE, .name = "Output"},
        {FS_TOOL_FLAG, "summary", NULL, "omit the rounds",
         .value = &args.summary},
        FS_TOOL_FORMAT(&args.json),
    };

    FS_TOOL_ADD(&options, rows);
    fs_tool_late_options(&args.late_args, &options);
    FS_TOOL_ADD(&options, output);
    fs_tool_read_options(argc, argv, &options);
    fs_tool_late_read(&args.late_args, args.n_ranks, args.straggler, args.delay,
                      &args.late);
    args.delay = args.late.delay[args.late.n_late - 1];
    check_stream(&args);
    show(&args);
}
