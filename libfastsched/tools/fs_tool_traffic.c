/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options to an exchange: a P x P matrix of bytes, a topology, the summary.
 *
 * A matrix from a file may be that of the ranks (P x P) or that of the servers
 * (N x N). The latter is spread evenly over the pairs of ranks of its two
 * servers; bytes that do not divide go to the first pairs, one each.
 */
#include "tools/fs_tool_traffic.h"

#include "base/fs_arith.h"
#include "base/fs_value.h"
#include "sched/model/fs_pattern.h"
#include "tools/fs_tool_progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_LEN = 512, MAX_LANES = 4096 };

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
         "pencil, adversarial or sparse:K",
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
         "ranks; suffixes k, m, g and t (",
         .value = &args->mean, 0, UINT64_C(1) << 62},
    };

    *args = (fs_tool_traffic_args_t){.seed = 1, .mean = 1 << 20};
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

static void allocate(fs_tool_traffic_t *traffic, uint64_t n_ranks)
{
    if (n_ranks > FS_TOOL_MAX_RANKS) {
        fs_tool_bad("%" PRIu64 " ranks are too many; allowed: up to %d",
                    n_ranks, FS_TOOL_MAX_RANKS);
    }
    traffic->n_ranks   = (uint32_t)n_ranks;
    traffic->server_of = fs_tool_calloc(n_ranks, sizeof(uint32_t));
}

static void parse_servers(const char *spec, fs_tool_traffic_t *traffic)
{
    char why[WHY_LEN];

    allocate(traffic, count_ranks(spec));
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
                         fs_tool_traffic_t *traffic)
{
    uint32_t lanes   = args->lanes == 0 ? 1 : args->lanes;
    uint32_t servers = count_servers(args->servers);

    if (servers == 0 && n_rows == 0) {
        fs_tool_bad("--pattern needs --servers");
    }
    if (servers == 0 && lanes > 1) {
        fs_tool_bad("--lanes %u needs --servers N: the %u rows of the matrix "
                    "may be servers or ranks",
                    lanes, n_rows);
    }
    allocate(traffic, (uint64_t)lanes * (servers == 0 ? n_rows : servers));
    for (uint32_t r = 0; r < traffic->n_ranks; ++r) {
        traffic->server_of[r] = r / lanes;
    }
}

static void make_topo(const fs_tool_traffic_args_t *args, uint32_t n_rows,
                      fs_tool_traffic_t *traffic)
{
    bool lists = args->servers != NULL && strpbrk(args->servers, "x+@") != NULL;

    if (lists) {
        parse_servers(args->servers, traffic);
    } else {
        even_servers(args, n_rows, traffic);
    }
    fs_tool_must(fs_topo_create(traffic->n_ranks, traffic->server_of,
                                lists ? args->lanes : 0, &traffic->topo),
                 "servers");
}

uint32_t fs_tool_tile_lanes(const fs_topo_t *topo, uint32_t u, uint32_t w)
{
    return fs_u32_min(fs_topo_n_lanes(topo, u), fs_topo_n_lanes(topo, w));
}

/* ---- pairs ---- */

/* The bytes from server u to server w over all pairs of their ranks. */
static void spread_tile(fs_tool_traffic_t *traffic, uint32_t u, uint32_t w,
                        uint64_t bytes)
{
    const fs_topo_t *topo = traffic->topo;
    uint32_t         rows = fs_topo_n_local(topo, u),
             columns      = fs_topo_n_local(topo, w);
    uint64_t n            = (uint64_t)rows * columns;
    uint64_t each = bytes / n, more = bytes % n;

    for (uint32_t i = 0; i < rows; ++i) {
        size_t row = (size_t)fs_topo_rank(topo, u, i) * traffic->n_ranks;

        for (uint32_t j = 0; j < columns; ++j) {
            traffic->pairs[row + fs_topo_rank(topo, w, j)] =
                each + ((uint64_t)i * columns + j < more);
        }
    }
}

static void use_matrix(const char *name, fs_tool_matrix_t *matrix,
                       fs_tool_traffic_t *traffic)
{
    uint32_t n   = fs_topo_n_servers(traffic->topo);
    size_t   all = traffic->n_ranks;

    if (matrix->n == traffic->n_ranks) {
        traffic->pairs = matrix->bytes; /* now ours */
        return;
    }
    if (matrix->n != n && n == traffic->n_ranks) {
        fs_tool_bad("%s:1:1: the matrix is %u x %u; allowed: %u x %u", name,
                    matrix->n, matrix->n, n, n);
    }
    if (matrix->n != n) {
        fs_tool_bad("%s:1:1: the matrix is %u x %u; allowed: %u x %u "
                    "(servers) or %u x %u (ranks)",
                    name, matrix->n, matrix->n, n, n, traffic->n_ranks,
                    traffic->n_ranks);
    }
    traffic->pairs = fs_tool_calloc(all * all, sizeof(uint64_t));
    for (uint32_t u = 0; u < n; ++u) {
        for (uint32_t w = 0; w < n; ++w) {
            spread_tile(traffic, u, w, matrix->bytes[(size_t)u * n + w]);
        }
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

static void draw_pattern(const fs_tool_traffic_args_t *args,
                         const fs_pattern_t           *pattern,
                         fs_tool_traffic_t            *traffic)
{
    size_t n = traffic->n_ranks;

    traffic->pairs = fs_tool_calloc(n * n, sizeof(uint64_t));
    fs_tool_progress_begin("drawing the pattern", 0);
    must_fit(fs_pattern_fill(pattern, traffic->n_ranks, traffic->server_of,
                             args->mean, args->seed, traffic->pairs),
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

static void from_matrix(const fs_tool_traffic_args_t *args,
                        fs_tool_traffic_t            *traffic)
{
    bool             is_stdin = strcmp(args->matrix, "-") == 0;
    fs_tool_matrix_t matrix;
    char             name[WHY_LEN];

    snprintf(name, sizeof(name), "%s",
             is_stdin ? "standard input" : fs_tool_quote(args->matrix));
    fs_tool_matrix_file(args->matrix, name, &matrix);
    make_topo(args, matrix.n, traffic);
    use_matrix(name, &matrix, traffic);
}

static void from_pattern(const fs_tool_traffic_args_t *args,
                         fs_tool_traffic_t            *traffic)
{
    fs_pattern_t pattern;
    char         why[WHY_LEN];

    if (fs_pattern_parse(args->pattern, &pattern, why, sizeof(why)) != FS_OK) {
        fs_tool_bad("--pattern %s", why);
    }
    make_topo(args, 0, traffic);
    draw_pattern(args, &pattern, traffic);
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
    (args->matrix != NULL ? from_matrix : from_pattern)(args, traffic);
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
