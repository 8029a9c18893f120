/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/fs_recording.h"

#include "base/fs_grow.h"
#include "trace/fs_recording_calls.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line about what is going on. */
typedef struct reader {
    char  *why;
    size_t why_len;
} reader_t;

static fs_status_t native(const reader_t *r, const char *path)
{
    snprintf(r->why, r->why_len, "%s: %s", path, strerror(errno));
    return FS_ERR_NATIVE;
}

/* False: it would be longer than any. */
static bool join(char path[PATH_MAX], const char *dir, const char *name)
{
    return snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX;
}

/* ---- one rank ---- */

/* The whole file; the caller's. */
static fs_status_t load(const reader_t *r, const char *path, void **data_p,
                        size_t *len_p)
{
    FILE  *file = fopen(path, "rb");
    size_t max = 0, n = 0, got;
    char  *data = NULL, *bigger;

    if (file == NULL) {
        return native(r, path);
    }
    do {
        bigger = fs_grow(data, n, &max, SIZE_MAX, 1);
        if (bigger == NULL) {
            break;
        }
        data = bigger;
        got  = fread(data + n, 1, max - n, file);
        n += got;
    } while (got > 0);
    *data_p = data;
    *len_p  = n;
    if (bigger == NULL || ferror(file)) {
        fclose(file);
        return bigger == NULL ? FS_ERR_NOMEM : native(r, path);
    }
    fclose(file);
    return FS_OK;
}

/* Is the file of rank k one of this communicator? */
static bool belongs(const fs_recording_t *c, const fs_record_file_t *file,
                    uint32_t k)
{
    return file->rank == k && (k == 0 || (file->id == c->ranks[0].id &&
                                          file->n_ranks == c->n_ranks));
}

static fs_status_t read_rank(const reader_t *r, fs_recording_t *c,
                             const char *dir, uint32_t k)
{
    char        path[PATH_MAX], name[32], why[256];
    size_t      len = 0;
    fs_status_t status;

    snprintf(name, sizeof(name), "rank%u.record", k);
    errno  = ENAMETOOLONG;
    status = join(path, dir, name) ? load(r, path, &c->files[k], &len)
                                   : native(r, dir);
    if (status != FS_OK) {
        return status;
    }
    status =
        fs_record_file_parse(&c->ranks[k], c->files[k], len, why, sizeof(why));
    if (status == FS_OK && !belongs(c, &c->ranks[k], k)) {
        snprintf(why, sizeof(why), "line 1: not rank %u of this communicator",
                 k);
        status = FS_ERR_INVAL;
    }
    if (status == FS_ERR_INVAL) {
        snprintf(r->why, r->why_len, "%s: %s", path, why);
    }
    return status;
}

/* ---- one communicator ---- */

static bool make_room(fs_recording_t *c, uint32_t n)
{
    void            **files = realloc(c->files, n * sizeof(*files));
    fs_record_file_t *ranks;

    c->files = files != NULL ? files : c->files;
    ranks    = realloc(c->ranks, n * sizeof(*ranks));
    c->ranks = ranks != NULL ? ranks : c->ranks;
    if (files == NULL || ranks == NULL) {
        return false;
    }
    memset(files + c->n_ranks, 0, (n - c->n_ranks) * sizeof(*files));
    memset(ranks + c->n_ranks, 0, (n - c->n_ranks) * sizeof(*ranks));
    c->n_ranks = n;
    return true;
}

/* How many ranks there are is in the file of the first. */
static fs_status_t read_comm(const reader_t *r, fs_recording_t *c,
                             const char *dir)
{
    fs_status_t status = FS_ERR_NOMEM;

    if (make_room(c, 1)) {
        status = read_rank(r, c, dir, 0);
    }
    if (status == FS_OK && !make_room(c, c->ranks[0].n_ranks)) {
        status = FS_ERR_NOMEM;
    }
    for (uint32_t k = 1; k < c->n_ranks && status == FS_OK; ++k) {
        status = read_rank(r, c, dir, k);
    }
    if (status == FS_OK) {
        c->id  = c->ranks[0].id;
        status = fs_recording_merge(c, r->why, r->why_len);
    }
    return status;
}

static void comm_fini(fs_recording_t *c)
{
    for (uint32_t k = 0; k < c->n_ranks; ++k) {
        fs_record_file_fini(&c->ranks[k]);
        free(c->files[k]);
    }
    free(c->ranks);
    free(c->files);
    free(c->calls);
    free(c->rows);
}

void fs_recording_matrix(const fs_recording_t *c, uint32_t matrix,
                         uint64_t *bytes)
{
    size_t n = c->n_ranks;

    for (size_t k = 0; k < n; ++k) {
        fs_record_file_row(&c->ranks[k], c->rows[matrix * n + k],
                           bytes + k * n);
    }
}

/* ---- all of them ---- */

static bool is_comm(const char *dir)
{
    char path[PATH_MAX];

    return join(path, dir, "rank0.record") && access(path, F_OK) == 0;
}

static fs_status_t add_comm(const reader_t *r, fs_recordings_t *all,
                            size_t *max, const char *dir)
{
    fs_recording_t *grown = fs_grow(all->all, all->n, max,
                                    SIZE_MAX / sizeof(*grown), sizeof(*grown));

    if (grown == NULL) {
        return FS_ERR_NOMEM;
    }
    all->all      = grown;
    grown[all->n] = (fs_recording_t){.n_ranks = 0};
    return read_comm(r, &grown[all->n++], dir);
}

static fs_status_t add_comms(const reader_t *r, fs_recordings_t *all,
                             size_t *max, const char *dir)
{
    DIR           *list   = opendir(dir);
    fs_status_t    status = FS_OK;
    struct dirent *entry;
    char           path[PATH_MAX];

    if (list == NULL) {
        return native(r, dir);
    }
    while (status == FS_OK && (entry = readdir(list)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0 &&
            join(path, dir, entry->d_name) && is_comm(path)) {
            status = add_comm(r, all, max, path);
        }
    }
    closedir(list);
    return status;
}

static int by_start(const void *left, const void *right)
{
    const fs_record_file_t *a = ((const fs_recording_t *)left)->ranks;
    const fs_record_file_t *b = ((const fs_recording_t *)right)->ranks;

    if (a->start_us != b->start_us) {
        return a->start_us < b->start_us ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

fs_status_t fs_recordings_read(fs_recordings_t *all, const char *dir, char *why,
                               size_t why_len)
{
    reader_t    r   = {why, why_len};
    size_t      max = 0;
    fs_status_t status;

    *all = (fs_recordings_t){.n = 0};
    snprintf(why, why_len, "%s: out of memory", dir);
    status = is_comm(dir) ? add_comm(&r, all, &max, dir)
                          : add_comms(&r, all, &max, dir);
    if (status == FS_OK && all->n == 0) {
        snprintf(why, why_len,
                 "%s: there is no recording; expected: the directory that "
                 "parameter record named",
                 dir);
        return FS_ERR_INVAL;
    }
    if (status == FS_OK) {
        qsort(all->all, all->n, sizeof(*all->all), by_start);
    }
    return status;
}

void fs_recordings_fini(fs_recordings_t *all)
{
    for (size_t k = 0; k < all->n; ++k) {
        comm_fini(&all->all[k]);
    }
    free(all->all);
}
