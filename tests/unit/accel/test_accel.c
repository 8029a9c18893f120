/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of accelerators, with the drivers of tests/accel, which need no GPU and
 * whose memory ends a process that touches it; and bounces of such buffers. */
#include "accel/fs_accel.h"
#include "accel/fs_batch.h"
#include "comm/fs_comm.h"
#include "engine/fs_staging.h"
#include "fs_test_device.h"
#include "fs_test_util.h"
#include "wrapper/fs_bounce.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEN = 10000, N_RANKS = 3 };

typedef struct driver {
    const char   *library;
    fs_mem_kind_t kind;
    const char   *without_kernel; /* by this variable */
    const char   *compiler;       /* NULL: built in */
} driver_t;

static const driver_t drivers[] = {
    {"accel/libcuda.so.1", FS_MEM_CUDA, "FAKE_CUDA_NO_KERNEL", NULL},
    {"accel/libamdhip64.so.6", FS_MEM_ROCM, "FAKE_HIPRTC_FAILS", NULL},
    {"accel/libamdhip64.so.7", FS_MEM_ROCM, "FAKE_CUDA_NO_KERNEL",
     "accel/libhiprtc.so.7"},
};
enum { N_DRIVERS = sizeof(drivers) / sizeof(drivers[0]) };

static fs_wrapper_t wrapper;
static const char  *loaded;

/* Each test is a process of its own: what it loads goes with it. */
static void load(const driver_t *driver)
{
    fs_test_device_load(driver->library);
    loaded = driver->library;
    if (driver->compiler != NULL) {
        ck_assert_ptr_nonnull(dlopen(driver->compiler, RTLD_NOW));
    }
    wrapper.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    fs_params_init(&wrapper.params);
    fs_wrapper_find_accel(&wrapper);
    ck_assert_ptr_nonnull(wrapper.accel);
}

static void *call_of(const char *name)
{
    return dlsym(dlopen(loaded, RTLD_NOW | RTLD_NOLOAD), name);
}

/* No error of ours is left for the program. */
static void unload(void)
{
    int (*last_error)(void) = NULL;

    fs_wrapper_fini(&wrapper);
    *(void **)&last_error = call_of("hipGetLastError");
    ck_assert(last_error == NULL || last_error() == 0);
}

static char *on_device(size_t len, int device)
{
    return fs_test_device_alloc(len, device);
}

static char *alias_of(const char *address)
{
    return fs_test_device_alias(address);
}

/* ---- drivers ---- */

START_TEST(without_a_driver_there_is_no_accelerator)
{
    char here = 0;

    ck_assert_ptr_null(fs_accel_create());
    ck_assert_int_eq(fs_accel_query(NULL, &here).kind, FS_MEM_HOST);
}
END_TEST

START_TEST(parameter_accel_off)
{
    load(&drivers[0]);
    fs_wrapper_fini(&wrapper);
    wrapper.params.accel = 0;
    fs_wrapper_find_accel(&wrapper);
    ck_assert_ptr_null(wrapper.accel);
}
END_TEST

START_TEST(memory_is_what_the_driver_says)
{
    char    *first, *second, here = 0;
    fs_mem_t mem;

    load(&drivers[_i]);
    first  = on_device(LEN, 0);
    second = on_device(LEN, 1);
    mem    = fs_accel_query(wrapper.accel, first + LEN - 1);
    ck_assert_int_eq(mem.kind, drivers[_i].kind);
    ck_assert_int_eq(mem.device, 0);
    ck_assert(fs_mem_is_device(mem));
    ck_assert_int_eq(fs_accel_query(wrapper.accel, second).device, 1);
    mem = fs_accel_query(wrapper.accel, &here);
    ck_assert_int_eq(mem.kind, FS_MEM_HOST);
    ck_assert(!fs_mem_is_device(mem));
    unload();
}
END_TEST

/* Or a cudaMemset just before the call may come after our copies. */
START_TEST(what_the_program_does_there_ends_before_its_call_returns)
{
    enum { SYNC_MEMOPS = 6 };
    int (*attributes)(unsigned, int *, void **, uint64_t);
    int   which = SYNC_MEMOPS, ordered = 0;
    void *value = &ordered;
    char *device;

    load(&drivers[0]);
    device                = on_device(LEN, 0);
    *(void **)&attributes = call_of("cuPointerGetAttributes");
    ck_assert_int_eq(attributes(1, &which, &value, (uintptr_t)device), 0);
    ck_assert_int_eq(ordered, 0);
    fs_accel_query(wrapper.accel, device + 1);
    ck_assert_int_eq(attributes(1, &which, &value, (uintptr_t)device), 0);
    ck_assert_int_eq(ordered, 1);
    unload();
}
END_TEST

START_TEST(memory_of_a_pool_is_managed_for_the_network)
{
    int (*retain)(void **, int), (*push)(void *);
    int (*alloc)(uint64_t *, size_t, void *);
    void        *context;
    uint64_t     address;
    fs_call_t    call   = {.counts = NULL};
    fs_staging_t places = {.call = &call};
    fs_place_t   place  = {.buffer = FS_BUF_SEND};

    load(&drivers[0]);
    *(void **)&retain = call_of("cuDevicePrimaryCtxRetain");
    *(void **)&push   = call_of("cuCtxPushCurrent_v2");
    *(void **)&alloc  = call_of("cuMemAllocAsync");
    ck_assert_int_eq(retain(&context, 1), 0);
    ck_assert_int_eq(push(context), 0);
    ck_assert_int_eq(alloc(&address, LEN, NULL), 0);
    call.device.send_mem =
        fs_accel_query(wrapper.accel, (void *)(uintptr_t)address);
    ck_assert_int_eq(call.device.send_mem.kind, FS_MEM_CUDA);
    ck_assert_int_eq(call.device.send_mem.device, 1);
    ck_assert(!call.device.send_mem.foreign);
    ck_assert_int_eq(fs_staging_kind(&places, &place), FS_MEM_CUDA_MANAGED);
    unload();
}
END_TEST

/* Or the other tests would prove nothing. */
START_TEST(a_cpu_may_not_touch_it)
{
    int fds[2];

    load(&drivers[0]);
    ck_assert_int_eq(pipe(fds), 0);
    ck_assert_int_eq(write(fds[1], on_device(LEN, 0), 1), -1);
    ck_assert_int_eq(errno, EFAULT);
    unload();
}
END_TEST

START_TEST(segments_are_copied_there_and_back)
{
    char         out[LEN], in[LEN] = {0}, *device;
    fs_segment_t there[3], back[3];
    fs_mem_t     mem;

    load(&drivers[_i]);
    device = on_device(LEN, 1);
    mem    = fs_accel_query(wrapper.accel, device);
    for (size_t k = 0; k < LEN; ++k) {
        out[k] = (char)(k * 7 + k / 256);
    }
    for (size_t k = 0; k < 3; ++k) {
        size_t at = k * LEN / 3, len = k == 1 ? 0 : 1000 + k;

        there[k] = (fs_segment_t){device + at, out + at, len, 0};
        back[k]  = (fs_segment_t){in + at, device + at, len, 0};
    }
    memset(alias_of(device), 0x55, LEN);
    ck_assert_int_eq(fs_accel_copy(wrapper.accel, mem, there, 3, false), FS_OK);
    ck_assert_mem_eq(alias_of(device), out, 1000);
    ck_assert_int_eq(alias_of(device)[1000], 0x55);
    ck_assert_int_eq(fs_accel_copy(wrapper.accel, mem, back, 3, false), FS_OK);
    ck_assert_mem_eq(in, out, 1000);
    ck_assert_mem_eq(in + 2 * LEN / 3, out + 2 * LEN / 3, 1002);
    ck_assert_int_eq(in[1000], 0);
    mem.device = 99;
    ck_assert_int_eq(fs_accel_copy(wrapper.accel, mem, back, 3, false),
                     FS_ERR_ACCEL);
    unload();
}
END_TEST

/* ---- batches ---- */

enum { MANY = 40, APART = 70000 };

/* Every alignment of both ends to 16, and lengths around words and pieces. */
static size_t make_segments(fs_segment_t *segments, char *dst, const char *src)
{
    static const uint64_t lens[] = {0, 1, 15, 16, 17, 4096, 4099, 65536, 65551};

    for (size_t k = 0; k < MANY; ++k) {
        size_t at = k * APART;

        segments[k] = (fs_segment_t){
            dst + at + k * 7 % 16, src + at + k * 3 % 16 + k / 16 * 4,
            lens[k % (sizeof(lens) / sizeof(*lens))], 0};
    }
    return MANY;
}

static void fill(char *bytes, size_t len)
{
    for (size_t k = 0; k < len; ++k) {
        bytes[k] = (char)(k * 7 + k / 251);
    }
}

/* What is between segments stays as it was. */
static void check_segments(const fs_segment_t *segments, char *dst)
{
    char  *want = calloc(MANY, APART), *to = alias_of(dst);
    size_t n = 0;

    for (size_t k = 0; k < MANY; ++k) {
        const fs_segment_t *s = &segments[k];

        memcpy(want + ((char *)s->dst - dst), alias_of(s->src), s->len_bytes);
    }
    for (size_t k = 0; k < (size_t)MANY * APART; ++k) {
        n += want[k] != to[k];
    }
    ck_assert_uint_eq(n, 0);
    free(want);
}

/* Nothing has ended before somebody has asked. */
static void copy_batch(fs_copier_t *copier, const fs_segment_t *segments,
                       size_t n)
{
    unsigned    n_waits = 0;
    fs_status_t status  = fs_copier_start(copier, segments, n, true);

    ck_assert_int_eq(status, FS_OK);
    while ((status = fs_copier_test(copier)) == FS_INPROGRESS) {
        ++n_waits;
    }
    ck_assert_int_eq(status, FS_OK);
    ck_assert_uint_gt(n_waits, 0);
}

/* The second time a driver that does not take the kernel. */
START_TEST(a_batch_on_a_device_is_one_kernel)
{
    const driver_t *driver = &drivers[_i / 2];
    bool            kernel = _i % 2 == 0;
    fs_segment_t    segments[MANY];
    fs_copier_t    *copier;
    char           *dst, *src;
    size_t          n;

    if (_i % 2 == 1) {
        setenv(driver->without_kernel, "1", 1);
    }
    load(driver);
    dst = on_device((size_t)MANY * APART, 1);
    src = on_device((size_t)MANY * APART, 1);
    fill(alias_of(src), (size_t)MANY * APART);
    copier =
        fs_accel_get_copier(wrapper.accel, fs_accel_query(wrapper.accel, dst));
    ck_assert_ptr_nonnull(copier);
    n = make_segments(segments, dst, src);
    ck_assert_int_eq(fs_copier_reserve(copier, n, (uint64_t)MANY * APART),
                     FS_OK);
    ck_assert_int_eq(fs_copier_has_kernel(copier), kernel);
    copy_batch(copier, segments, n);
    check_segments(segments, dst);
    ck_assert_uint_eq(fs_test_device_kernels(), kernel);
    copy_batch(copier, segments, 0);
    copy_batch(copier, segments + 5, 1);
    ck_assert_uint_eq(fs_test_device_kernels(), kernel);
    fs_accel_put_copier(wrapper.accel, copier);
    ck_assert_ptr_eq(fs_accel_get_copier(wrapper.accel, fs_copier_mem(copier)),
                     copier);
    fs_accel_put_copier(wrapper.accel, copier);
    unload();
}
END_TEST

enum {
    SMALL   = 600, /* blocks: three kernels */
    ROOM    = 400, /* for each of them */
    LARGE   = 300000,
    WAY_LEN = SMALL * ROOM + LARGE
};

/* Small blocks of all alignments and lengths, and one that is large, between the
 * device and plain memory of the host. */
static void add_blocks(fs_batch_t *batch, char *dst, const char *src)
{
    for (size_t k = 0; k < SMALL; ++k) {
        ck_assert_int_eq(fs_batch_add(batch, dst + k * ROOM + k % 16,
                                      src + k * ROOM + k / 16 % 16,
                                      k * 7 % (ROOM - 16)),
                         FS_OK);
    }
    ck_assert_int_eq(fs_batch_add(batch, dst + (size_t)SMALL * ROOM,
                                  src + (size_t)SMALL * ROOM, LARGE),
                     FS_OK);
    ck_assert_int_eq(fs_batch_end(batch), FS_OK);
    ck_assert_int_eq(fs_batch_end(batch), FS_OK); /* nothing more */
}

static void want_blocks(char *dst, const char *src)
{
    for (size_t k = 0; k < SMALL; ++k) {
        memcpy(dst + k * ROOM + k % 16, src + k * ROOM + k / 16 % 16,
               k * 7 % (ROOM - 16));
    }
    memcpy(dst + (size_t)SMALL * ROOM, src + (size_t)SMALL * ROOM, LARGE);
}

START_TEST(small_blocks_are_few_kernels)
{
    const driver_t *driver = &drivers[_i / 3];
    bool            kernel = _i % 3 == 0;
    char           *host = calloc(2, WAY_LEN), *want = host + WAY_LEN, *device;
    fs_batch_t      out, in;
    fs_mem_t        mem;

    if (_i % 3 == 1) {
        setenv(driver->without_kernel, "1", 1);
    }
    load(driver);
    device      = on_device(WAY_LEN, 1);
    mem         = fs_accel_query(wrapper.accel, device);
    mem.foreign = _i % 3 == 2; /* no kernel can go there */
    fs_batch_begin(&out, wrapper.accel, mem, true);
    fs_batch_begin(&in, wrapper.accel, mem, false);
    fill(alias_of(device), WAY_LEN);
    add_blocks(&out, host, device);
    want_blocks(want, alias_of(device));
    ck_assert_mem_eq(host, want, WAY_LEN);
    ck_assert_uint_eq(fs_test_device_kernels(), kernel ? 3 : 0);
    fill(host, WAY_LEN);
    memset(alias_of(device), 0, WAY_LEN);
    memset(want, 0, WAY_LEN);
    add_blocks(&in, device, host);
    want_blocks(want, host);
    ck_assert_mem_eq(alias_of(device), want, WAY_LEN);
    ck_assert_uint_eq(fs_test_device_kernels(), kernel ? 6 : 0);
    free(host);
    unload();
}
END_TEST

/* The first of three kernels fails, the others do not: at the end it still is an
 * error, also if asked again; a new batch knows nothing of it. */
START_TEST(a_batch_remembers_a_failure)
{
    const driver_t *driver = &drivers[_i];
    char           *host   = calloc(SMALL, ROOM), *device;
    fs_batch_t      batch;

    load(driver);
    device = on_device((size_t)SMALL * ROOM, 1);
    fs_batch_begin(&batch, wrapper.accel, fs_accel_query(wrapper.accel, device),
                   true);
    fs_test_device_fail("cuLaunchKernel", 1);
    for (size_t k = 0; k < SMALL; ++k) {
        (void)fs_batch_add(&batch, host + k * ROOM, device + k * ROOM, ROOM);
    }
    ck_assert_uint_eq(fs_test_device_has_failed(), 1);
    ck_assert_int_eq(fs_batch_end(&batch), FS_ERR_ACCEL);
    ck_assert_int_eq(fs_batch_end(&batch), FS_ERR_ACCEL);
    fs_batch_begin(&batch, wrapper.accel, batch.mem, true);
    ck_assert_int_eq(fs_batch_end(&batch), FS_OK);
    free(host);
    unload();
}
END_TEST

enum { N_FAILING = 3 };

/* A driver that fails: an error, and nothing of ours is in flight. */
START_TEST(a_failing_driver_is_an_error)
{
    static const char *const names[] = {"cuMemcpyAsync", "cuLaunchKernel",
                                        "cuEventQuery"};
    const driver_t          *driver  = &drivers[_i / N_FAILING];
    fs_segment_t             segments[MANY];
    fs_copier_t             *copier;
    fs_mem_t                 mem;
    char                    *dst, *src;
    fs_status_t              status;

    load(driver);
    dst    = on_device((size_t)MANY * APART, 0);
    src    = on_device((size_t)MANY * APART, 0);
    mem    = fs_accel_query(wrapper.accel, dst);
    copier = fs_accel_get_copier(wrapper.accel, mem);
    make_segments(segments, dst, src);
    fs_test_device_fail("cuMemAllocHost_v2", 1);
    ck_assert_int_eq(fs_copier_reserve(copier, MANY, 1), FS_ERR_NOMEM);
    fs_test_device_fail("cuMemAlloc_v2", 1);
    ck_assert_int_eq(fs_copier_reserve(copier, MANY, 1), FS_ERR_NOMEM);
    ck_assert(!fs_copier_has_kernel(copier));
    ck_assert_int_eq(fs_copier_reserve(copier, MANY, (uint64_t)MANY * APART),
                     FS_OK);
    fs_test_device_fail(names[_i % N_FAILING], 1);
    status = fs_copier_start(copier, segments, MANY, true);
    while (status == FS_OK &&
           (status = fs_copier_test(copier)) == FS_INPROGRESS) {
        status = FS_OK;
    }
    ck_assert_int_eq(status, FS_ERR_ACCEL);
    fs_test_device_fail("cuMemAlloc_v2", 1);
    ck_assert_ptr_null(fs_accel_alloc(wrapper.accel, mem, LEN));
    fs_accel_put_copier(wrapper.accel, copier);
    unload();
}
END_TEST

/* ---- bounces, for an MPI that knows nothing of devices ---- */

typedef struct fixture {
    fs_buffers_t buffers;
    fs_bounces_t bounces;
    char        *device; /* blocks of 100, 0 and 300 bytes, 500 apart */
    char         host[LEN];
    char         why[256];
} fixture_t;

/* The send buffer on the host, the receive buffer on a device. */
static void describe(fixture_t *f)
{
    static const uint64_t bytes[N_RANKS] = {100, 0, 300};

    load(&drivers[0]);
    memset(f, 0, sizeof(*f));
    ck_assert_int_eq(fs_buffers_init(&f->buffers, N_RANKS, 0), FS_OK);
    f->device = on_device(LEN, 0);
    fs_counts_begin(&f->buffers.counts, NULL);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        fs_counts_add(&f->buffers.counts, r, bytes[r], bytes[r]);
        f->buffers.send_block[r] = f->host + 500 * r;
        f->buffers.recv_block[r] = f->device + 500 * r;
    }
    f->buffers.send_contiguous = f->buffers.recv_contiguous = true;
}

static void forget(fixture_t *f)
{
    fs_buffers_fini(&f->buffers);
    unload();
}

static bool find(fixture_t *f)
{
    return fs_buffers_find(&f->buffers, &wrapper);
}

static fs_status_t begin(fixture_t *f)
{
    return fs_bounces_begin(&f->bounces, &wrapper, &f->buffers, f->why,
                            sizeof(f->why));
}

static fs_status_t end(fixture_t *f, bool moved)
{
    return fs_bounces_end(&f->bounces, &wrapper, &f->buffers, moved);
}

START_TEST(what_arrives_goes_back_to_the_device)
{
    fixture_t f;
    char     *bounce;

    describe(&f);
    memset(alias_of(f.device), 0x11, LEN);
    ck_assert(find(&f));
    ck_assert_int_eq(begin(&f), FS_OK);
    ck_assert_int_eq(f.bounces.send.shift, 0);
    bounce = f.device + f.bounces.recv.shift;
    memset(bounce, 0x22, 100);
    memset(bounce + 1000, 0x33, 300);
    ck_assert_int_eq(end(&f, true), FS_OK);
    for (size_t k = 0; k < LEN; ++k) {
        char want = k < 100 ? 0x22 : k >= 1000 && k < 1300 ? 0x33 : 0x11;

        ck_assert_int_eq(alias_of(f.device)[k], want);
    }
    forget(&f);
}
END_TEST

START_TEST(in_place_the_receive_buffer_is_read)
{
    fixture_t f;
    char     *memory;

    describe(&f);
    f.buffers.in_place = true;
    memset(alias_of(f.device), 0x44, LEN);
    ck_assert(find(&f));
    ck_assert_int_eq(begin(&f), FS_OK);
    ck_assert_int_eq(f.device[f.bounces.recv.shift + 99], 0x44);
    ck_assert_int_eq(f.device[f.bounces.recv.shift + 1299], 0x44);
    /* Nothing has moved: the device is left alone, and so is what the MPI may still
     * use. */
    memory                         = f.bounces.recv.memory;
    f.device[f.bounces.recv.shift] = 0x66;
    ck_assert_int_eq(end(&f, false), FS_OK);
    ck_assert_int_eq(alias_of(f.device)[0], 0x44);
    free(memory);
    forget(&f);
}
END_TEST

START_TEST(no_bounce_where_none_is_needed)
{
    fixture_t f;

    describe(&f);
    wrapper.mem_kinds = 1u << FS_MEM_CUDA; /* the MPI can */
    ck_assert(find(&f));
    ck_assert_int_eq(begin(&f), FS_OK);
    ck_assert_int_eq(f.bounces.recv.shift, 0);
    ck_assert_int_eq(end(&f, true), FS_OK);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        f.buffers.recv_block[r] = f.host + 2000 + 500 * r;
    }
    ck_assert(!find(&f));
    forget(&f);
}
END_TEST

START_TEST(what_cannot_be_done_is_said)
{
    fixture_t f;

    describe(&f);
    f.buffers.recv_contiguous = false;
    ck_assert(find(&f));
    ck_assert_int_eq(begin(&f), FS_ERR_UNSUPPORTED);
    ck_assert_str_eq(f.why, "the receive buffer is cuda memory, and its "
                            "datatype is not contiguous: the MPI cannot pack "
                            "there");
    /* Gaps on the host are the MPI's business. */
    f.buffers.recv_contiguous = true;
    f.buffers.send_contiguous = false;
    ck_assert_int_eq(begin(&f), FS_OK);
    ck_assert_int_eq(end(&f, true), FS_OK);
    wrapper.params.accel_fallback = 0;
    ck_assert_int_eq(begin(&f), FS_ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(f.why, "the MPI does not use here; set "
                                        "accel_fallback=1"));
    forget(&f);
}
END_TEST

/* ---- our own turn ---- */

static char     warning[400];
static uint32_t n_warnings;

static void warn(const char *line)
{
    snprintf(warning, sizeof(warning), "%s", line);
    ++n_warnings;
}

/* A communicator with nothing but a network. */
typedef struct turn {
    fs_net_t         net;
    fs_comm_t        comm;
    fs_call_device_t device;
} turn_t;

static fs_status_t take_turn(turn_t *turn, fixture_t *f)
{
    turn->net.name          = "UCX 0.0";
    turn->comm.net          = &turn->net;
    turn->comm.params       = wrapper.params;
    wrapper.say             = warn;
    wrapper.on_world_rank_0 = true;
    ck_assert(find(f));
    return fs_buffers_for_call(&f->buffers, &wrapper, &turn->comm,
                               &turn->device, f->why, sizeof(f->why));
}

START_TEST(the_network_takes_what_it_can)
{
    turn_t    turn = {.net.mem_kinds = 1u << FS_MEM_CUDA, .net.rdma = true};
    fixture_t f;

    describe(&f);
    ck_assert_int_eq(take_turn(&turn, &f), FS_OK);
    ck_assert_int_eq(turn.device.recv_mem.kind, FS_MEM_CUDA);
    ck_assert_int_eq(turn.device.send_mem.kind, FS_MEM_HOST);
    ck_assert(!turn.device.staged);
    ck_assert_int_eq(turn.device.consent, FS_CONSENT_YES);
    wrapper.params.accel_fallback = 0;
    ck_assert_int_eq(take_turn(&turn, &f), FS_OK);
    ck_assert_int_eq(turn.device.consent, FS_CONSENT_OURS);
    wrapper.params.accel_fallback = 1;
    turn.net.rdma                 = false;
    ck_assert_int_eq(take_turn(&turn, &f), FS_OK);
    ck_assert(turn.device.staged);
    wrapper.params.accel_direct = FS_ACCEL_DIRECT_ALWAYS;
    ck_assert_int_eq(take_turn(&turn, &f), FS_OK);
    ck_assert(!turn.device.staged);
    f.buffers.send_contiguous = false; /* on the host, it has to be packed */
    ck_assert_int_eq(take_turn(&turn, &f), FS_OK);
    ck_assert(turn.device.staged);
    f.buffers.send_contiguous   = true;
    turn.net.rdma               = true;
    wrapper.params.accel_direct = FS_ACCEL_DIRECT_NEVER;
    ck_assert_int_eq(take_turn(&turn, &f), FS_OK);
    ck_assert(turn.device.staged);
    ck_assert_uint_eq(n_warnings, 0);
    forget(&f);
}
END_TEST

/* It is where the other is, and has no gaps. */
START_TEST(a_side_without_a_byte_does_not_count)
{
    turn_t    turn = {.net.mem_kinds = 1u << FS_MEM_CUDA, .net.rdma = true};
    fixture_t f;

    describe(&f);
    memset(f.buffers.counts.send_bytes, 0,
           N_RANKS * sizeof(*f.buffers.counts.send_bytes));
    f.buffers.send_contiguous = false;
    ck_assert_int_eq(take_turn(&turn, &f), FS_OK);
    ck_assert(!turn.device.staged);
    ck_assert(fs_mem_equal(turn.device.send_mem, turn.device.recv_mem));
    forget(&f);
}
END_TEST

START_TEST(a_network_without_cuda_is_told_once)
{
    turn_t    turn = {.net.rdma = true};
    fixture_t f;

    describe(&f);
    ck_assert_int_eq(take_turn(&turn, &f), FS_OK);
    ck_assert(turn.device.staged);
    ck_assert_int_eq(take_turn(&turn, &f), FS_OK);
    ck_assert_uint_eq(n_warnings, 1);
    ck_assert_ptr_nonnull(
        strstr(warning, "UCX 0.0 does not support CUDA memory"));
    forget(&f);
}
END_TEST

START_TEST(what_is_for_the_mpi_alone)
{
    turn_t    turn = {.net.rdma = true};
    fixture_t f;

    describe(&f);
    f.buffers.recv_contiguous = false;
    ck_assert_int_eq(take_turn(&turn, &f), FS_ERR_UNSUPPORTED);
    ck_assert_int_eq(turn.device.consent, FS_CONSENT_NO);
    ck_assert_ptr_nonnull(strstr(f.why, "not contiguous"));
    wrapper.mem_kinds = 1u << FS_MEM_CUDA;
    ck_assert_int_eq(take_turn(&turn, &f), FS_OK);
    ck_assert_int_eq(turn.device.consent, FS_CONSENT_NATIVE);
    f.buffers.recv_contiguous     = true;
    wrapper.params.accel_fallback = 0;
    ck_assert_int_eq(take_turn(&turn, &f), FS_OK);
    ck_assert_int_eq(turn.device.consent, FS_CONSENT_NATIVE);
    wrapper.mem_kinds = 0;
    ck_assert_int_eq(take_turn(&turn, &f), FS_ERR_UNSUPPORTED);
    ck_assert_int_eq(turn.device.consent, FS_CONSENT_NO);
    ck_assert_ptr_nonnull(strstr(f.why, "UCX 0.0 does not use here"));
    forget(&f);
}
END_TEST

/* ---- an allreduce ---- */

enum { ELEMS = 1000, VECTOR = ELEMS * sizeof(int32_t) };

/* Which of two integers is less, as an MPI for which all have a sign. */
static fs_status_t least(void *ctx, const void *src, void *dst, uint64_t len)
{
    (void)ctx;
    if (*(const int8_t *)src < *(int8_t *)dst) {
        memcpy(dst, src, len);
    }
    return FS_OK;
}

static const fs_wrapper_calls_t calls = {.reduce = least};

static void reduce(fixture_t *f, void *send, void *recv, fs_device_op_t op,
                   fs_device_type_t type)
{
    fs_buffers_clear(&f->buffers, NULL);
    fs_buffers_reduce(&f->buffers, send, recv, ELEMS, sizeof(int32_t),
                      type < FS_N_DEVICE_TYPES ? fs_device_how(op, type) : 0);
}

/* Does it go by the host? */
static bool is_staged(fixture_t *f, const void *send, void *recv,
                      fs_device_type_t type)
{
    turn_t turn = {.net.mem_kinds = 1u << FS_MEM_CUDA, .net.rdma = true};

    reduce(f, (void *)(uintptr_t)send, recv, FS_DEVICE_SUM, type);
    ck_assert_int_eq(take_turn(&turn, f), FS_OK);
    ck_assert_int_eq(turn.device.consent, FS_CONSENT_YES);
    return turn.device.staged;
}

START_TEST(where_a_device_reduces)
{
    const fs_device_type_t none = FS_N_DEVICE_TYPES, type = FS_DEVICE_F32;
    char                  *other;
    fixture_t              f;

    describe(&f);
    other = on_device(LEN, 1);
    ck_assert(!is_staged(&f, f.device + VECTOR, f.device, type));
    ck_assert(!is_staged(&f, NULL, f.device, type));
    ck_assert(is_staged(&f, f.host, f.device, type));
    ck_assert(is_staged(&f, f.device, f.host, type));
    ck_assert(is_staged(&f, other, f.device, type));
    ck_assert(is_staged(&f, f.device + VECTOR, f.device, none));
    ck_assert(is_staged(&f, f.device + VECTOR + 2, f.device, type));
    forget(&f);
    setenv("FAKE_CUDA_NO_KERNEL", "1", 1);
    describe(&f);
    ck_assert(is_staged(&f, f.device + VECTOR, f.device, type));
    forget(&f);
}
END_TEST

/* In place, of one that is not, with an error after the copy or without. */
START_TEST(vectors_go_by_the_host)
{
    bool             in_place = _i % 2 == 0;
    fs_call_device_t staged   = {.staged = true};
    fs_buffers_t    *b;
    fixture_t        f;
    char            *send;

    describe(&f);
    b    = &f.buffers;
    send = f.device + VECTOR;
    fill(alias_of(f.device), LEN);
    reduce(&f, in_place ? NULL : send, f.device, FS_DEVICE_SUM, FS_DEVICE_I32);
    ck_assert(find(&f));
    staged.accel    = wrapper.accel;
    staged.send_mem = staged.recv_mem = b->recv_mem;
    fs_buffers_begin(b, &calls, NULL, staged);
    ck_assert_int_eq(b->call.device.recv_mem.kind, FS_MEM_HOST);
    ck_assert_int_eq(b->call.device.send_mem.kind, FS_MEM_HOST);
    ck_assert_int_eq(b->call.prepare(b->call.owner), FS_OK);
    if (in_place) {
        ck_assert_mem_eq(b->call.recv_block[0], alias_of(f.device), VECTOR);
    } else {
        ck_assert_mem_eq(b->call.send_block[0], alias_of(send), VECTOR);
    }
    memset(b->call.recv_block[0], 0x77, VECTOR);
    ck_assert_int_eq(fs_buffers_end(b, _i < 2, true), FS_OK);
    ck_assert_int_eq(alias_of(f.device)[VECTOR - 1] == 0x77, _i < 2);
    ck_assert_int_eq(alias_of(f.device)[0] == 0x77, _i < 2);
    ck_assert_int_ne(alias_of(send)[0], 0x77);
    fs_test_device_fail("cuMemcpyAsync", 1);
    fs_buffers_begin(b, &calls, NULL, staged);
    ck_assert_int_eq(b->call.prepare(b->call.owner), FS_ERR_ACCEL);
    ck_assert_int_eq(fs_buffers_end(b, false, true), FS_OK);
    forget(&f);
}
END_TEST

/* For this MPI all have one. */
START_TEST(integers_have_a_sign_if_the_mpi_says_so)
{
    static const fs_device_type_t unsigned_ones[] = {
        FS_DEVICE_U8, FS_DEVICE_U16, FS_DEVICE_U32, FS_DEVICE_U64};
    fs_device_type_t type = unsigned_ones[_i];
    fs_call_device_t device;
    fixture_t        f;

    describe(&f);
    device =
        (fs_call_device_t){.send_mem = fs_accel_query(wrapper.accel, f.device),
                           .recv_mem = fs_accel_query(wrapper.accel, f.device)};
    for (int op = FS_DEVICE_SUM; op <= FS_DEVICE_MIN; ++op) {
        reduce(&f, NULL, f.device, (fs_device_op_t)op, type);
        fs_buffers_begin(&f.buffers, &calls, NULL, device);
        ck_assert_uint_eq(
            f.buffers.call.reduction.device_how,
            fs_device_how((fs_device_op_t)op,
                          op == FS_DEVICE_SUM
                              ? type
                              : (fs_device_type_t)(FS_DEVICE_I8 + _i)));
    }
    forget(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("accel");
    TCase *tcase = tcase_create("accel");

    tcase_add_test(tcase, without_a_driver_there_is_no_accelerator);
    tcase_add_test(tcase, parameter_accel_off);
    tcase_add_loop_test(tcase, memory_is_what_the_driver_says, 0, N_DRIVERS);
    tcase_add_test(tcase,
                   what_the_program_does_there_ends_before_its_call_returns);
    tcase_add_test(tcase, memory_of_a_pool_is_managed_for_the_network);
    tcase_add_test(tcase, a_cpu_may_not_touch_it);
    tcase_add_loop_test(tcase, segments_are_copied_there_and_back, 0,
                        N_DRIVERS);
    tcase_add_loop_test(tcase, a_batch_on_a_device_is_one_kernel, 0,
                        2 * N_DRIVERS);
    tcase_add_loop_test(tcase, small_blocks_are_few_kernels, 0, 3 * N_DRIVERS);
    tcase_add_loop_test(tcase, a_batch_remembers_a_failure, 0, N_DRIVERS);
    tcase_add_loop_test(tcase, a_failing_driver_is_an_error, 0,
                        N_FAILING * N_DRIVERS);
    tcase_add_test(tcase, what_arrives_goes_back_to_the_device);
    tcase_add_test(tcase, in_place_the_receive_buffer_is_read);
    tcase_add_test(tcase, no_bounce_where_none_is_needed);
    tcase_add_test(tcase, what_cannot_be_done_is_said);
    tcase_add_test(tcase, the_network_takes_what_it_can);
    tcase_add_test(tcase, a_side_without_a_byte_does_not_count);
    tcase_add_test(tcase, a_network_without_cuda_is_told_once);
    tcase_add_test(tcase, what_is_for_the_mpi_alone);
    tcase_add_test(tcase, where_a_device_reduces);
    tcase_add_loop_test(tcase, vectors_go_by_the_host, 0, 4);
    tcase_add_loop_test(tcase, integers_have_a_sign_if_the_mpi_says_so, 0, 4);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
