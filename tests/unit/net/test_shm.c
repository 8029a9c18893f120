/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory shared in a server: all have it or none, and no name is left. */
#include "net/fs_shm.h"
#include "fs_test_util.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 3, BYTES = 100000 };

static fs_shm_t shm[N];
static uint64_t id[2];
static char     path[80];

static void set_up(void)
{
    memset(shm, 0, sizeof(shm));
    fs_shm_draw_id(id);
    snprintf(path, sizeof(path), "/dev/shm/fastsched-%016llx%016llx",
             (unsigned long long)id[0], (unsigned long long)id[1]);
}

static bool is_there(void)
{
    return access(path, F_OK) == 0;
}

static void all_join(uint32_t n)
{
    for (uint32_t r = 0; r < n; ++r) {
        fs_shm_join(&shm[r], id, BYTES);
    }
}

static void nobody_has_it(void)
{
    for (uint32_t r = 0; r < N; ++r) {
        ck_assert_ptr_null(fs_shm_settle(&shm[r], N));
        ck_assert_ptr_null(shm[r].map);
    }
    ck_assert(!is_there());
}

START_TEST(all_share)
{
    unsigned char *memory[N];

    fs_shm_offer(&shm[1], id, BYTES);
    ck_assert(is_there());
    all_join(N);
    for (uint32_t r = 0; r < N; ++r) {
        memory[r] = fs_shm_settle(&shm[r], N);
        ck_assert_ptr_nonnull(memory[r]);
        ck_assert_uint_eq((uintptr_t)memory[r] % 64, 0);
    }
    ck_assert(!is_there());
    for (uint32_t k = 0; k < BYTES; ++k) {
        ck_assert(memory[0][k] == 0);
    }
    memory[1][BYTES - 1] = 7;
    ck_assert_uint_eq(memory[0][BYTES - 1], 7);
    ck_assert_uint_eq(memory[2][BYTES - 1], 7);
    for (uint32_t r = 0; r < N; ++r) {
        fs_shm_leave(&shm[r]);
        fs_shm_leave(&shm[r]);
    }
}
END_TEST

START_TEST(for_the_owner_only)
{
    struct stat st;

    fs_shm_offer(&shm[0], id, BYTES);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode, S_IFREG | S_IRUSR | S_IWUSR);
    ck_assert_int_ge(st.st_blocks * 512, BYTES); /* reserved */
    fs_shm_leave(&shm[0]);
    ck_assert(!is_there());
}
END_TEST

/* What is there already is not used, and stays. */
START_TEST(never_a_segment_of_others)
{
    fs_shm_offer(&shm[0], id, BYTES);
    fs_shm_offer(&shm[1], id, BYTES);
    ck_assert_ptr_nonnull(shm[0].map);
    ck_assert_ptr_null(shm[1].map);
    fs_shm_leave(&shm[1]);
    ck_assert(is_there());
    fs_shm_leave(&shm[0]);
    ck_assert(!is_there());
}
END_TEST

START_TEST(one_has_not_joined)
{
    fs_shm_offer(&shm[0], id, BYTES);
    all_join(N - 1);
    nobody_has_it();
}
END_TEST

START_TEST(nobody_has_offered)
{
    all_join(N);
    nobody_has_it();
}
END_TEST

START_TEST(another_size_is_not_ours)
{
    fs_shm_offer(&shm[0], id, BYTES + 4096);
    all_join(N);
    nobody_has_it();
}
END_TEST

START_TEST(nothing_to_share)
{
    fs_shm_offer(&shm[0], id, 0);
    fs_shm_join(&shm[0], id, 0);
    ck_assert_ptr_null(fs_shm_settle(&shm[0], 1));
    ck_assert(!is_there());
}
END_TEST

/* As if /dev/shm were full. */
START_TEST(no_space)
{
    struct rlimit limit, none;

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    none = (struct rlimit){.rlim_cur = 4096, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
    fs_shm_offer(&shm[0], id, BYTES);
    setrlimit(RLIMIT_FSIZE, &limit);
    ck_assert(!is_there());
    all_join(N);
    nobody_has_it();
}
END_TEST

/* Two processes; one of them is killed. */
START_TEST(killed_ranks_leave_nothing)
{
    int            tell[2], answer[2];
    char           c = 0;
    unsigned char *memory;
    pid_t          child;

    ck_assert_int_eq(pipe(tell) | pipe(answer), 0);
    child = fork();
    if (child == 0) {
        fs_shm_offer(&shm[0], id, BYTES);
        fs_shm_join(&shm[0], id, BYTES);
        if (write(tell[1], &c, 1) == 1 && read(answer[0], &c, 1) == 1) {
            memory    = fs_shm_settle(&shm[0], 2);
            memory[0] = 5;
            c         = write(tell[1], &c, 1) == 1;
        }
        raise(SIGKILL);
    }
    ck_assert_int_eq(read(tell[0], &c, 1), 1); /* offered */
    fs_shm_join(&shm[1], id, BYTES);
    ck_assert_int_eq(write(answer[1], &c, 1), 1); /* joined */
    memory = fs_shm_settle(&shm[1], 2);
    ck_assert_ptr_nonnull(memory);
    ck_assert_int_eq(read(tell[0], &c, 1), 1); /* settled */
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert(!is_there());
    ck_assert_uint_eq(memory[0], 5);
    fs_shm_leave(&shm[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shm");
    TCase *tcase = tcase_create("shm");

    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, all_share);
    tcase_add_test(tcase, for_the_owner_only);
    tcase_add_test(tcase, never_a_segment_of_others);
    tcase_add_test(tcase, one_has_not_joined);
    tcase_add_test(tcase, nobody_has_offered);
    tcase_add_test(tcase, another_size_is_not_ours);
    tcase_add_test(tcase, nothing_to_share);
    tcase_add_test(tcase, no_space);
    tcase_add_test(tcase, killed_ranks_leave_nothing);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
