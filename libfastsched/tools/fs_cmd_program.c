/* SPDX-License-Identifier: BSD-3-Clause */
/* fastsched program: what a rank does, operation by operation, as JSON. */
#include "sched/fs_plan_check.h"
#include "tools/fs_tool.h"
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_program.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct args {
    fs_tool_traffic_args_t traffic;
    fs_tool_params_args_t  params;
    const char            *rank;
    bool                   verify;
} args_t;

/* Programs first to end - 1, [n_ranks] places, NULL where there is none. */
typedef struct programs {
    const fs_tool_traffic_t *traffic;
    fs_plan_params_t         params;
    uint32_t                 first, end; /* asked for */
    fs_plan_t              **plans;
} programs_t;

static int read_args(int argc, char **argv, args_t *args)
{
    fs_tool_options_t options = {
        .usage =
            "program --rank R|all --matrix FILE|--pattern NAME [OPTIONS]\n\n"
            "The operations of a rank, as JSON."};

    memset(args, 0, sizeof(*args));
    fs_tool_add(&options,
                (fs_tool_option_t){FS_TOOL_TEXT, "rank", "R",
                                   "whose program; all: a list of everybody's",
                                   .value = &args->rank});
    fs_tool_traffic_options(&args->traffic, &options);
    fs_tool_params_options(&args->params, &options);
    fs_tool_program_options(&args->params, &options);
    fs_tool_add(&options, (fs_tool_option_t){FS_TOOL_TITLE, .name = "Output"});
    fs_tool_add(&options, (fs_tool_option_t){
                              FS_TOOL_FLAG, "verify", NULL,
                              "first prove that the programs of all ranks\n"
                              "together deliver every byte",
                              .value = &args->verify});
    return fs_tool_read_options(argc, argv, &options);
}

static int read_rank(const char *text, programs_t *programs)
{
    uint32_t n = programs->traffic->n_ranks;
    uint64_t rank;

    if (strcmp(text, "all") == 0) {
        programs->first = 0;
        programs->end   = n;
        return FS_TOOL_OK;
    }
    if (!fs_tool_read_number(FS_TOOL_U32, text, &rank) || rank >= n) {
        char quoted[64];

        return fs_tool_bad(
            "--rank \"%s\": allowed: 0 to %" PRIu32 ", or all",
            fs_tool_quote(text, strlen(text), quoted, sizeof(quoted)), n - 1);
    }
    programs->first = (uint32_t)rank;
    programs->end   = (uint32_t)rank + 1;
    return FS_TOOL_OK;
}

static int plan_ranks(programs_t *programs, uint32_t first, uint32_t end)
{
    programs->plans =
        calloc(programs->traffic->n_ranks, sizeof(*programs->plans));
    if (programs->plans == NULL) {
        return fs_tool_status("programs", FS_ERR_NOMEM);
    }
    return fs_tool_programs_make(programs->traffic, &programs->params, first,
                                 end, programs->plans);
}

static int verify(const programs_t *programs)
{
    char        why[512];
    fs_status_t status = fs_plan_check(
        programs->traffic->topo, &programs->params, programs->traffic->pairs,
        programs->plans, why, sizeof(why));

    if (status == FS_ERR_INVAL) {
        return fs_tool_failed("the programs are wrong: %s", why);
    }
    return status == FS_OK ? FS_TOOL_OK : fs_tool_status("--verify", status);
}

static int print(const programs_t *programs, bool list)
{
    fs_tool_json_t json;
    fs_status_t    status = FS_OK;

    fs_tool_json_init(&json, stdout, list ? 3 : 2);
    if (list) {
        fs_tool_json_open(&json, NULL, '[');
    }
    for (uint32_t r = programs->first; status == FS_OK && r < programs->end;
         ++r) {
        status = fs_tool_program_json(&json, programs->traffic, r,
                                      programs->plans[r]);
    }
    if (list) {
        fs_tool_json_close(&json);
    }
    return status == FS_OK ? FS_TOOL_OK : fs_tool_status("program", status);
}

static int run(const args_t *args, const fs_tool_traffic_t *traffic)
{
    programs_t programs = {.traffic = traffic,
                           .params  = fs_tool_params(&args->params)};
    int        rc       = read_rank(args->rank, &programs);

    if (rc == FS_TOOL_OK && args->verify) {
        rc = plan_ranks(&programs, 0, traffic->n_ranks);
    } else if (rc == FS_TOOL_OK) {
        rc = plan_ranks(&programs, programs.first, programs.end);
    }
    if (rc == FS_TOOL_OK && args->verify) {
        rc = verify(&programs);
    }
    if (rc == FS_TOOL_OK) {
        rc = print(&programs, strcmp(args->rank, "all") == 0);
    }
    for (uint32_t r = 0; programs.plans != NULL && r < traffic->n_ranks; ++r) {
        fs_plan_destroy(programs.plans[r]);
    }
    free(programs.plans);
    return rc;
}

int fs_cmd_program(int argc, char **argv)
{
    args_t            args;
    fs_tool_traffic_t traffic;
    int               rc = read_args(argc, argv, &args);

    if (rc != FS_TOOL_GO_ON) {
        return rc;
    }
    if (args.rank == NULL) {
        return fs_tool_bad("program needs --rank R or --rank all");
    }
    rc = fs_tool_params_check(&args.params);
    if (rc != FS_TOOL_OK) {
        return rc;
    }
    rc = fs_tool_traffic_make(&args.traffic, &traffic);
    if (rc != FS_TOOL_OK) {
        return rc;
    }
    rc = run(&args, &traffic);
    fs_tool_traffic_fini(&traffic);
    return rc;
}
