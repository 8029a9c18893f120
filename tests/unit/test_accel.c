/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of accelerators, with the drivers of tests/accel, which need no GPU and
 * whose memory ends a process that touches it; and shadows of such buffers. */
#include "accel/fs_accel.h"
#include "fastsched_wrapper.h"
#include "fs_test_util.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { LEN = 10000, N_RANKS = 3 };

typedef struct driver {
    const char   *library;
    fs_mem_kind_t kind;
} driver_t;

static const driver_t drivers[] = {
    {"accel/libcuda.so.1", FS_MEM_CUDA},
    {"accel/libamdhip64.so.6", FS_MEM_ROCM},
};
enum { N_DRIVERS = sizeof(drivers) / sizeof(drivers[0]) };

static fs_wrapper_t wrapper;
static int (*alloc_memory)(uint64_t *address_p, size_t len_bytes);
static char *(*find_alias)(uint64_t address);

/* Each test is a process of its own: what it loads goes with it. */
static void load(const driver_t *driver)
{
    void *library = dlopen(driver->library, RTLD_NOW);

    ck_assert_msg(library != NULL, "%s", dlerror());
    *(void **)&alloc_memory = dlsym(library, "cuMemAlloc_v2");
    *(void **)&find_alias   = dlsym(library, "fake_cuda_alias");
    wrapper.lock            = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    fs_params_init(&wrapper.params);
    fs_wrapper_find_accel(&wrapper);
    ck_assert_ptr_nonnull(wrapper.accel);
}

static char *on_device(size_t len)
{
    uint64_t address = 0;

    ck_assert_int_eq(alloc_memory(&address, len), 0);
    return (char *)(uintptr_t)address;
}

static char *alias_of(const char *address)
{
    return find_alias((uintptr_t)address);
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
    fs_wrapper_close(&wrapper);
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
    first  = on_device(LEN);
    second = on_device(LEN);
    mem    = fs_accel_query(wrapper.accel, first + LEN - 1);
    ck_assert_int_eq(mem.kind, drivers[_i].kind);
    ck_assert_int_eq(mem.device, 0);
    ck_assert(fs_mem_is_device(mem));
    ck_assert_int_eq(fs_accel_query(wrapper.accel, second).device, 1);
    mem = fs_accel_query(wrapper.accel, &here);
    ck_assert_int_eq(mem.kind, FS_MEM_HOST);
    ck_assert(!fs_mem_is_device(mem));
    fs_wrapper_close(&wrapper);
}
END_TEST

/* Or the other tests would prove nothing. */
START_TEST(a_cpu_may_not_touch_it)
{
    int fds[2];

    load(&drivers[0]);
    ck_assert_int_eq(pipe(fds), 0);
    ck_assert_int_eq(write(fds[1], on_device(LEN), 1), -1);
    ck_assert_int_eq(errno, EFAULT);
    fs_wrapper_close(&wrapper);
}
END_TEST

START_TEST(segments_are_copied_there_and_back)
{
    char         out[LEN], in[LEN] = {0}, *device;
    fs_segment_t there[3], back[3];
    fs_mem_t     mem;

    load(&drivers[_i]);
    (void)on_device(1); /* so that it is the second device */
    device = on_device(LEN);
    mem    = fs_accel_query(wrapper.accel, device);
    for (size_t k = 0; k < LEN; ++k) {
        out[k] = (char)(k * 7 + k / 256);
    }
    for (size_t k = 0; k < 3; ++k) {
        size_t at = k * LEN / 3, len = k == 1 ? 0 : 1000 + k;

        there[k] = (fs_segment_t){device + at, out + at, len};
        back[k]  = (fs_segment_t){in + at, device + at, len};
    }
    memset(alias_of(device), 0x55, LEN);
    ck_assert_int_eq(fs_accel_copy(wrapper.accel, mem, there, 3), FS_OK);
    ck_assert_mem_eq(alias_of(device), out, 1000);
    ck_assert_int_eq(alias_of(device)[1000], 0x55);
    ck_assert_int_eq(fs_accel_copy(wrapper.accel, mem, back, 3), FS_OK);
    ck_assert_mem_eq(in, out, 1000);
    ck_assert_mem_eq(in + 2 * LEN / 3, out + 2 * LEN / 3, 1002);
    ck_assert_int_eq(in[1000], 0);
    mem.device = 99;
    ck_assert_int_eq(fs_accel_copy(wrapper.accel, mem, back, 3), FS_ERR_ACCEL);
    fs_wrapper_close(&wrapper);
}
END_TEST

/* ---- shadows ---- */

typedef struct fixture {
    fs_blocks_t  blocks;
    fs_shadows_t shadows;
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
    ck_assert_int_eq(fs_blocks_init(&f->blocks, N_RANKS), FS_OK);
    f->device = on_device(LEN);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        f->blocks.send_bytes[r] = f->blocks.recv_bytes[r] = bytes[r];
        f->blocks.send_block[r]                           = f->host + 500 * r;
        f->blocks.recv_block[r]                           = f->device + 500 * r;
    }
    f->shadows.send_contiguous = f->shadows.recv_contiguous = true;
}

static fs_status_t begin(fixture_t *f)
{
    return fs_shadows_begin(&f->shadows, &wrapper, &f->blocks, f->why,
                            sizeof(f->why));
}

START_TEST(what_arrives_goes_back_to_the_device)
{
    fixture_t f;
    char     *shadow;

    describe(&f);
    memset(alias_of(f.device), 0x11, LEN);
    ck_assert(fs_shadows_needed(&f.shadows, &wrapper, &f.blocks));
    ck_assert_int_eq(begin(&f), FS_OK);
    ck_assert_int_eq(f.shadows.send.shift, 0);
    shadow = f.device + f.shadows.recv.shift;
    memset(shadow, 0x22, 100);
    memset(shadow + 1000, 0x33, 300);
    ck_assert_int_eq(
        fs_shadows_end(&f.shadows, &wrapper, &f.blocks, true, true), FS_OK);
    for (size_t k = 0; k < LEN; ++k) {
        char want = k < 100 ? 0x22 : k >= 1000 && k < 1300 ? 0x33 : 0x11;

        ck_assert_int_eq(alias_of(f.device)[k], want);
    }
    fs_blocks_fini(&f.blocks);
    fs_wrapper_close(&wrapper);
}
END_TEST

START_TEST(in_place_the_receive_buffer_is_read)
{
    fixture_t f;

    describe(&f);
    f.shadows.in_place = true;
    memset(alias_of(f.device), 0x44, LEN);
    ck_assert(fs_shadows_needed(&f.shadows, &wrapper, &f.blocks));
    ck_assert_int_eq(begin(&f), FS_OK);
    ck_assert_int_eq(f.device[f.shadows.recv.shift + 99], 0x44);
    ck_assert_int_eq(f.device[f.shadows.recv.shift + 1299], 0x44);
    /* Nothing has moved: the device is left alone. */
    f.device[f.shadows.recv.shift] = 0x66;
    ck_assert_int_eq(
        fs_shadows_end(&f.shadows, &wrapper, &f.blocks, false, true), FS_OK);
    ck_assert_int_eq(alias_of(f.device)[0], 0x44);
    fs_blocks_fini(&f.blocks);
    fs_wrapper_close(&wrapper);
}
END_TEST

START_TEST(on_the_host_no_shadow_is_needed)
{
    fixture_t f;

    describe(&f);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        f.blocks.recv_block[r] = f.host + 2000 + 500 * r;
    }
    ck_assert(!fs_shadows_needed(&f.shadows, &wrapper, &f.blocks));
    fs_blocks_fini(&f.blocks);
    fs_wrapper_close(&wrapper);
}
END_TEST

START_TEST(what_cannot_be_done_is_said)
{
    fixture_t f;

    describe(&f);
    f.shadows.recv_contiguous = false;
    ck_assert(fs_shadows_needed(&f.shadows, &wrapper, &f.blocks));
    ck_assert_int_eq(begin(&f), FS_ERR_UNSUPPORTED);
    ck_assert_str_eq(f.why, "the receive buffer is cuda memory, and its "
                            "datatype is not contiguous: the MPI cannot pack "
                            "there");
    /* Gaps on the host are the MPI's business. */
    f.shadows.recv_contiguous = true;
    f.shadows.send_contiguous = false;
    ck_assert_int_eq(begin(&f), FS_OK);
    (void)fs_shadows_end(&f.shadows, &wrapper, &f.blocks, false, true);
    wrapper.params.accel_fallback = 0;
    ck_assert(fs_shadows_needed(&f.shadows, &wrapper, &f.blocks));
    ck_assert_int_eq(begin(&f), FS_ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(f.why, "parameter accel_fallback allows"));
    (void)fs_shadows_end(&f.shadows, &wrapper, &f.blocks, false, true);
    fs_blocks_fini(&f.blocks);
    fs_wrapper_close(&wrapper);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("accel");
    TCase *tcase = tcase_create("accel");

    tcase_add_test(tcase, without_a_driver_there_is_no_accelerator);
    tcase_add_test(tcase, parameter_accel_off);
    tcase_add_loop_test(tcase, memory_is_what_the_driver_says, 0, N_DRIVERS);
    tcase_add_test(tcase, a_cpu_may_not_touch_it);
    tcase_add_loop_test(tcase, segments_are_copied_there_and_back, 0,
                        N_DRIVERS);
    tcase_add_test(tcase, what_arrives_goes_back_to_the_device);
    tcase_add_test(tcase, in_place_the_receive_buffer_is_read);
    tcase_add_test(tcase, on_the_host_no_shadow_is_needed);
    tcase_add_test(tcase, what_cannot_be_done_is_said);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
