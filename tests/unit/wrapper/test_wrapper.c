/* SPDX-License-Identifier: BSD-3-Clause */
/* What wrappers share: parameters from text, a network that cannot be made, and
 * the blocks of a call. What people see of calls is tested with the MPIs. */
#include "fs_test_util.h"
#include "wrapper/fs_buffers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char         said[1024];
static unsigned     n_said, n_created;
static const char  *chunk, *servers;
static fs_wrapper_t wrapper;

static void say(const char *line)
{
    ++n_said;
    snprintf(said, sizeof(said), "%s", line);
}

static fs_status_t no_net(uint64_t tcp_sndbuf, const char *net_device,
                          fs_net_t **net_p, char *why, size_t why_len)
{
    (void)tcp_sndbuf;
    (void)net_device;
    (void)net_p;
    ++n_created;
    snprintf(why, why_len, "there is no network today");
    return FS_ERR_TRANSPORT;
}

static fs_status_t no_memory(uint64_t tcp_sndbuf, const char *net_device,
                             fs_net_t **net_p, char *why, size_t why_len)
{
    (void)no_net(tcp_sndbuf, net_device, net_p, why, why_len);
    return FS_ERR_NOMEM;
}

static const char *value_of(size_t k, const fs_param_info_t *info)
{
    ck_assert_ptr_eq(info, fs_params_info(k));
    return strcmp(info->name, "chunk") == 0     ? chunk
           : strcmp(info->name, "servers") == 0 ? servers
                                                : NULL;
}

static void set_up(void)
{
    n_said = n_created = 0;
    chunk = servers = NULL;
    wrapper         = (fs_wrapper_t){
                .say = say, .create_net = no_net, .lock = PTHREAD_MUTEX_INITIALIZER};
    fs_params_init(&wrapper.params);
}

static void tear_down(void)
{
    fs_wrapper_fini(&wrapper);
}

/* ---- parameters ---- */

START_TEST(texts_become_parameters)
{
    char why[256];

    chunk = "8k";
    ck_assert_int_eq(fs_wrapper_parse(&wrapper, value_of, why, sizeof(why)),
                     FS_OK);
    ck_assert_uint_eq(wrapper.params.chunk, 8192);
    ck_assert_uint_eq(wrapper.params.watchdog, 60);
    chunk = "8q";
    ck_assert_int_eq(fs_wrapper_parse(&wrapper, value_of, why, sizeof(why)),
                     FS_ERR_INVAL);
    ck_assert_ptr_nonnull(strstr(why, "chunk is \"8q\"; allowed: 4k to 64m"));
}
END_TEST

START_TEST(parameters_must_fit_together)
{
    char why[256];

    chunk = "64m"; /* the staging limit must hold several */
    ck_assert_int_eq(fs_wrapper_parse(&wrapper, value_of, why, sizeof(why)),
                     FS_ERR_INVAL);
    ck_assert_ptr_nonnull(strstr(why, "staging_limit"));
}
END_TEST

START_TEST(texts_become_servers)
{
    char why[512];

    ck_assert_int_eq(fs_wrapper_place(&wrapper, 3, why, sizeof(why)), FS_OK);
    ck_assert_ptr_null(wrapper.world_server);
    servers = "@4,1,4";
    ck_assert_int_eq(fs_wrapper_parse(&wrapper, value_of, why, sizeof(why)),
                     FS_OK);
    ck_assert_int_eq(fs_wrapper_place(&wrapper, 3, why, sizeof(why)), FS_OK);
    ck_assert_uint_eq(wrapper.world_server[0], wrapper.world_server[2]);
    ck_assert_uint_ne(wrapper.world_server[0], wrapper.world_server[1]);
    fs_wrapper_fini(&wrapper);
    ck_assert_ptr_null(wrapper.world_server);
    ck_assert_int_eq(fs_wrapper_place(&wrapper, 4, why, sizeof(why)),
                     FS_ERR_INVAL);
    ck_assert_int_eq(strncmp(why, "servers: ", 9), 0);
}
END_TEST

/* ---- a network that cannot be made ---- */

START_TEST(no_network_is_tried_once)
{
    fs_native_t native = fs_wrapper_native(&wrapper, NULL);

    ck_assert_ptr_null(native.net(native.process));
    ck_assert_ptr_null(native.net(native.process));
    ck_assert_uint_eq(n_created, 1);
    ck_assert_str_eq(native.why_no_net(native.process),
                     "there is no network today");
    native.warn(native.process, "mind the gap");
    ck_assert_str_eq(said, "mind the gap");
}
END_TEST

START_TEST(memory_is_asked_for_again)
{
    fs_native_t native = fs_wrapper_native(&wrapper, NULL);

    wrapper.create_net = no_memory;
    ck_assert_ptr_null(native.net(native.process));
    ck_assert_ptr_null(native.net(native.process));
    ck_assert_uint_eq(n_created, 2);
}
END_TEST

/* ---- sums ---- */

START_TEST(summary_is_of_rank_0_and_asked_for)
{
    wrapper.calls = 2;
    fs_wrapper_summary(&wrapper);
    wrapper.params.verbose = 1;
    fs_wrapper_summary(&wrapper);
    ck_assert_uint_eq(n_said, 0);
    wrapper.on_world_rank_0         = true;
    wrapper.spans_servers           = true;
    wrapper.calls_by[FS_ALG_STAGED] = 1;
    wrapper.inter_bytes             = 12345;
    fs_wrapper_summary(&wrapper);
    ck_assert_str_eq(said,
                     "summary: 2 calls, 1 staged, 12345 bytes between servers");
    wrapper.params.verbose = 0;
    wrapper.params.stats   = 1;
    fs_wrapper_summary(&wrapper);
    ck_assert_uint_eq(n_said, 2);
}
END_TEST

/* Asked for, and did nothing: why? */
START_TEST(summary_says_why_there_is_none)
{
    wrapper.params.verbose  = 1;
    wrapper.on_world_rank_0 = true;
    fs_wrapper_summary(&wrapper);
    ck_assert_str_eq(said, "summary: not used: no call of MPI_Alltoallv");
    wrapper.calls = 1;
    fs_wrapper_summary(&wrapper);
    ck_assert_str_eq(
        said,
        "summary: not used: no call on a communicator that spans servers");
    wrapper.declined = true;
    fs_wrapper_summary(&wrapper);
    ck_assert_str_eq(said, "summary: not used: see the message above");
    wrapper.served_by = "others serve";
    fs_wrapper_summary(&wrapper);
    ck_assert_str_eq(said, "summary: not used: others serve");
    ck_assert_uint_eq(n_said, 4);
}
END_TEST

/* ---- names that are mistyped ---- */

static bool is_chunk(const char *entry)
{
    return strncmp(entry, "chunk=", 6) == 0;
}

START_TEST(unknown_names_are_told)
{
    ck_assert_int_eq(setenv("FS_TEST_chunk", "1", 1), 0);
    fs_wrapper_look_for_unknown(&wrapper, "FS_TEST_", is_chunk, "page");
    ck_assert_uint_eq(n_said, 0);
    ck_assert_int_eq(setenv("FS_TEST_chunks", "1", 1), 0);
    fs_wrapper_look_for_unknown(&wrapper, "FS_TEST_", is_chunk, "page");
    ck_assert_uint_eq(n_said, 1);
    ck_assert_str_eq(said,
                     "unknown parameter FS_TEST_chunks, which has no effect; "
                     "see man page");
}
END_TEST

/* ---- what processes tell each other ---- */

static const char *explain(const char *a, const char *b)
{
    static char why[256];

    fs_wrapper_explain_settings(a, 4, b, 7, why, sizeof(why));
    return why;
}

START_TEST(records_name_the_first_difference)
{
    char usual[FS_SETTINGS_MAX], low[FS_SETTINGS_MAX], odd[FS_SETTINGS_MAX],
        old[FS_SETTINGS_MAX];

    fs_wrapper_settings(&wrapper, "1.0", "90", usual);
    ck_assert_str_eq(usual, "version=1.0\npriority=90\n");
    fs_wrapper_settings(&wrapper, "0.9", "90", old);
    fs_wrapper_settings(&wrapper, "1.0", "20", low);
    wrapper.params.chunk = 1 << 20;
    wrapper.params.rate  = 1; /* may differ */
    fs_wrapper_settings(&wrapper, "1.0", "90", odd);
    ck_assert_str_eq(odd, "version=1.0\npriority=90\nchunk=1m\n");
    ck_assert_str_eq(explain(usual, odd),
                     "chunk is \"64k\" on rank 4 and \"1m\" on rank 7");
    ck_assert_str_eq(explain(odd, usual),
                     "chunk is \"1m\" on rank 4 and \"64k\" on rank 7");
    ck_assert_str_eq(explain(low, odd),
                     "priority is \"20\" on rank 4 and \"90\" on rank 7");
    ck_assert_str_eq(explain(usual, old),
                     "version is \"1.0\" on rank 4 and \"0.9\" on rank 7");
    ck_assert(fs_wrapper_same_priority(usual, odd));
    ck_assert(!fs_wrapper_same_priority(usual, low));
}
END_TEST

/* Also where a text of the user's is longer than a record has room for. */
START_TEST(every_value_makes_another_record)
{
    char a[FS_SETTINGS_MAX], b[FS_SETTINGS_MAX];

    memset(wrapper.params.servers, '1', FS_SERVERS_MAX - 1);
    fs_wrapper_settings(&wrapper, "1.0", "90", a);
    wrapper.params.servers[FS_SERVERS_MAX - 2] = '2';
    fs_wrapper_settings(&wrapper, "1.0", "90", b);
    ck_assert_str_ne(a, b);
    ck_assert_ptr_nonnull(strstr(explain(a, b), "servers is \"11111"));
}
END_TEST

/* ---- the buffers of a call ---- */

enum { N = 3 };

/* "Packed" block r is a row of one letter, a capital; unpacked it is counted. */
static uint64_t unpacked[N];

static fs_status_t pack_capitals(void *ctx, uint32_t block, uint64_t offset,
                                 uint64_t len_bytes, void *dst)
{
    (void)ctx;
    ck_assert_uint_eq(offset, 0);
    memset(dst, 'A' + (int)block, len_bytes);
    return block == 2 && len_bytes > 3 ? FS_ERR_NATIVE : FS_OK;
}

static fs_status_t unpack_capitals(void *ctx, uint32_t block, uint64_t offset,
                                   uint64_t len_bytes, const void *src)
{
    (void)ctx;
    ck_assert_uint_eq(offset, 0);
    for (uint64_t k = 0; k < len_bytes; ++k) {
        ck_assert_int_eq(((const char *)src)[k], 'A' + (int)block);
    }
    unpacked[block] += len_bytes;
    return FS_OK;
}

static const fs_wrapper_calls_t calls = {.pack   = pack_capitals,
                                         .unpack = unpack_capitals};

/* Blocks of 1, 0 and last bytes, sent and received. */
static void describe(fs_buffers_t *buffers, uint64_t last)
{
    ck_assert_int_eq(fs_buffers_init(buffers, N, 0), FS_OK);
    fs_counts_begin(&buffers->counts, NULL);
    fs_counts_add(&buffers->counts, 0, 1, 1);
    fs_counts_add(&buffers->counts, 1, 0, 0);
    fs_counts_add(&buffers->counts, 2, last, last);
}

static fs_status_t prepare(fs_buffers_t *buffers)
{
    fs_buffers_begin(buffers, &calls, NULL, (fs_call_device_t){0});
    return buffers->call.prepare(buffers->call.owner);
}

static void check_copy(bool contiguous, const char *want)
{
    char         a[] = "a", c[] = "ccc";
    fs_buffers_t buffers;

    describe(&buffers, 3);
    buffers.send_block[0]   = a;
    buffers.send_block[2]   = c;
    buffers.in_place        = true;
    buffers.send_contiguous = contiguous;
    ck_assert_int_eq(prepare(&buffers), FS_OK);
    memset(a, 'x', 1); /* this is overwritten */
    memset(c, 'x', 3);
    ck_assert_int_eq(memcmp(buffers.send_block[0], want, 1), 0);
    ck_assert_int_eq(memcmp(buffers.send_block[2], want + 1, 3), 0);
    ck_assert_int_eq(fs_buffers_end(&buffers, true, true), FS_OK);
    ck_assert_ptr_null(buffers.copy);
    fs_buffers_fini(&buffers);
    ck_assert_ptr_null(buffers.send_block);
    fs_buffers_fini(&buffers);
}

START_TEST(in_place_is_copied_or_packed)
{
    check_copy(true, "accc");
    check_copy(false, "ACCC");
}
END_TEST

START_TEST(who_cannot_pack_says_so)
{
    fs_buffers_t buffers;

    describe(&buffers, 4);
    buffers.send_whole = true;
    ck_assert_int_eq(prepare(&buffers), FS_OK);
    ck_assert_int_eq(buffers.call.fetch(buffers.call.owner, 2), FS_ERR_NATIVE);
    ck_assert_int_eq(fs_buffers_end(&buffers, false, true), FS_OK);
    fs_buffers_fini(&buffers);
}
END_TEST

/* After a failed exchange the network may still read the copy. */
START_TEST(a_copy_in_use_is_left_alone)
{
    fs_buffers_t buffers;
    char        *copy;

    describe(&buffers, 3);
    buffers.send_whole = true;
    ck_assert_int_eq(prepare(&buffers), FS_OK);
    copy = buffers.copy;
    ck_assert_int_eq(fs_buffers_end(&buffers, false, false), FS_OK);
    ck_assert_ptr_null(buffers.copy);
    free(copy); /* still ours to free */
    fs_buffers_fini(&buffers);
}
END_TEST

/* What has arrived is unpacked at the end; not if nothing has. */
START_TEST(whole_blocks_land_and_are_unpacked)
{
    fs_buffers_t buffers;

    for (int ran = 0; ran < 2; ++ran) {
        memset(unpacked, 0, sizeof(unpacked));
        describe(&buffers, 3);
        buffers.recv_whole = true;
        ck_assert_int_eq(prepare(&buffers), FS_OK);
        memset(buffers.recv_block[0], 'A', 1);
        memset(buffers.recv_block[2], 'C', 3);
        ck_assert_int_eq(fs_buffers_end(&buffers, ran, true), FS_OK);
        ck_assert_uint_eq(unpacked[0], ran ? 1 : 0);
        ck_assert_uint_eq(unpacked[2], ran ? 3 : 0);
        fs_buffers_fini(&buffers);
    }
}
END_TEST

/* Nothing to prepare, and the MPI packs ranges. */
START_TEST(usual_buffers_are_used_as_they_are)
{
    fs_buffers_t buffers;

    describe(&buffers, 3);
    buffers.recv_contiguous = true;
    fs_buffers_begin(&buffers, &calls, NULL, (fs_call_device_t){0});
    ck_assert(buffers.call.prepare == NULL);
    ck_assert_ptr_null(buffers.call.send_block);
    ck_assert_ptr_eq(buffers.call.recv_block, buffers.recv_block);
    ck_assert_int_eq(fs_buffers_end(&buffers, true, true), FS_OK);
    fs_buffers_fini(&buffers);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wrapper");
    TCase *tcase = tcase_create("wrapper");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, texts_become_parameters);
    tcase_add_test(tcase, parameters_must_fit_together);
    tcase_add_test(tcase, texts_become_servers);
    tcase_add_test(tcase, no_network_is_tried_once);
    tcase_add_test(tcase, memory_is_asked_for_again);
    tcase_add_test(tcase, summary_is_of_rank_0_and_asked_for);
    tcase_add_test(tcase, summary_says_why_there_is_none);
    tcase_add_test(tcase, unknown_names_are_told);
    tcase_add_test(tcase, records_name_the_first_difference);
    tcase_add_test(tcase, every_value_makes_another_record);
    tcase_add_test(tcase, in_place_is_copied_or_packed);
    tcase_add_test(tcase, who_cannot_pack_says_so);
    tcase_add_test(tcase, a_copy_in_use_is_left_alone);
    tcase_add_test(tcase, whole_blocks_land_and_are_unpacked);
    tcase_add_test(tcase, usual_buffers_are_used_as_they_are);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
