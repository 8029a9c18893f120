/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic patterns: a name becomes a matrix of byte counts.
 *
 * Each pattern is one function that writes a weight for every pair into the
 * caller's matrix, in place; scale() then turns weights into bytes whose sum is
 * exact. To add one, write its function, a row in FS_PATTERN_MAP, one in the
 * table below, and a test.
 *
 * The order in which random numbers are drawn is part of the definition. Change
 * it, and every published number belongs to another matrix: the digests in
 * tests/unit/sched/test_pattern.c are there to notice.
 *
 * Limits: dense matrices only, so memory is n_ranks^2 * 8 bytes; weights of
 * "zipf" below 2^-32 of the largest are zero. */
#include "sched/model/fs_pattern.h"

#include "base/fs_arith.h"
#include "sched/model/fs_rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOE_TOKENS      4096 /* per rank: a usual batch of inference */
#define MOE_SIGMA_MILLI 1000 /* where no number is given */
#define PENCIL_PLANES   8    /* per rank and axis, plus a remainder */

/* exp() of normals: 24 bits of fraction leave room for exp(4 * 6). */
#define LOGNORMAL_FRAC_BITS 24

/* What a weigh function may look at. */
typedef struct args {
    uint32_t        param;
    uint32_t        n; /* ranks */
    const uint32_t *server_of;
    fs_rng_t        rng;
} args_t;

typedef fs_status_t (*weigh_fn_t)(args_t *args, uint64_t *weights);

static fs_status_t weigh_balanced(args_t *args, uint64_t *weights)
{
    for (size_t i = 0; i < (size_t)args->n * args->n; ++i) {
        weights[i] = 1;
    }
    return FS_OK;
}

static fs_status_t weigh_random(args_t *args, uint64_t *weights)
{
    for (size_t i = 0; i < (size_t)args->n * args->n; ++i) {
        weights[i] = fs_rng_next(&args->rng) >> 32;
    }
    return FS_OK;
}

static fs_status_t weigh_zipf(args_t *args, uint64_t *weights)
{
    size_t n_pairs = (size_t)args->n * args->n;

    /* A random permutation of 1 .. n_pairs, grown from the front. */
    for (size_t i = 0; i < n_pairs; ++i) {
        size_t j = (size_t)fs_rng_below(&args->rng, i + 1);

        if (j != i) {
            weights[i] = weights[j];
        }
        weights[j] = i + 1;
    }
    for (size_t i = 0; i < n_pairs; ++i) {
        fs_u128_t power = (fs_u128_t)fs_log2_q32(weights[i]) * args->param;

        weights[i] = fs_exp2_q32(-(int64_t)(power / 1000), 32);
    }
    return FS_OK;
}

static uint64_t draw_lognormal(fs_rng_t *rng, uint32_t sigma_milli)
{
    const int64_t log2_e_q28 = INT64_C(0x17154765);
    int64_t       x          = fs_rng_normal_q32(rng) * sigma_milli / 1000;

    /* |x| <= 24 in Q32, so the product stays below 2^66: take four bits off
     * first. Division, not a shift, so that C says how negatives round. */
    return fs_exp2_q32(x / 16 * log2_e_q28 / (1 << 24), LOGNORMAL_FRAC_BITS);
}

static fs_status_t weigh_lognormal(args_t *args, uint64_t *weights)
{
    for (size_t i = 0; i < (size_t)args->n * args->n; ++i) {
        weights[i] = draw_lognormal(&args->rng, args->param);
    }
    return FS_OK;
}

/* Scaled row by row. Each of the K hot ranks weighs n - K and each of the n - K
 * others weighs K: both groups weigh K * (n - K), half of the row. */
static fs_status_t weigh_hotspot(args_t *args, uint64_t *weights)
{
    uint32_t n    = args->n;
    uint32_t hot  = args->param;
    uint32_t left = hot;

    if (hot >= n) {
        return weigh_balanced(args, weights);
    }
    for (uint32_t dst = 0; dst < n; ++dst) { /* each set of K equally likely */
        bool     is_hot = fs_rng_below(&args->rng, n - dst) < left;
        uint64_t weight = is_hot ? n - hot : hot;

        left -= is_hot;
        for (uint32_t src = 0; src < n; ++src) {
            weights[(size_t)src * n + dst] = weight;
        }
    }
    return FS_OK;
}

static uint32_t draw_local(fs_rng_t *rng, const fs_topo_t *topo,
                           uint32_t server)
{
    return (uint32_t)fs_rng_below(rng, fs_topo_n_local(topo, server));
}

static fs_status_t weigh_intrahost(args_t *args, uint64_t *weights)
{
    fs_topo_t  *topo;
    fs_status_t status = fs_topo_create(args->n, args->server_of, 0, &topo);

    if (status != FS_OK) {
        return status;
    }
    memset(weights, 0, (size_t)args->n * args->n * sizeof(*weights));
    for (uint32_t u = 0; u < fs_topo_n_servers(topo); ++u) {
        for (uint32_t w = 0; w < fs_topo_n_servers(topo); ++w) {
            uint32_t i = draw_local(&args->rng, topo, u);
            uint32_t j = draw_local(&args->rng, topo, w);

            weights[(size_t)fs_topo_rank(topo, u, i) * args->n +
                    fs_topo_rank(topo, w, j)] = 1;
        }
    }
    fs_topo_destroy(topo);
    return FS_OK;
}

/* For each server the rank that holds everything and the rank that gets
 * everything: two ranks, unless the server has only one. */
static void draw_hosts(fs_rng_t *rng, const fs_topo_t *topo, uint32_t *holder,
                       uint32_t *taker)
{
    for (uint32_t u = 0; u < fs_topo_n_servers(topo); ++u) {
        uint32_t n_local = fs_topo_n_local(topo, u);
        uint32_t i       = draw_local(rng, topo, u);
        uint32_t j       = i;

        if (n_local > 1) {
            j += 1 + (uint32_t)fs_rng_below(rng, n_local - 1);
        }
        holder[u] = fs_topo_rank(topo, u, i);
        taker[u]  = fs_topo_rank(topo, u, j % n_local);
    }
}

static fs_status_t weigh_adversarial(args_t *args, uint64_t *weights)
{
    fs_topo_t  *topo   = NULL;
    uint32_t   *hosts  = NULL;
    fs_status_t status = fs_topo_create(args->n, args->server_of, 0, &topo);
    uint32_t    n;

    if (status != FS_OK) {
        return status;
    }
    n     = fs_topo_n_servers(topo);
    hosts = calloc(2 * (size_t)n, sizeof(*hosts));
    if (hosts == NULL) {
        status = FS_ERR_NOMEM;
        goto out;
    }
    draw_hosts(&args->rng, topo, hosts, hosts + n);
    memset(weights, 0, (size_t)args->n * args->n * sizeof(*weights));
    for (uint32_t u = 0; u < n; ++u) {
        for (uint32_t w = 0; w < n; ++w) {
            weights[(size_t)hosts[u] * args->n + hosts[n + w]] = 1;
        }
    }
out:
    free(hosts);
    fs_topo_destroy(topo);
    return status;
}

/* K of the distances from one server to another, or all of them, equally likely
 * but for the seed: always the same. */
static void draw_distances(uint32_t n_servers, uint32_t k, bool *has)
{
    fs_rng_t rng;
    uint32_t left = fs_u32_min(k, n_servers - 1);

    fs_rng_init(&rng, 0);
    for (uint32_t d = 1; d < n_servers; ++d) {
        has[d] = fs_rng_below(&rng, n_servers - d) < left;
        left -= has[d];
    }
}

static fs_status_t weigh_sparse(args_t *args, uint64_t *weights)
{
    fs_topo_t  *topo   = NULL;
    bool       *has    = NULL; /* [n_servers] */
    fs_status_t status = fs_topo_create(args->n, args->server_of, 0, &topo);
    uint32_t    n;

    if (status != FS_OK) {
        return status;
    }
    n   = fs_topo_n_servers(topo);
    has = calloc(n, sizeof(*has));
    if (has == NULL) {
        status = FS_ERR_NOMEM;
        goto out;
    }
    draw_distances(n, args->param, has);
    for (size_t k = 0; k < (size_t)args->n * args->n; ++k) {
        uint32_t u = fs_topo_server(topo, (uint32_t)(k / args->n));
        uint32_t w = fs_topo_server(topo, (uint32_t)(k % args->n));

        weights[k] =
            has[w < u ? w + n - u : w - u] ? fs_rng_next(&args->rng) >> 32 : 0;
    }
out:
    free(has);
    fs_topo_destroy(topo);
    return status;
}

/* The expert that owns point x of the popularity line; up_to[e] is where expert
 * e ends. */
static uint32_t find_expert(const uint64_t *up_to, uint32_t n, uint64_t x)
{
    uint32_t low = 0, high = n - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (x < up_to[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Route one token to two experts. The second is drawn from the line without the
 * part of the first, so that no draw is rejected. */
static void route_token(fs_rng_t *rng, const uint64_t *up_to, uint32_t n,
                        uint64_t *row)
{
    uint32_t first = find_expert(up_to, n, fs_rng_below(rng, up_to[n - 1]));
    uint64_t start = first == 0 ? 0 : up_to[first - 1];
    uint64_t width = up_to[first] - start;
    uint64_t x;

    row[first]++;
    if (n > 1) {
        x = fs_rng_below(rng, up_to[n - 1] - width);
        row[find_expert(up_to, n, x < start ? x : x + width)]++;
    }
}

/* Scaled row by row: every rank has the same number of tokens. */
static fs_status_t weigh_moe(args_t *args, uint64_t *weights)
{
    uint32_t  n     = args->n;
    uint64_t  total = 0;
    bool      fits  = true;
    uint64_t *up_to = calloc(n, sizeof(*up_to));

    if (up_to == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t e = 0; e < n; ++e) {
        uint64_t popularity = draw_lognormal(&args->rng, args->param);

        fits     = fs_u64_add(total, popularity, &total) && fits;
        up_to[e] = total;
    }
    if (!fits) { /* only with a SIGMA near 4 */
        free(up_to);
        return FS_ERR_OVERFLOW;
    }
    memset(weights, 0, (size_t)n * n * sizeof(*weights));
    for (uint32_t src = 0; src < n; ++src) {
        for (int token = 0; token < MOE_TOKENS; ++token) {
            route_token(&args->rng, up_to, n, weights + (size_t)src * n);
        }
    }
    free(up_to);
    return FS_OK;
}

/* Rank i holds planes of the first axis before and of the second axis after the
 * transpose; the first ranks hold one more where an axis does not divide. */
static fs_status_t weigh_pencil(args_t *args, uint64_t *weights)
{
    uint32_t n       = args->n;
    uint64_t more[2] = {0, 0}; /* ranks with one plane more, per axis */

    for (int axis = 0; axis < 2 && n > 1; ++axis) {
        more[axis] = 1 + fs_rng_below(&args->rng, n - 1);
    }
    for (uint32_t src = 0; src < n; ++src) {
        for (uint32_t dst = 0; dst < n; ++dst) {
            weights[(size_t)src * n + dst] =
                (uint64_t)(PENCIL_PLANES + (src < more[0])) *
                (uint64_t)(PENCIL_PLANES + (dst < more[1]));
        }
    }
    return FS_OK;
}

typedef enum param_kind {
    PARAM_NONE,
    PARAM_MILLI,       /* a decimal number, stored in thousandths */
    PARAM_MAYBE_MILLI, /* the same; without it, usual_param */
    PARAM_COUNT        /* a whole number */
} param_kind_t;

static const char *const names[] = {
#define X(_kind, _word, _parameter) [_kind] = _word,
    FS_PATTERN_MAP(X)
#undef X
};

#define N_PATTERNS (sizeof(names) / sizeof(names[0]))

static const struct {
    param_kind_t param_kind;
    uint32_t     min, max;  /* of param, as stored */
    bool         by_row;    /* every rank sends the same total */
    bool         by_server; /* server_of is read */
    weigh_fn_t   weigh;
    uint32_t     usual_param;
} patterns[N_PATTERNS] = {
    [FS_PATTERN_BALANCED]  = {PARAM_NONE, 0, 0, false, false, weigh_balanced},
    [FS_PATTERN_RANDOM]    = {PARAM_NONE, 0, 0, false, false, weigh_random},
    [FS_PATTERN_ZIPF]      = {PARAM_MILLI, 0, 4000, false, false, weigh_zipf},
    [FS_PATTERN_LOGNORMAL] = {PARAM_MILLI, 0, 4000, false, false,
                              weigh_lognormal},
    [FS_PATTERN_HOTSPOT]   = {PARAM_COUNT, 1, UINT32_MAX, true, false,
                              weigh_hotspot},
    [FS_PATTERN_INTRAHOST] = {PARAM_NONE, 0, 0, false, true, weigh_intrahost},
    [FS_PATTERN_MOE]    = {PARAM_MAYBE_MILLI, 0, 4000, true, false, weigh_moe,
                           MOE_SIGMA_MILLI},
    [FS_PATTERN_PENCIL] = {PARAM_NONE, 0, 0, false, false, weigh_pencil},
    [FS_PATTERN_ADVERSARIAL] = {PARAM_NONE, 0, 0, false, true,
                                weigh_adversarial},
    [FS_PATTERN_SPARSE]      = {PARAM_COUNT, 1, UINT32_MAX, false, true,
                                weigh_sparse},
};

/* Turn weights into bytes that add up to target. Entry i ends where the running
 * sum of the weights says, rounded down: errors do not add up. */
static fs_status_t scale(uint64_t *weights, size_t n, uint64_t target)
{
    uint64_t total = 0, running = 0, before = 0;

    for (size_t i = 0; i < n; ++i) {
        if (!fs_u64_add(total, weights[i], &total)) {
            return FS_ERR_OVERFLOW;
        }
    }
    if (total == 0) { /* one rank may well draw a zero */
        for (size_t i = 0; i < n; ++i) {
            weights[i] = 1;
        }
        total = n;
    }
    for (size_t i = 0; i < n; ++i) {
        uint64_t end;

        running += weights[i];
        end        = (uint64_t)((fs_u128_t)running * target / total);
        weights[i] = end - before;
        before     = end;
    }
    return FS_OK;
}

fs_status_t fs_pattern_fill(const fs_pattern_t *pattern, uint32_t n_ranks,
                            const uint32_t *server_of, uint64_t mean_bytes,
                            uint64_t seed, uint64_t *bytes)
{
    args_t      args = {pattern->param, n_ranks, server_of, {{0}}};
    size_t      kind = (size_t)pattern->kind;
    uint64_t    row_sum, sum;
    fs_status_t status;

    if (kind >= N_PATTERNS || n_ranks == 0 ||
        pattern->param < patterns[kind].min ||
        pattern->param > patterns[kind].max ||
        (server_of == NULL && patterns[kind].by_server)) {
        return FS_ERR_INVAL;
    }
    if (!fs_u64_mul(mean_bytes, n_ranks, &row_sum) ||
        !fs_u64_mul(row_sum, n_ranks, &sum)) {
        return FS_ERR_OVERFLOW;
    }
    fs_rng_init(&args.rng, seed);
    status = patterns[kind].weigh(&args, bytes);
    if (status != FS_OK || !patterns[kind].by_row) {
        return status != FS_OK ? status
                               : scale(bytes, (size_t)n_ranks * n_ranks, sum);
    }
    for (uint32_t src = 0; src < n_ranks && status == FS_OK; ++src) {
        status = scale(bytes + (size_t)src * n_ranks, n_ranks, row_sum);
    }
    return status;
}

fs_status_t fs_pattern_scale(uint32_t n_ranks, uint64_t mean_bytes,
                             uint64_t *bytes)
{
    size_t   n   = (size_t)n_ranks * n_ranks;
    uint64_t any = 0, sum;

    for (size_t i = 0; i < n; ++i) {
        any |= bytes[i];
    }
    if (any == 0) {
        return FS_ERR_INVAL;
    }
    return fs_u64_mul(mean_bytes, n, &sum) ? scale(bytes, n, sum)
                                           : FS_ERR_OVERFLOW;
}

/* Read "2", or "0.8" as 800 if n_decimals is 3. False if it is anything else or
 * does not fit. */
static bool read_number(const char *p, int n_decimals, uint32_t *value_p)
{
    uint64_t value = 0;
    int      point = -1; /* decimals seen so far, -1 before the point */

    if (*p < '0' || *p > '9') {
        return false;
    }
    for (; *p != '\0' && point < n_decimals; ++p) {
        if (*p == '.' && point < 0 && p[1] != '\0' && n_decimals > 0) {
            point = 0;
        } else if (*p < '0' || *p > '9') {
            return false;
        } else {
            value = value * 10 + (uint64_t)(*p - '0');
            point += point >= 0;
        }
        if (value > UINT32_MAX) {
            return false;
        }
    }
    for (point = point < 0 ? 0 : point; point < n_decimals; ++point) {
        value *= 10;
    }
    *value_p = (uint32_t)value;
    return *p == '\0' && value <= UINT32_MAX;
}

/* What is wrong with the part after the name; NULL: nothing. */
static const char *read_param(size_t kind, const char *rest, uint32_t *param_p)
{
    param_kind_t wanted = patterns[kind].param_kind;

    *param_p = patterns[kind].usual_param;
    if (wanted == PARAM_NONE) {
        return *rest == '\0' ? NULL : "takes no number";
    }
    if (wanted == PARAM_MAYBE_MILLI && *rest == '\0') {
        return NULL;
    }
    if (*rest != ':') {
        return "needs a number after a colon";
    }
    if (!read_number(rest + 1, wanted == PARAM_COUNT ? 0 : 3, param_p)) {
        return wanted == PARAM_COUNT
                   ? "needs a whole number"
                   : "needs a number with at most three decimals";
    }
    if (*param_p < patterns[kind].min || *param_p > patterns[kind].max) {
        return "has a number out of range";
    }
    return NULL;
}

fs_status_t fs_pattern_parse(const char *text, fs_pattern_t *pattern_p,
                             char *why, size_t why_len)
{
    size_t      name_len = strcspn(text, ":");
    const char *wrong    = "is not a pattern";
    uint32_t    param    = 0;

    for (size_t kind = 0; kind < N_PATTERNS; ++kind) {
        if (strlen(names[kind]) == name_len &&
            strncmp(names[kind], text, name_len) == 0) {
            wrong = read_param(kind, text + name_len, &param);
            if (wrong == NULL) {
                pattern_p->kind  = (fs_pattern_kind_t)kind;
                pattern_p->param = param;
                return FS_OK;
            }
        }
    }
    snprintf(why, why_len, "\"%s\" %s; allowed: %s", text, wrong,
             FS_PATTERN_ALLOWED);
    return FS_ERR_INVAL;
}
