/* SPDX-License-Identifier: BSD-3-Clause */
/* OSU's options and ours. Everything is read on every rank from the same
 * arguments: same verdict, no messages. */
#include "osu_fast_options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_SEED = 256,
    OPT_RATE,
    OPT_NICS,
    OPT_SERVERS,
    OPT_JSON,
    OPT_TIMES,
    OPT_IMPL,
    OPT_DYNAMIC,
    OPT_CEILING,
    OPT_COLLECTIVE,
    OPT_NIC_COUNTERS,
    OPT_ARRIVAL,
    OPT_SIBLINGS,
    OPT_TEST,
    OPT_BURST
};

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'v'},
    {"full", no_argument, NULL, 'f'},
    {"message-size", required_argument, NULL, 'm'},
    {"iterations", required_argument, NULL, 'i'},
    {"warmup", required_argument, NULL, 'x'},
    {"mem-limit", required_argument, NULL, 'M'},
    {"accelerator", required_argument, NULL, 'd'},
    {"validation", no_argument, NULL, 'c'},
    {"tail-lat", optional_argument, NULL, 'z'},
    {"pattern", required_argument, NULL, 'p'},
    {"seed", required_argument, NULL, OPT_SEED},
    {"rate", required_argument, NULL, OPT_RATE},
    {"nics", required_argument, NULL, OPT_NICS},
    {"servers", required_argument, NULL, OPT_SERVERS},
    {"nodes", required_argument, NULL, OPT_SERVERS}, /* its old name */
    {"json", no_argument, NULL, OPT_JSON},
    {"times", no_argument, NULL, OPT_TIMES},
    {"impl", required_argument, NULL, OPT_IMPL},
    {"dynamic", optional_argument, NULL, OPT_DYNAMIC},
    {"ceiling", no_argument, NULL, OPT_CEILING},
    {"collective", required_argument, NULL, OPT_COLLECTIVE},
    {"nic-counters", optional_argument, NULL, OPT_NIC_COUNTERS},
    {"arrival", required_argument, NULL, OPT_ARRIVAL},
    {"siblings", no_argument, NULL, OPT_SIBLINGS},
#ifdef OSU_NONBLOCKING
    {"test-interval", required_argument, NULL, OPT_TEST},
    {"burst", required_argument, NULL, OPT_BURST},
#endif
    {NULL, 0, NULL, 0},
};

/* clang-format off */
void osu_usage(FILE *out, const char *program)
{
    fprintf(out,
        "Usage: %s [options]\n\n"
        "      --collective NAME  alltoallv (the default), alltoallw, or\n"
        "                       alltoall: the same from every rank to every rank\n"
        "  -m, --message-size [MIN:]MAX\n"
        "                       average bytes per pair, doubling from MIN\n"
        "                       to MAX (1:1048576); suffixes k, m, g\n"
        "  -i, --iterations N   timed calls per size (1000; above 8k: 100)\n"
        "  -x, --warmup N       warm-up calls per size (100; above 8k: 10)\n"
        "  -f, --full           print also minimum and number of iterations\n"
        "  -z, --tail-lat[=P,..]  up to 5 more percentiles (50,90,99)\n"
        "  -c, --validation     check every byte of every call\n"
        "  -M, --mem-limit N    bytes of memory per rank (2g)\n"
        "  -d, --accelerator TYPE\n"
        "                       where buffers are: host, cuda, rocm or managed\n"
        "                       (host); a device is the local rank modulo their\n"
        "                       number\n"
        "  -p, --pattern NAME   default random, of alltoall balanced; allowed:\n"
        "                       %s;\n"
        "                       or file:PATH, a matrix of bytes, of servers or\n"
        "                       of ranks, scaled to -m if that is given\n"
        "      --seed N         seed of the pattern (1)\n"
        "      --dynamic[=yes|no]  a new matrix each iteration (moe: yes;\n"
        "                       others: no)\n"
        "      --rate RATE      rate of one NIC, each way, for the lower bound:\n"
        "                       50mbit, 2.5gbit (unknown)\n"
        "      --nics N         NICs of a server, for the lower bound; ranks\n"
        "                       share them in blocks (one per rank)\n"
        "      --servers SPEC   the servers, for pattern and bound: 4x4, 4+4+2+1,\n"
        "                       @0,1,0,1 (the real hosts); --nodes does the same\n"
        "      --ceiling        measure a plain stream per NIC first\n"
        "      --nic-counters[=NAMES]  also packets and bytes per call on the\n"
        "                       NICs; of NAMES only, as in 'eth*,ib0'\n"
        "      --arrival WHEN   when ranks enter a call, in shares F of the lower\n"
        "                       bound: uniform:F, late:RANK:F, exp:F (mean F);\n"
        "                       times are from the first entry; needs --rate\n"
        "      --siblings       a communicator of the first ranks of all servers,\n"
        "                       one of the second, and so on, that call at once,\n"
        "                       each with a matrix of its own\n"
        "      --json           one JSON object per size, and nothing else\n"
        "      --times          add the time of every iteration to the JSON\n"
        "      --impl NAME      label in the JSON (the MPI in use)\n"
#ifdef OSU_NONBLOCKING
        "      --test-interval US  call MPI_Test so often while computing, in\n"
        "                       microseconds (0: never)\n"
        "      --burst N        N calls at once, each with the matrix of the one\n"
        "                       before moved on by a server; times and bound are\n"
        "                       those of all together (1)\n"
#endif
        "  -h, --help   -v, --version\n",
        program, FS_PATTERN_ALLOWED);
}
/* clang-format on */

const char *osu_collective_name(osu_collective_t collective)
{
    static const char *const names[] = {OSU_COLLECTIVE_MAP(FS_LIST_NAME)};

    return names[collective];
}

static osu_verdict_t parse_collective(const char       *text,
                                      osu_collective_t *collective_p, char *why)
{
    for (int i = 0; i < OSU_N_COLLECTIVES; ++i) {
        if (strcmp(text, osu_collective_name((osu_collective_t)i)) == 0) {
            *collective_p = (osu_collective_t)i;
            return OSU_RUN;
        }
    }
#define X(_collective, _word) ", " #_word
    return osu_bad(why, "--collective \"%s\": allowed: %s", text,
                   &OSU_COLLECTIVE_MAP(X)[2]);
#undef X
}

/* "MAX", "MIN:MAX" or "MIN:". */
static osu_verdict_t parse_sizes(const char *text, osu_options_t *options,
                                 char *why)
{
    const char *end;
    uint64_t    first;
    bool        ok = osu_read_number(text, &first, &end);

    if (ok && *end == '\0') {
        options->max_size = first;
    } else if (ok && *end == ':') {
        options->min_size = first;
        ok                = end[1] == '\0' ||
             (osu_read_number(end + 1, &options->max_size, &end) &&
              *end == '\0');
    } else {
        ok = false;
    }
    if (!ok || options->min_size == 0 ||
        options->min_size > options->max_size ||
        options->max_size > UINT64_C(1) << 40) {
        return osu_bad(why,
                       "-m \"%s\": allowed: MAX, MIN: or MIN:MAX in bytes, "
                       "1 <= MIN <= MAX <= 1024g",
                       text);
    }
    return OSU_RUN;
}

static osu_verdict_t parse_tails(const char *text, osu_options_t *options,
                                 char *why)
{
    const char *p = text == NULL ? "50,90,99" : text;
    uint64_t    value;

    options->n_tails = 0;
    for (; options->n_tails < OSU_MAX_TAILS; ++p) {
        if (!osu_read_number(p, &value, &p) || value < 1 || value > 99 ||
            (*p != ',' && *p != '\0')) {
            break;
        }
        options->tails[options->n_tails++] = (unsigned)value;
        if (*p == '\0') {
            return OSU_RUN;
        }
    }
    return osu_bad(why,
                   "-z \"%s\": allowed: 1 to %d percentiles from 1 to 99, as "
                   "in -z50,90,99",
                   text == NULL ? "" : text, OSU_MAX_TAILS);
}

static osu_verdict_t parse_yes_no(const char *text, bool *value_p, char *why)
{
    *value_p = text == NULL || strcmp(text, "yes") == 0;
    if (!*value_p && strcmp(text, "no") != 0) {
        return osu_bad(why, "--dynamic \"%s\": allowed: yes, no", text);
    }
    return OSU_RUN;
}

static osu_verdict_t parse_pattern(const char *text, osu_options_t *options,
                                   char *why)
{
    size_t len;

    options->pattern_text = text;
    options->path         = fs_pattern_path(text);
    if (options->path != NULL) {
        return osu_check_label("-p", text, why);
    }
    if (fs_pattern_parse(text, &options->pattern, why, OSU_WHY_LEN) == FS_OK) {
        return OSU_RUN;
    }
    len = strlen(why);
    snprintf(why + len, OSU_WHY_LEN - len, "; or file:PATH");
    return OSU_BAD;
}

static osu_verdict_t parse_arrival(const char *text, osu_options_t *options,
                                   char *why)
{
    options->arrival_text = text;
    return fs_arrival_parse(text, &options->arrival) == FS_OK
               ? OSU_RUN
               : osu_bad(why, "--arrival \"%s\": allowed: " FS_ARRIVAL_ALLOWED,
                         text);
}

/* Everything that has an argument of its own. */
static osu_verdict_t parse_value(int option, const char *value,
                                 osu_options_t *options, char *why)
{
    osu_verdict_t verdict;

    switch (option) {
    case 'm':
        options->as_is = false;
        return parse_sizes(value, options, why);
    case 'i':
        verdict                = osu_parse_count("-i", value, 1, 100000000,
                                                 &options->iterations[0], why);
        options->iterations[1] = options->iterations[0];
        return verdict;
    case 'x':
        verdict            = osu_parse_count("-x", value, 0, 100000000,
                                             &options->warmup[0], why);
        options->warmup[1] = options->warmup[0];
        return verdict;
    case 'M':
        return osu_parse_count("-M", value, 1, UINT64_MAX, &options->mem_limit,
                               why);
    case 'd':
        return osu_parse_memory(value, &options->memory, why);
    case 'z':
        return parse_tails(value, options, why);
    case 'p':
        return parse_pattern(value, options, why);
    case OPT_COLLECTIVE:
        return parse_collective(value, &options->collective, why);
    case OPT_SEED:
        return osu_parse_count("--seed", value, 0, UINT64_MAX, &options->seed,
                               why);
    case OPT_RATE:
        return osu_parse_rate(value, &options->rate, why);
    case OPT_ARRIVAL:
        return parse_arrival(value, options, why);
    case OPT_TEST:
        return osu_parse_count("--test-interval", value, 0, 1000000000,
                               &options->test_us, why);
    case OPT_BURST:
        return osu_parse_count("--burst", value, 1, 64, &options->burst, why);
    case OPT_NICS:
        return osu_parse_count("--nics", value, 1, 4096, &options->nics, why);
    case OPT_SERVERS:
        options->servers = value;
        return OSU_RUN;
    default:
        options->impl = value;
        return osu_check_label("--impl", value, why);
    }
}

/* What one option says of another. dynamic: of --dynamic, if has_dynamic. */
static osu_verdict_t settle(osu_options_t *options, bool has_dynamic,
                            const char *dynamic, char *why)
{
    if (options->pattern_text == NULL) {
        bool uniform = options->collective == OSU_ALLTOALL;

        options->pattern.kind = uniform ? FS_PATTERN_BALANCED
                                        : FS_PATTERN_RANDOM;
        options->pattern_text = uniform ? "balanced" : "random";
    }
    if (options->collective == OSU_ALLTOALL &&
        (options->path != NULL ||
         options->pattern.kind != FS_PATTERN_BALANCED)) {
        return osu_bad(
            why,
            "-p \"%s\": with --collective alltoall every rank sends the "
            "same to every rank; allowed: balanced",
            options->pattern_text);
    }
    if (options->siblings && options->as_is && options->path != NULL) {
        return osu_bad(why,
                       "-p \"%s\": with --siblings it needs -m, the average of "
                       "each communicator's part",
                       options->pattern_text);
    }
    if (options->arrival_text != NULL && options->rate == 0) {
        return osu_bad(why,
                       "--arrival \"%s\" needs --rate: its shares are of the "
                       "lower bound",
                       options->arrival_text);
    }
    if (has_dynamic) {
        osu_verdict_t verdict = parse_yes_no(dynamic, &options->dynamic, why);

        return verdict == OSU_RUN && options->dynamic && options->path != NULL
                   ? osu_bad(why,
                             "--dynamic: -p file:PATH has one matrix; allowed "
                             "with it: --dynamic=no")
                   : verdict;
    }
    options->dynamic = options->path == NULL &&
                       options->pattern.kind == FS_PATTERN_MOE;
    return OSU_RUN;
}

osu_verdict_t osu_options_parse(int argc, char **argv, osu_options_t *options,
                                char why[OSU_WHY_LEN])
{
    osu_verdict_t verdict     = OSU_RUN;
    const char   *dynamic     = NULL;
    bool          has_dynamic = false;
    int           option;

    *options = (osu_options_t){
        .min_size   = 1,
        .max_size   = 1 << 20,
        .iterations = {1000, 100},
        .warmup     = {100, 10},
        .mem_limit  = UINT64_C(2) << 30,
        .seed       = 1,
        .as_is      = true,
        .burst      = 1,
    };
    opterr = 0; /* rank 0 alone complains */
    while (verdict == OSU_RUN &&
           (option = getopt_long(argc, argv, "+:hvfm:i:x:M:d:cz::p:",
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
        case OPT_TIMES:
            options->times = true;
            break;
        case OPT_CEILING:
            options->ceiling = true;
            break;
        case OPT_SIBLINGS:
            options->siblings = true;
            break;
        case OPT_DYNAMIC:
            has_dynamic = true;
            dynamic     = optarg;
            break;
        case OPT_NIC_COUNTERS:
            options->counted_nics = optarg == NULL ? "*" : optarg;
            break;
        case ':':
            return osu_bad(why,
                           "option \"%s\" needs a value; -h lists all options",
                           argv[optind - 1]);
        case '?':
            if (strncmp(argv[optind - 1], "--", 2) == 0) {
                return osu_bad(why,
                               "unknown option \"%s\"; -h lists all options",
                               argv[optind - 1]);
            }
            return osu_bad(why, "unknown option \"-%c\"; -h lists all options",
                           optopt);
        default:
            verdict = parse_value(option, optarg, options, why);
        }
    }
    if (verdict != OSU_RUN) {
        return verdict;
    }
    if (optind < argc) {
        return osu_bad(why, "unexpected argument \"%s\"; -h lists all options",
                       argv[optind]);
    }
    options->as_is = options->as_is && options->path != NULL;
    return settle(options, has_dynamic, dynamic, why);
}
