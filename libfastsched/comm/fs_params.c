/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters: one table, read by every wrapper, by the help texts and by
 * the parser. A value that is not exactly what is allowed is refused with a
 * line that says so; nothing is rounded, clipped or cut off.
 */
#include "comm/fs_params.h"

#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "base/fs_value.h"
#include "sched/plan/fs_plan.h"
#include "sched/model/fs_nic_map.h"

#include <stdio.h>
#include <string.h>

/* A word and what it stands for. */
typedef struct word {
    const char *text;
    uint64_t    value;
} word_t;

typedef enum type { WORD, NUMBER, BYTES, MILLI, RATE, TEXT } type_t;

typedef struct row {
    fs_param_info_t info;
    type_t          type;
    size_t          offset; /* in fs_params_t; size follows from type */
    uint64_t        min;
    uint64_t        max;
    const word_t   *words; /* of a WORD, NULL at the end; of others: what may
                              stand there besides, or NULL */
    bool            all_equal;
} row_t;

#define KIB        UINT64_C(1024)
#define GIB        (KIB * KIB * KIB)
#define AT(_field) offsetof(fs_params_t, _field)

/* Rows of a list (fastsched.h) as words, in what is allowed, in a help text. */
#define WORD_ROW(_value, _word, _text)  {#_word, _value},
#define WORD_NAME(_value, _word, _text) ", " #_word
#define WORD_HELP(_value, _word, _text) "; " #_word ": " _text
#define WORDS(...)                      ((const word_t[]){__VA_ARGS__{NULL, 0}})

/* The row of a parameter whose values are a list. */
#define CHOICE(_name, _default, _list, _help, _level, _all_equal)        \
    {                                                                    \
        {#_name, _default, &_list(WORD_NAME)[2], _help _list(WORD_HELP), \
         _level},                                                        \
            WORD, AT(_name), 0, 0, WORDS(_list(WORD_ROW)), _all_equal    \
    }

static const row_t rows[] = {
    {{"algorithm", "auto", "auto" FS_ALG_MAP(WORD_NAME) ", off",
      "What serves MPI_Alltoallv whenever bytes cross servers" FS_ALG_MAP(
          WORD_HELP) "; auto: by size and skew; off: the MPI's own "
                     "algorithm",
      FS_PARAM_USER},
     WORD,
     AT(algorithm),
     0,
     0,
     WORDS({"auto", FS_ALGORITHM_AUTO}, {"off", FS_ALGORITHM_OFF},
           FS_ALG_MAP(WORD_ROW)),
     true},
    {{"verbose", "0", "0 or 1",
      "1: a line per call on rank 0, with the slowest rank's time, and a "
      "summary at the end",
      FS_PARAM_USER},
     NUMBER,
     AT(verbose),
     0,
     1,
     NULL,
     true},
    {{"stats", "0", "0 or 1",
      "1: counters when a communicator is freed: least, mean and most of all "
      "ranks",
      FS_PARAM_USER},
     NUMBER,
     AT(stats),
     0,
     1,
     NULL,
     true},
    {{"trace", "", "a directory, or empty",
      "Directory for a trace of each rank, for Perfetto and for \"fastsched "
      "trace\"; empty: no trace",
      FS_PARAM_USER},
     TEXT,
     AT(trace),
     0,
     FS_TRACE_MAX - 1,
     NULL,
     false},
    {{"check", "0", "0 or 1",
      "1: compare every send count with its receive count before moving data, "
      "and name the pair that disagrees (P x P counts on the network: slow)",
      FS_PARAM_USER},
     NUMBER,
     AT(check),
     0,
     1,
     NULL,
     true},
    {{"servers", "", "4x4, 4+4+2+1, @0,1,0,1 or empty",
      "map of MPI_COMM_WORLD ranks to servers: 4x4 (4 servers of 4 "
      "ranks), 4+4+2+1 (uneven), @0,1,0,1 (server of each rank); empty: ask "
      "the MPI",
      FS_PARAM_USER},
     TEXT,
     AT(servers),
     0,
     FS_SERVERS_MAX - 1,
     NULL,
     true},
    {{"rate", "0", "0 or a rate such as 50mbit, 100gbit",
      "Rate of one NIC, for the lower bound in verbose lines (it assumes a NIC "
      "for each lane); 0: unknown",
      FS_PARAM_USER},
     RATE,
     AT(rate),
     0,
     UINT64_MAX,
     NULL,
     false},
    {{"watchdog", "60", "0 to 86400",
      "Seconds after which a call ends with an error if nothing moves any "
      "more; "
      "before all ranks have entered it that is only a warning; 0: never",
      FS_PARAM_USER},
     NUMBER,
     AT(watchdog),
     0,
     86400,
     NULL,
     true},
    {{"min_bytes", "auto", "auto, or 0 to 1g",
      "Calls with fewer bytes between servers, averaged over the ranks, go to "
      "the MPI's own algorithm; auto: the tuner decides, 64k without it",
      FS_PARAM_TUNER},
     BYTES,
     AT(min_bytes),
     0,
     GIB,
     WORDS({"auto", FS_MIN_BYTES_AUTO}, ),
     true},
    {{"mtm_threshold", "auto", "auto, or 1 to 1000, up to three decimals",
      "Max-to-mean ratio of the ranks' traffic between servers from which a "
      "call counts as skewed (SABRE) and runs staged; auto: the tuner "
      "decides, 2.2 without it",
      FS_PARAM_TUNER},
     MILLI,
     AT(mtm_threshold),
     1000,
     1000000,
     WORDS({"auto", FS_MTM_THRESHOLD_AUTO}, ),
     true},
    {{"lanes", "0", "0 to 4096",
      "Ranks of a server that talk to other servers; 0: one for each NIC that "
      "they use, all of them if their NICs are unknown",
      FS_PARAM_TUNER},
     NUMBER,
     AT(lanes),
     0,
     4096,
     NULL,
     true},
    {{"nics", "0", "0 to 16",
      "NICs of a server; 0: those in UCX_NET_DEVICES, or the fastest that "
      "hwloc "
      "sees (with parameter servers: unknown)",
      FS_PARAM_TUNER},
     NUMBER,
     AT(nics),
     0,
     FS_MAX_NICS,
     NULL,
     true},
    {{"chunk", "64k", "4k to 64m",
      "Bytes of one message between servers, at most", FS_PARAM_TUNER},
     BYTES,
     AT(chunk),
     4 * KIB,
     64 * KIB *KIB,
     NULL,
     true},
    {{"window", "8", "1 to 64",
      "Messages a rank asks one sender for ahead of time", FS_PARAM_TUNER},
     NUMBER,
     AT(window),
     1,
     64,
     NULL,
     true},
    {{"staging_limit", "64m", "64k to 16g, and 12 chunks at least",
      "Bytes of staging memory per rank, at most", FS_PARAM_TUNER},
     BYTES,
     AT(staging_limit),
     64 * KIB,
     16 * GIB,
     NULL,
     true},
    CHOICE(transport, "auto", FS_TRANSPORT_MAP, "What carries the bytes",
           FS_PARAM_TUNER, true),
    {{"tcp_sndbuf", "128k", "4k to 64m",
      "Send buffer of our own TCP connections: about twice the "
      "bandwidth-delay product; more delays the next stage",
      FS_PARAM_TUNER},
     BYTES,
     AT(tcp_sndbuf),
     4 * KIB,
     64 * KIB *KIB,
     NULL,
     false},
    {{"accel", "1", "0 or 1",
      "1: buffers in the memory of an accelerator are recognized, if the "
      "program has loaded CUDA's or HIP's driver",
      FS_PARAM_TUNER},
     NUMBER,
     AT(accel),
     0,
     1,
     NULL,
     false},
    CHOICE(
        accel_direct, "auto", FS_ACCEL_DIRECT_MAP,
        "Whether the network moves such buffers from and to the accelerator's "
        "memory",
        FS_PARAM_TUNER, false),
    {{"accel_fallback", "1", "0 or 1",
      "1: where the network does not, or the MPI cannot, bytes go through "
      "memory of the host; 0: that is an error",
      FS_PARAM_TUNER},
     NUMBER,
     AT(accel_fallback),
     0,
     1,
     NULL,
     false},
    {{"stage_cost", "64k", "0 to 1g",
      "Start-up cost of a message between servers, as the bytes a NIC could "
      "send meanwhile; decides between schedules and algorithms",
      FS_PARAM_TUNER},
     BYTES,
     AT(stage_cost),
     0,
     GIB,
     NULL,
     true},
    {{"calibrate", "1", "0 or 1",
      "1: stage_cost is a first guess, measured in the first calls of a "
      "communicator that has calls of few and of many bytes",
      FS_PARAM_TUNER},
     NUMBER,
     AT(calibrate),
     0,
     1,
     NULL,
     true},
    {{"tuner", "1", "0 or 1",
      "1: the first calls of a class (size and skew) try what may serve it, "
      "the MPI's own algorithm among them, and the fastest serves the "
      "others; for algorithm auto",
      FS_PARAM_TUNER},
     NUMBER,
     AT(tuner),
     0,
     1,
     NULL,
     true},
    {{"tuning", "", "a file, or empty",
      "File with what the tuner has found: read at the start, what is new is "
      "added at the end; empty: none",
      FS_PARAM_TUNER},
     TEXT,
     AT(tuning),
     0,
     FS_TUNING_MAX - 1,
     NULL,
     true},
    {{"skip", "64", "0 to 4096",
      "Calls in a row that go to the MPI's own algorithm unasked, at "
      "most, "
      "when those before them did (a large call among them goes there, too); "
      "for algorithm auto; 0: ask at every call",
      FS_PARAM_TUNER},
     NUMBER,
     AT(skip),
     0,
     4096,
     NULL,
     true},
    {{"plan_cache", "16m", "0 to 16g",
      "Bytes of plans that a rank keeps for calls with the same counts, per "
      "communicator, at most",
      FS_PARAM_TUNER},
     BYTES,
     AT(plan_cache),
     0,
     16 * GIB,
     NULL,
     true},
    CHOICE(decompose, "auto", FS_DECOMPOSE_MAP,
           "How the server matrix becomes a schedule", FS_PARAM_DEVEL, true),
};

enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

/* ---- reading values ---- */

static bool read_word(const char *text, const word_t *words, uint64_t *value_p)
{
    while (words->text != NULL && strcmp(text, words->text) != 0) {
        ++words;
    }
    *value_p = words->value;
    return words->text != NULL;
}

static bool read_value(const row_t *row, const char *text, uint64_t *value_p)
{
    if (row->words != NULL && read_word(text, row->words, value_p)) {
        return true;
    }
    switch (row->type) {
    case WORD:
        return false;
    case NUMBER:
        return fs_value_number(text, value_p) && *value_p >= row->min &&
               *value_p <= row->max;
    case BYTES:
        return fs_value_bytes(text, value_p) && *value_p >= row->min &&
               *value_p <= row->max;
    case MILLI:
        return fs_value_milli(text, value_p) && *value_p >= row->min &&
               *value_p <= row->max;
    case RATE:
        return fs_value_rate(text, value_p);
    case TEXT:
        return strlen(text) <= row->max;
    }
    return false;
}

/* ---- storing them ---- */

static void store(fs_params_t *params, const row_t *row, const char *text,
                  uint64_t value)
{
    void *field = (char *)params + row->offset;

    switch (row->type) {
    case WORD:
    case NUMBER:
    case MILLI:
        *(uint32_t *)field = (uint32_t)value;
        break;
    case BYTES:
    case RATE:
        *(uint64_t *)field = value;
        break;
    case TEXT:
        memset(field, 0, row->max + 1);
        memcpy(field, text, strlen(text));
        break;
    }
}

static size_t size_of(const row_t *row)
{
    switch (row->type) {
    case WORD:
    case NUMBER:
    case MILLI:
        return sizeof(uint32_t);
    case BYTES:
    case RATE:
        return sizeof(uint64_t);
    case TEXT:
        return row->max + 1;
    }
    return 0;
}

const fs_param_info_t *fs_params_info(size_t k)
{
    return k < N_ROWS ? &rows[k].info : NULL;
}

void fs_params_init(fs_params_t *params)
{
    uint64_t value = 0;

    memset(params, 0, sizeof(*params));
    for (size_t k = 0; k < N_ROWS; ++k) {
        read_value(&rows[k], rows[k].info.default_value, &value);
        store(params, &rows[k], rows[k].info.default_value, value);
    }
}

/* Names that were: they go on to work. */
const char *fs_params_alias(size_t k)
{
    static const struct {
        const char *name, *alias;
    } aliases[] = {{"servers", "nodes"}, {"tuner", "guard"}};

    for (size_t a = 0; a < sizeof(aliases) / sizeof(aliases[0]); ++a) {
        if (strcmp(rows[k].info.name, aliases[a].name) == 0) {
            return aliases[a].alias;
        }
    }
    return NULL;
}

static bool is_named(size_t k, const char *name)
{
    const char *alias = fs_params_alias(k);

    return strcmp(rows[k].info.name, name) == 0 ||
           (alias != NULL && strcmp(alias, name) == 0);
}

fs_status_t fs_params_set(fs_params_t *params, const char *name,
                          const char *value, char *why, size_t why_len)
{
    uint64_t number = 0;

    for (size_t k = 0; k < N_ROWS; ++k) {
        if (!is_named(k, name)) {
            continue;
        }
        if (!read_value(&rows[k], value, &number)) {
            snprintf(why, why_len, "%s is \"%s\"; allowed: %s", name, value,
                     rows[k].info.allowed);
            return FS_ERR_INVAL;
        }
        store(params, &rows[k], value, number);
        return FS_OK;
    }
    snprintf(why, why_len, "there is no parameter \"%s\"", name);
    return FS_ERR_INVAL;
}

fs_status_t fs_params_check(const fs_params_t *params, char *why,
                            size_t why_len)
{
    enum { CHUNKS = FS_STAGING_RINGS * FS_STAGING_MIN_SLOTS };

    if (params->staging_limit / params->chunk < CHUNKS) {
        snprintf(why, why_len,
                 "staging_limit is %llu and chunk is %llu bytes; allowed: "
                 "staging_limit of %d chunks at least",
                 (unsigned long long)params->staging_limit,
                 (unsigned long long)params->chunk, CHUNKS);
        return FS_ERR_INVAL;
    }
    return FS_OK;
}

uint64_t fs_params_digest(const fs_params_t *params)
{
    uint64_t digest = N_ROWS;

    for (size_t k = 0; k < N_ROWS; ++k) {
        const unsigned char *field = (const unsigned char *)params +
                                     rows[k].offset;

        for (size_t b = 0; rows[k].all_equal && b < size_of(&rows[k]); ++b) {
            digest = fs_digest_add(digest, field[b]);
        }
    }
    return digest;
}

/* 1048576 is "1m". */
static void write_bytes(uint64_t value, char text[FS_PARAM_TEXT_MAX])
{
    static const char *const units[] = {"", "k", "m", "g"};
    size_t                   k       = 0;

    for (; k < 3 && value != 0 && value % KIB == 0; ++k) {
        value /= KIB;
    }
    snprintf(text, FS_PARAM_TEXT_MAX, "%llu%s", (unsigned long long)value,
             units[k]);
}

static void write_text(const char *value, char text[FS_PARAM_TEXT_MAX])
{
    enum { SHOWN = 32 };
    uint64_t digest = 0;
    size_t   len    = strlen(value);

    if (len < FS_PARAM_TEXT_MAX) {
        memcpy(text, value, len + 1);
        return;
    }
    for (size_t b = 0; b < len; ++b) {
        digest = fs_digest_add(digest, (unsigned char)value[b]);
    }
    snprintf(text, FS_PARAM_TEXT_MAX, "%.*s...%016llx", SHOWN, value,
             (unsigned long long)digest);
}

/* NULL: there is none. */
static const char *find_word(const word_t *words, uint64_t value)
{
    while (words != NULL && words->text != NULL && words->value != value) {
        ++words;
    }
    return words != NULL ? words->text : NULL;
}

/* Of a number. */
static uint64_t load(const row_t *row, const void *field)
{
    return size_of(row) == sizeof(uint32_t)   ? *(const uint32_t *)field
           : size_of(row) == sizeof(uint64_t) ? *(const uint64_t *)field
                                              : 0;
}

void fs_params_text(const fs_params_t *params, size_t k,
                    char text[FS_PARAM_TEXT_MAX])
{
    const row_t *row   = &rows[k];
    const void  *field = (const char *)params + row->offset;
    const char  *word  = find_word(row->words, load(row, field));

    text[0] = '\0';
    if (!row->all_equal) {
        return;
    }
    if (word != NULL) {
        write_text(word, text);
        return;
    }
    switch (row->type) {
    case WORD:
        break; /* all its values have one */
    case NUMBER:
        snprintf(text, FS_PARAM_TEXT_MAX, "%u", *(const uint32_t *)field);
        break;
    case MILLI:
        snprintf(text, FS_PARAM_TEXT_MAX, "%u.%03u",
                 *(const uint32_t *)field / 1000,
                 *(const uint32_t *)field % 1000);
        break;
    case BYTES:
        write_bytes(*(const uint64_t *)field, text);
        break;
    case RATE:
        snprintf(text, FS_PARAM_TEXT_MAX, "%llubit",
                 (unsigned long long)*(const uint64_t *)field);
        break;
    case TEXT:
        write_text(field, text);
        break;
    }
}

void fs_params_explain(const char *name, const char *value_a, uint32_t rank_a,
                       const char *value_b, uint32_t rank_b, char *why,
                       size_t why_len)
{
    snprintf(why, why_len, "%s is \"%s\" on rank %u and \"%s\" on rank %u",
             name, value_a, rank_a, value_b, rank_b);
}

fs_plan_params_t fs_params_plan(const fs_params_t *params)
{
    bool is_auto = params->algorithm == FS_ALGORITHM_AUTO;

    return (fs_plan_params_t){
        .algorithm = is_auto ? FS_ALG_NATIVE : (fs_alg_t)params->algorithm,
        .force_algorithm     = !is_auto,
        .balance             = FS_BALANCE_MINMOVE,
        .decompose           = (fs_decompose_t)params->decompose,
        .mtm_threshold_milli = params->mtm_threshold == FS_MTM_THRESHOLD_AUTO
                                   ? FS_MTM_THRESHOLD_USUAL
                                   : params->mtm_threshold,
        .min_bytes = params->min_bytes == FS_MIN_BYTES_AUTO ? FS_MIN_BYTES_USUAL
                                                            : params->min_bytes,
        .chunk     = params->chunk,
        .window    = params->window,
        .staging_limit = params->staging_limit,
        .stage_cost    = params->stage_cost,
    };
}
