/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fs_tool_recording.h"

#include "base/fs_arith.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WHY = 8192 };

bool fs_tool_is_recording(const char *path)
{
    struct stat status;

    return path != NULL && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* ---- all of it ---- */

static void look_at(fs_tool_recording_t *r, const fs_recording_t *comm)
{
    size_t n = comm->n_calls;

    if (comm->n_ranks > FS_TOOL_MAX_RANKS) {
        fs_tool_bad("%s: %u ranks are too many; allowed: up to %u",
                    fs_tool_quote(r->path), comm->n_ranks,
                    (unsigned)FS_TOOL_MAX_RANKS);
    }
    r->n_calls += n;
    r->missing += comm->missing;
    if (n > 0) {
        double seconds =
            (double)(comm->calls[n - 1].entry_us - comm->calls[0].entry_us) *
            1e-6;

        r->seconds = seconds > r->seconds ? seconds : r->seconds;
    }
    for (uint32_t k = 0; k < comm->n_ranks; ++k) {
        const fs_record_file_t *file = &comm->ranks[k];

        r->n_world = fs_u32_max(r->n_world, file->world_rank + 1);
        r->full |= file->dropped > 0;
        r->cut |= !file->ended;
    }
}

void fs_tool_recording_read(const char *path, fs_tool_recording_t *r)
{
    char        why[WHY];
    fs_status_t status;

    *r     = (fs_tool_recording_t){.path = path};
    status = fs_recordings_read(&r->recordings, path, why, sizeof(why));
    if (status == FS_ERR_INVAL || status == FS_ERR_NATIVE) {
        fs_tool_bad("%s", fs_tool_quote(why));
    }
    fs_tool_must(status, path);
    for (size_t k = 0; k < r->recordings.n; ++k) {
        look_at(r, &r->recordings.all[k]);
    }
    fs_tool_must(fs_recordings_kinds(&r->recordings, &r->kinds, &r->n_kinds),
                 path);
    for (size_t k = 0; k < r->n_kinds; ++k) {
        r->bytes += r->kinds[k].n * r->kinds[k].bytes;
    }
    if (r->n_kinds == 0) {
        fs_tool_bad("%s: %" PRIu64
                    " calls are recorded, and none has a byte to "
                    "send",
                    fs_tool_quote(path), r->n_calls);
    }
}

void fs_tool_recording_fini(fs_tool_recording_t *r)
{
    fs_recordings_fini(&r->recordings);
    free(r->kinds);
}

void fs_tool_recording_traffic(const fs_tool_recording_t    *r,
                               const fs_recorded_kind_t     *kind,
                               const fs_tool_traffic_args_t *args,
                               fs_tool_traffic_t            *traffic)
{
    const fs_recording_t *comm   = kind->comm;
    uint32_t              n      = comm->n_ranks;
    uint32_t             *places = fs_tool_calloc(n, sizeof(*places));
    uint64_t             *pairs;

    for (uint32_t k = 0; k < n; ++k) {
        places[k] = args->servers != NULL ? comm->ranks[k].world_rank
                                          : comm->ranks[k].server;
    }
    fs_tool_traffic_place(args, r->n_world, n, places, traffic);
    pairs = fs_tool_calloc((size_t)n * n, sizeof(*pairs));
    fs_recording_matrix(comm, kind->matrix, pairs);
    fs_tool_traffic_replace(traffic, pairs);
    free(places);
}
