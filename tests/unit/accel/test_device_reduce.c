/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions by the kernel, which the drivers of tests/accel run on the CPU: every
 * type and operation, compared with C's own, and by a program of the executor. */
#include "accel/fs_accel.h"
#include "engine/fs_exec.h"
#include "fs_test_device.h"
#include "fs_test_exec.h"
#include "fs_test_util.h"
#include "sched/plan/fs_plan.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More than a piece of each type, and not a whole number of blocks of threads. */
enum { N = 70001, WIDEST = 8, LEN = N * WIDEST };

static const char *const drivers[] = {"accel/libcuda.so.1",
                                      "accel/libamdhip64.so.6"};
enum { N_DRIVERS = sizeof(drivers) / sizeof(drivers[0]) };

static const size_t size_of[FS_N_DEVICE_TYPES] = {1, 2, 4, 8, 1, 2,
                                                  4, 8, 2, 2, 4, 8};

static fs_accel_t *load(const char *driver)
{
    fs_accel_t *accel;

    fs_test_device_load(driver);
    accel = fs_accel_create();
    ck_assert_ptr_nonnull(accel);
    return accel;
}

/* ---- what C says ---- */

/* Values of all kinds: small ones, ties, infinities, NaN, the smallest. */
static void fill(unsigned char *bytes, uint64_t seed)
{
    uint64_t word = seed;

    for (size_t k = 0; k < LEN; ++k) {
        word     = word * 6364136223846793005u + 1442695040888963407u;
        bytes[k] = k % 5 == 0    ? (unsigned char)(word >> 40)
                   : k % 7 == 0  ? 0x7f
                   : k % 11 == 0 ? 0
                                 : (unsigned char)(word >> 33);
    }
}

/* Of 16 bits, so many of them for the fraction. */
static double decode(unsigned bits, int fraction)
{
    int    bias     = (1 << (14 - fraction)) - 1;
    int    exponent = (int)(bits >> fraction & (2u * (unsigned)bias + 1));
    double rest     = bits & ((1u << fraction) - 1);
    double value    = exponent == 2 * bias + 1 ? (rest == 0 ? INFINITY : NAN)
                      : exponent == 0 ? ldexp(rest, 1 - bias - fraction)
                                      : ldexp(rest + (1 << fraction),
                                              exponent - bias - fraction);

    return bits & 0x8000 ? -value : value;
}

/* Bits of the fraction. */
enum { HALF = 10, BFLOAT = 7 };

/* No other number is nearer, and of two it is the even one; of two of bfloat16 the one
 * farther from zero. Infinity stands for the next
 * power of two, as when it is rounded to. */
static bool is_nearest(unsigned got, double exact, int fraction)
{
    unsigned infinity = 0x7fff >> fraction << fraction;
    double   next     = 2 * decode(infinity - (1 << fraction), fraction);
    double   away[3];

    if (isinf(exact)) {
        return isinf(decode(got, fraction)) && (got >> 15 != 0) == (exact < 0);
    }
    for (int k = -1; k <= 1; ++k) {
        unsigned bits  = (got & 0x7fff) + (unsigned)k;
        double   value = bits == infinity ? next : decode(bits, fraction);

        away[k + 1] = (got & 0x7fff) == 0 && k < 0 ? INFINITY
                      : bits > infinity            ? INFINITY
                                                   : fabs(value - fabs(exact));
    }
    return (exact == 0 || (got >> 15 != 0) == (exact < 0)) &&
           away[1] <= away[0] && away[1] <= away[2] &&
           (fraction == BFLOAT
                ? away[1] < away[2]
                : (away[1] < away[0] && away[1] < away[2]) || got % 2 == 0);
}

static bool is_sum16(unsigned a, unsigned b, unsigned got, int fraction)
{
    double exact = decode(a, fraction) + decode(b, fraction);

    return isnan(exact) ? isnan(decode(got, fraction))
                        : is_nearest(got, exact, fraction);
}

static bool is_right16(fs_device_op_t op, unsigned src, unsigned dst,
                       unsigned got, int fraction)
{
    double   a = decode(src, fraction), b = decode(dst, fraction);
    unsigned want = op == FS_DEVICE_MIN ? (b < a ? dst : src)
                                        : (b > a ? dst : src);

    return op == FS_DEVICE_SUM             ? is_sum16(src, dst, got, fraction)
           : isnan(decode(want, fraction)) ? isnan(decode(got, fraction))
                                           : got == want;
}

/* The value of dst that C computes; integers wrap. */
#define RIGHT(type, plus)                                                     \
    do {                                                                      \
        type a, b, c, want;                                                   \
                                                                              \
        memcpy(&a, src, sizeof(a));                                           \
        memcpy(&b, dst, sizeof(b));                                           \
        memcpy(&c, got, sizeof(c));                                           \
        want = op == FS_DEVICE_SUM   ? (type)(plus)                           \
               : op == FS_DEVICE_MIN ? (b < a ? b : a)                        \
                                     : (b > a ? b : a);                       \
        return memcmp(&want, &c, sizeof(c)) == 0 || (want != want && c != c); \
    } while (0)
#define RIGHT_INTEGER(type) RIGHT(type, (uint64_t)a + (uint64_t)b)

static bool is_right(fs_device_op_t op, fs_device_type_t type,
                     const unsigned char *src, const unsigned char *dst,
                     const unsigned char *got)
{
    switch (type) {
    case FS_DEVICE_I8:
        RIGHT_INTEGER(int8_t);
    case FS_DEVICE_I16:
        RIGHT_INTEGER(int16_t);
    case FS_DEVICE_I32:
        RIGHT_INTEGER(int32_t);
    case FS_DEVICE_I64:
        RIGHT_INTEGER(int64_t);
    case FS_DEVICE_U8:
        RIGHT_INTEGER(uint8_t);
    case FS_DEVICE_U16:
        RIGHT_INTEGER(uint16_t);
    case FS_DEVICE_U32:
        RIGHT_INTEGER(uint32_t);
    case FS_DEVICE_U64:
        RIGHT_INTEGER(uint64_t);
    case FS_DEVICE_F32:
        RIGHT(float, a + b);
    case FS_DEVICE_F64:
        RIGHT(double, a + b);
    default:
        return is_right16(op, src[0] | src[1] << 8u, dst[0] | dst[1] << 8u,
                          got[0] | got[1] << 8u,
                          type == FS_DEVICE_F16 ? HALF : BFLOAT);
    }
}

/* ---- by the kernel ---- */

static void check(fs_device_op_t op, fs_device_type_t type,
                  const unsigned char *src, const unsigned char *before,
                  const unsigned char *after)
{
    size_t size = size_of[type], len = N * size;

    for (size_t k = 0; k < len; k += size) {
        ck_assert_msg(is_right(op, type, src + k, before + k, after + k),
                      "operation %d, type %d, element %zu", (int)op, (int)type,
                      k / size);
    }
    ck_assert_mem_eq(before + len, after + len, LEN - len);
}

START_TEST(every_type_and_operation)
{
    fs_accel_t    *accel = load(drivers[_i]);
    unsigned char *src   = fs_test_device_alloc(LEN, 1),
                  *dst = fs_test_device_alloc(LEN, 1), *before = malloc(LEN);
    fs_copier_t *copier =
        fs_accel_get_copier(accel, fs_accel_query(accel, src));
    unsigned kernels = fs_test_device_kernels();

    ck_assert(fs_accel_has_kernel(accel, fs_copier_mem(copier)));
    ck_assert_int_eq(fs_copier_reserve(copier, 1, LEN), FS_OK);
    fill(fs_test_device_alias(src), 1);
    fill(before, 2);
    for (int type = 0; type < FS_N_DEVICE_TYPES; ++type) {
        for (int op = FS_DEVICE_SUM; op <= FS_DEVICE_MAX; ++op) {
            fs_segment_t s = {
                dst, src, N * size_of[type],
                fs_device_how((fs_device_op_t)op, (fs_device_type_t)type)};

            memcpy(fs_test_device_alias(dst), before, LEN);
            ck_assert_int_eq(fs_copier_run(copier, &s, 1, true), FS_OK);
            ck_assert_uint_eq(fs_test_device_kernels(), ++kernels);
            check((fs_device_op_t)op, (fs_device_type_t)type,
                  fs_test_device_alias(src), before, fs_test_device_alias(dst));
        }
    }
    fs_accel_put_copier(accel, copier);
    free(before);
    fs_accel_destroy(accel);
}
END_TEST

/* Of all numbers of 16 bits: rounding is what is difficult there. */
START_TEST(all_halves)
{
    enum { ALL = 65536, BYTES = 2 * ALL };
    fs_accel_t *accel = load(drivers[0]);
    uint16_t   *src   = fs_test_device_alloc(BYTES, 0),
             *dst     = fs_test_device_alloc(BYTES, 0);
    uint16_t *there   = fs_test_device_alias(src),
             *sum     = fs_test_device_alias(dst);
    fs_copier_t *copier =
        fs_accel_get_copier(accel, fs_accel_query(accel, src));
    const uint16_t with[]   = {0,      0x8000, 1,      0x3c00, 0x3c01, 0x0400,
                               0x03ff, 0x7bff, 0x7c00, 0x7e01, 0xbc00, 0x1401};
    int            fraction = _i == 0 ? HALF : BFLOAT;
    fs_segment_t   s        = {
                 dst, src, BYTES,
                 fs_device_how(FS_DEVICE_SUM, _i == 0 ? FS_DEVICE_F16 : FS_DEVICE_BF16)};

    ck_assert_int_eq(fs_copier_reserve(copier, 1, BYTES), FS_OK);
    for (size_t w = 0; w < sizeof(with) / sizeof(with[0]); ++w) {
        for (unsigned k = 0; k < ALL; ++k) {
            there[k] = (uint16_t)k;
            sum[k]   = with[w];
        }
        ck_assert_int_eq(fs_copier_run(copier, &s, 1, true), FS_OK);
        for (unsigned k = 0; k < ALL; ++k) {
            ck_assert_msg(is_sum16(k, with[w], sum[k], fraction),
                          "%04x + %04x is not %04x", k, with[w], sum[k]);
        }
    }
    fs_accel_put_copier(accel, copier);
    fs_accel_destroy(accel);
}
END_TEST

/* Copies go with them; what is not on a device, or has no kernel, is refused. */
START_TEST(among_copies)
{
    fs_accel_t *accel  = load(drivers[0]);
    int32_t    *device = fs_test_device_alloc(LEN, 0),
            *there = fs_test_device_alias(device), here[4] = {0};
    fs_copier_t *copier =
        fs_accel_get_copier(accel, fs_accel_query(accel, device));
    uint32_t     how    = fs_device_how(FS_DEVICE_MAX, FS_DEVICE_I32);
    fs_segment_t both[] = {{device, device + 100, 400, how},
                           {device + 200, device + 100, 400, 0}};
    fs_segment_t mixed  = {here, device, sizeof(here), how};

    for (int k = 0; k < 300; ++k) {
        there[k] = k % 100 * (k < 100 ? 2 : -3) + 50;
    }
    ck_assert_int_eq(fs_copier_run(copier, both, 2, true), FS_ERR_ACCEL);
    ck_assert_int_eq(fs_copier_reserve(copier, 2, 800), FS_OK);
    ck_assert_int_eq(fs_copier_run(copier, both, 2, true), FS_OK);
    for (int k = 0; k < 100; ++k) {
        ck_assert_int_eq(there[k], k * 2 + 50);
        ck_assert_int_eq(there[k + 200], 50 - k * 3);
    }
    ck_assert_int_eq(fs_copier_run(copier, &mixed, 1, false), FS_ERR_ACCEL);
    fs_accel_put_copier(accel, copier);
    fs_accel_destroy(accel);
}
END_TEST

START_TEST(devices_without_a_kernel)
{
    fs_accel_t *accel;
    fs_mem_t    mem = {.kind = FS_MEM_CUDA};

    setenv("FAKE_CUDA_NO_KERNEL", "1", 1);
    accel = load(drivers[_i]);
    mem   = fs_accel_query(accel, fs_test_device_alloc(8, 0));
    ck_assert(!fs_accel_has_kernel(accel, mem));
    mem.device = 99;
    ck_assert(!fs_accel_has_kernel(accel, mem));
    mem.kind = FS_MEM_HOST;
    ck_assert(!fs_accel_has_kernel(accel, mem));
    fs_accel_destroy(accel);
}
END_TEST

/* ---- by a program ---- */

enum { ELEMS = 1000, BYTES = ELEMS * sizeof(uint32_t) };

typedef struct bench {
    fs_accel_t    *accel;
    uint32_t      *send, *recv; /* on the device */
    const void    *send_block;
    void          *recv_block;
    fs_call_t      call;
    fs_program_t   program;
    fs_plan_t     *plan;
    fs_exec_t     *exec;
    fs_net_t       net;
    fs_transport_t transport;
} bench_t;

static fs_status_t reduce(void *ctx, const void *src, void *dst,
                          uint64_t len_bytes)
{
    (void)ctx, (void)src, (void)dst, (void)len_bytes;
    ck_abort_msg("no CPU reduces there");
    return FS_OK;
}

/* recv = send + (copy of send + recv), in staging and back. */
static void bench_init(bench_t *b)
{
    const fs_plan_t totals = {.staging_bytes = BYTES, .window = 1};
    uint32_t        copy, first, second;

    *b            = (bench_t){.accel = load(drivers[0])};
    b->send       = fs_test_device_alloc(BYTES, 0);
    b->recv       = fs_test_device_alloc(BYTES, 0);
    b->send_block = b->send;
    b->recv_block = b->recv;
    b->call =
        (fs_call_t){.reduction  = {ELEMS, sizeof(uint32_t), false,
                                   fs_device_how(FS_DEVICE_SUM, FS_DEVICE_U32)},
                    .send_block = &b->send_block,
                    .recv_block = &b->recv_block,
                    .device     = {.accel    = b->accel,
                                   .send_mem = fs_accel_query(b->accel, b->send),
                                   .recv_mem = fs_accel_query(b->accel, b->recv)},
                    .reduce     = reduce};
    ck_assert_int_eq(fs_program_init(&b->program, 1), FS_OK);
    copy =
        fs_program_copy(&b->program, fs_in_send(0, 0), fs_in_staging(0), BYTES);
    first  = fs_program_reduce(&b->program, fs_in_recv(0, 0), fs_in_staging(0),
                               BYTES);
    second = fs_program_reduce(&b->program, fs_in_staging(0), fs_in_recv(0, 0),
                               BYTES);
    fs_program_after(&b->program, first, copy);
    fs_program_after(&b->program, second, first);
    ck_assert_int_eq(fs_program_seal(&b->program, &totals, &b->plan), FS_OK);
    b->transport.net = &b->net;
    ck_assert_int_eq(fs_exec_create(&b->transport, 1, &b->exec), FS_OK);
}

static void bench_fini(bench_t *b)
{
    fs_exec_destroy(b->exec);
    fs_plan_destroy(b->plan);
    fs_program_fini(&b->program);
    fs_accel_destroy(b->accel);
}

static fs_status_t run(bench_t *b)
{
    return fs_test_run_alone(b->exec, b->plan, &b->call);
}

START_TEST(a_program_waits_for_the_kernel)
{
    bench_t   b;
    uint32_t *recv;

    bench_init(&b);
    recv = fs_test_device_alias(b.recv);
    for (uint32_t k = 0; k < ELEMS; ++k) {
        ((uint32_t *)fs_test_device_alias(b.send))[k] = k;
        recv[k]                                       = 7 * k;
    }
    ck_assert(!fs_exec_fits(b.exec, b.plan, &b.call));
    ck_assert_int_eq(fs_exec_reserve(b.exec, b.plan, &b.call), FS_OK);
    ck_assert(fs_exec_fits(b.exec, b.plan, &b.call));
    ck_assert_int_eq(run(&b), FS_OK);
    for (uint32_t k = 0; k < ELEMS; ++k) {
        ck_assert_uint_eq(recv[k], 15 * k);
    }
    ck_assert_uint_eq(fs_test_device_kernels(), 2); /* a copy is none */
    bench_fini(&b);
}
END_TEST

/* Nothing that a call needs may be missing when it runs. */
START_TEST(no_room_for_the_kernel)
{
    bench_t b;

    bench_init(&b);
    setenv("FAKE_CUDA_NO_PINNED", "1", 1);
    ck_assert_int_eq(fs_exec_reserve(b.exec, b.plan, &b.call), FS_ERR_NOMEM);
    ck_assert(!fs_exec_fits(b.exec, b.plan, &b.call));
    unsetenv("FAKE_CUDA_NO_PINNED");
    ck_assert_int_eq(fs_exec_reserve(b.exec, b.plan, &b.call), FS_OK);
    fs_test_device_fail("cuLaunchKernel", 2);
    ck_assert_int_eq(run(&b), FS_ERR_ACCEL);
    ck_assert_uint_eq(fs_exec_culprit(b.exec), 2);
    bench_fini(&b);
}
END_TEST

/* An operation that the kernel does not know. */
START_TEST(an_operation_that_no_device_does)
{
    bench_t b;

    bench_init(&b);
    b.call.reduction.device_how = 0;
    ck_assert_int_eq(fs_exec_reserve(b.exec, b.plan, &b.call), FS_OK);
    ck_assert_int_eq(run(&b), FS_ERR_UNSUPPORTED);
    ck_assert_uint_eq(fs_exec_culprit(b.exec), 1);
    bench_fini(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_reduce");
    TCase *tcase = tcase_create("device_reduce");

    tcase_add_loop_test(tcase, every_type_and_operation, 0, N_DRIVERS);
    tcase_add_loop_test(tcase, all_halves, 0, 2);
    tcase_add_test(tcase, among_copies);
    tcase_add_loop_test(tcase, devices_without_a_kernel, 0, N_DRIVERS);
    tcase_add_test(tcase, a_program_waits_for_the_kernel);
    tcase_add_test(tcase, no_room_for_the_kernel);
    tcase_add_test(tcase, an_operation_that_no_device_does);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
