/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, servers, bounds and names; see osu_fast_util.h. */
#include "osu_fast_util.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

enum { OPT_SEED = 256, OPT_RATE, OPT_NODES, OPT_JSON, OPT_IMPL, OPT_DYNAMIC,
       OPT_CEILING };

static const struct option long_options[] = {
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'v' },
    { "full", no_argument, NULL, 'f' },
    { "message-size", required_argument, NULL, 'm' },
    { "iterations", required_argument, NULL, 'i' },
    { "warmup", required_argument, NULL, 'x' },
    { "mem-limit", required_argument, NULL, 'M' },
    { "validation", no_argument, NULL, 'c' },
    { "tail-lat", optional_argument, NULL, 'z' },
    { "pattern", required_argument, NULL, 'p' },
    { "seed", required_argument, NULL, OPT_SEED },
    { "rate", required_argument, NULL, OPT_RATE },
    { "nodes", required_argument, NULL, OPT_NODES },
    { "json", no_argument, NULL, OPT_JSON },
    { "impl", required_argument, NULL, OPT_IMPL },
    { "dynamic", optional_argument, NULL, OPT_DYNAMIC },
    { "ceiling", no_argument, NULL, OPT_CEILING },
    { NULL, 0, NULL, 0 },
};

/* clang-format off */
void osu_usage(FILE *out, const char *program)
{
    fprintf(out,
        "Usage: %s [options]\n\n"
        "  -m, --message-size [MIN:]MAX\n"
        "                       average bytes per pair, doubling from MIN\n"
        "                       to MAX (1:1048576); suffixes k, m, g\n"
        "  -i, --iterations N   timed calls per size (1000; above 8k: 100)\n"
        "  -x, --warmup N       calls before them (100; above 8k: 10)\n"
        "  -f, --full           also the minimum and the number of iterations\n"
        "  -z, --tail-lat[=P,..]  up to 5 more percentiles (50,90,99)\n"
        "  -c, --validation     check every byte of every call\n"
        "  -M, --mem-limit N    bytes of memory per rank (2g)\n"
        "  -p, --pattern NAME   default random; allowed:\n"
        "                       %s\n"
        "      --seed N         of the pattern (1)\n"
        "      --dynamic[=yes|no]  a new matrix each iteration (moe: yes;\n"
        "                       others: no)\n"
        "      --rate RATE      of one rank's slow link, for the lower bound:\n"
        "                       50mbit, 2.5gbit (unknown)\n"
        "      --nodes SPEC     what is a server, for pattern and bound: 4x4,\n"
        "                       4+4+2+1, @0,1,0,1 (the real hosts)\n"
        "      --ceiling        first measure a plain stream per link\n"
        "      --json           one JSON object per size, and nothing else\n"
        "      --impl NAME      label in the JSON (the MPI in use)\n"
        "  -h, --help   -v, --version\n",
        program, FS_PATTERN_ALLOWED);
}
/* clang-format on */

static osu_verdict_t bad(char *why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, OSU_WHY_LEN, format, args);
    va_end(args);
    return OSU_BAD;
}

/* A whole number with an optional suffix k, m or g. *end_p: what follows. */
static bool read_number(const char *text, uint64_t *value_p, const char **end_p)
{
    static const char suffixes[] = "kmg";
    const char       *suffix;
    char             *end;

    errno    = 0;
    *value_p = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
    if (!isdigit((unsigned char)*text) || errno != 0) {
        return false;
    }
    suffix = *end == '\0' ? NULL
                          : strchr(suffixes, tolower((unsigned char)*end));
    if (suffix != NULL) {
        unsigned shift = 10 * (unsigned)(suffix - suffixes + 1);

        if (*value_p > UINT64_MAX >> shift) {
            return false;
        }
        *value_p <<= shift;
        end++;
    }
    *end_p = end;
    return true;
}

static osu_verdict_t parse_count(const char *option, const char *text,
                                 uint64_t min, uint64_t max, uint64_t *value_p,
                                 char *why)
{
    const char *end;

    if (!read_number(text, value_p, &end) || *end != '\0' || *value_p < min ||
        *value_p > max) {
        return bad(why, "%s \"%s\": allowed: %llu to %llu", option, text,
                   (unsigned long long)min, (unsigned long long)max);
    }
    return OSU_RUN;
}

/* "MAX", "MIN:MAX" or "MIN:". */
static osu_verdict_t parse_sizes(const char *text, osu_options_t *options,
                                 char *why)
{
    const char *end;
    uint64_t    first;
    bool        ok = read_number(text, &first, &end);

    if (ok && *end == '\0') {
        options->max_size = first;
    } else if (ok && *end == ':') {
        options->min_size = first;
        ok = end[1] == '\0' ||
             (read_number(end + 1, &options->max_size, &end) && *end == '\0');
    } else {
        ok = false;
    }
    if (!ok || options->min_size == 0 ||
        options->min_size > options->max_size ||
        options->max_size > UINT64_C(1) << 40) {
        return bad(why, "-m \"%s\": allowed: MAX, MIN: or MIN:MAX in bytes, "
                        "1 <= MIN <= MAX <= 1024g", text);
    }
    return OSU_RUN;
}

static osu_verdict_t parse_rate(const char *text, double *rate_p, char *why)
{
    static const struct {
        const char *unit;
        double      factor;
    } units[] = { { "bit", 1 },    { "kbit", 1e3 },  { "mbit", 1e6 },
                  { "gbit", 1e9 }, { "tbit", 1e12 } };
    char  *end;
    double value = strtod(text, &end);

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); ++i) {
        if (isdigit((unsigned char)*text) && strcmp(end, units[i].unit) == 0 &&
            isfinite(value) && value > 0) {
            *rate_p = value * units[i].factor;
            return OSU_RUN;
        }
    }
    return bad(why, "--rate \"%s\": allowed: a number above 0 and a unit of "
                    "bit, kbit, mbit, gbit or tbit, as in 50mbit", text);
}

static osu_verdict_t parse_tails(const char *text, osu_options_t *options,
                                 char *why)
{
    const char *p = text == NULL ? "50,90,99" : text;
    uint64_t    value;

    options->n_tails = 0;
    for (; options->n_tails < OSU_MAX_TAILS; ++p) {
        if (!read_number(p, &value, &p) || value < 1 || value > 99 ||
            (*p != ',' && *p != '\0')) {
            break;
        }
        options->tails[options->n_tails++] = (unsigned)value;
        if (*p == '\0') {
            return OSU_RUN;
        }
    }
    return bad(why, "-z \"%s\": allowed: 1 to %d percentiles from 1 to 99, as "
                    "in -z50,90,99", text == NULL ? "" : text, OSU_MAX_TAILS);
}

static osu_verdict_t parse_yes_no(const char *text, bool *value_p, char *why)
{
    *value_p = text == NULL || strcmp(text, "yes") == 0;
    if (!*value_p && strcmp(text, "no") != 0) {
        return bad(why, "--dynamic \"%s\": allowed: yes, no", text);
    }
    return OSU_RUN;
}

/* The label goes into JSON as it is. */
static osu_verdict_t check_label(const char *text, char *why)
{
    for (const char *p = text; *p != '\0'; ++p) {
        if ((unsigned char)*p < ' ' || *p == '"' || *p == '\\') {
            return bad(why, "--impl \"%s\": allowed: no quotes, backslashes or "
                            "control characters", text);
        }
    }
    return OSU_RUN;
}

/* Everything that has an argument of its own. */
static osu_verdict_t parse_value(int option, const char *value,
                                 osu_options_t *options, char *why)
{
    osu_verdict_t verdict;

    switch (option) {
    case 'm':
        return parse_sizes(value, options, why);
    case 'i':
        verdict = parse_count("-i", value, 1, 100000000,
                              &options->iterations[0], why);
        options->iterations[1] = options->iterations[0];
        return verdict;
    case 'x':
        verdict = parse_count("-x", value, 0, 100000000, &options->warmup[0],
                              why);
        options->warmup[1] = options->warmup[0];
        return verdict;
    case 'M':
        return parse_count("-M", value, 1, UINT64_MAX, &options->mem_limit,
                           why);
    case 'z':
        return parse_tails(value, options, why);
    case 'p':
        options->pattern_text = value;
        return fs_pattern_parse(value, &options->pattern, why, OSU_WHY_LEN) ==
                       FS_OK ? OSU_RUN : OSU_BAD;
    case OPT_SEED:
        return parse_count("--seed", value, 0, UINT64_MAX, &options->seed, why);
    case OPT_RATE:
        return parse_rate(value, &options->rate, why);
    case OPT_NODES:
        options->nodes = value;
        return OSU_RUN;
    default:
        options->impl = value;
        return check_label(value, why);
    }
}

osu_verdict_t osu_options_parse(int argc, char **argv, osu_options_t *options,
                                char why[OSU_WHY_LEN])
{
    osu_verdict_t verdict     = OSU_RUN;
    const char   *dynamic     = NULL;
    bool          has_dynamic = false;
    int           option;

    *options = (osu_options_t){
        .min_size = 1, .max_size = 1 << 20, .iterations = { 1000, 100 },
        .warmup = { 100, 10 }, .mem_limit = UINT64_C(2) << 30, .seed = 1,
        .pattern = { FS_PATTERN_RANDOM, 0 }, .pattern_text = "random",
    };
    opterr = 0; /* rank 0 alone complains */
    while (verdict == OSU_RUN &&
           (option = getopt_long(argc, argv, "+:hvfm:i:x:M:cz::p:",
                                 long_options, NULL)) != -1) {
        switch (option) {
        case 'h':
            return OSU_HELP;
        case 'v':
            return OSU_VERSION;
        case 'f':
            options->full = true;
            break;
        case 'c':
            options->validate = true;
            break;
        case OPT_JSON:
            options->json = true;
            break;
        case OPT_CEILING:
            options->ceiling = true;
            break;
        case OPT_DYNAMIC:
            has_dynamic = true;
            dynamic     = optarg;
            break;
        case ':':
            return bad(why, "option \"%s\" needs a value; -h lists all",
                       argv[optind - 1]);
        case '?':
            if (strncmp(argv[optind - 1], "--", 2) == 0) {
                return bad(why, "unknown option \"%s\"; -h lists all",
                           argv[optind - 1]);
            }
            return bad(why, "unknown option \"-%c\"; -h lists all", optopt);
        default:
            verdict = parse_value(option, optarg, options, why);
        }
    }
    if (verdict != OSU_RUN) {
        return verdict;
    }
    if (optind < argc) {
        return bad(why, "unexpected argument \"%s\"; -h lists the options",
                   argv[optind]);
    }
    if (!has_dynamic) {
        options->dynamic = options->pattern.kind == FS_PATTERN_MOE;
        return OSU_RUN;
    }
    return parse_yes_no(dynamic, &options->dynamic, why);
}

/* ---- the servers behind the ranks ---- */

/* A server is named after its lowest rank. */
static void find_hosts(MPI_Comm comm, uint32_t *server_of)
{
    MPI_Comm host;
    uint32_t lowest;
    int      rank;

    MPI_Comm_rank(comm, &rank);
    lowest = (uint32_t)rank;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    MPI_Bcast(&lowest, 1, MPI_UINT32_T, 0, host);
    MPI_Comm_free(&host);
    MPI_Allgather(&lowest, 1, MPI_UINT32_T, server_of, 1, MPI_UINT32_T, comm);
}

static void print_shape(osu_cluster_t *cluster, size_t len)
{
    const fs_topo_t *topo      = cluster->topo;
    uint32_t         n_servers = fs_topo_n_servers(topo);
    int              at        = 0;

    cluster->even = true;
    for (uint32_t u = 1; u < n_servers; ++u) {
        cluster->even = cluster->even &&
                        fs_topo_n_local(topo, u) == fs_topo_n_local(topo, 0);
    }
    for (uint32_t u = 0; u < (cluster->even ? 1 : n_servers); ++u) {
        at += snprintf(cluster->shape + at, len - (size_t)at, "%s%u",
                       u == 0 ? "" : "+", fs_topo_n_local(topo, u));
    }
}

fs_status_t osu_cluster_init(MPI_Comm comm, const char *nodes,
                             osu_cluster_t *cluster, char why[OSU_WHY_LEN])
{
    size_t      shape_len;
    int         n;
    fs_status_t status = FS_OK;

    MPI_Comm_size(comm, &n);
    shape_len          = (size_t)n * 11 + 1; /* ten digits and a plus each */
    cluster->n_ranks   = (uint32_t)n;
    cluster->topo      = NULL;
    cluster->server_of = malloc((size_t)n * sizeof(*cluster->server_of));
    cluster->shape     = malloc(shape_len);
    if (cluster->server_of == NULL || cluster->shape == NULL) {
        bad(why, "out of memory");
        return FS_ERR_NOMEM;
    }
    if (nodes == NULL) {
        find_hosts(comm, cluster->server_of);
    } else {
        int len = snprintf(why, OSU_WHY_LEN, "--nodes ");

        status = fs_topo_parse(nodes, cluster->n_ranks, cluster->server_of,
                               why + len, OSU_WHY_LEN - (size_t)len);
    }
    if (status == FS_OK) {
        status = fs_topo_create(cluster->n_ranks, cluster->server_of, 0,
                                &cluster->topo);
    }
    if (status == FS_OK) {
        print_shape(cluster, shape_len);
    }
    return status;
}

void osu_cluster_fini(osu_cluster_t *cluster)
{
    fs_topo_destroy(cluster->topo);
    free(cluster->server_of);
    free(cluster->shape);
}

osu_bound_t osu_bound(const osu_cluster_t *cluster, const uint64_t *bytes,
                      uint64_t *sums)
{
    const fs_topo_t *topo  = cluster->topo;
    uint32_t         n     = cluster->n_ranks;
    uint64_t        *rank  = sums;         /* [2 x n] sent, received */
    uint64_t        *host  = sums + 2 * n; /* [2 x n_servers] likewise */
    uint64_t         total = 0, most = 0;
    osu_bound_t      bound = { 0, 0 };

    memset(sums, 0, 4 * (size_t)n * sizeof(*sums));
    for (uint32_t src = 0; src < n; ++src) {
        for (uint32_t dst = 0; dst < n; ++dst) {
            uint32_t u = fs_topo_server(topo, src);
            uint32_t w = fs_topo_server(topo, dst);
            uint64_t b = u == w ? 0 : bytes[(size_t)src * n + dst];

            rank[src] += b;
            rank[n + dst] += b;
            host[u] += b;
            host[n + w] += b;
            total += b;
        }
    }
    for (uint32_t i = 0; i < 2 * n; ++i) {
        most = rank[i] > most ? rank[i] : most;
    }
    for (uint32_t u = 0; u < fs_topo_n_servers(topo); ++u) {
        double links = fs_topo_n_local(topo, u);

        bound.bytes_per_link =
            fmax(bound.bytes_per_link,
                 fmax((double)host[u], (double)host[n + u]) / links);
    }
    bound.mtm = total == 0 ? 0 : (double)most * n / (double)total;
    return bound;
}

/* ---- the ceiling ---- */

#define STREAM_PIECE  (256 * 1024) /* bytes of a message */
#define STREAM_WINDOW 8            /* messages posted ahead, each way */

/* Seconds that this rank takes to send n_pieces to one rank and to receive as
 * many from another. Receives are posted a window ahead, so that nothing
 * arrives unexpected. */
static double stream(MPI_Comm comm, int to, int from, uint64_t n_pieces,
                     char *buffer)
{
    MPI_Request request[2 * STREAM_WINDOW];
    MPI_Status  unused[2]; /* MPICH's MPI_STATUSES_IGNORE trips a gcc warning */
    double      start = MPI_Wtime();

    for (uint64_t k = 0; k < n_pieces + STREAM_WINDOW; ++k) {
        uint64_t     slot = k % STREAM_WINDOW;
        MPI_Request *pair = request + 2 * slot;

        if (k >= STREAM_WINDOW) {
            MPI_Waitall(2, pair, unused);
        }
        if (k < n_pieces) {
            char *in = buffer + slot * 2 * STREAM_PIECE;

            MPI_Irecv(in, STREAM_PIECE, MPI_CHAR, from, 1, comm, pair);
            MPI_Isend(in + STREAM_PIECE, STREAM_PIECE, MPI_CHAR, to, 1, comm,
                      pair + 1);
        } else {
            pair[0] = pair[1] = MPI_REQUEST_NULL;
        }
    }
    return MPI_Wtime() - start;
}

double osu_ceiling_mbit(MPI_Comm comm, const osu_cluster_t *cluster)
{
    const fs_topo_t *topo = cluster->topo;
    uint32_t n_servers = fs_topo_n_servers(topo), n_common = UINT32_MAX;
    uint32_t server, local;
    uint64_t n_pieces = 2 * STREAM_WINDOW;
    double   seconds  = 0;
    int      rank, to = MPI_PROC_NULL, from = MPI_PROC_NULL;
    /* Zeroed, so that the pages exist before the clock starts. */
    char *buffer = calloc(2 * STREAM_WINDOW, STREAM_PIECE);
    int   ready  = buffer != NULL;

    MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, comm);
    if (n_servers < 2 || !ready) {
        free(buffer);
        return 0;
    }
    MPI_Comm_rank(comm, &rank);
    for (uint32_t u = 0; u < n_servers; ++u) {
        uint32_t n_local = fs_topo_n_local(topo, u);

        n_common = n_local < n_common ? n_local : n_common;
    }
    server = fs_topo_server(topo, (uint32_t)rank);
    local  = fs_topo_local(topo, (uint32_t)rank);
    if (local < n_common) {
        to   = (int)fs_topo_rank(topo, (server + 1) % n_servers, local);
        from = (int)fs_topo_rank(topo, (server + n_servers - 1) % n_servers,
                                 local);
    }
    stream(comm, to, from, STREAM_WINDOW, buffer); /* connects */
    /* Twice as much until it takes a second: start-up no longer counts. */
    while (seconds < 1.0) {
        n_pieces *= 2;
        MPI_Barrier(comm);
        seconds = stream(comm, to, from, n_pieces, buffer);
        MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
    }
    free(buffer);
    return (double)n_pieces * STREAM_PIECE * 8 / seconds / 1e6;
}

/* ---- order statistics ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void osu_sort(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), ascending);
}

double osu_percentile(const double *sorted, size_t n, double percent)
{
    double at    = percent / 100 * (double)(n - 1);
    size_t below = (size_t)at;

    if (below + 1 >= n) {
        return sorted[n - 1];
    }
    return sorted[below] +
           (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* ---- which algorithm ran ---- */

#define PVAR_NAME "coll_fast_last_algorithm"

/* Allocate a handle for variable `index` if it is the one we look for. */
static bool try_pvar(osu_algorithm_t *a, int index)
{
    char name[256] = "";
    int  name_len = sizeof(name), no_text = 0, verbosity, pvar_class, bind;
    int  readonly, continuous, atomic, count = 0;
    void *object = NULL;

    if (MPI_T_pvar_get_info(index, name, &name_len, &verbosity, &pvar_class,
                            &a->type, &a->names, NULL, &no_text, &bind,
                            &readonly, &continuous, &atomic) != MPI_SUCCESS ||
        strcmp(name, PVAR_NAME) != 0 ||
        (a->type != MPI_INT && a->type != MPI_UNSIGNED &&
         a->type != MPI_UNSIGNED_LONG && a->type != MPI_UNSIGNED_LONG_LONG)) {
        return false;
    }
    if (bind == MPI_T_BIND_MPI_COMM) {
        object = &a->comm;
    }
    if (MPI_T_pvar_handle_alloc(a->session, index, object, &a->handle,
                                &count) != MPI_SUCCESS || count != 1) {
        return false;
    }
    if (!continuous) {
        MPI_T_pvar_start(a->session, a->handle);
    }
    return true;
}

void osu_algorithm_init(MPI_Comm comm, osu_algorithm_t *algorithm)
{
    int provided, n = 0;

    algorithm->comm  = comm;
    algorithm->found = false;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&algorithm->session);
    MPI_T_pvar_get_num(&n);
    for (int i = 0; i < n && !algorithm->found; ++i) {
        algorithm->found = try_pvar(algorithm, i);
    }
}

/* -1 if it cannot be read. */
static int read_pvar(const osu_algorithm_t *a)
{
    union {
        int                i;
        unsigned           u;
        unsigned long      ul;
        unsigned long long ull;
    } value;

    if (!a->found ||
        MPI_T_pvar_read(a->session, a->handle, &value) != MPI_SUCCESS) {
        return -1;
    }
    return a->type == MPI_INT             ? value.i
           : a->type == MPI_UNSIGNED      ? (int)value.u
           : a->type == MPI_UNSIGNED_LONG ? (int)value.ul
                                          : (int)value.ull;
}

void osu_algorithm_last(const osu_algorithm_t *algorithm,
                        char name[OSU_NAME_LEN])
{
    static const char *const plain[] = { "host", "staged" };
    int value = read_pvar(algorithm), n = 0, item, len;

    snprintf(name, OSU_NAME_LEN, "-");
    if (value < 0) {
        return;
    }
    if (algorithm->names == MPI_T_ENUM_NULL) {
        if (value < 2) {
            snprintf(name, OSU_NAME_LEN, "%s", plain[value]);
        }
        return;
    }
    len = OSU_NAME_LEN;
    MPI_T_enum_get_info(algorithm->names, &n, name, &len);
    for (int i = 0; i < n; ++i) {
        len = OSU_NAME_LEN;
        MPI_T_enum_get_item(algorithm->names, i, &item, name, &len);
        if (item == value) {
            return;
        }
    }
    snprintf(name, OSU_NAME_LEN, "-");
}

void osu_algorithm_fini(osu_algorithm_t *algorithm)
{
    if (algorithm->found) {
        MPI_T_pvar_handle_free(algorithm->session, &algorithm->handle);
    }
    MPI_T_pvar_session_free(&algorithm->session);
    MPI_T_finalize();
}
