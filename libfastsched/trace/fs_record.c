/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A row that was written before is a number; of the rows so far the digests are
 * kept, each at a place that follows from it, where it may be replaced by another's.
 * Two rows with the same 64 bits are taken for the same.
 */
#include "trace/fs_record.h"

#include "base/fs_clock.h"
#include "base/fs_digest.h"
#include "base/fs_quote.h"
#include "trace/fs_record_code.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    BLOCK   = 64 * 1024,        /* bytes, written at once */
    PLACES  = 1024,             /* of digests */
    NAME    = 48,               /* of a communicator in a directory's name */
    NUMBERS = 4 * FS_NUMBER_MAX /* of an event, besides its tokens */
};

struct fs_record {
    pthread_mutex_t lock;
    char            path[PATH_MAX]; /* of the file */
    uint32_t        n_ranks;
    uint64_t        limit;
    uint64_t        kept;    /* bytes of all events so far */
    uint64_t        dropped; /* calls for which there was no room */
    uint64_t        last_us; /* of the last event */
    uint32_t        n_rows;
    uint32_t        n_inits;
    struct {
        uint64_t digest;
        uint32_t row; /* one more than its number; 0: none */
    } seen[PLACES];
    char     error[FS_RECORD_WHY]; /* "": none */
    bool     told;
    bool     has_file; /* it has been begun */
    size_t   used;     /* of block */
    uint8_t *block;    /* [BLOCK + an event] */
};

const char *fs_record_function(uint64_t k)
{
#define X(_name) #_name,
    static const char *const names[] = {FS_RECORD_CALL_MAP(X)};
#undef X

    return k < sizeof(names) / sizeof(names[0]) ? names[k] : NULL;
}

/* ---- the file ---- */

static void fail(fs_record_t *record)
{
    snprintf(record->error, sizeof(record->error),
             "the recording stops: %s: %s", record->path, strerror(errno));
}

/* An existing file is that of another communicator with the same 64 random bits:
 * there is none. */
static void flush(fs_record_t *record)
{
    FILE *file = fopen(record->path, record->has_file ? "ab" : "wb");

    if (file == NULL) {
        fail(record);
        return;
    }
    record->has_file = true;
    if (fwrite(record->block, 1, record->used, file) != record->used) {
        fail(record);
    }
    if (fclose(file) != 0 && record->error[0] == '\0') {
        fail(record);
    }
    record->used = 0;
}

static uint64_t now_us(void)
{
    return fs_now_ns() / 1000;
}

/* What people read: one line. A name has no line ends. */
static void put_head(fs_record_t *record, const fs_record_origin_t *origin)
{
    char name[FS_RECORD_NAME];

    fs_quote(origin->comm_name, name, sizeof(name));
    record->used = (size_t)snprintf(
        (char *)record->block, BLOCK,
        FS_RECORD_FORMAT " id=%llx rank=%u ranks=%u world_rank=%u server=%u "
                         "start_us=%llu name=%s\n",
        (unsigned long long)origin->comm_id, origin->rank, origin->n_ranks,
        origin->world_rank, origin->server,
        (unsigned long long)(fs_clock_ns(CLOCK_REALTIME) / 1000), name);
    record->last_us = now_us();
}

/* ---- life ---- */

static bool make_dir(const char *path)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

/* The directory of the communicator: the first of its ranks makes it. False, and
 * errno: it cannot be made. The program may change its directory later. */
static bool make_path(const fs_record_origin_t *origin, char path[PATH_MAX])
{
    char name[NAME];
    int  n, len;

    if (!make_dir(origin->dir) || realpath(origin->dir, path) == NULL) {
        return false;
    }
    n     = (int)strlen(path);
    len   = snprintf(path + n, (size_t)(PATH_MAX - n), "/%s-%llx",
                     fs_quote_file(origin->comm_name, name, sizeof(name)),
                     (unsigned long long)origin->comm_id);
    errno = ENAMETOOLONG;
    n += len;
    if (n >= PATH_MAX || !make_dir(path)) {
        return false;
    }
    len   = snprintf(path + n, (size_t)(PATH_MAX - n), "/rank%u.record",
                     origin->rank);
    errno = ENAMETOOLONG;
    return n + len < PATH_MAX;
}

/* Make the file, with its first line. */
static fs_status_t begin(fs_record_t *record, const fs_record_origin_t *origin,
                         char *why, size_t why_len)
{
    record->n_ranks = origin->n_ranks;
    record->limit   = origin->limit;
    record->block =
        malloc(BLOCK + NUMBERS + (size_t)origin->n_ranks * FS_NUMBER_MAX);
    if (record->block == NULL) {
        snprintf(why, why_len, "no recording: out of memory");
        return FS_ERR_NOMEM;
    }
    if (!make_path(origin, record->path)) {
        snprintf(why, why_len, "no recording: %s: %s", origin->dir,
                 strerror(errno));
        return FS_ERR_NATIVE;
    }
    put_head(record, origin);
    flush(record);
    if (record->error[0] != '\0') {
        snprintf(why, why_len, "%s", record->error);
        return FS_ERR_NATIVE;
    }
    return FS_OK;
}

fs_status_t fs_record_create(const fs_record_origin_t *origin,
                             fs_record_t **record_p, char *why, size_t why_len)
{
    fs_record_t *record = calloc(1, sizeof(*record));
    fs_status_t  status;

    if (record == NULL) {
        snprintf(why, why_len, "no recording: out of memory");
        return FS_ERR_NOMEM;
    }
    pthread_mutex_init(&record->lock, NULL);
    status = begin(record, origin, why, why_len);
    if (status != FS_OK) {
        fs_record_destroy(record);
        return status;
    }
    *record_p = record;
    return FS_OK;
}

void fs_record_destroy(fs_record_t *record)
{
    if (record != NULL) {
        pthread_mutex_destroy(&record->lock);
        free(record->block);
        free(record);
    }
}

/* ---- events; under the lock ---- */

static uint64_t digest_of(const fs_record_t *record, const uint64_t *bytes)
{
    uint64_t digest = 0;

    for (uint32_t r = 0; r < record->n_ranks; ++r) {
        digest = fs_digest_add(digest, bytes[r]);
    }
    return digest;
}

/* Numbers of an event before its row. */
static size_t put_begin(fs_record_t *record, fs_record_event_t event,
                        uint64_t function, uint64_t now)
{
    uint8_t *at  = record->block + record->used;
    size_t   len = fs_number_put(at, function * FS_RECORD_KINDS + event);

    return len + fs_number_put(at + len, now - record->last_us);
}

/* The event of len bytes behind the block counts, or there is no room for it: nor
 * for those after it, so that what is kept has no gaps. */
static bool keep(fs_record_t *record, size_t len, uint64_t now)
{
    if (record->dropped > 0 || record->kept + len > record->limit) {
        ++record->dropped;
        return false;
    }
    record->kept += len;
    record->used += len;
    record->last_us = now;
    if (record->used >= BLOCK) {
        flush(record);
    }
    return true;
}

static void put_row_event(fs_record_t *record, fs_record_event_t event,
                          uint64_t function, const uint64_t *bytes)
{
    uint64_t now    = now_us();
    uint64_t digest = digest_of(record, bytes);
    uint64_t place  = digest % PLACES;
    size_t   len    = put_begin(record, event, function, now);
    uint8_t *at     = record->block + record->used;
    uint32_t row    = record->seen[place].row;

    if (row > 0 && record->seen[place].digest == digest) {
        len += fs_number_put(at + len, record->n_rows - row + 1);
        (void)keep(record, len, now);
        return;
    }
    len += fs_number_put(at + len, 0);
    len += fs_row_put(at + len, record->n_ranks, bytes);
    if (keep(record, len, now)) {
        record->seen[place].digest = digest;
        record->seen[place].row    = ++record->n_rows;
    }
}

static void put_start(fs_record_t *record, uint32_t number)
{
    uint64_t now = now_us();
    size_t   len = put_begin(record, FS_RECORD_START, 0, now);

    len += fs_number_put(record->block + record->used + len, number);
    (void)keep(record, len, now);
}

static void put_end(fs_record_t *record)
{
    record->used += fs_number_put(record->block + record->used, FS_RECORD_END);
    record->used +=
        fs_number_put(record->block + record->used, record->dropped);
}

/* ---- calls ---- */

static bool find_function(const char *name, uint64_t *function_p)
{
    const char *known;

    for (*function_p = 0; (known = fs_record_function(*function_p)) != NULL;
         ++*function_p) {
        if (strcmp(known, name) == 0) {
            return true;
        }
    }
    return false;
}

void fs_record_call(fs_record_t *record, const char *function,
                    const uint64_t *bytes)
{
    uint64_t k;

    if (!find_function(function, &k)) {
        return;
    }
    pthread_mutex_lock(&record->lock);
    if (record->error[0] == '\0') {
        put_row_event(record, FS_RECORD_CALL, k, bytes);
    }
    pthread_mutex_unlock(&record->lock);
}

uint32_t fs_record_init(fs_record_t *record, const char *function,
                        const uint64_t *bytes)
{
    uint32_t number;
    uint64_t k;
    bool     known = find_function(function, &k);

    pthread_mutex_lock(&record->lock);
    number = record->n_inits;
    if (known && record->error[0] == '\0') {
        ++record->n_inits;
        put_row_event(record, FS_RECORD_INIT, k, bytes);
    }
    pthread_mutex_unlock(&record->lock);
    return number;
}

void fs_record_start(fs_record_t *record, uint32_t number)
{
    pthread_mutex_lock(&record->lock);
    if (record->error[0] == '\0') {
        put_start(record, number);
    }
    pthread_mutex_unlock(&record->lock);
}

static const char *tell(fs_record_t *record)
{
    if (record->error[0] == '\0' || record->told) {
        return NULL;
    }
    record->told = true;
    return record->error;
}

const char *fs_record_failure(fs_record_t *record)
{
    const char *why;

    pthread_mutex_lock(&record->lock);
    why = tell(record);
    pthread_mutex_unlock(&record->lock);
    return why;
}

const char *fs_record_finish(fs_record_t *record)
{
    const char *why;

    pthread_mutex_lock(&record->lock);
    if (record->error[0] == '\0') {
        put_end(record);
        flush(record);
    }
    why = tell(record);
    pthread_mutex_unlock(&record->lock);
    return why;
}
