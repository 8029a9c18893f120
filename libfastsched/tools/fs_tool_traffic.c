/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options to an exchange: a P x P matrix of bytes, a topology, the summary.
 *
 * A matrix from a file may be that of the ranks (P x P) or that of the servers
 * (N x N), see fs_pattern_spread(). As --matrix it is as it stands; as --pattern
 * file:PATH it is scaled if --mean is given.
 */
#include "tools/fs_tool_traffic.h"

#include "base/fs_arith.h"
#include "base/fs_value.h"
#include "sched/model/fs_pattern.h"
#include "tools/fs_tool_progress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WHY_LEN = 512, MAX_LANES = 4096 };

static const uint64_t usual_mean = 1 << 20;

void fs_tool_traffic_options(fs_tool_traffic_args_t *args,
                             fs_tool_options_t      *options)
{
    const fs_tool_option_t rows[] = {
        {FS_TOOL_TITLE, .name = "Traffic"},
        {FS_TOOL_TEXT, "matrix", "FILE",
         "bytes to send, a row for each sender; CSV or\n"
         "white space; - is standard input. Of servers\n"
         "(N x N) or of ranks (P x P, P = N * M)",
         .value = &args->matrix},
        {FS_TOOL_TEXT, "pattern", "NAME",
         "draw the matrix: balanced, random, zipf:S,\n"
         "lognormal:SIGMA, hotspot:K, intrahost, moe,\n"
         "moe:SIGMA, pencil, adversarial or sparse:K; or\n"
         "the file of a matrix, file:PATH, scaled to\n"
         "--mean if that is given",
         .value = &args->pattern},
        {FS_TOOL_TEXT, "servers", "SPEC",
         "number of servers (rows of the matrix), or\n"
         "4x8 (servers x ranks), 4+4+2+1 (ranks of each\n"
         "server) or @0,1,0,1 (server of each rank)",
         .value = &args->servers},
        {FS_TOOL_U32, "lanes", "M",
         "with a number of servers: ranks of a server,\n"
         "each with its own lane (1); with ranks: lanes\n"
         "of a server, at most",
         .value = &args->lanes, 1, MAX_LANES},
        {FS_TOOL_TEXT, "nodes", "SPEC", "old name of --servers",
         .value = &args->servers},
        {FS_TOOL_U64, "seed", "S", "seed of the pattern (",
         .value = &args->seed, 0, UINT64_MAX},
        {FS_TOOL_BYTES, "mean", "BYTES",
         "average of the pattern over all pairs of\n"
         "ranks; 64k is 64KiB, 65536; 64KB is 64000 (1m)",
         .value = &args->mean, 0, UINT64_C(1) << 62},
    };

    *args = (fs_tool_traffic_args_t){.seed = 1, .mean = FS_TOOL_NO_MEAN};
    FS_TOOL_ADD(options, rows);
}

/* ---- the cluster ---- */

/* Ranks that a well-formed description has; fs_topo_parse() says whether it is
 * one. */
static uint64_t count_ranks(const char *text)
{
    uint64_t    n = 0, value = 0;
    const char *times = strchr(text, 'x');

    if (text[0] == '@') {
        for (n = 1; *text != '\0'; ++text) {
            n += *text == ',';
        }
        return n;
    }
    if (times != NULL) {
        return strtoul(text, NULL, 10) * strtoul(times + 1, NULL, 10);
    }
    for (; *text != '\0'; ++text) {
        value = *text == '+' ? 0 : value * 10 + (uint64_t)(*text - '0');
        n += text[1] == '+' || text[1] == '\0' ? value : 0;
    }
    return n;
}

static void allocate(fs_tool_traffic_t *traffic, uint64_t n_ranks,
                     uint32_t max_ranks)
{
    if (n_ranks > max_ranks) {
        fs_tool_bad("%" PRIu64 " ranks are too many; allowed: up to %" PRIu32,
                    n_ranks, max_ranks);
    }
    traffic->n_ranks   = (uint32_t)n_ranks;
    traffic->server_of = fs_tool_calloc(n_ranks, sizeof(uint32_t));
}

static void parse_servers(const char *spec, uint32_t max_ranks,
                          fs_tool_traffic_t *traffic)
{
    char why[WHY_LEN];

    allocate(traffic, count_ranks(spec), max_ranks);
    if (fs_topo_parse(spec, traffic->n_ranks, traffic->server_of, why,
                      sizeof(why)) != FS_OK) {
        fs_tool_bad("--servers %s", why);
    }
}

/* 0: not given. */
static uint32_t count_servers(const char *servers)
{
    uint64_t n = 0;

    if (servers != NULL &&
        (!fs_value_number(servers, &n) || n == 0 || n > FS_TOOL_MAX_RANKS)) {
        fs_tool_bad("--servers \"%s\": allowed: 1 to %u, or ranks: 4x8, "
                    "4+4+2+1 or @0,1,0,1",
                    fs_tool_quote(servers), (unsigned)FS_TOOL_MAX_RANKS);
    }
    return (uint32_t)n;
}

/* n_rows: of the matrix; 0 if a pattern is to be drawn. */
static void even_servers(const fs_tool_traffic_args_t *args, uint32_t n_rows,
                         uint32_t max_ranks, fs_tool_traffic_t *traffic)
{
    uint32_t lanes   = args->lanes == 0 ? 1 : args->lanes;
    uint32_t servers = count_servers(args->servers);

    if (servers == 0 && n_rows == 0) {
        fs_tool_bad("%s needs --servers",
                    args->pattern == NULL ? "an exchange" : "--pattern");
    }
    if (servers == 0 && lanes > 1) {
        fs_tool_bad("--lanes %u needs --servers N: the %u rows of the matrix "
                    "may be servers or ranks",
                    lanes, n_rows);
    }
    allocate(traffic, (uint64_t)lanes * (servers == 0 ? n_rows : servers),
             max_ranks);
    for (uint32_t r = 0; r < traffic->n_ranks; ++r) {
        traffic->server_of[r] = r / lanes;
    }
}

/* Does --servers say how many ranks there are, too? */
static bool lists_ranks(const fs_tool_traffic_args_t *args)
{
    return args->servers != NULL && strpbrk(args->servers, "x+@") != NULL;
}

static void make_topo(const fs_tool_traffic_args_t *args, uint32_t n_rows,
                      uint32_t max_ranks, fs_tool_traffic_t *traffic)
{
    bool lists = lists_ranks(args);

    if (lists) {
        parse_servers(args->servers, max_ranks, traffic);
    } else {
        even_servers(args, n_rows, max_ranks, traffic);
    }
    fs_tool_must(fs_topo_create(traffic->n_ranks, traffic->server_of,
                                lists ? args->lanes : 0, &traffic->topo),
                 "servers");
}

/* ---- pairs ---- */

static uint64_t file_size(FILE *file)
{
    struct stat status;

    return fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode)
               ? (uint64_t)status.st_size
               : 0;
}

/* "-" is standard input. In messages the file is called name. */
static void read_matrix(const char *path, const char *name,
                        fs_matrix_t *matrix_p)
{
    FILE             *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    fs_matrix_error_t error;
    fs_status_t       status;

    if (file == NULL) {
        fs_tool_bad("%s: %s", name, strerror(errno));
    }
    fs_tool_progress_begin("reading the matrix", file_size(file));
    status = fs_matrix_read(file, fs_tool_progress_at, matrix_p, &error);
    if (status == FS_ERR_NATIVE) {
        fs_tool_bad("%s: %s", name, strerror(errno));
    }
    if (status == FS_ERR_INVAL) {
        fs_tool_bad("%s:%" PRIu64 ":%" PRIu64 ": %s", name, error.line,
                    error.column, error.why);
    }
    fs_tool_must(status, name);
    fs_tool_progress_end();
    if (file != stdin) {
        fclose(file);
    }
}

static void use_matrix(const char *name, fs_matrix_t *matrix,
                       fs_tool_traffic_t *traffic)
{
    size_t all = traffic->n_ranks;
    char   why[WHY_LEN];

    if (matrix->n == traffic->n_ranks) {
        traffic->pairs = matrix->bytes; /* now ours */
        return;
    }
    traffic->pairs = fs_tool_calloc(all * all, sizeof(uint64_t));
    if (fs_pattern_spread(traffic->topo, matrix->n, matrix->bytes,
                          traffic->pairs, why, sizeof(why)) != FS_OK) {
        fs_tool_bad("%s:1:1: %s", name, why);
    }
    free(matrix->bytes);
}

/* A sum of a pattern above 2^62 is the user's error. */
static void must_fit(fs_status_t status, const char *what)
{
    if (status == FS_ERR_OVERFLOW) {
        fs_tool_bad("--mean: the sum over all pairs of ranks exceeds 2^62 "
                    "bytes; allowed: less");
    }
    fs_tool_must(status, what);
}

uint64_t fs_tool_traffic_mean(const fs_tool_traffic_args_t *args,
                              uint32_t                      n_ranks)
{
    uint64_t mean = args->mean == FS_TOOL_NO_MEAN ? usual_mean : args->mean;
    uint64_t sum;
    bool     fits = fs_u64_mul((uint64_t)n_ranks * n_ranks, mean, &sum) &&
                sum <= UINT64_C(1) << 62;

    must_fit(fits ? FS_OK : FS_ERR_OVERFLOW, "--mean");
    return mean;
}

static void draw_pattern(const fs_tool_traffic_args_t *args,
                         const fs_pattern_t           *pattern,
                         fs_tool_traffic_t            *traffic)
{
    size_t n = traffic->n_ranks;

    traffic->pairs = fs_tool_calloc(n * n, sizeof(uint64_t));
    fs_tool_progress_begin("drawing the pattern", 0);
    must_fit(fs_pattern_fill(pattern, traffic->n_ranks, traffic->server_of,
                             fs_tool_traffic_mean(args, traffic->n_ranks),
                             args->seed, traffic->pairs),
             "--pattern");
    fs_tool_progress_end();
}

/* ---- summary ---- */

/* Add up one row; sent is what leaves the server of src. */
static void add_row(fs_tool_traffic_t *traffic, uint32_t src,
                    uint64_t *received)
{
    const fs_topo_t *topo = traffic->topo;
    uint32_t         u = fs_topo_server(topo, src), n = traffic->n_ranks;
    uint64_t        *to_server = traffic->summary.bytes +
                          (size_t)u * traffic->summary.n_servers;
    uint64_t sent = 0;

    for (uint32_t dst = 0; dst < n; ++dst) {
        uint64_t bytes = traffic->pairs[(size_t)src * n + dst];
        uint32_t w     = fs_topo_server(topo, dst);

        to_server[w] += bytes;
        if (w != u) {
            sent += bytes;
            received[dst] += bytes;
        }
    }
    traffic->summary.max_inter = fs_u64_max(traffic->summary.max_inter, sent);
}

/* The sum of all pairs fits in 64 bits: a matrix file's is at most 2^62, and
 * patterns see to it. So no sum here can overflow. */
static void sum_up(fs_tool_traffic_t *traffic)
{
    fs_traffic_t *summary  = &traffic->summary;
    uint64_t     *received = fs_tool_calloc(traffic->n_ranks, sizeof(uint64_t));

    summary->n_servers = fs_topo_n_servers(traffic->topo);
    summary->bytes = fs_tool_calloc(summary->n_servers, summary->n_servers * 8);
    for (uint32_t r = 0; r < traffic->n_ranks; ++r) {
        add_row(traffic, r, received);
    }
    for (uint32_t r = 0; r < traffic->n_ranks; ++r) {
        summary->max_inter = fs_u64_max(summary->max_inter, received[r]);
    }
    free(received);
    must_fit(fs_traffic_sum(summary), "traffic");
}

/* ---- all of it ---- */

/* mean: FS_TOOL_NO_MEAN, as it stands. */
static void from_matrix(const fs_tool_traffic_args_t *args, const char *path,
                        uint64_t mean, fs_tool_traffic_t *traffic)
{
    bool        is_stdin = strcmp(path, "-") == 0;
    fs_matrix_t matrix;
    fs_status_t status = FS_OK;
    char        name[WHY_LEN];

    snprintf(name, sizeof(name), "%s",
             is_stdin ? "standard input" : fs_tool_quote(path));
    read_matrix(path, name, &matrix);
    make_topo(args, matrix.n, FS_TOOL_MAX_RANKS, traffic);
    use_matrix(name, &matrix, traffic);
    if (mean != FS_TOOL_NO_MEAN) {
        status = fs_pattern_scale(traffic->n_ranks, mean, traffic->pairs);
    }
    if (status == FS_ERR_INVAL) {
        fs_tool_bad("%s:1:1: the matrix is all zero; --mean needs one that is "
                    "not",
                    name);
    }
    must_fit(status, name);
}

static void from_pattern(const fs_tool_traffic_args_t *args,
                         fs_tool_traffic_t            *traffic)
{
    const char  *path = fs_pattern_path(args->pattern);
    fs_pattern_t pattern;
    char         why[WHY_LEN];

    if (path != NULL) {
        from_matrix(args, path, args->mean, traffic);
        return;
    }
    if (fs_pattern_parse(args->pattern, &pattern, why, sizeof(why)) != FS_OK) {
        fs_tool_bad("--pattern %s; or file:PATH", why);
    }
    make_topo(args, 0, FS_TOOL_MAX_RANKS, traffic);
    draw_pattern(args, &pattern, traffic);
}

const char *fs_tool_traffic_path(const fs_tool_traffic_args_t *args)
{
    return args->matrix != NULL    ? args->matrix
           : args->pattern != NULL ? fs_pattern_path(args->pattern)
                                   : NULL;
}

void fs_tool_traffic_make(const fs_tool_traffic_args_t *args,
                          fs_tool_traffic_t            *traffic)
{
    *traffic = (fs_tool_traffic_t){0};
    if ((args->matrix != NULL) == (args->pattern != NULL)) {
        fs_tool_bad("%s; allowed: --matrix FILE or --pattern NAME",
                    args->matrix == NULL ? "no traffic is given"
                                         : "both kinds of traffic are given");
    }
    if (args->matrix != NULL) {
        from_matrix(args, args->matrix, FS_TOOL_NO_MEAN, traffic);
    } else {
        from_pattern(args, traffic);
    }
    sum_up(traffic);
}

void fs_tool_traffic_servers(const fs_tool_traffic_args_t *args,
                             uint32_t max_ranks, fs_tool_traffic_t *traffic)
{
    *traffic = (fs_tool_traffic_t){0};
    make_topo(args, 0, max_ranks, traffic);
}

/* A number of servers has the program's ranks in equal parts. */
static fs_tool_traffic_args_t spread(const fs_tool_traffic_args_t *args,
                                     uint32_t                      n_world)
{
    fs_tool_traffic_args_t spread = *args;
    uint32_t servers = lists_ranks(args) ? 0 : count_servers(args->servers);

    if (servers > 0 && args->lanes == 0) {
        spread.lanes = n_world / servers + (n_world % servers != 0);
    }
    return spread;
}

void fs_tool_traffic_place(const fs_tool_traffic_args_t *args, uint32_t n_world,
                           uint32_t n_ranks, const uint32_t *places,
                           fs_tool_traffic_t *traffic)
{
    fs_tool_traffic_args_t spread_args = spread(args, n_world);
    fs_tool_traffic_t      world       = {.n_ranks = 0};
    bool                   lists = args->servers == NULL || lists_ranks(args);

    *traffic = (fs_tool_traffic_t){0};
    allocate(traffic, n_ranks, FS_TOOL_MAX_RANKS);
    if (args->servers != NULL) {
        make_topo(&spread_args, 0, FS_TOOL_MAX_RANKS, &world);
    }
    if (args->servers != NULL && world.n_ranks < n_world) {
        fs_tool_bad("--servers \"%s\" has %u ranks, and the recorded program "
                    "had %u; allowed: at least as many",
                    fs_tool_quote(args->servers), world.n_ranks, n_world);
    }
    for (uint32_t k = 0; k < n_ranks; ++k) {
        traffic->server_of[k] =
            args->servers != NULL ? world.server_of[places[k]] : places[k];
    }
    fs_tool_must(fs_topo_create(n_ranks, traffic->server_of,
                                lists ? args->lanes : 0, &traffic->topo),
                 "servers");
    fs_topo_destroy(world.topo);
    free(world.server_of);
}

void fs_tool_traffic_replace(fs_tool_traffic_t *traffic, uint64_t *pairs)
{
    free(traffic->pairs);
    free(traffic->summary.bytes);
    traffic->pairs   = pairs;
    traffic->summary = (fs_traffic_t){0};
    sum_up(traffic);
}

void fs_tool_traffic_fini(fs_tool_traffic_t *traffic)
{
    fs_topo_destroy(traffic->topo);
    free(traffic->server_of);
    free(traffic->pairs);
    free(traffic->summary.bytes);
}

void fs_tool_traffic_local(const fs_tool_traffic_t *traffic, uint32_t server,
                           fs_local_traffic_t *local_p)
{
    const fs_topo_t *topo    = traffic->topo;
    uint32_t         n_local = fs_topo_n_local(topo, server);
    size_t           n       = traffic->n_ranks;
    uint64_t        *send    = fs_tool_calloc(2 * n_local * n, sizeof(*send));

    for (uint32_t i = 0; i < n_local; ++i) {
        uint32_t  me  = fs_topo_rank(topo, server, i);
        uint64_t *row = send + i * n, *column = row + n_local * n;

        memcpy(row, traffic->pairs + me * n, n * sizeof(*row));
        for (size_t r = 0; r < n; ++r) {
            column[r] = traffic->pairs[r * n + me];
        }
    }
    *local_p = (fs_local_traffic_t){send, send + n_local * n, true, true};
}
