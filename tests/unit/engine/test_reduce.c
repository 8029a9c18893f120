/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions in programs: what the executor asks the caller to add, in which
 * order, and what it does if that fails. */
#include "accel/fs_accel.h"
#include "engine/fs_exec.h"
#include "fs_test_device.h"
#include "fs_test_exec.h"
#include "fs_test_util.h"
#include "sched/plan/fs_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 3, BYTES = N * sizeof(uint32_t) };

/* A rank alone: its vectors, and what it was asked to do. */
typedef struct bench {
    uint32_t       send[N];
    uint32_t       recv[N];
    const void    *send_block;
    void          *recv_block;
    fs_call_t      call;
    fs_program_t   program;
    fs_plan_t     *plan;
    fs_exec_t     *exec;
    fs_net_t       net;
    fs_transport_t transport;
    uint32_t       n_asked;
    fs_status_t    answer;
} bench_t;

/* Not commutative: the digits of the left operand stand left. */
static fs_status_t reduce(void *ctx, const void *src, void *dst,
                          uint64_t len_bytes)
{
    bench_t *b = ctx;

    for (uint64_t k = 0; k < len_bytes / sizeof(uint32_t); ++k) {
        ((uint32_t *)dst)[k] = ((const uint32_t *)src)[k] * 10 +
                               ((uint32_t *)dst)[k];
    }
    ++b->n_asked;
    return b->answer;
}

static void bench_init(bench_t *b)
{
    memset(b, 0, sizeof(*b));
    for (uint32_t k = 0; k < N; ++k) {
        b->send[k] = 1 + k;
        b->recv[k] = 4 + k;
    }
    b->send_block = b->send;
    b->recv_block = b->recv;
    b->call       = (fs_call_t){.send_block = &b->send_block,
                                .recv_block = &b->recv_block,
                                .ctx        = b,
                                .reduce     = reduce};
    ck_assert_int_eq(fs_program_init(&b->program, 1), FS_OK);
}

static void begin(bench_t *b)
{
    const fs_plan_t totals = {.staging_bytes = BYTES, .window = 1};

    ck_assert_int_eq(fs_program_seal(&b->program, &totals, &b->plan), FS_OK);
    b->transport.net = &b->net;
    ck_assert_int_eq(fs_exec_create(&b->transport, 1, &b->exec), FS_OK);
    ck_assert_int_eq(fs_exec_reserve(b->exec, b->plan, &b->call), FS_OK);
}

/* To the end. */
static fs_status_t run(bench_t *b)
{
    return fs_test_run_alone(b->exec, b->plan, &b->call);
}

static void bench_fini(bench_t *b)
{
    fs_exec_destroy(b->exec);
    fs_plan_destroy(b->plan);
    fs_program_fini(&b->program);
}

/* The source is the left operand, wherever the two are, and nobody begins before
 * what he waits for is done. */
START_TEST(source_is_the_left_operand)
{
    bench_t  b;
    uint32_t copy, first, second;

    bench_init(&b);
    copy   = fs_program_copy(&b.program, fs_in_recv(0, 0), fs_in_staging(0),
                             BYTES); /* 4, ... */
    first  = fs_program_reduce(&b.program, fs_in_send(0, 0), fs_in_staging(0),
                               BYTES); /* 14, ... */
    second = fs_program_reduce(&b.program, fs_in_staging(0), fs_in_recv(0, 0),
                               BYTES); /* 144, ... */
    fs_program_reduce(&b.program, fs_in_send(0, 4), fs_in_staging(4), 4);
    fs_program_after(&b.program, first, copy);
    fs_program_after(&b.program, second, first);
    fs_program_after(&b.program, second + 1, second);
    fs_program_copy(&b.program, fs_in_staging(4), fs_in_recv(0, 8), 4);
    fs_program_after(&b.program, second + 2, second + 1);
    begin(&b);
    ck_assert_int_eq(run(&b), FS_OK);
    ck_assert_uint_eq(b.n_asked, 3);
    ck_assert_uint_eq(b.recv[0], 144);
    ck_assert_uint_eq(b.recv[1], 255);
    ck_assert_uint_eq(b.recv[2], 45); /* 2 and 25 */
    ck_assert_uint_eq(b.send[1], 2);
    bench_fini(&b);
}
END_TEST

/* One that fails is the culprit, and what waits for it is not begun. */
START_TEST(failing_operation_is_an_error)
{
    bench_t b;

    bench_init(&b);
    b.answer = FS_ERR_NATIVE;
    fs_program_reduce(&b.program, fs_in_send(0, 0), fs_in_recv(0, 0), BYTES);
    fs_program_reduce(&b.program, fs_in_send(0, 0), fs_in_recv(0, 0), BYTES);
    fs_program_after(&b.program, 1, 0);
    begin(&b);
    ck_assert_int_eq(run(&b), FS_ERR_NATIVE);
    ck_assert_uint_eq(b.n_asked, 1);
    ck_assert_uint_eq(fs_exec_culprit(b.exec), 0);
    bench_fini(&b);
}
END_TEST

/* No CPU may touch a device, and what is not contiguous has no address. */
START_TEST(unreachable_operands)
{
    bench_t     b;
    fs_accel_t *accel;
    void       *device;

    fs_test_device_load("accel/libcuda.so.1");
    accel  = fs_accel_create();
    device = fs_test_device_alloc(BYTES, 0);
    for (int k = 0; k < 3; ++k) {
        bench_init(&b);
        if (k == 0) {
            b.call.send_block = NULL;
        } else if (k == 1) {
            b.call.recv_block = NULL;
        } else {
            b.recv_block           = device;
            b.call.device.accel    = accel;
            b.call.device.recv_mem = fs_accel_query(accel, device);
        }
        fs_program_reduce(&b.program, fs_in_send(0, 0), fs_in_recv(0, 0),
                          BYTES);
        begin(&b);
        ck_assert_int_eq(run(&b), FS_ERR_UNSUPPORTED);
        ck_assert_uint_eq(b.n_asked, 0);
        bench_fini(&b);
    }
    fs_test_device_free(device);
    fs_accel_destroy(accel);
}
END_TEST

/* In a trace it stands among the copies, by its own name. */
START_TEST(traced)
{
    static const uint32_t server = 0;
    char                  dir[]  = "/tmp/fs_reduce_test.XXXXXX";
    char                  why[200], command[200];
    fs_topo_t            *topo;
    fs_trace_t           *trace;
    bench_t               b;
    fs_trace_origin_t     origin = {.dir = dir, .comm_name = "a"};

    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(fs_topo_create(1, &server, 0, &topo), FS_OK);
    origin.topo = topo;
    ck_assert_int_eq(fs_trace_create(&origin, &trace, why, sizeof(why)), FS_OK);
    bench_init(&b);
    fs_program_reduce(&b.program, fs_in_send(0, 0), fs_in_recv(0, 0), BYTES);
    begin(&b);
    fs_exec_set_trace(b.exec, trace);
    fs_trace_begin(trace, 1);
    ck_assert_int_eq(run(&b), FS_OK);
    fs_trace_end(trace, FS_OK);
    ck_assert_int_eq(fs_trace_write(trace, why, sizeof(why)), FS_OK);
    snprintf(command, sizeof(command),
             "grep -q '\"cat\": \"copy\".*\"name\": \"reduce\".*\"from\": "
             "\"send\", \"to\": \"recv\".*\"bytes\": 12' %s/*.json",
             dir);
    ck_assert_int_eq(system(command), 0);
    snprintf(command, sizeof(command), "rm -r %s", dir);
    ck_assert_int_eq(system(command), 0);
    bench_fini(&b);
    fs_trace_destroy(trace);
    fs_topo_destroy(topo);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reduce");
    TCase *tcase = tcase_create("reduce");

    tcase_add_test(tcase, source_is_the_left_operand);
    tcase_add_test(tcase, failing_operation_is_an_error);
    tcase_add_test(tcase, unreachable_operands);
    tcase_add_test(tcase, traced);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
