/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options to an exchange: a P x P matrix of bytes, a topology, the summary.
 *
 * A matrix from a file may be that of the ranks (P x P) or that of the servers
 * (N x N). The latter is spread evenly over the pairs of ranks of its two
 * servers; bytes that do not divide go to the first pairs, one each.
 */
#include "tools/fs_tool_traffic.h"

#include "sched/fs_pattern.h"
#include "tools/fs_tool_progress.h"

#include <stdlib.h>
#include <string.h>

enum { WHY_LEN = 512, MAX_LANES = 4096 };

void fs_tool_traffic_options(fs_tool_traffic_args_t *args,
                             fs_tool_options_t      *options)
{
    *args = (fs_tool_traffic_args_t){.seed = 1, .mean = 1 << 20};
    fs_tool_add(options, (fs_tool_option_t){FS_TOOL_TITLE, .name = "Traffic"});
    fs_tool_add(options, (fs_tool_option_t){
                             FS_TOOL_TEXT, "matrix", "FILE",
                             "bytes to send, a row for each sender; CSV or\n"
                             "white space; - is standard input. Of servers\n"
                             "(N x N) or of ranks (P x P, P = N * M)",
                             .value = &args->matrix});
    fs_tool_add(options, (fs_tool_option_t){
                             FS_TOOL_TEXT, "pattern", "NAME",
                             "drawn instead: balanced, random, zipf:S,\n"
                             "lognormal:SIGMA, hotspot:K, intrahost, moe,\n"
                             "pencil or adversarial",
                             .value = &args->pattern});
    fs_tool_add(options, (fs_tool_option_t){
                             FS_TOOL_U32, "servers", "N",
                             "servers (as many as the matrix has rows)",
                             .value = &args->servers, 1, FS_TOOL_MAX_RANKS});
    fs_tool_add(options, (fs_tool_option_t){
                             FS_TOOL_U32, "lanes", "M",
                             "ranks of a server, each with its own lane (1);\n"
                             "with --nodes: lanes of a server, at most",
                             .value = &args->lanes, 1, MAX_LANES});
    fs_tool_add(options, (fs_tool_option_t){
                             FS_TOOL_TEXT, "nodes", "SPEC",
                             "instead of --servers: 4x8, 4+4+2+1 (ranks of\n"
                             "each server) or @0,1,0,1 (server of each rank)",
                             .value = &args->nodes});
    fs_tool_add(options, (fs_tool_option_t){
                             FS_TOOL_U64, "seed", "S", "of the pattern (1)",
                             .value = &args->seed, 0, UINT64_MAX});
    fs_tool_add(options,
                (fs_tool_option_t){FS_TOOL_BYTES, "mean", "BYTES",
                                   "average of the pattern over all pairs of\n"
                                   "ranks (1m); suffixes k, m, g, t",
                                   .value = &args->mean, 0, UINT64_C(1) << 62});
}

/* ---- shape: who sits where ---- */

typedef struct shape {
    uint32_t  n_ranks;
    uint32_t *server_of; /* [n_ranks] */
} shape_t;

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

static int allocate(shape_t *shape, uint64_t n_ranks)
{
    if (n_ranks > FS_TOOL_MAX_RANKS) {
        return fs_tool_bad("%llu ranks are too many; allowed: up to %d",
                           (unsigned long long)n_ranks, FS_TOOL_MAX_RANKS);
    }
    /* One more, so that a description of no ranks can be parsed as well. */
    shape->n_ranks   = (uint32_t)n_ranks;
    shape->server_of = calloc((size_t)n_ranks + 1, sizeof(uint32_t));
    return shape->server_of == NULL ? fs_tool_status("ranks", FS_ERR_NOMEM)
                                    : FS_TOOL_OK;
}

static int parse_nodes(const char *nodes, shape_t *shape)
{
    char why[WHY_LEN];
    int  rc = allocate(shape, count_ranks(nodes));

    if (rc == FS_TOOL_OK &&
        fs_topo_parse(nodes, shape->n_ranks, shape->server_of, why,
                      sizeof(why)) != FS_OK) {
        rc = fs_tool_bad("--nodes %s", why);
    }
    return rc;
}

static int even_servers(uint32_t servers, uint32_t lanes, shape_t *shape)
{
    int rc = allocate(shape, (uint64_t)servers * lanes);

    for (uint32_t r = 0; rc == FS_TOOL_OK && r < shape->n_ranks; ++r) {
        shape->server_of[r] = r / lanes;
    }
    return rc;
}

/* n_rows: of the matrix; 0 if a pattern is to be drawn. */
static int make_shape(const fs_tool_traffic_args_t *args, uint32_t n_rows,
                      shape_t *shape)
{
    uint32_t lanes = args->lanes == 0 ? 1 : args->lanes;

    if (args->nodes != NULL && args->servers != 0) {
        return fs_tool_bad("--nodes and --servers both say what the servers "
                           "are; allowed: one of them");
    }
    if (args->nodes != NULL) {
        return parse_nodes(args->nodes, shape);
    }
    if (args->servers == 0 && n_rows == 0) {
        return fs_tool_bad("--pattern needs --servers N or --nodes SPEC");
    }
    if (args->servers == 0 && lanes > 1) {
        return fs_tool_bad("--lanes %u needs --servers N: the %u rows of the "
                           "matrix may be servers or ranks",
                           lanes, n_rows);
    }
    return even_servers(args->servers == 0 ? n_rows : args->servers, lanes,
                        shape);
}

static int make_topo(const fs_tool_traffic_args_t *args, const shape_t *shape,
                     fs_tool_traffic_t *traffic)
{
    uint32_t    max_lanes = args->nodes == NULL ? 0 : args->lanes;
    fs_status_t status    = fs_topo_create(shape->n_ranks, shape->server_of,
                                           max_lanes, &traffic->topo);

    traffic->n_ranks = shape->n_ranks;
    return status == FS_OK ? FS_TOOL_OK : fs_tool_status("servers", status);
}

uint32_t fs_tool_tile_lanes(const fs_topo_t *topo, uint32_t u, uint32_t w)
{
    uint32_t a = fs_topo_n_lanes(topo, u), b = fs_topo_n_lanes(topo, w);

    return a < b ? a : b;
}

/* ---- pairs ---- */

static int allocate_pairs(fs_tool_traffic_t *traffic)
{
    size_t n = traffic->n_ranks;

    traffic->pairs = malloc(n * n * sizeof(*traffic->pairs));
    return traffic->pairs == NULL
               ? fs_tool_status("the matrix of all ranks", FS_ERR_NOMEM)
               : FS_TOOL_OK;
}

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

static int use_matrix(const char *path, fs_tool_matrix_t *matrix,
                      fs_tool_traffic_t *traffic)
{
    uint32_t n = fs_topo_n_servers(traffic->topo);
    int      rc;

    if (matrix->n == traffic->n_ranks) {
        traffic->pairs = matrix->bytes;
        matrix->bytes  = NULL; /* it has a new owner */
        return FS_TOOL_OK;
    }
    if (matrix->n != n && n == traffic->n_ranks) {
        return fs_tool_bad("%s:1:1: the matrix is %u x %u; allowed: %u x %u",
                           path, matrix->n, matrix->n, n, n);
    }
    if (matrix->n != n) {
        return fs_tool_bad("%s:1:1: the matrix is %u x %u; allowed: %u x %u "
                           "(servers) or %u x %u (ranks)",
                           path, matrix->n, matrix->n, n, n, traffic->n_ranks,
                           traffic->n_ranks);
    }
    rc = allocate_pairs(traffic);
    for (uint32_t u = 0; rc == FS_TOOL_OK && u < n; ++u) {
        for (uint32_t w = 0; w < n; ++w) {
            spread_tile(traffic, u, w, matrix->bytes[(size_t)u * n + w]);
        }
    }
    return rc;
}

static int too_much(void)
{
    return fs_tool_bad("--mean: the sum over all pairs of ranks passes 2^62 "
                       "bytes; allowed: less");
}

static int draw_pattern(const fs_tool_traffic_args_t *args,
                        const fs_pattern_t *pattern, const shape_t *shape,
                        fs_tool_traffic_t *traffic)
{
    fs_tool_progress_t *progress;
    fs_status_t         status;
    int                 rc = allocate_pairs(traffic);

    if (rc != FS_TOOL_OK) {
        return rc;
    }
    progress = fs_tool_progress_begin("drawing the pattern", 0);
    status   = fs_pattern_fill(pattern, shape->n_ranks, shape->server_of,
                               args->mean, args->seed, traffic->pairs);
    fs_tool_progress_end(progress);
    if (status == FS_ERR_OVERFLOW) {
        return too_much();
    }
    return status == FS_OK ? FS_TOOL_OK : fs_tool_status("--pattern", status);
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
    if (sent > traffic->summary.max_inter) {
        traffic->summary.max_inter = sent;
    }
}

/* The sum is checked first: then no partial sum can overflow. */
static bool sum_fits(const fs_tool_traffic_t *traffic)
{
    size_t   n   = (size_t)traffic->n_ranks * traffic->n_ranks;
    uint64_t sum = 0;

    for (size_t k = 0; k < n; ++k) {
        if (traffic->pairs[k] > FS_TOOL_MATRIX_MAX_SUM - sum) {
            return false;
        }
        sum += traffic->pairs[k];
    }
    return true;
}

static int sum_up(fs_tool_traffic_t *traffic)
{
    fs_traffic_t *summary  = &traffic->summary;
    uint64_t     *received = calloc(traffic->n_ranks, sizeof(*received));
    fs_status_t   status   = FS_ERR_NOMEM;

    summary->n_servers = fs_topo_n_servers(traffic->topo);
    summary->bytes     = calloc(summary->n_servers, summary->n_servers * 8);
    if (received != NULL && summary->bytes != NULL) {
        status = sum_fits(traffic) ? FS_OK : FS_ERR_OVERFLOW;
    }
    for (uint32_t r = 0; status == FS_OK && r < traffic->n_ranks; ++r) {
        add_row(traffic, r, received);
    }
    for (uint32_t r = 0; status == FS_OK && r < traffic->n_ranks; ++r) {
        if (received[r] > summary->max_inter) {
            summary->max_inter = received[r];
        }
    }
    free(received);
    if (status == FS_OK) {
        status = fs_traffic_sum(summary);
    }
    if (status == FS_ERR_OVERFLOW) {
        return too_much();
    }
    return status == FS_OK ? FS_TOOL_OK : fs_tool_status("traffic", status);
}

/* ---- all of it ---- */

static int from_matrix(const fs_tool_traffic_args_t *args, shape_t *shape,
                       fs_tool_traffic_t *traffic)
{
    fs_tool_matrix_t matrix = {0, NULL};
    char             path[WHY_LEN];
    int              rc = fs_tool_matrix_file(args->matrix, &matrix);

    fs_tool_file_name(args->matrix, path, sizeof(path));
    if (rc == FS_TOOL_OK) {
        rc = make_shape(args, matrix.n, shape);
    }
    if (rc == FS_TOOL_OK) {
        rc = make_topo(args, shape, traffic);
    }
    if (rc == FS_TOOL_OK) {
        rc = use_matrix(path, &matrix, traffic);
    }
    free(matrix.bytes);
    return rc;
}

static int from_pattern(const fs_tool_traffic_args_t *args, shape_t *shape,
                        fs_tool_traffic_t *traffic)
{
    fs_pattern_t pattern;
    char         why[WHY_LEN];
    int          rc;

    if (fs_pattern_parse(args->pattern, &pattern, why, sizeof(why)) != FS_OK) {
        return fs_tool_bad("--pattern %s", why);
    }
    rc = make_shape(args, 0, shape);
    if (rc == FS_TOOL_OK) {
        rc = make_topo(args, shape, traffic);
    }
    if (rc == FS_TOOL_OK) {
        rc = draw_pattern(args, &pattern, shape, traffic);
    }
    return rc;
}

int fs_tool_traffic_make(const fs_tool_traffic_args_t *args,
                         fs_tool_traffic_t            *traffic)
{
    shape_t shape = {0, NULL};
    int     rc;

    memset(traffic, 0, sizeof(*traffic));
    if ((args->matrix != NULL) == (args->pattern != NULL)) {
        return fs_tool_bad("%s; allowed: --matrix FILE or --pattern NAME",
                           args->matrix == NULL ? "no traffic was given"
                                                : "two kinds of traffic");
    }
    rc = args->matrix != NULL ? from_matrix(args, &shape, traffic)
                              : from_pattern(args, &shape, traffic);
    if (rc == FS_TOOL_OK) {
        rc = sum_up(traffic);
    }
    free(shape.server_of);
    if (rc != FS_TOOL_OK) {
        fs_tool_traffic_fini(traffic);
    }
    return rc;
}

void fs_tool_traffic_fini(fs_tool_traffic_t *traffic)
{
    fs_topo_destroy(traffic->topo);
    free(traffic->pairs);
    free(traffic->summary.bytes);
    memset(traffic, 0, sizeof(*traffic));
}

fs_status_t fs_tool_traffic_local(const fs_tool_traffic_t *traffic,
                                  uint32_t server, fs_local_traffic_t *local_p)
{
    const fs_topo_t *topo    = traffic->topo;
    uint32_t         n_local = fs_topo_n_local(topo, server);
    size_t           n       = traffic->n_ranks;
    uint64_t        *send    = malloc(2 * n_local * n * sizeof(*send));

    if (send == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < n_local; ++i) {
        uint32_t  me  = fs_topo_rank(topo, server, i);
        uint64_t *row = send + i * n, *column = row + n_local * n;

        memcpy(row, traffic->pairs + me * n, n * sizeof(*row));
        for (size_t r = 0; r < n; ++r) {
            column[r] = traffic->pairs[r * n + me];
        }
    }
    *local_p = (fs_local_traffic_t){send, send + n_local * n, true, true};
    return FS_OK;
}
