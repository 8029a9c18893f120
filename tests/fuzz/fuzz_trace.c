/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz the trace reader and all that "fastsched trace" makes of traces: any
 * bytes are the files of a directory, one behind the other with a form feed
 * between them. They are refused, or every call of theirs can be told.
 *
 * What is refused is said on stderr: libFuzzer's option -close_fd_mask=2.
 */
#include "fuzz_input.h"
#include "tools/fs_tool_trace.h"

#include <string.h>
#include <unistd.h>

#define OUTPUT "/dev/null"

enum { MAX_FILES = 4 };

static char dir[512];

static const char *name_of(unsigned file)
{
    static char name[sizeof(dir) + 32];

    snprintf(name, sizeof(name), "%s/fast-x-rank%u.json", dir, file);
    return name;
}

static void remove_files(void)
{
    for (unsigned k = 0; k < MAX_FILES; ++k) {
        unlink(name_of(k));
    }
}

static void remove_dir(void)
{
    remove_files();
    rmdir(dir);
}

/* Once for all inputs; removed at the end, but not after a failure. */
static void make_dir(void)
{
    static bool made = false;

    if (!made) {
        const char *parent = getenv("TMPDIR");

        snprintf(dir, sizeof(dir), "%s/fuzz_trace.XXXXXX",
                 parent == NULL ? "/tmp" : parent);
        fuzz_must(mkdtemp(dir) != NULL, "no directory");
        atexit(remove_dir);
        made = true;
    }
}

/* The last one has the rest. */
static void write_files(const uint8_t *data, size_t len)
{
    remove_files();
    for (unsigned k = 0; k < MAX_FILES; ++k) {
        const uint8_t *end  = len == 0 ? NULL : memchr(data, '\f', len);
        size_t         part = end == NULL || k == MAX_FILES - 1 ? len
                                                                : (size_t)(end - data);
        FILE          *file = fopen(name_of(k), "wb");

        fuzz_must(file != NULL, "no file");
        fuzz_must(fwrite(data, 1, part, file) == part, "no room");
        fclose(file);
        if (part == len) {
            return;
        }
        data += part + 1;
        len -= part + 1;
    }
}

/* ---- what must hold ---- */

static void check_mates(const fs_tool_trace_t *trace)
{
    for (size_t k = 0; k < trace->n_ops; ++k) {
        const fs_tool_trace_op_t *op = &trace->ops[k], *mate;

        fuzz_must(op->rank < trace->n_ranks, "an operation of nobody");
        if (op->mate != FS_TOOL_NONE) {
            fuzz_must(op->mate < trace->n_ops, "a mate that is not there");
            mate = &trace->ops[op->mate];
            fuzz_must(mate->mate == k && mate->kind != op->kind &&
                          mate->rank == op->peer && mate->peer == op->rank,
                      "a mate of another");
        }
    }
}

static void check_path(const fs_tool_trace_sum_t *sum,
                       const fs_tool_path_t      *path)
{
    uint64_t time = sum->first_entry, shares = 0;

    for (size_t k = 0; k < path->n; ++k) {
        fuzz_must(path->hops[k].begin == time, "a gap in the path");
        time = path->hops[k].end;
    }
    for (int k = 0; k < FS_TOOL_N_HOPS; ++k) {
        shares += path->share_ns[k];
    }
    fuzz_must(path->n == 0 || time == sum->end, "the path ends elsewhere");
    fuzz_must(shares == time - sum->first_entry, "shares do not add up");
}

/* ---- as the command does ---- */

static void tell_call(const fs_tool_traces_t *traces, fs_tool_trace_t *trace,
                      uint32_t call)
{
    fs_tool_trace_report_t report = {
        .traces = traces, .trace = trace, .rate = trace->rate};
    FILE *out = fopen(OUTPUT, "w");

    fuzz_must(out != NULL, "no output");
    fs_tool_trace_sum(trace, call, &report.sum);
    report.n_steps = fs_tool_trace_steps(trace, call, &report.steps);
    fuzz_must(report.n_steps >= 0, "no steps");
    fuzz_must(fs_tool_path_find(trace, call, &report.path) == 0, "no path");
    check_path(&report.sum, &report.path);
    fs_tool_trace_text(out, &report);
    fs_tool_trace_json(out, &report);
    fclose(out);
    fuzz_must(fs_tool_trace_svg(OUTPUT, &report) == 0, "no SVG");
    fs_tool_path_fini(&report.path);
    free(report.steps);
}

static void tell(fs_tool_traces_t *traces)
{
    for (size_t t = 0; t < traces->n; ++t) {
        fuzz_must(fs_tool_trace_link(&traces->list[t]) == 0, "no link");
        check_mates(&traces->list[t]);
    }
    for (size_t t = 0; t < traces->n; ++t) {
        fs_tool_trace_t *trace = &traces->list[t];

        for (size_t k = 0; k < trace->n_calls; ++k) {
            if (k == 0 || trace->calls[k].call != trace->calls[k - 1].call) {
                tell_call(traces, trace, trace->calls[k].call);
            }
        }
    }
    fuzz_must(fs_tool_trace_merge(OUTPUT, traces) == 0, "no merged file");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fs_tool_traces_t traces;

    make_dir();
    write_files(data, len);
    if (fs_tool_traces_read(dir, &traces) == 0) {
        tell(&traces);
        fs_tool_traces_fini(&traces);
    }
    return 0;
}
