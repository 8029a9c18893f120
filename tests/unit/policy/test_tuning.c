/* SPDX-License-Identifier: BSD-3-Clause */
/* What tuners have found, as text and as a file. */
#include "policy/fs_tuning.h"
#include "fs_test_util.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WHY = 400, TEXT = 1 << 20 };

static char        dir[] = "/tmp/fs_tuning_XXXXXX", path[300], why[WHY];
static fs_tuning_t tuning;

static void set_up(void)
{
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/site.jsonl", dir);
    memset(&tuning, 0, sizeof(tuning));
    memset(why, 0, sizeof(why));
}

/* Nothing but the file and its lock is left. */
static void tear_down(void)
{
    DIR           *open = opendir(dir);
    struct dirent *entry;

    chmod(dir, 0700);
    while (open != NULL && (entry = readdir(open)) != NULL) {
        char name[600];

        if (entry->d_name[0] == '.') {
            continue;
        }
        ck_assert_msg(strncmp(entry->d_name, "site.jsonl", 10) == 0 &&
                          strlen(entry->d_name) <= 15,
                      "%s is left", entry->d_name);
        snprintf(name, sizeof(name), "%s/%s", dir, entry->d_name);
        unlink(name);
    }
    closedir(open);
    ck_assert_int_eq(rmdir(dir), 0);
    fs_tuning_fini(&tuning);
}

static fs_tuning_entry_t entry_of(uint32_t of_class, fs_candidate_t choice,
                                  uint64_t price)
{
    fs_tuning_entry_t entry = {.place    = {"4x4", 4, "ucx", "An MPI 1.2"},
                               .of_class = of_class,
                               .choice   = choice,
                               .n_calls  = 10};

    entry.price[choice] = price;
    return entry;
}

static void add(fs_tuning_t *to, fs_tuning_entry_t entry)
{
    ck_assert_int_eq(fs_tuning_add(to, &entry), FS_OK);
}

static fs_status_t parse(const char *text)
{
    return fs_tuning_parse(&tuning, text, strlen(text), why, sizeof(why));
}

/* The caller's. */
static char *print(const fs_tuning_t *from)
{
    char  *text = NULL;
    size_t len  = 0;
    FILE  *file = open_memstream(&text, &len);

    fs_tuning_print(from, file);
    fclose(file);
    return text;
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void file_is(const char *text)
{
    static char is[TEXT];
    FILE       *file = fopen(path, "r");
    size_t      len;

    ck_assert_ptr_nonnull(file);
    len     = fread(is, 1, sizeof(is) - 1, file);
    is[len] = '\0';
    fclose(file);
    ck_assert_str_eq(is, text);
}

#define LINE                                                        \
    "{\"fastsched_tuning\": 1, \"layout\": \"4x4\", \"lanes\": 4, " \
    "\"transport\": \"ucx\", \"mpi\": \"An MPI 1.2\", "             \
    "\"collective\": \"alltoall\", \"bytes_log2\": 20, "            \
    "\"mtm_band\": 1, \"skew_band\": 2, \"choice\": \"staged\", "   \
    "\"calls\": 10, \"native_ns_per_mib\": 900, "                   \
    "\"staged_ns_per_mib\": 400}\n"

/* ---- text ---- */

START_TEST(round_trip)
{
    fs_tuning_t       read = {.entries = NULL};
    char             *text, *again;
    fs_tuning_entry_t odd = entry_of(
        fs_tuner_class_for(FS_TUNED_ALLTOALL, fs_tuner_class_of(63, 3, 2)), 0,
        UINT64_MAX);

    odd.price[0] = 900;
    strcpy(odd.place.mpi, "a \"b\" \\ \t \x01 \xc3\xbc");
    add(&tuning, odd);
    add(&tuning, entry_of(fs_tuner_class_of(20, 1, 2), FS_CANDIDATE_STAGED, 7));
    text = print(&tuning);
    ck_assert_int_eq(
        fs_tuning_parse(&read, text, strlen(text), why, sizeof(why)), FS_OK);
    ck_assert_uint_eq(read.n, 2);
    ck_assert_mem_eq(read.entries, tuning.entries, 2 * sizeof(*tuning.entries));
    again = print(&read);
    ck_assert_str_eq(text, again);
    free(text);
    free(again);
    fs_tuning_fini(&read);
}
END_TEST

START_TEST(a_line)
{
    const fs_tuning_entry_t *entry;
    char                    *text;

    ck_assert_int_eq(parse("\n  \t\r\n" LINE), FS_OK);
    ck_assert_uint_eq(tuning.n, 1);
    entry = &tuning.entries[0];
    ck_assert_str_eq(entry->place.layout, "4x4");
    ck_assert_str_eq(entry->place.mpi, "An MPI 1.2");
    ck_assert_uint_eq(entry->place.lanes, 4);
    ck_assert_uint_eq(
        entry->of_class,
        fs_tuner_class_for(FS_TUNED_ALLTOALL, fs_tuner_class_of(20, 1, 2)));
    ck_assert_int_eq(entry->choice, FS_CANDIDATE_STAGED);
    ck_assert_uint_eq(entry->n_calls, 10);
    ck_assert_uint_eq(entry->price[FS_CANDIDATE_NATIVE], 900);
    ck_assert_uint_eq(entry->price[FS_CANDIDATE_STAGED], 400);
    ck_assert_uint_eq(entry->price[FS_CANDIDATE_PIPE2D], 0);
    text = print(&tuning);
    ck_assert_str_eq(text, LINE);
    free(text);
}
END_TEST

/* Any spacing, any order, escapes, keys that are not known. */
START_TEST(other_ways_to_write_it)
{
    char *text;

    ck_assert_int_eq(
        parse("{ \"calls\":10 ,\t\"x\" : {\"a\": [1, \"}\", -2.5e3, null]}, "
              "\"y\": true,\"z\":[],\"mpi\":\"An\\u0020MPI\\u00201.2\", "
              "\"transport\":\"ucx\",\"skew_band\":2,\"mtm_band\":1,"
              "\"collective\":\"alltoall\","
              "\"bytes_log2\":20,\"lanes\":4,\"layout\":\"4x4\","
              "\"staged_ns_per_mib\":400,\"native_ns_per_mib\":900,"
              "\"frogs_ns_per_mib\":1,\"ch\\u006fice\":\"staged\","
              "\"note\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\","
              "\"fastsched_tuning\":1 } \r"),
        FS_OK);
    text = print(&tuning);
    ck_assert_str_eq(text, LINE);
    free(text);
}
END_TEST

/* What differs from the good line, and what is said. */
static const struct {
    const char *from, *to, *says;
} bad[] = {
    {LINE, "hello\n", "no JSON object"},
    {LINE, "[1, 2]\n", "no JSON object"},
    {LINE, "{}\n", "no \"fastsched_tuning\""},
    {LINE, "{\"a\": 1}\n", "no \"fastsched_tuning\""},
    {LINE, "{\n", "no string where one should be"},
    {"}", "", "an object without an end"},
    {"}", "} x", "something behind the object"},
    {"}", "}}", "something behind the object"},
    {"1.2\"", "1.2", "an object without an end"},
    {"tuning\": 1", "tuning\": \"1\"", "no number where one should be"},
    {"tuning\": 1", "tuning\": 2.5", "a number that is not whole"},
    {"400}", "400", "an object without an end"},
    {"400}", "\"400\"}", "no number where one should be"},
    {"400", "-400", "no number where one should be"},
    {"400", "4.5", "a number that is not whole"},
    {"400", "4e2", "a number that is not whole"},
    {"400", "18446744073709551616", "a number that does not fit in 64 bits"},
    {"400", "99999999999999999999999", "a number that does not fit in 64 bits"},
    {"\"staged\"", "7", "no string where one should be"},
    {"\"staged\"", "\"sta\\xged\"", "a wrong escape in a string"},
    {"\"staged\"", "\"sta\\u00g0\"", "a wrong \\u in a string"},
    {"\"calls\": 10", "\"calls\" 10", "a key without a colon"},
    {"\"calls\": 10", "\"balls\": ", "no value behind a key"},
    {"\"calls\": 10", "calls: 10", "no string where one should be"},
    {"\"layout\"", "\"lay\"", "no \"layout\""},
    {"\"lanes\"", "\"lan\"", "no \"lanes\""},
    {"\"transport\"", "\"t\"", "no \"transport\""},
    {"\"mpi\"", "\"m\"", "no \"mpi\""},
    {"\"collective\"", "\"c\"", "no \"collective\""},
    {"\"choice\"", "\"c\"", "no \"choice\""},
    {"\"bytes_log2\"", "\"b\"", "no \"bytes_log2\""},
    {"\"mtm_band\"", "\"b\"", "no \"mtm_band\""},
    {"\"skew_band\"", "\"b\"", "no \"skew_band\""},
    {": 20", ": 64", "a wrong \"bytes_log2\""},
    {"mtm_band\": 1", "mtm_band\": 4", "a wrong \"mtm_band\""},
    {"skew_band\": 2", "skew_band\": 3", "a wrong \"skew_band\""},
    {"lanes\": 4", "lanes\": 0", "a wrong \"lanes\""},
    {"lanes\": 4", "lanes\": 4294967296", "a wrong \"lanes\""},
    {"4x4", "0123456789012345678901234567890123456789012345678901234567890123",
     "a string of more than 63 bytes"},
};
#define N_BAD ((int)(sizeof(bad) / sizeof(bad[0])))

/* LINE with `from` exchanged for `to`. */
static void exchange(const char *from, const char *to, char text[2000])
{
    const char *at = strstr(LINE, from);

    ck_assert_ptr_nonnull(at);
    snprintf(text, 2000, "%.*s%s%s", (int)(at - LINE), LINE, to,
             at + strlen(from));
}

/* The other lines count. */
START_TEST(broken_lines)
{
    char line[2000], text[8000], says[WHY];

    exchange(bad[_i].from, bad[_i].to, line);
    snprintf(text, sizeof(text), "%s\n%s%s\nnor is this\n", LINE, line,
             strchr(line, '\n') == NULL ? "\n" : "");
    ck_assert_int_eq(parse(text), FS_ERR_INVAL);
    snprintf(says, sizeof(says), "line 3: %s", bad[_i].says);
    ck_assert_str_eq(why, says);
    ck_assert_uint_eq(tuning.n, 1);
    ck_assert_uint_eq(tuning.entries[0].price[FS_CANDIDATE_STAGED], 400);
}
END_TEST

START_TEST(a_zero_byte)
{
    char text[] = LINE "\0" LINE;

    ck_assert_int_eq(fs_tuning_parse(&tuning, text, sizeof(text) - 1, why, WHY),
                     FS_ERR_INVAL);
    ck_assert_uint_eq(tuning.n, 1);
}
END_TEST

/* They are kept as they are; a choice of later versions, too. */
START_TEST(other_versions)
{
    static const char other[] =
        "{\"fastsched_tuning\":  2, \"what\": [\"ever\", {}]}\n"
        "{\"fastsched_tuning\": 2, \"lanes\": \"4\"}\n";
    char line[2000], text[8000], *is;

    exchange("\"staged\"", "\"teleported\"", line);
    snprintf(text, sizeof(text), "%s%s%s", other, LINE, line);
    ck_assert_int_eq(parse(text), FS_OK);
    ck_assert_uint_eq(tuning.n, 1);
    is = print(&tuning);
    snprintf(text, sizeof(text), "%s%s%s", LINE, other, line);
    ck_assert_str_eq(is, text);
    free(is);
}
END_TEST

START_TEST(the_newer_counts)
{
    add(&tuning, entry_of(5, FS_CANDIDATE_NATIVE, 100));
    add(&tuning, entry_of(5, FS_CANDIDATE_STAGED, 50));
    add(&tuning, entry_of(6, FS_CANDIDATE_STAGED, 60));
    ck_assert_uint_eq(tuning.n, 2);
    ck_assert_int_eq(tuning.entries[0].choice, FS_CANDIDATE_STAGED);
    ck_assert_uint_eq(tuning.entries[0].price[FS_CANDIDATE_NATIVE], 100);
    ck_assert_uint_eq(tuning.entries[0].price[FS_CANDIDATE_STAGED], 50);
    ck_assert_uint_eq(tuning.entries[0].n_calls, 20);
    tuning.entries[0].n_calls = UINT64_MAX;
    add(&tuning, entry_of(5, FS_CANDIDATE_STAGED, 50));
    ck_assert_uint_eq(tuning.entries[0].n_calls, UINT64_MAX);
}
END_TEST

START_TEST(places_are_apart)
{
    fs_tuning_entry_t entry = entry_of(5, FS_CANDIDATE_NATIVE, 1);

    add(&tuning, entry);
    entry.place.lanes = 2;
    add(&tuning, entry);
    strcpy(entry.place.layout, "2x8");
    add(&tuning, entry);
    strcpy(entry.place.transport, "mpi");
    add(&tuning, entry);
    strcpy(entry.place.mpi, "Another");
    add(&tuning, entry);
    add(&tuning, entry);
    ck_assert_uint_eq(tuning.n, 5);
}
END_TEST

/* Whatever order entries come in, they are sorted by class here, and a class that
 * has come is found again. */
START_TEST(entries_are_sorted)
{
    enum { N = 101 };

    for (uint32_t k = 0; k < 2 * N; ++k) {
        add(&tuning, entry_of(k * 37 % N, FS_CANDIDATE_NATIVE, 1));
    }
    ck_assert_uint_eq(tuning.n, N);
    for (uint32_t k = 0; k < N; ++k) {
        ck_assert_uint_eq(tuning.entries[k].of_class, k);
        ck_assert_uint_eq(tuning.entries[k].n_calls, 2 * 10);
    }
}
END_TEST

START_TEST(too_many)
{
    fs_tuning_entry_t entry = entry_of(0, FS_CANDIDATE_NATIVE, 1);

    for (uint32_t k = 0; k < FS_TUNING_ENTRIES; ++k) {
        entry.place.lanes = k + 1;
        ck_assert(fs_tuning_add(&tuning, &entry) == FS_OK);
    }
    ck_assert_int_eq(fs_tuning_add(&tuning, &entry), FS_OK);
    entry.place.lanes = FS_TUNING_ENTRIES + 1;
    ck_assert_int_eq(fs_tuning_add(&tuning, &entry), FS_ERR_OVERFLOW);
}
END_TEST

/* Whatever is in it: lines are read or told, and what has been read can be written
 * and read again. */
static void try_text(const char *text, size_t len)
{
    fs_tuning_t a = {.entries = NULL}, b = {.entries = NULL};
    char       *copy = fs_test_alloc(1, len + 1), *first, *second;
    fs_status_t status;

    why[0] = '\0';
    memcpy(copy, text, len); /* at the end of a block: nothing reads on */
    status = fs_tuning_parse(&a, copy, len, why, sizeof(why));
    ck_assert(status == FS_OK || status == FS_ERR_INVAL);
    ck_assert((why[0] != '\0') == (status != FS_OK));
    first = print(&a);
    ck_assert(fs_tuning_parse(&b, first, strlen(first), why, sizeof(why)) ==
                  FS_OK ||
              strlen(first) == 0 || a.others_len > 0);
    second = print(&b);
    ck_assert(a.others_len > 0 || strcmp(first, second) == 0);
    free(copy);
    free(first);
    free(second);
    fs_tuning_fini(&a);
    fs_tuning_fini(&b);
}

START_TEST(mutations)
{
    static const char *const pieces[] = {"{",
                                         "}",
                                         "[",
                                         "]",
                                         "\"",
                                         ":",
                                         ",",
                                         "\\",
                                         "\\u00",
                                         "\n",
                                         "1",
                                         "18446744073709551616",
                                         "\"fastsched_tuning\": 1",
                                         "null",
                                         "-",
                                         "\xff",
                                         LINE};
    enum { N_PIECES = sizeof(pieces) / sizeof(pieces[0]) };
    fs_rng_t rng;
    char     text[8192];

    fs_rng_init(&rng, 16);
    for (int k = 0; k < 10000; ++k) {
        size_t   len;
        unsigned n = 1 + (unsigned)fs_rng_below(&rng, 6);

        len = (size_t)snprintf(text, sizeof(text), "%s%s", LINE,
                               k % 2 ? LINE : "");
        while (n-- > 0 && len < 4096) {
            size_t      at    = fs_rng_below(&rng, len + 1);
            size_t      cut   = fs_rng_below(&rng, 4) == 0
                                    ? fs_rng_below(&rng, len - at + 1)
                                    : 0;
            const char *piece = pieces[fs_rng_below(&rng, N_PIECES)];
            size_t      put   = strlen(piece);

            if (fs_rng_below(&rng, 3) == 0 && at < len) {
                text[at] = (char)fs_rng_next(&rng);
                continue;
            }
            memmove(text + at + put, text + at + cut, len - at - cut);
            memcpy(text + at, piece, put);
            len += put - cut;
        }
        try_text(text, len);
    }
}
END_TEST

/* ---- files ---- */

START_TEST(no_file)
{
    ck_assert_int_eq(fs_tuning_load(&tuning, path, why, WHY), FS_OK);
    ck_assert_uint_eq(tuning.n, 0);
    ck_assert_str_eq(why, "");
}
END_TEST

START_TEST(written_and_read)
{
    fs_tuning_t read = {.entries = NULL};

    add(&tuning, entry_of(9, FS_CANDIDATE_STAGED, 400));
    ck_assert_int_eq(fs_tuning_save(&tuning, path, why, WHY), FS_OK);
    ck_assert_int_eq(fs_tuning_load(&read, path, why, WHY), FS_OK);
    ck_assert_uint_eq(read.n, 1);
    ck_assert_mem_eq(read.entries, tuning.entries, sizeof(*read.entries));
    fs_tuning_fini(&read);
}
END_TEST

START_TEST(two_processes_are_merged)
{
    fs_tuning_t first = {.entries = NULL}, second = {.entries = NULL};

    add(&first, entry_of(1, FS_CANDIDATE_STAGED, 10));
    add(&first, entry_of(2, FS_CANDIDATE_STAGED, 20));
    add(&second, entry_of(2, FS_CANDIDATE_NATIVE, 15));
    add(&second, entry_of(3, FS_CANDIDATE_NATIVE, 30));
    ck_assert_int_eq(fs_tuning_save(&first, path, why, WHY), FS_OK);
    ck_assert_int_eq(fs_tuning_save(&second, path, why, WHY), FS_OK);
    ck_assert_int_eq(fs_tuning_load(&tuning, path, why, WHY), FS_OK);
    ck_assert_uint_eq(tuning.n, 3);
    ck_assert_int_eq(tuning.entries[1].choice, FS_CANDIDATE_NATIVE);
    ck_assert_uint_eq(tuning.entries[1].price[FS_CANDIDATE_STAGED], 20);
    ck_assert_uint_eq(tuning.entries[1].n_calls, 20);
    fs_tuning_fini(&first);
    fs_tuning_fini(&second);
}
END_TEST

/* One warning, which names file and line; and the file stays. */
START_TEST(a_foreign_file_stays)
{
    char says[WHY];

    write_file("# a shell script\nrm -rf tmp\n");
    snprintf(says, sizeof(says), "tuning file %s: line 1: no JSON object",
             path);
    ck_assert_int_eq(fs_tuning_load(&tuning, path, why, WHY), FS_ERR_INVAL);
    ck_assert_str_eq(why, says);
    add(&tuning, entry_of(1, FS_CANDIDATE_STAGED, 10));
    ck_assert_int_eq(fs_tuning_save(&tuning, path, why, WHY), FS_ERR_INVAL);
    ck_assert_str_eq(why, says);
    file_is("# a shell script\nrm -rf tmp\n");
}
END_TEST

START_TEST(what_is_no_file)
{
    add(&tuning, entry_of(1, FS_CANDIDATE_STAGED, 10));
    ck_assert_int_eq(fs_tuning_load(&tuning, dir, why, WHY), FS_ERR_NATIVE);
    ck_assert_ptr_nonnull(strstr(why, dir));
    snprintf(path, sizeof(path), "%s/no/such/dir", dir);
    ck_assert_int_eq(fs_tuning_save(&tuning, path, why, WHY), FS_ERR_NATIVE);
    ck_assert_ptr_nonnull(strstr(why, "No such file"));
}
END_TEST

/* root may write everywhere: as somebody else. */
START_TEST(a_directory_that_cannot_be_written)
{
    int   status;
    pid_t child;

    write_file(LINE);
    add(&tuning, entry_of(1, FS_CANDIDATE_STAGED, 10));
    chmod(dir, 0555);
    child = fork();
    if (child == 0) {
        fs_status_t saved;

        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(2);
        }
        saved = fs_tuning_save(&tuning, path, why, WHY);
        _exit(saved != FS_ERR_NATIVE || strstr(why, "denied") == NULL);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    file_is(LINE);
}
END_TEST

START_TEST(a_link_stays_a_link)
{
    struct stat status;
    char        link_name[320];

    write_file(LINE);
    chmod(path, 0640);
    snprintf(link_name, sizeof(link_name), "%s.ln", path);
    ck_assert_int_eq(symlink(path, link_name), 0);
    add(&tuning, entry_of(1, FS_CANDIDATE_STAGED, 10));
    ck_assert_int_eq(fs_tuning_save(&tuning, link_name, why, WHY), FS_OK);
    ck_assert_int_eq(lstat(link_name, &status), 0);
    ck_assert(S_ISLNK(status.st_mode));
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 07777, 0640);
    fs_tuning_fini(&tuning);
    ck_assert_int_eq(fs_tuning_load(&tuning, path, why, WHY), FS_OK);
    ck_assert_uint_eq(tuning.n, 2);
}
END_TEST

enum { WRITERS = 8, ROUNDS = 5 };

static void write_often(uint32_t writer)
{
    for (uint32_t k = 0; k < ROUNDS; ++k) {
        fs_tuning_t mine = {.entries = NULL};

        add(&mine, entry_of(writer * ROUNDS + k, FS_CANDIDATE_NATIVE, 1));
        add(&mine, entry_of(700, FS_CANDIDATE_NATIVE, 1));
        if (fs_tuning_save(&mine, path, why, WHY) != FS_OK) {
            fprintf(stderr, "%s\n", why);
            _exit(1);
        }
        fs_tuning_fini(&mine);
    }
    _exit(0);
}

/* Nothing of what any of them writes is lost. */
START_TEST(writers_at_the_same_time)
{
    for (uint32_t w = 0; w < WRITERS; ++w) {
        if (fork() == 0) {
            write_often(w);
        }
    }
    for (uint32_t w = 0; w < WRITERS; ++w) {
        int status;

        ck_assert_int_gt(wait(&status), 0);
        ck_assert(WIFEXITED(status));
        ck_assert_int_eq(WEXITSTATUS(status), 0);
    }
    ck_assert_int_eq(fs_tuning_load(&tuning, path, why, WHY), FS_OK);
    ck_assert_uint_eq(tuning.n, WRITERS * ROUNDS + 1);
    ck_assert_uint_eq(tuning.entries[tuning.n - 1].n_calls,
                      10 * WRITERS * ROUNDS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tuning");
    TCase *tcase = tcase_create("tuning");

    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, round_trip);
    tcase_add_test(tcase, a_line);
    tcase_add_test(tcase, other_ways_to_write_it);
    tcase_add_loop_test(tcase, broken_lines, 0, N_BAD);
    tcase_add_test(tcase, a_zero_byte);
    tcase_add_test(tcase, other_versions);
    tcase_add_test(tcase, the_newer_counts);
    tcase_add_test(tcase, places_are_apart);
    tcase_add_test(tcase, entries_are_sorted);
    tcase_add_test(tcase, too_many);
    tcase_add_test(tcase, mutations);
    tcase_add_test(tcase, no_file);
    tcase_add_test(tcase, written_and_read);
    tcase_add_test(tcase, two_processes_are_merged);
    tcase_add_test(tcase, a_foreign_file_stays);
    tcase_add_test(tcase, what_is_no_file);
    tcase_add_test(tcase, a_directory_that_cannot_be_written);
    tcase_add_test(tcase, a_link_stays_a_link);
    tcase_add_test(tcase, writers_at_the_same_time);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
