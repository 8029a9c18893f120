/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of a recording, of one rank. Events are read up to the first that is
 * not whole, or the file is refused; each has a row, and what a row holds can be
 * written, and reads the same again.
 */
#include "fuzz_input.h"

#include "trace/fs_record_file.h"

#include <string.h>

enum { WHY = 256, MANY = 4096 };

static void must_come_back(const fs_record_file_t *file, uint32_t row)
{
    uint64_t         *values = fuzz_alloc(file->n_ranks, sizeof(*values));
    uint64_t         *again  = fuzz_alloc(file->n_ranks, sizeof(*again));
    uint8_t          *bytes  = fuzz_alloc(file->n_ranks, FS_NUMBER_MAX);
    fs_record_bytes_t in     = {bytes, bytes};

    fs_record_file_row(file, row, values);
    in.end += fs_row_put(bytes, file->n_ranks, values);
    fuzz_must(fs_row_get(&in, file->n_ranks, again) && in.at == in.end,
              "a row that is written cannot be read");
    fuzz_must(memcmp(values, again, file->n_ranks * sizeof(*values)) == 0,
              "a row is another one when it is read again");
    free(values);
    free(again);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fs_record_file_t file;
    char             why[WHY] = "";
    fs_status_t      status =
        fs_record_file_parse(&file, data, len, why, sizeof(why));

    fuzz_must(status == FS_OK || (status == FS_ERR_INVAL &&
                                  (strncmp(why, "line 1: ", 8) == 0 ||
                                   strncmp(why, "byte ", 5) == 0)),
              "refused for another reason");
    for (size_t k = 0; k < file.n_events; ++k) {
        const fs_recorded_event_t *event = &file.events[k];
        bool                       start = event->kind == FS_RECORD_START;

        fuzz_must(event->number < (start ? file.n_inits : file.n_rows),
                  "an event refers to nothing");
        if (!start && file.n_ranks <= MANY) {
            must_come_back(&file, event->number);
        }
    }
    fs_record_file_fini(&file);
    return 0;
}
