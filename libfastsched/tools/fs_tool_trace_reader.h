/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two files that read traces share. */
#ifndef FS_TOOL_TRACE_READER_H
#define FS_TOOL_TRACE_READER_H

#include "tools/fs_tool_fields.h"
#include "tools/fs_tool_trace.h"

/* A file while it is read. */
typedef struct fs_tool_trace_reader {
    const char      *path;
    fs_tool_fields_t fields; /* of the head or an event */
    fs_tool_trace_t *trace;
    uint32_t         rank;
    bool             no_memory;
    const char      *why; /* these are wrong */
} fs_tool_trace_reader_t;

/* A member that must be there: else reader->why is its name. */
uint64_t fs_tool_trace_number(fs_tool_trace_reader_t *reader, const char *key,
                              uint64_t max);
void     fs_tool_trace_word(fs_tool_trace_reader_t *reader, const char *key,
                            char *text, size_t text_len);

/* Put the event in reader->fields into its table. */
void fs_tool_trace_event(fs_tool_trace_reader_t *reader);

#endif
