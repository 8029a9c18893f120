/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters: exactly what is allowed is read, exactly as it was meant; all
 * else is refused with a line that helps. */
#include "comm/fs_params.h"
#include "fs_test_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)

typedef struct field {
    const char *name;
    size_t      offset;
    size_t      bytes; /* more than 8: text */
} field_t;

#define FIELD(_name)                             \
    {                                            \
#_name, offsetof(fs_params_t, _name),    \
            sizeof(((fs_params_t *)NULL)->_name) \
    }

/* In the order of the manual. */
static const field_t fields[] = {
    FIELD(algorithm),       FIELD(nonblocking),    FIELD(frames),
    FIELD(early),           FIELD(allreduce),      FIELD(straggler),
    FIELD(progress_thread), FIELD(verbose),        FIELD(stats),
    FIELD(trace),           FIELD(record),         FIELD(record_limit),
    FIELD(check),           FIELD(servers),        FIELD(rate),
    FIELD(watchdog),        FIELD(min_bytes),      FIELD(allreduce_min),
    FIELD(mtm_threshold),   FIELD(lanes),          FIELD(nics),
    FIELD(chunk),           FIELD(window),         FIELD(staging_limit),
    FIELD(transport),       FIELD(tcp_sndbuf),     FIELD(accel),
    FIELD(accel_direct),    FIELD(accel_fallback), FIELD(stage_cost),
    FIELD(calibrate),       FIELD(tuner),          FIELD(tuning),
    FIELD(bundle_memory),   FIELD(plan_cache),     FIELD(decompose),
};
#define N_FIELDS ((int)(sizeof(fields) / sizeof(fields[0])))

static const field_t *field_of(const char *name)
{
    int k = 0;

    while (k < N_FIELDS && strcmp(fields[k].name, name) != 0) {
        ++k;
    }
    ck_assert_msg(k < N_FIELDS, "%s", name);
    return &fields[k];
}

static uint64_t get(const fs_params_t *params, const char *name)
{
    const field_t *field = field_of(name);
    const char    *at    = (const char *)params + field->offset;
    uint64_t       wide;
    uint32_t       narrow;

    if (field->bytes == sizeof(narrow)) {
        memcpy(&narrow, at, sizeof(narrow));
        return narrow;
    }
    ck_assert_uint_eq(field->bytes, sizeof(wide));
    memcpy(&wide, at, sizeof(wide));
    return wide;
}

static const fs_param_info_t *info_of(const char *name)
{
    const fs_param_info_t *info;
    size_t                 k = 0;

    while ((info = fs_params_info(k++)) != NULL) {
        if (strcmp(info->name, name) == 0) {
            return info;
        }
    }
    ck_abort_msg("no row for %s", name);
    return NULL;
}

static void set(fs_params_t *params, const char *name, const char *value)
{
    char why[400] = "";

    ck_assert_msg(fs_params_set(params, name, value, why, sizeof(why)) == FS_OK,
                  "%s", why);
    ck_assert_str_eq(why, "");
}

/* ---- the table ---- */

START_TEST(rows_are_in_order)
{
    for (int k = 0; k < N_FIELDS; ++k) {
        const fs_param_info_t *info = fs_params_info((size_t)k);

        ck_assert_ptr_nonnull(info);
        ck_assert_str_eq(info->name, fields[k].name);
        ck_assert_ptr_nonnull(info->default_value);
        ck_assert(info->allowed != NULL && info->allowed[0] != '\0');
        ck_assert(info->help != NULL && info->help[0] != '\0');
        /* users first, then tuners, then us */
        ck_assert(k == 0 ||
                  fs_params_info((size_t)k - 1)->level <= info->level);
    }
    ck_assert_ptr_null(fs_params_info(N_FIELDS));
    ck_assert_ptr_null(fs_params_info(N_FIELDS + 1));
    ck_assert_ptr_null(fs_params_info(SIZE_MAX));
}
END_TEST

/* What help texts print as the default is what the default is. */
START_TEST(defaults_parse)
{
    const char *name = fields[_i].name;
    fs_params_t once, again;

    memset(&once, 0xff, sizeof(once));
    fs_params_init(&once);
    fs_params_init(&again);
    set(&again, name, info_of(name)->default_value);
    ck_assert(memcmp(&once, &again, sizeof(once)) == 0);
}
END_TEST

START_TEST(defaults_fit_together)
{
    char        why[400] = "";
    fs_params_t params;

    fs_params_init(&params);
    ck_assert_int_eq(fs_params_check(&params, why, sizeof(why)), FS_OK);
    ck_assert_str_eq(why, "");
}
END_TEST

START_TEST(defaults_by_hand)
{
    fs_params_t params;

    fs_params_init(&params);
    ck_assert_uint_eq(params.algorithm, FS_ALGORITHM_AUTO);
    ck_assert_uint_eq(params.nonblocking, 1);
    ck_assert_uint_eq(params.frames, 8);
    ck_assert_uint_eq(params.early, FS_EARLY_AUTO);
    ck_assert_uint_eq(params.allreduce, FS_ALLREDUCE_OFF);
    ck_assert_uint_eq(params.straggler, FS_STRAGGLER_AUTO);
    ck_assert_uint_eq(params.allreduce_min, 1 << 20);
    ck_assert_str_eq(params.progress_thread, "off");
    ck_assert_uint_eq(params.mtm_threshold, FS_MTM_THRESHOLD_AUTO);
    ck_assert_uint_eq(params.min_bytes, FS_MIN_BYTES_AUTO);
    ck_assert_uint_eq(params.lanes, 0);
    ck_assert_uint_eq(params.nics, 0);
    ck_assert_str_eq(params.servers, "");
    ck_assert_uint_eq(params.chunk, 64 * KIB);
    ck_assert_uint_eq(params.window, 8);
    ck_assert_uint_eq(params.staging_limit, 64 * MIB);
    ck_assert_uint_eq(params.transport, FS_TRANSPORT_AUTO);
    ck_assert_uint_eq(params.decompose, FS_DECOMPOSE_AUTO);
    ck_assert_uint_eq(params.stage_cost, 64 * KIB);
    ck_assert_uint_eq(params.calibrate, 1);
    ck_assert_uint_eq(params.tuner, 1);
    ck_assert_uint_eq(params.bundle_memory, 1 << 20);
    ck_assert_uint_eq(params.plan_cache, 16 * MIB);
    ck_assert_uint_eq(params.check, 0);
    ck_assert_uint_eq(params.verbose, 0);
    ck_assert_uint_eq(params.stats, 0);
    ck_assert_str_eq(params.trace, "");
    ck_assert_str_eq(params.record, "");
    ck_assert_uint_eq(params.record_limit, 4 * MIB);
    ck_assert_uint_eq(params.rate, 0);
    ck_assert_uint_eq(params.watchdog, 60);
    ck_assert_uint_eq(params.tcp_sndbuf, 128 * KIB);
}
END_TEST

/* ---- good values ---- */

static const struct {
    const char *name, *value;
    uint64_t    stored;
} good[] = {
    {"algorithm", "auto", FS_ALGORITHM_AUTO},
    {"algorithm", "staged", FS_ALG_STAGED},
    {"algorithm", "pipe2d", FS_ALG_PIPE2D},
    {"algorithm", "direct", FS_ALG_DIRECT},
    {"algorithm", "off", FS_ALGORITHM_OFF},
    {"allreduce", "off", FS_ALLREDUCE_OFF},
    {"allreduce", "exact", FS_ALLREDUCE_EXACT},
    {"allreduce", "all", FS_ALLREDUCE_ALL},
    {"straggler", "auto", FS_STRAGGLER_AUTO},
    {"straggler", "none", FS_STRAGGLER_NONE},
    {"straggler", "0", 0},
    {"straggler", "4095", 4095},
    {"allreduce_min", "1", 1},
    {"allreduce_min", "16g", 16 * GIB},
    {"transport", "auto", FS_TRANSPORT_AUTO},
    {"transport", "ucx", FS_TRANSPORT_UCX},
    {"transport", "mpi", FS_TRANSPORT_MPI},
    {"decompose", "auto", FS_DECOMPOSE_AUTO},
    {"decompose", "compact", FS_DECOMPOSE_COMPACT},
    {"decompose", "openshop", FS_DECOMPOSE_OPENSHOP},
    {"decompose", "birkhoff", FS_DECOMPOSE_BIRKHOFF},
    {"stage_cost", "0", 0},
    {"stage_cost", "1500", 1500},
    {"stage_cost", "1g", GIB},
    {"calibrate", "0", 0},
    {"calibrate", "1", 1},
    {"tuner", "0", 0},
    {"tuner", "1", 1},
    {"bundle_memory", "0", 0},
    {"bundle_memory", "1g", 1 << 30},
    {"plan_cache", "0", 0},
    {"plan_cache", "16g", 16 * GIB},
    {"verbose", "0", 0},
    {"verbose", "1", 1},
    {"verbose", "001", 1},
    {"stats", "0", 0},
    {"stats", "1", 1},
    {"record_limit", "4k", 4 * KIB},
    {"record_limit", "1g", GIB},
    {"check", "0", 0},
    {"check", "1", 1},
    {"lanes", "0", 0},
    {"lanes", "1", 1},
    {"lanes", "4096", 4096},
    {"nics", "0", 0},
    {"nics", "16", 16},
    {"window", "1", 1},
    {"window", "64", 64},
    {"watchdog", "0", 0},
    {"watchdog", "86400", 86400},
    {"rate", "0", 0},
    {"rate", "0bit", 0},
    {"rate", "1bit", 1},
    {"rate", "56kbit", 56000},
    {"rate", "50mbit", 50000000},
    {"rate", "100gbit", UINT64_C(100000000000)},
    {"rate", "18446744073709551615bit", UINT64_MAX},
    {"rate", "18446744073gbit", UINT64_C(18446744073000000000)},
    {"min_bytes", "auto", FS_MIN_BYTES_AUTO},
    {"min_bytes", "0", 0},
    {"min_bytes", "1", 1},
    {"min_bytes", "1k", KIB},
    {"min_bytes", "3K", 3 * KIB},
    {"min_bytes", "5m", 5 * MIB},
    {"min_bytes", "5M", 5 * MIB},
    {"min_bytes", "1g", GIB},
    {"min_bytes", "1G", GIB},
    {"min_bytes", "1073741824", GIB},
    {"min_bytes", "0g", 0},
    {"chunk", "4k", 4 * KIB},
    {"chunk", "4096", 4096},
    {"chunk", "4097", 4097},
    {"chunk", "64m", 64 * MIB},
    {"staging_limit", "64k", 64 * KIB},
    {"staging_limit", "16g", 16 * GIB},
    {"staging_limit", "17179869184", 16 * GIB},
    {"tcp_sndbuf", "4k", 4 * KIB},
    {"tcp_sndbuf", "64m", 64 * MIB},
    {"mtm_threshold", "auto", FS_MTM_THRESHOLD_AUTO},
    {"mtm_threshold", "1", 1000},
    {"mtm_threshold", "1.0", 1000},
    {"mtm_threshold", "1.000", 1000},
    {"mtm_threshold", "2.2", 2200},
    {"mtm_threshold", "2.25", 2250},
    {"mtm_threshold", "2.025", 2025},
    {"mtm_threshold", "2.002", 2002},
    {"mtm_threshold", "999.999", 999999},
    {"mtm_threshold", "1000", 1000000},
    {"mtm_threshold", "1000.000", 1000000},
};
#define N_GOOD ((int)(sizeof(good) / sizeof(good[0])))

/* The value is stored, and nothing but the value. */
START_TEST(good_values)
{
    const field_t *field = field_of(good[_i].name);
    fs_params_t    params, other;

    fs_params_init(&other);
    fs_params_init(&params);
    set(&params, good[_i].name, good[_i].value);
    ck_assert_msg(get(&params, good[_i].name) == good[_i].stored,
                  "%s=%s is %llu", good[_i].name, good[_i].value,
                  (unsigned long long)get(&params, good[_i].name));
    memcpy((char *)&other + field->offset, (char *)&params + field->offset,
           field->bytes);
    ck_assert(memcmp(&params, &other, sizeof(params)) == 0);
}
END_TEST

START_TEST(texts_are_kept)
{
    static char longest[FS_SERVERS_MAX];
    fs_params_t params, short_one;

    memset(longest, '1', sizeof(longest) - 1);
    fs_params_init(&params);
    set(&params, "servers", "4+4+2+1");
    ck_assert_str_eq(params.servers, "4+4+2+1");
    set(&params, "servers", longest);
    ck_assert_str_eq(params.servers, longest);
    /* Nothing of the long text stays behind: the digest sees all of it. */
    set(&params, "servers", "4x4");
    fs_params_init(&short_one);
    set(&short_one, "servers", "4x4");
    ck_assert(memcmp(&params, &short_one, sizeof(params)) == 0);
    set(&params, "servers", "");
    ck_assert_str_eq(params.servers, "");
}
END_TEST

/* ---- bad values ---- */

static const struct {
    const char *name, *value;
} bad[] = {
    {"algorithm", ""},
    {"algorithm", "Auto"},
    {"algorithm", "stage"},
    {"algorithm", "stagedd"},
    {"algorithm", "native"},
    {"algorithm", "1"},
    {"algorithm", " auto"},
    {"algorithm", "auto,off"},
    {"transport", ""},
    {"transport", "tcp"},
    {"transport", "UCX"},
    {"stage_cost", ""},
    {"stage_cost", "1025m"},
    {"stage_cost", "-1"},
    {"calibrate", "2"},
    {"tuner", "2"},
    {"tuner", "auto"},
    {"bundle_memory", "2g"},
    {"bundle_memory", "-1"},
    {"plan_cache", "17g"},
    {"plan_cache", "none"},
    {"decompose", ""},
    {"decompose", "bvn"},
    {"decompose", "hierarchical"}, /* the command has it, and the next */
    {"decompose", "spreadout"},
    {"nonblocking", "2"},
    {"frames", "0"},
    {"frames", "65"},
    {"early", "yes"},
    {"allreduce", "on"},
    {"allreduce", "1"},
    {"straggler", "4096"},
    {"straggler", "-1"},
    {"straggler", ""},
    {"allreduce_min", "0"},
    {"allreduce_min", "17g"},
    {"progress_thread", ""},
    {"progress_thread", "yes"},
    {"progress_thread", "1,"},
    {"progress_thread", "3-1"},
    {"progress_thread", "1-"},
    {"progress_thread", "9999"},
    {"progress_thread", "-1"},
    {"verbose", ""},
    {"verbose", "2"},
    {"verbose", "10"},
    {"verbose", "-1"},
    {"verbose", "+1"},
    {"verbose", "1 "},
    {"verbose", " 1"},
    {"verbose", "0x1"},
    {"verbose", "1k"},
    {"verbose", "1.0"},
    {"verbose", "4294967296"},
    {"verbose", "18446744073709551617"},
    {"stats", "2"},
    {"stats", "yes"},
    {"stats", ""},
    {"record_limit", "4095"},
    {"record_limit", "1073741825"},
    {"record_limit", ""},
    {"check", "2"},
    {"check", "true"},
    {"check", ""},
    {"lanes", "4097"},
    {"nics", "17"},
    {"nics", "-1"},
    {"nics", "mlx5_0"},
    {"lanes", "-1"},
    {"lanes", ""},
    {"lanes", "all"},
    {"lanes", "4294967297"},
    {"window", "0"},
    {"window", "65"},
    {"window", ""},
    {"window", "4294967300"},
    {"watchdog", "86401"},
    {"watchdog", "1m"},
    {"rate", ""},
    {"rate", "100"},
    {"rate", "gbit"},
    {"rate", "100 gbit"},
    {"rate", "100Gbit"},
    {"rate", "100gbits"},
    {"rate", "100g"},
    {"rate", "1.5bit"},
    {"rate", "-1gbit"},
    {"rate", "18446744074gbit"},
    {"rate", "18446744073709551616bit"},
    {"min_bytes", ""},
    {"min_bytes", "Auto"},
    {"min_bytes", "auto "},
    {"min_bytes", "k"},
    {"min_bytes", "1kb"},
    {"min_bytes", "1kk"},
    {"min_bytes", "1 k"},
    {"min_bytes", "1t"},
    {"min_bytes", "1.5k"},
    {"min_bytes", "-1"},
    {"min_bytes", "1073741825"},
    {"min_bytes", "2g"},
    {"min_bytes", "1025m"},
    {"min_bytes", "18446744073709551616"},
    {"min_bytes", "17179869184g"}, /* 2^64: must not become 0 */
    {"min_bytes", "17179869185g"},
    {"min_bytes", "1\x4b\x4b"},
    {"min_bytes", "1\x0b"},
    {"min_bytes", "1\xeb"},
    {"chunk", "4095"},
    {"chunk", "0"},
    {"chunk", "3k"},
    {"chunk", "65m"},
    {"chunk", "67108865"},
    {"chunk", ""},
    {"staging_limit", "63k"},
    {"staging_limit", "65535"},
    {"staging_limit", "17g"},
    {"staging_limit", "17179869185"},
    {"staging_limit", "0"},
    {"staging_limit", "lots"},
    {"tcp_sndbuf", "4095"},
    {"tcp_sndbuf", "0"},
    {"tcp_sndbuf", "67108865"},
    {"tcp_sndbuf", "auto"},
    {"mtm_threshold", ""},
    {"mtm_threshold", "aut"},
    {"mtm_threshold", "0"},
    {"mtm_threshold", "0.999"},
    {"mtm_threshold", "1000.001"},
    {"mtm_threshold", "1001"},
    {"mtm_threshold", ".5"},
    {"mtm_threshold", "2.2222"},
    {"mtm_threshold", "2,2"},
    {"mtm_threshold", "2.2x"},
    {"mtm_threshold", "2.2.2"},
    {"mtm_threshold", "-2"},
    {"mtm_threshold", "2 "},
    {"mtm_threshold", "1e3"},
    {"mtm_threshold", "nan"},
    {"mtm_threshold", "18446744073709552.616"}, /* times 1000: 2^64 + 1000 */
};
#define N_BAD ((int)(sizeof(bad) / sizeof(bad[0])))

static void check_refused(const char *name, const char *value)
{
    static char why[2 * FS_SERVERS_MAX], line[2 * FS_SERVERS_MAX];
    fs_params_t params, before;

    fs_params_init(&params);
    before = params;
    why[0] = '\0';
    ck_assert_msg(fs_params_set(&params, name, value, why, sizeof(why)) ==
                      FS_ERR_INVAL,
                  "%s=\"%s\" was taken", name, value);
    snprintf(line, sizeof(line), "%s is \"%s\"; allowed: %s", name, value,
             info_of(name)->allowed);
    ck_assert_str_eq(why, line);
    ck_assert(memcmp(&params, &before, sizeof(params)) == 0);
}

START_TEST(bad_values)
{
    check_refused(bad[_i].name, bad[_i].value);
}
END_TEST

/* One character more than there is room for: refused, not cut off. */
START_TEST(too_long_a_text)
{
    static char text[FS_SERVERS_MAX + 1];

    memset(text, '1', FS_SERVERS_MAX);
    check_refused("servers", text);
}
END_TEST

START_TEST(unknown_names)
{
    static const char *const names[] = {"",         "chun",   "chunks",
                                        "Chunk",    "chunk ", "fast_chunk",
                                        "alltoall", "balance"};

    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); ++k) {
        char        why[400] = "", quoted[40];
        fs_params_t params, before;

        fs_params_init(&params);
        before = params;
        ck_assert_int_eq(fs_params_set(&params, names[k], "64k", why, 400),
                         FS_ERR_INVAL);
        snprintf(quoted, sizeof(quoted), "\"%s\"", names[k]);
        ck_assert_msg(strstr(why, quoted) != NULL, "%s", why);
        ck_assert_msg(strstr(why, "unknown parameter") != NULL, "%s", why);
        ck_assert(memcmp(&params, &before, sizeof(params)) == 0);
    }
}
END_TEST

START_TEST(short_buffers_hold)
{
    fs_params_t params;
    char        why[32];

    fs_params_init(&params);
    memset(why, '#', sizeof(why));
    ck_assert_int_eq(fs_params_set(&params, "window", "0", why, 12),
                     FS_ERR_INVAL);
    ck_assert_str_eq(why, "window is \"");
    ck_assert(why[12] == '#');
}
END_TEST

/* ---- parameters together ---- */

static const struct {
    const char *chunk, *limit;
    fs_status_t status;
} pairs[] = {
    {"64k", "768k", FS_OK}, /* 12 chunks */
    {"64k", "786431", FS_ERR_INVAL},
    {"64k", "64k", FS_ERR_INVAL},
    {"4k", "64k", FS_OK},
    {"4k", "48k", FS_OK},
    {"64m", "768m", FS_OK},
    {"64m", "767m", FS_ERR_INVAL},
    {"65535", "786420", FS_OK},
    {"65535", "786419", FS_ERR_INVAL},
    {"64m", "16g", FS_OK},
};
#define N_PAIRS ((int)(sizeof(pairs) / sizeof(pairs[0])))

START_TEST(staging_holds_12_chunks)
{
    char        why[400] = "", number[40];
    fs_params_t params;

    fs_params_init(&params);
    set(&params, "chunk", pairs[_i].chunk);
    if (strcmp(pairs[_i].limit, "48k") == 0) {
        params.staging_limit = 48 * KIB; /* below what set() lets through */
    } else {
        set(&params, "staging_limit", pairs[_i].limit);
    }
    ck_assert_int_eq(fs_params_check(&params, why, sizeof(why)),
                     pairs[_i].status);
    ck_assert((why[0] == '\0') == (pairs[_i].status == FS_OK));
    if (pairs[_i].status != FS_OK) {
        snprintf(number, sizeof(number), "staging_limit is %llu",
                 (unsigned long long)params.staging_limit);
        ck_assert_msg(strstr(why, number) != NULL, "%s", why);
        snprintf(number, sizeof(number), "chunk is %llu",
                 (unsigned long long)params.chunk);
        ck_assert_msg(strstr(why, number) != NULL, "%s", why);
        ck_assert_msg(strstr(why, "allowed: ") != NULL, "%s", why);
        ck_assert_msg(strstr(why, "12 chunks") != NULL, "%s", why);
    }
}
END_TEST

/* ---- the digest ---- */

static const struct {
    const char *name;
    bool        all_equal;
    const char *other; /* not the default */
} digested[] = {
    {"algorithm", true, "off"},
    {"nonblocking", true, "0"},
    {"frames", true, "1"},
    {"early", true, "off"},
    {"allreduce", true, "exact"},
    {"straggler", true, "none"},
    {"progress_thread", true, "1"},
    {"verbose", true, "1"},
    {"stats", true, "1"},
    {"trace", false, "/tmp/t"},
    {"record", false, "/tmp/r"},
    {"record_limit", false, "1m"},
    {"check", true, "1"},
    {"servers", true, "4x4"},
    {"rate", false, "100gbit"},
    {"watchdog", true, "1"},
    {"min_bytes", true, "65537"},
    {"allreduce_min", true, "65537"},
    {"mtm_threshold", true, "2.201"},
    {"lanes", true, "1"},
    {"nics", true, "1"},
    {"chunk", true, "65537"},
    {"window", true, "5"},
    {"staging_limit", true, "16g"},
    {"transport", true, "ucx"},
    {"tcp_sndbuf", false, "65537"},
    {"accel", false, "0"},
    {"accel_direct", false, "always"},
    {"accel_fallback", true, "0"},
    {"stage_cost", true, "0"},
    {"calibrate", true, "0"},
    {"tuner", true, "0"},
    {"tuning", true, "/tmp/t"},
    {"bundle_memory", true, "1"},
    {"plan_cache", true, "0"},
    {"decompose", true, "openshop"},
};

/* Ranks may differ in what they print, in nothing else. */
START_TEST(digest_sees_what_must_be_equal)
{
    fs_params_t params, other;

    ck_assert_str_eq(digested[_i].name, fields[_i].name); /* none forgotten */
    fs_params_init(&params);
    fs_params_init(&other);
    ck_assert(fs_params_digest(&params) == fs_params_digest(&other));
    set(&other, digested[_i].name, digested[_i].other);
    ck_assert_int_eq(fs_params_digest(&params) != fs_params_digest(&other),
                     digested[_i].all_equal);
    set(&other, digested[_i].name, info_of(digested[_i].name)->default_value);
    ck_assert(fs_params_digest(&params) == fs_params_digest(&other));
}
END_TEST

/* Every byte of a field counts, or none. */
START_TEST(changed_bits_show)
{
    const field_t *field = &fields[_i];
    fs_params_t    params;
    uint64_t       digest;

    fs_params_init(&params);
    digest = fs_params_digest(&params);
    for (size_t b = 0; b<field->bytes; b += field->bytes> 8 ? 97 : 1) {
        unsigned char *at = (unsigned char *)&params + field->offset + b;

        *at ^= 0x40;
        ck_assert_msg((fs_params_digest(&params) != digest) ==
                          digested[_i].all_equal,
                      "byte %zu of %s", b, field->name);
        *at ^= 0x40;
    }
}
END_TEST

/* Two fields that exchange their values are not the same. */
START_TEST(digest_knows_which_field)
{
    fs_params_t a, b;

    fs_params_init(&a);
    fs_params_init(&b);
    set(&a, "chunk", "64k");
    set(&a, "min_bytes", "128k");
    set(&b, "chunk", "128k");
    set(&b, "min_bytes", "64k");
    ck_assert(fs_params_digest(&a) != fs_params_digest(&b));
}
END_TEST

/* ---- what the planner gets ---- */

START_TEST(plan_params)
{
    fs_params_t      params;
    fs_plan_params_t plan;

    fs_params_init(&params);
    ck_assert(!fs_params_plan(&params).force_algorithm);
    ck_assert_uint_eq(fs_params_plan(&params).mtm_threshold_milli, 2200);
    ck_assert_uint_eq(fs_params_plan(&params).min_bytes, 64 * KIB);
    set(&params, "algorithm", "off");
    plan = fs_params_plan(&params);
    ck_assert(plan.force_algorithm && plan.algorithm == FS_ALG_NATIVE);
    set(&params, "algorithm", "staged");
    set(&params, "mtm_threshold", "3.125");
    set(&params, "min_bytes", "11");
    set(&params, "chunk", "5000");
    set(&params, "window", "7");
    set(&params, "staging_limit", "5g");
    set(&params, "stage_cost", "3k");
    plan = fs_params_plan(&params);
    ck_assert(plan.force_algorithm && plan.algorithm == FS_ALG_STAGED);
    ck_assert_int_eq(plan.balance, FS_BALANCE_MINMOVE);
    ck_assert_int_eq(plan.decompose, FS_DECOMPOSE_AUTO);
    ck_assert_uint_eq(plan.mtm_threshold_milli, 3125);
    ck_assert_uint_eq(plan.min_bytes, 11);
    ck_assert_uint_eq(plan.chunk, 5000);
    ck_assert_uint_eq(plan.window, 7);
    ck_assert_uint_eq(plan.staging_limit, 5 * GIB);
    ck_assert_uint_eq(plan.stage_cost, 3 * KIB);
}
END_TEST

/* The words users type are the names that lines and files print. */
START_TEST(words_are_names)
{
    fs_params_t params;

    fs_params_init(&params);
    for (uint32_t alg = FS_ALG_NATIVE + 1; alg <= FS_ALG_BUNDLES; ++alg) {
        set(&params, "algorithm", fs_alg_name(alg));
        ck_assert_uint_eq(params.algorithm, alg);
        ck_assert_int_eq(fs_params_plan(&params).algorithm,
                         alg == FS_ALG_BUNDLES ? FS_ALG_NATIVE : alg);
    }
    for (uint32_t how = 0; how < FS_N_DECOMPOSITIONS; ++how) {
        set(&params, "decompose", fs_decompose_name(how));
        ck_assert_int_eq(fs_params_plan(&params).decompose, how);
    }
}
END_TEST

/* Names that were go on to work, and mean the same. */
START_TEST(old_names_work)
{
    static const char *const pairs[][3] = {{"nodes", "servers", "4x4"},
                                           {"guard", "tuner", "0"}};
    fs_params_t              old, new;
    size_t                   n_aliases = 0;
    char                     why[256];

    fs_params_init(&old);
    fs_params_init(&new);
    for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); ++k) {
        ck_assert_int_eq(
            fs_params_set(&old, pairs[k][0], pairs[k][2], why, sizeof(why)),
            FS_OK);
        set(&new, pairs[k][1], pairs[k][2]);
    }
    ck_assert_uint_eq(fs_params_digest(&old), fs_params_digest(&new));
    for (size_t k = 0; fs_params_info(k) != NULL; ++k) {
        n_aliases += fs_params_alias(k) != NULL;
    }
    ck_assert_uint_eq(n_aliases, sizeof(pairs) / sizeof(pairs[0]));
}
END_TEST

START_TEST(some_may_change)
{
    static const char *const names[] = {"algorithm", "verbose", "tuner"};
    size_t                   n       = 0;

    for (size_t k = 0; fs_params_info(k) != NULL; ++k) {
        if (fs_params_may_change(k)) {
            ck_assert_uint_lt(n, 3);
            ck_assert_str_eq(fs_params_info(k)->name, names[n++]);
        }
    }
    ck_assert_uint_eq(n, 3);
}
END_TEST

static void add_digest(Suite *suite)
{
    TCase *tcase = tcase_create("digest");

    tcase_add_loop_test(tcase, digest_sees_what_must_be_equal, 0, N_FIELDS);
    tcase_add_loop_test(tcase, changed_bits_show, 0, N_FIELDS);
    tcase_add_test(tcase, digest_knows_which_field);
    tcase_add_test(tcase, old_names_work);
    tcase_add_test(tcase, some_may_change);
    suite_add_tcase(suite, tcase);
}

/* A value that is the same on all ranks has a text, which means this value. */
START_TEST(text_says_the_default)
{
    fs_params_t params, again;
    char        text[FS_PARAM_TEXT_MAX];

    fs_params_init(&params);
    fs_params_text(&params, (size_t)_i, text);
    if (text[0] != '\0') {
        fs_params_init(&again);
        set(&again, fields[_i].name, text);
        ck_assert_uint_eq(fs_params_digest(&again), fs_params_digest(&params));
    }
}
END_TEST

/* One of each type, with a value that is not the default. */
static const char *const others[][2] = {
    {"algorithm", "staged"}, {"progress_thread", "on"},    {"check", "1"},
    {"servers", "4x4"},      {"mtm_threshold", "2.5"},     {"lanes", "3"},
    {"chunk", "12345"},      {"staging_limit", "6000000"}, {"stage_cost", "3k"},
};
#define N_OTHERS ((int)(sizeof(others) / sizeof(others[0])))

/* Likewise, and the default has another. */
START_TEST(text_says_the_value)
{
    fs_params_t params, again;
    size_t      k = 0;
    char        text[FS_PARAM_TEXT_MAX], usual[FS_PARAM_TEXT_MAX];

    while (strcmp(fs_params_info(k)->name, others[_i][0]) != 0) {
        ++k;
    }
    fs_params_init(&params);
    fs_params_text(&params, k, usual);
    set(&params, others[_i][0], others[_i][1]);
    fs_params_text(&params, k, text);
    ck_assert_str_ne(text, usual);
    fs_params_init(&again);
    set(&again, others[_i][0], text);
    ck_assert_uint_eq(fs_params_digest(&again), fs_params_digest(&params));
    set(&again, others[_i][0], usual);
    fs_params_text(&again, k, text);
    ck_assert_str_eq(text, usual);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("params");
    TCase *tcase = tcase_create("values");

    tcase_add_test(tcase, rows_are_in_order);
    tcase_add_loop_test(tcase, defaults_parse, 0, N_FIELDS);
    tcase_add_test(tcase, defaults_fit_together);
    tcase_add_test(tcase, defaults_by_hand);
    tcase_add_loop_test(tcase, good_values, 0, N_GOOD);
    tcase_add_test(tcase, texts_are_kept);
    tcase_add_loop_test(tcase, bad_values, 0, N_BAD);
    tcase_add_test(tcase, too_long_a_text);
    tcase_add_test(tcase, unknown_names);
    tcase_add_test(tcase, short_buffers_hold);
    tcase_add_loop_test(tcase, staging_holds_12_chunks, 0, N_PAIRS);
    tcase_add_test(tcase, plan_params);
    tcase_add_test(tcase, words_are_names);
    tcase_add_loop_test(tcase, text_says_the_default, 0, N_FIELDS);
    tcase_add_loop_test(tcase, text_says_the_value, 0, N_OTHERS);
    suite_add_tcase(suite, tcase);
    add_digest(suite);
    return fs_test_run(suite);
}
