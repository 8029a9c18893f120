/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameter tuning, once in a process: what the tuners of its communicators have
 * found comes into the file, and what is wrong with that is told once. */
#include "wrapper/fs_remember.h"
#include "comm/fs_comm.h"
#include "fs_test_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char         dir[] = "/tmp/fs_remember_XXXXXX";
static char         said[FS_TUNING_MAX + 256];
static unsigned     n_said;
static fs_wrapper_t wrapper;
static fs_comm_t    ours;
static fs_topo_t   *topo;

static void say(const char *line)
{
    ++n_said;
    snprintf(said, sizeof(said), "%s", line);
}

static void new_process(void)
{
    fs_remember_fini(&wrapper);
    wrapper = (fs_wrapper_t){
        .say = say, .on_world_rank_0 = true, .lock = PTHREAD_MUTEX_INITIALIZER};
    snprintf(wrapper.params.tuning, FS_TUNING_MAX, "%s/file", dir);
    n_said = 0;
}

static void set_up(void)
{
    static const uint32_t labels[] = {0, 0, 1, 1};

    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(fs_topo_create(4, labels, 0, &topo), FS_OK);
    memset(&ours, 0, sizeof(ours));
    ours.topo        = topo;
    ours.native.name = "An MPI";
    new_process();
}

static void remove_file(const char *name)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    unlink(path);
}

static void tear_down(void)
{
    fs_remember_fini(&wrapper);
    remove_file("file");
    remove_file("file.lock");
    ck_assert_int_eq(rmdir(dir), 0);
    fs_topo_destroy(topo);
}

/* A communicator has some calls of a class, and comes to its end. */
static void live(uint32_t of_class, int n_calls)
{
    fs_wrapper_comm_t comm = {.wrapper = &wrapper, .ours = &ours};

    memset(&ours.tuner, 0, sizeof(ours.tuner));
    for (int k = 0; k < n_calls; ++k) {
        fs_tuner_call_t call = {
            .of_class = of_class,
            .bound    = 1000,
            .estimate = {
                [FS_CANDIDATE_NATIVE] = 300, [FS_CANDIDATE_STAGED] = 100}};
        fs_tuner_question_t question = fs_tuner_next(&ours.tuner, &call);

        fs_tuner_update(&ours.tuner, &question, 100);
    }
    fs_remember(&comm);
}

static const fs_tuning_t *read_again(void)
{
    new_process();
    return fs_remember_tuning(&wrapper);
}

START_TEST(to_the_next_job)
{
    const fs_tuning_t *tuning;

    live(7, 10);
    live(8, 10);
    live(8, 5);
    live(9, 1); /* not settled */
    fs_remember_all(&wrapper);
    tuning = read_again();
    ck_assert_uint_eq(n_said, 0);
    ck_assert_uint_eq(tuning->n, 2);
    ck_assert_uint_eq(tuning->entries[1].of_class, 8);
    ck_assert_uint_eq(tuning->entries[1].n_calls, 15);
    ck_assert_int_eq(tuning->entries[1].choice, FS_CANDIDATE_STAGED);
    ck_assert_str_eq(tuning->entries[1].place.layout, "2x2");
    ck_assert_str_eq(tuning->entries[1].place.mpi, "An MPI");
    ck_assert_ptr_eq(tuning, fs_remember_tuning(&wrapper)); /* read once */
}
END_TEST

START_TEST(only_one_process_writes)
{
    wrapper.on_world_rank_0 = false;
    live(7, 10);
    fs_remember_all(&wrapper);
    ck_assert_uint_eq(read_again()->n, 0);
}
END_TEST

START_TEST(only_if_it_is_asked_for)
{
    wrapper.params.tuning[0] = '\0';
    live(7, 10);
    fs_remember_all(&wrapper);
    ck_assert_ptr_null(fs_remember_mpi_name(&wrapper));
    ck_assert_uint_eq(n_said, 0);
}
END_TEST

/* Broken at the start and at the end: one line. */
START_TEST(a_broken_file_is_told_once)
{
    char  path[300];
    FILE *file;

    snprintf(path, sizeof(path), "%s/file", dir);
    file = fopen(path, "w");
    fputs("hello\n", file);
    fclose(file);
    ck_assert_uint_eq(fs_remember_tuning(&wrapper)->n, 0);
    ck_assert_uint_eq(n_said, 1);
    ck_assert_ptr_nonnull(strstr(said, path));
    ck_assert_ptr_nonnull(strstr(said, "line 1"));
    live(7, 10);
    fs_remember_all(&wrapper);
    ck_assert_uint_eq(n_said, 1);
}
END_TEST

START_TEST(no_such_directory)
{
    strcat(wrapper.params.tuning, "/there/is/none");
    live(7, 10);
    fs_remember_all(&wrapper);
    ck_assert_uint_eq(n_said, 1);
    ck_assert_ptr_nonnull(strstr(said, "No such file"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("remember");
    TCase *tcase = tcase_create("remember");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, to_the_next_job);
    tcase_add_test(tcase, only_one_process_writes);
    tcase_add_test(tcase, only_if_it_is_asked_for);
    tcase_add_test(tcase, a_broken_file_is_told_once);
    tcase_add_test(tcase, no_such_directory);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
