/* SPDX-License-Identifier: BSD-3-Clause */
/* What is recorded comes back; files that are cut, full or broken are told apart. */
#include "base/fs_digest.h"
#include "fs_test_util.h"
#include "trace/fs_recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WHY = 1500, N = 5, ID = 0xabc };

static char dir[256];

static void make_dir(void)
{
    snprintf(dir, sizeof(dir), "/tmp/fs_record_test.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void remove_dir(void)
{
    char command[512];

    if (dir[0] != '\0') {
        snprintf(command, sizeof(command), "rm -rf '%s'", dir);
        ck_assert_int_eq(system(command), 0);
    }
}

/* ---- numbers and rows ---- */

START_TEST(numbers_come_back)
{
    uint64_t values[] = {0,     127,        128,        16383,
                         16384, UINT32_MAX, UINT64_MAX, UINT64_MAX - 1};

    for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); ++k) {
        uint8_t           bytes[FS_NUMBER_MAX];
        size_t            len = fs_number_put(bytes, values[k]);
        fs_record_bytes_t in  = {bytes, bytes + len},
                          cut = {bytes, bytes + len - 1};
        uint64_t value;

        ck_assert(fs_number_get(&in, &value));
        ck_assert_uint_eq(value, values[k]);
        ck_assert_ptr_eq(in.at, in.end);
        ck_assert(!fs_number_get(&cut, &value));
    }
}
END_TEST

START_TEST(a_number_of_more_than_64_bits_is_none)
{
    const uint8_t     bytes[] = {0xff, 0xff, 0xff, 0xff, 0xff,
                                 0xff, 0xff, 0xff, 0xff, 0x02};
    fs_record_bytes_t in      = {bytes, bytes + sizeof(bytes)};
    uint64_t          value;

    ck_assert(!fs_number_get(&in, &value));
}
END_TEST

/* Rows of all shapes, _i is the seed. */
START_TEST(rows_come_back)
{
    enum { MAX = 64 };
    fs_rng_t          rng;
    uint64_t          row[MAX], back[MAX];
    uint8_t           bytes[MAX * FS_NUMBER_MAX];
    uint32_t          n;
    size_t            len;
    fs_record_bytes_t in;

    fs_rng_init(&rng, (uint64_t)_i);
    n = 1 + (uint32_t)fs_rng_below(&rng, MAX);
    for (uint32_t r = 0; r < n; ++r) {
        uint64_t word = fs_rng_next(&rng) >> fs_rng_below(&rng, 64);

        row[r] = fs_rng_below(&rng, 3) == 0 ? word : r == 0 ? 0 : row[r - 1];
    }
    len = fs_row_put(bytes, n, row);
    in  = (fs_record_bytes_t){bytes, bytes + len};
    ck_assert(fs_row_get(&in, n, back) && in.at == in.end);
    for (uint32_t r = 0; r < n; ++r) {
        ck_assert(back[r] == (row[r] < FS_RECORD_MAX ? row[r] : FS_RECORD_MAX));
    }
    in = (fs_record_bytes_t){bytes, bytes + len - 1};
    ck_assert(!fs_row_get(&in, n, NULL));
}
END_TEST

START_TEST(equal_counts_take_few_bytes)
{
    enum { MANY = 4096 };
    static uint64_t row[MANY];
    static uint8_t  bytes[MANY * FS_NUMBER_MAX];

    ck_assert_uint_le(fs_row_put(bytes, MANY, row), 2);
    for (uint32_t r = 0; r < MANY; ++r) {
        row[r] = 1 << 20;
    }
    ck_assert_uint_le(fs_row_put(bytes, MANY, row), 6);
}
END_TEST

/* ---- files ---- */

static uint64_t count(uint64_t call, uint64_t src, uint64_t dst)
{
    return fs_mix64(call << 40 | src << 20 | dst) % 100000;
}

static fs_record_t *create(uint32_t rank, uint64_t limit)
{
    fs_record_origin_t origin = {.dir        = dir,
                                 .comm_name  = "a \"b\"\n/c",
                                 .comm_id    = ID,
                                 .n_ranks    = N,
                                 .rank       = rank,
                                 .world_rank = 10 + rank,
                                 .server     = rank / 2,
                                 .limit      = limit};
    fs_record_t       *record;
    char               why[FS_RECORD_WHY];

    ck_assert_msg(fs_record_create(&origin, &record, why, sizeof(why)) == FS_OK,
                  "%s", why);
    return record;
}

static const uint64_t *row_of(uint64_t call, uint32_t rank)
{
    static uint64_t row[N];

    for (uint32_t r = 0; r < N; ++r) {
        row[r] = count(call, rank, r);
    }
    return row;
}

static void finish(fs_record_t *record)
{
    ck_assert_ptr_null(fs_record_finish(record));
    fs_record_destroy(record);
}

static void path_of(uint32_t rank, char path[512])
{
    snprintf(path, 512, "%s/a--b---c-abc/rank%u.record", dir, rank);
}

static size_t size_of(uint32_t rank)
{
    char        path[512];
    struct stat status;

    path_of(rank, path);
    ck_assert_int_eq(stat(path, &status), 0);
    return (size_t)status.st_size;
}

static void read_all(fs_recordings_t *all)
{
    char why[WHY] = "";

    ck_assert_msg(fs_recordings_read(all, dir, why, sizeof(why)) == FS_OK, "%s",
                  why);
    ck_assert_uint_eq(all->n, 1);
}

static void must_hold(const fs_recording_t *recording, size_t call,
                      uint64_t made)
{
    uint64_t matrix[N * N];

    fs_recording_matrix(recording, recording->calls[call].matrix, matrix);
    for (uint64_t k = 0; k < N * N; ++k) {
        ck_assert_uint_eq(matrix[k], count(made, k / N, k % N));
    }
}

START_TEST(what_is_recorded_comes_back)
{
    fs_recordings_t all;

    make_dir();
    for (uint32_t r = 0; r < N; ++r) {
        fs_record_t *record = create(r, 1 << 20);

        fs_record_call(record, "MPI_Alltoallv", row_of(0, r));
        fs_record_call(record, "MPI_Ialltoall", row_of(1, r));
        fs_record_call(record, "MPI_Alltoallv", row_of(0, r));
        fs_record_call(record, "MPI_Allreduce", row_of(2, r));
        finish(record);
    }
    read_all(&all);
    ck_assert_str_eq(fs_recording_name(&all.all[0]), "a \"b\"\\x0a/c");
    ck_assert_uint_eq(all.all[0].id, ID);
    ck_assert_uint_eq(all.all[0].ranks[3].world_rank, 13);
    ck_assert_uint_eq(all.all[0].ranks[3].server, 1);
    ck_assert_uint_eq(all.all[0].n_calls, 3);
    ck_assert_uint_eq(all.all[0].n_matrices, 2);
    ck_assert_uint_eq(all.all[0].missing, 0);
    ck_assert_str_eq(fs_record_function(all.all[0].calls[1].function),
                     "MPI_Ialltoall");
    must_hold(&all.all[0], 0, 0);
    must_hold(&all.all[0], 1, 1);
    must_hold(&all.all[0], 2, 0);
    fs_recordings_fini(&all);
}
END_TEST

/* Two persistent calls, started on every rank in another order. */
START_TEST(starts_find_their_calls)
{
    fs_recordings_t all;

    make_dir();
    for (uint32_t r = 0; r < N; ++r) {
        fs_record_t *record = create(r, 1 << 20);
        uint32_t     a, b;

        a = fs_record_init(record, "MPI_Alltoallv_init", row_of(7, r));
        b = fs_record_init(record, "MPI_Alltoallw_init", row_of(8, r));
        fs_record_start(record, r % 2 == 0 ? a : b);
        fs_record_start(record, r % 2 == 0 ? b : a);
        fs_record_call(record, "MPI_Alltoallv", row_of(9, r));
        fs_record_start(record, a);
        finish(record);
    }
    read_all(&all);
    ck_assert_uint_eq(all.all[0].n_calls, 4);
    ck_assert_uint_eq(all.all[0].n_matrices, 3);
    must_hold(&all.all[0], 0, 7);
    must_hold(&all.all[0], 1, 8);
    must_hold(&all.all[0], 2, 9);
    must_hold(&all.all[0], 3, 7);
    fs_recordings_fini(&all);
}
END_TEST

/* Thousands of calls with the same counts take 5 bytes each: a byte for the call,
 * one for its row, and up to three for the time. */
START_TEST(equal_calls_take_few_bytes)
{
    enum { CALLS = 40000 };
    fs_recordings_t all;

    make_dir();
    for (uint32_t r = 0; r < N; ++r) {
        fs_record_t *record = create(r, 1 << 20);

        for (uint32_t k = 0; k < CALLS; ++k) {
            fs_record_call(record, "MPI_Alltoallv", row_of(0, r));
        }
        finish(record);
        ck_assert_uint_le(size_of(r), 5 * CALLS + 512);
    }
    read_all(&all);
    ck_assert_uint_eq(all.all[0].n_calls, CALLS);
    ck_assert_uint_eq(all.all[0].n_matrices, 1);
    fs_recordings_fini(&all);
}
END_TEST

/* All rows differ, so that places of digests are used again and again. */
START_TEST(a_full_file_counts_what_is_missing)
{
    enum { CALLS = 5000, LIMIT = 32 * 1024 };
    fs_recordings_t       all;
    const fs_recording_t *c;

    make_dir();
    for (uint32_t r = 0; r < N; ++r) {
        fs_record_t *record = create(r, LIMIT);

        for (uint32_t k = 0; k < CALLS; ++k) {
            fs_record_call(record, "MPI_Alltoallv", row_of(k, r));
        }
        finish(record);
        ck_assert_uint_le(size_of(r), LIMIT + 512);
    }
    read_all(&all);
    c = &all.all[0];
    ck_assert_uint_gt(c->n_calls, 1000);
    ck_assert_uint_eq(c->n_calls + c->missing, CALLS);
    for (size_t k = 0; k < c->n_calls; ++k) {
        must_hold(c, k, k);
    }
    fs_recordings_fini(&all);
}
END_TEST

/* A program that ends without MPI_Finalize: what is whole on all ranks is there. */
START_TEST(a_cut_file_has_the_calls_before)
{
    enum { CALLS = 10, LAST = 10 };
    fs_recordings_t all;
    char            path[512];

    make_dir();
    for (uint32_t r = 0; r < N; ++r) {
        fs_record_t *record = create(r, 1 << 20);

        for (uint32_t k = 0; k < CALLS; ++k) {
            fs_record_call(record, "MPI_Alltoallv", row_of(k, r));
        }
        finish(record);
    }
    path_of(2, path);
    ck_assert_int_eq(truncate(path, (off_t)size_of(2) - LAST), 0);
    read_all(&all);
    ck_assert_uint_eq(all.all[0].n_calls, CALLS - 1);
    ck_assert_uint_eq(all.all[0].missing, 1);
    ck_assert(!all.all[0].ranks[2].ended);
    must_hold(&all.all[0], CALLS - 2, CALLS - 2);
    fs_recordings_fini(&all);
}
END_TEST

/* ---- what is wrong ---- */

static void must_refuse(const char *text)
{
    fs_recordings_t all;
    char            why[WHY] = "";

    ck_assert_int_ne(fs_recordings_read(&all, dir, why, sizeof(why)), FS_OK);
    ck_assert_msg(strstr(why, text) != NULL, "%s", why);
    fs_recordings_fini(&all);
}

static void record_all(void)
{
    make_dir();
    for (uint32_t r = 0; r < N; ++r) {
        fs_record_t *record = create(r, 1 << 20);

        fs_record_call(record, "MPI_Alltoallv", row_of(0, r));
        finish(record);
    }
}

START_TEST(a_missing_rank_is_named)
{
    char path[512];

    record_all();
    path_of(3, path);
    unlink(path);
    must_refuse("rank3.record: No such file");
}
END_TEST

START_TEST(no_recording_is_said)
{
    make_dir();
    must_refuse("there is no recording");
}
END_TEST

START_TEST(another_ranks_file_is_refused)
{
    char from[512], to[512];

    record_all();
    path_of(3, from);
    path_of(2, to);
    ck_assert_int_eq(rename(from, to), 0);
    must_refuse("rank2.record: line 1: not rank 2 of this communicator");
}
END_TEST

START_TEST(ranks_that_made_other_calls_are_named)
{
    fs_record_t *record;

    record_all();
    record = create(4, 1 << 20);
    fs_record_call(record, "MPI_Alltoall", row_of(0, 4));
    finish(record);
    must_refuse("call 0 is MPI_Alltoallv on rank 0 and MPI_Alltoall on rank 4");
}
END_TEST

static void must_be_broken(const char *tail, size_t len, const char *text)
{
    static const char head[] = FS_RECORD_FORMAT
        " id=1 rank=0 ranks=4 world_rank=0 server=0 start_us=1 name=x\n";
    char             data[512], why[WHY] = "";
    fs_record_file_t file;

    memcpy(data, head, sizeof(head) - 1);
    memcpy(data + sizeof(head) - 1, tail, len);
    ck_assert_int_eq(fs_record_file_parse(&file, data, sizeof(head) - 1 + len,
                                          why, sizeof(why)),
                     FS_ERR_INVAL);
    ck_assert_msg(strstr(why, text) != NULL, "%s", why);
    fs_record_file_fini(&file);
}

START_TEST(broken_files_are_refused)
{
    char             why[WHY];
    fs_record_file_t file;

    must_be_broken("\x7c\1\0\1\1\1\1", 7, "byte ");  /* function 31 */
    must_be_broken("\0\0\1\0\0\0", 6, "no event");   /* a row before any */
    must_be_broken("\2\0\0\0\0\0", 6, "no event");   /* START, no INIT */
    must_be_broken("\0\0\0\x0b\0\0", 6, "no event"); /* 6 values of 4 */
    must_be_broken("\0\0\0\2\0\0", 6, "no event");   /* below zero */
    must_be_broken("\3\0\0\0\0", 5, "no event");     /* behind the end */
    ck_assert_int_eq(fs_record_file_parse(&file, "a,b\n", 4, why, sizeof(why)),
                     FS_ERR_INVAL);
    ck_assert_str_eq(why, "line 1: this is no recording; expected: "
                          "fastsched recording 1 id=... rank=... ranks=...");
    fs_record_file_fini(&file);
}
END_TEST

/* ---- where no file can be written ---- */

START_TEST(a_directory_that_cannot_be_made)
{
    fs_record_origin_t origin = {.dir       = "/no/such/directory",
                                 .comm_name = "c",
                                 .n_ranks   = 1,
                                 .limit     = 1 << 20};
    fs_record_t       *record;
    char               why[FS_RECORD_WHY];

    ck_assert_int_eq(fs_record_create(&origin, &record, why, sizeof(why)),
                     FS_ERR_NATIVE);
    ck_assert_str_eq(
        why, "no recording: /no/such/directory: No such file or directory");
}
END_TEST

/* The failure is told once, and calls go on. */
START_TEST(a_directory_that_went_away)
{
    fs_record_t *record;

    make_dir();
    record = create(0, 1 << 20);
    remove_dir();
    for (uint32_t k = 0; k < 100000 && fs_record_failure(record) == NULL; ++k) {
        fs_record_call(record, "MPI_Alltoallv", row_of(k, 0));
        ck_assert_uint_lt(k, 99999);
    }
    fs_record_call(record, "MPI_Alltoallv", row_of(0, 0));
    ck_assert_ptr_null(fs_record_failure(record));
    ck_assert_ptr_null(fs_record_finish(record));
    fs_record_destroy(record);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("record");
    TCase *tcase = tcase_create("record");

    tcase_add_checked_fixture(tcase, NULL, remove_dir);
    tcase_add_test(tcase, numbers_come_back);
    tcase_add_test(tcase, a_number_of_more_than_64_bits_is_none);
    tcase_add_loop_test(tcase, rows_come_back, 0, 200);
    tcase_add_test(tcase, equal_counts_take_few_bytes);
    tcase_add_test(tcase, what_is_recorded_comes_back);
    tcase_add_test(tcase, starts_find_their_calls);
    tcase_add_test(tcase, equal_calls_take_few_bytes);
    tcase_add_test(tcase, a_full_file_counts_what_is_missing);
    tcase_add_test(tcase, a_cut_file_has_the_calls_before);
    tcase_add_test(tcase, a_missing_rank_is_named);
    tcase_add_test(tcase, no_recording_is_said);
    tcase_add_test(tcase, another_ranks_file_is_refused);
    tcase_add_test(tcase, ranks_that_made_other_calls_are_named);
    tcase_add_test(tcase, broken_files_are_refused);
    tcase_add_test(tcase, a_directory_that_cannot_be_made);
    tcase_add_test(tcase, a_directory_that_went_away);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
