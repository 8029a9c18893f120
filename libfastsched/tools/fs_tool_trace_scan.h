/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of a trace, cut into pieces: whose trace it is, and its events, one
 * after the other. As fs_trace_file.c writes it, or as another program has
 * written it again, with other blanks and its members in another order.
 */
#ifndef FS_TOOL_TRACE_SCAN_H
#define FS_TOOL_TRACE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum fs_tool_piece {
    FS_TOOL_PIECE_HEAD,  /* the object "otherData" */
    FS_TOOL_PIECE_EVENT, /* an object of the list "traceEvents" */
    FS_TOOL_PIECE_END,   /* of a file that is whole and has both */
    FS_TOOL_PIECE_WRONG  /* scan->why says why, or no_memory is set */
} fs_tool_piece_t;

typedef struct fs_tool_trace_scan {
    FILE       *file;
    int         c;         /* the character that comes next */
    uint64_t    line_of_c; /* from 1 */
    bool        inside;    /* behind the file's opening brace */
    bool        in_list;   /* of events */
    bool        past_one;  /* a comma comes before the next member or event */
    bool        has_head, has_list;
    char       *piece; /* its text, until the next one */
    size_t      n, max;
    uint64_t    line; /* where the piece begins, or what is wrong */
    bool        no_memory;
    const char *why;
} fs_tool_trace_scan_t;

/* file is borrowed. */
void fs_tool_trace_scan_init(fs_tool_trace_scan_t *scan, FILE *file);
void fs_tool_trace_scan_fini(fs_tool_trace_scan_t *scan);

/* From the beginning again. */
void fs_tool_trace_scan_rewind(fs_tool_trace_scan_t *scan);

/* The next one; no more after END and WRONG. */
fs_tool_piece_t fs_tool_trace_scan_next(fs_tool_trace_scan_t *scan);

#endif
