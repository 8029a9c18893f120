/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a directory, by communicator. */
#include "tools/fs_tool.h"
#include "tools/fs_tool_trace_reader.h"
#include "tools/fs_tool_trace_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "fastsched trace 1"

enum { MAX_RANKS = 1 << 16 };

typedef fs_tool_trace_reader_t reader_t;

static void fini(fs_tool_trace_t *trace)
{
    free(trace->clocks);
    free(trace->ranks);
    free(trace->calls);
    free(trace->ops);
    free(trace->grants);
    free(trace->phases);
    free(trace->planned);
}

void fs_tool_traces_fini(fs_tool_traces_t *traces)
{
    for (size_t k = 0; k < traces->n; ++k) {
        fini(&traces->list[k]);
    }
    free(traces->list);
    *traces = (fs_tool_traces_t){NULL, 0};
}

/* ---- whose trace it is ---- */

static fs_tool_trace_t *find_trace(fs_tool_traces_t *traces, const char *id)
{
    fs_tool_trace_t *bigger;

    for (size_t k = 0; k < traces->n; ++k) {
        if (strcmp(traces->list[k].id, id) == 0) {
            return &traces->list[k];
        }
    }
    bigger = realloc(traces->list, (traces->n + 1) * sizeof(*bigger));
    if (bigger == NULL) {
        return NULL;
    }
    traces->list      = bigger;
    bigger[traces->n] = (fs_tool_trace_t){0};
    return &traces->list[traces->n++];
}

/* The first file of a communicator. */
static void start_trace(reader_t *r, const char *id)
{
    fs_tool_trace_t *trace = r->trace;

    snprintf(trace->id, sizeof(trace->id), "%s", id);
    fs_tool_trace_word(r, "comm", trace->comm, sizeof(trace->comm));
    trace->n_ranks = (uint32_t)fs_tool_trace_number(r, "ranks", MAX_RANKS);
    trace->n_servers =
        (uint32_t)fs_tool_trace_number(r, "servers", trace->n_ranks);
    if (r->why == NULL && (trace->n_ranks == 0 || trace->n_servers == 0)) {
        r->why = "ranks";
    }
    trace->ranks  = calloc(trace->n_ranks + 1u, sizeof(*trace->ranks));
    trace->clocks = calloc(trace->n_ranks + 1u, sizeof(*trace->clocks));
    r->no_memory  = trace->ranks == NULL || trace->clocks == NULL;
}

static uint32_t find_clock(reader_t *r)
{
    fs_tool_trace_t *trace = r->trace;
    char             name[64];
    uint32_t         k = 0;

    fs_tool_trace_word(r, "clock", name, sizeof(name));
    if (r->why != NULL) {
        return 0;
    }
    while (k < trace->n_clocks && strcmp(trace->clocks[k].name, name) != 0) {
        ++k;
    }
    if (k == trace->n_clocks) {
        memcpy(trace->clocks[k].name, name, sizeof(name));
        trace->clocks[k].shift =
            fs_tool_trace_number(r, "epoch_ns", UINT64_MAX);
        ++trace->n_clocks;
    }
    return k;
}

static void read_rank(reader_t *r)
{
    fs_tool_trace_rank_t *rank;
    uint64_t              lane = FS_TOOL_NONE;

    r->rank = (uint32_t)fs_tool_trace_number(r, "rank", r->trace->n_ranks - 1);
    if (r->why != NULL) {
        return;
    }
    rank = &r->trace->ranks[r->rank];
    if (rank->there) {
        r->why = "another file has this rank of this communicator";
        return;
    }
    fs_tool_fields_u64(&r->fields, "lane", &lane);
    rank->there = true;
    rank->lane  = lane < FS_TOOL_NONE ? (uint32_t)lane : FS_TOOL_NONE;
    rank->world_rank =
        (uint32_t)fs_tool_trace_number(r, "world_rank", INT32_MAX);
    rank->server =
        (uint32_t)fs_tool_trace_number(r, "server", r->trace->n_servers - 1);
    rank->dropped = fs_tool_trace_number(r, "dropped", UINT64_MAX);
    rank->clock   = find_clock(r);
    fs_tool_fields_text(&r->fields, "process", rank->process,
                        sizeof(rank->process));
    snprintf(rank->path, sizeof(rank->path), "%s", r->path);
    if (r->trace->rate == 0) {
        r->trace->rate = fs_tool_trace_number(r, "rate", UINT64_MAX);
    }
}

static void read_head(reader_t *r, fs_tool_traces_t *traces)
{
    char id[24] = "";

    if (!fs_tool_fields_is(&r->fields, "format", FORMAT)) {
        r->why = "the format is not \"" FORMAT "\"";
        return;
    }
    fs_tool_trace_word(r, "id", id, sizeof(id));
    if (r->why != NULL) {
        return;
    }
    r->trace = find_trace(traces, id);
    if (r->trace == NULL) {
        r->no_memory = true;
    } else if (r->trace->ranks == NULL) {
        start_trace(r, id);
    }
    if (r->why == NULL && !r->no_memory) {
        read_rank(r);
    }
}

/* ---- files ---- */

/* The next piece; END after an error, too. */
static fs_tool_piece_t next_piece(reader_t *r, fs_tool_trace_scan_t *scan)
{
    fs_tool_piece_t piece = fs_tool_trace_scan_next(scan);

    if (piece == FS_TOOL_PIECE_WRONG) {
        r->why       = scan->why;
        r->no_memory = scan->no_memory;
        return FS_TOOL_PIECE_END;
    }
    return piece;
}

static bool parse(reader_t *r, const fs_tool_trace_scan_t *scan)
{
    r->why = fs_tool_fields_read(scan->piece, &r->fields);
    return r->why == NULL;
}

/* Events before the head have to wait for it. */
static void read_pieces(reader_t *r, fs_tool_trace_scan_t *scan,
                        fs_tool_traces_t *traces)
{
    bool            passed = false;
    fs_tool_piece_t piece;

    while ((piece = next_piece(r, scan)) == FS_TOOL_PIECE_EVENT) {
        passed = true;
    }
    if (piece == FS_TOOL_PIECE_HEAD && parse(r, scan)) {
        read_head(r, traces);
    }
    if (passed && r->why == NULL) {
        fs_tool_trace_scan_rewind(scan);
    }
    while (r->why == NULL && !r->no_memory &&
           (piece = next_piece(r, scan)) != FS_TOOL_PIECE_END) {
        if (piece == FS_TOOL_PIECE_EVENT && parse(r, scan)) {
            fs_tool_trace_event(r);
        }
    }
}

static int read_file(const char *path, fs_tool_traces_t *traces)
{
    reader_t             r    = {.path = path};
    FILE                *file = fopen(path, "r");
    fs_tool_trace_scan_t scan;
    int                  rc = FS_TOOL_OK;

    if (file == NULL) {
        return fs_tool_bad("%s: %s", path, strerror(errno));
    }
    fs_tool_trace_scan_init(&scan, file);
    read_pieces(&r, &scan, traces);
    if (r.no_memory) {
        rc = fs_tool_status(path, FS_ERR_NOMEM);
    } else if (r.why != NULL) {
        rc = fs_tool_bad("%s:%" PRIu64 ": %s%s", path, scan.line,
                         strchr(r.why, ' ') == NULL ? "wrong or missing: " : "",
                         r.why);
    }
    fs_tool_trace_scan_fini(&scan);
    fclose(file);
    return rc;
}

static int is_trace(const struct dirent *entry)
{
    return fnmatch("fast-*-rank*.json", entry->d_name, 0) == 0;
}

static int read_all(const char *dir, struct dirent **names, int n,
                    fs_tool_traces_t *traces)
{
    int rc = FS_TOOL_OK;

    for (int k = 0; k < n && rc == FS_TOOL_OK; ++k) {
        char path[512];

        if (snprintf(path, sizeof(path), "%s/%s", dir, names[k]->d_name) >=
            (int)sizeof(path)) {
            rc = fs_tool_bad("%s: the name is too long", dir);
        } else {
            rc = read_file(path, traces);
        }
    }
    return rc;
}

/* ---- processes ---- */

/* A rank of a communicator, and what tells its process from others. */
typedef struct known {
    fs_tool_trace_rank_t *rank;
    const char           *clock;
} known_t;

static int by_process(const void *a, const void *b)
{
    const known_t *x = a, *y = b;
    int            c = strcmp(x->clock, y->clock);

    if (x->rank->world_rank != y->rank->world_rank) {
        return x->rank->world_rank < y->rank->world_rank ? -1 : 1;
    }
    return c != 0 ? c : strcmp(x->rank->process, y->rank->process);
}

static size_t list_known(const fs_tool_traces_t *traces, known_t *list)
{
    size_t n = 0;

    for (size_t k = 0; k < traces->n; ++k) {
        const fs_tool_trace_t *trace = &traces->list[k];

        for (uint32_t r = 0; r < trace->n_ranks; ++r) {
            fs_tool_trace_rank_t *rank = &trace->ranks[r];

            if (list != NULL && rank->there) {
                list[n] = (known_t){rank, trace->clocks[rank->clock].name};
            }
            n += rank->there;
        }
    }
    return n;
}

/* World ranks are those numbers as long as they can: not after
 * MPI_Comm_spawn(), and not if two jobs have written into the directory. */
static int number_processes(const fs_tool_traces_t *traces)
{
    size_t   n    = list_known(traces, NULL);
    known_t *list = malloc((n + 1) * sizeof(*list));
    uint32_t others;

    if (list == NULL) {
        return fs_tool_status("processes", FS_ERR_NOMEM);
    }
    list_known(traces, list);
    qsort(list, n, sizeof(*list), by_process);
    others = list[n - 1].rank->world_rank + 1;
    for (size_t k = 0; k < n; ++k) {
        fs_tool_trace_rank_t *rank = list[k].rank;

        if (k == 0 || rank->world_rank != list[k - 1].rank->world_rank) {
            rank->number = rank->world_rank;
        } else if (by_process(&list[k], &list[k - 1]) == 0) {
            rank->number = list[k - 1].rank->number;
        } else {
            rank->number = others++;
        }
    }
    free(list);
    return FS_TOOL_OK;
}

int fs_tool_traces_read(const char *dir, fs_tool_traces_t *traces)
{
    struct dirent **names = NULL;
    int             n     = scandir(dir, &names, is_trace, alphasort);
    int             rc    = FS_TOOL_OK;

    *traces = (fs_tool_traces_t){NULL, 0};
    if (n < 0) {
        return fs_tool_bad("%s: %s", dir, strerror(errno));
    }
    if (n == 0) {
        rc = fs_tool_bad("%s: no traces in it; they are called "
                         "fast-*-rank*.json",
                         dir);
    } else {
        rc = read_all(dir, names, n, traces);
    }
    if (rc == FS_TOOL_OK) {
        rc = number_processes(traces);
    }
    for (int k = 0; k < n; ++k) {
        free(names[k]);
    }
    free(names);
    if (rc != FS_TOOL_OK) {
        fs_tool_traces_fini(traces);
    }
    return rc;
}
