/* SPDX-License-Identifier: BSD-3-Clause */
/* Only braces and brackets are counted here. Whether an object is right, who
 * reads it finds out. */
#include "tools/fs_tool_trace_scan.h"

#include <stdlib.h>
#include <string.h>

typedef fs_tool_trace_scan_t scan_t;

/* ---- characters ---- */

static void advance(scan_t *s)
{
    int before = s->c;

    s->c = getc(s->file);
    /* A file's last line is not the empty one behind its last newline. */
    s->line_of_c += before == '\n' && s->c != EOF;
}

static bool is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(scan_t *s)
{
    while (is_blank(s->c)) {
        advance(s);
    }
}

static bool take(scan_t *s, char wanted)
{
    skip_blanks(s);
    if (s->c != wanted) {
        return false;
    }
    advance(s);
    return true;
}

static bool fail(scan_t *s, const char *why)
{
    s->why  = s->c == EOF ? "the file ends too early" : why;
    s->line = s->line_of_c;
    return false;
}

/* ---- life ---- */

static void start(scan_t *s)
{
    s->c         = '\0';
    s->line_of_c = 1;
    s->inside = s->in_list = s->past_one = false;
    s->has_head = s->has_list = false;
    advance(s);
}

void fs_tool_trace_scan_init(scan_t *s, FILE *file)
{
    *s = (scan_t){.file = file};
    start(s);
}

void fs_tool_trace_scan_fini(scan_t *s)
{
    free(s->piece);
}

void fs_tool_trace_scan_rewind(scan_t *s)
{
    rewind(s->file);
    start(s);
}

/* ---- values; they become the piece ---- */

static bool put(scan_t *s, char c)
{
    if (s->n == s->max) {
        size_t max    = s->max * 2 + 256;
        char  *bigger = realloc(s->piece, max);

        if (bigger == NULL) {
            s->no_memory = true;
            return false;
        }
        s->piece = bigger;
        s->max   = max;
    }
    s->piece[s->n++] = c;
    return true;
}

static bool put_next(scan_t *s)
{
    if (s->c == EOF || s->c == '\0') {
        return fail(s, "a zero byte");
    }
    if (!put(s, (char)s->c)) {
        return false;
    }
    advance(s);
    return true;
}

static bool put_text(scan_t *s)
{
    bool more = put_next(s); /* the opening quote */

    while (more && s->c != '"') {
        if (s->c == '\n') {
            return fail(s, "a text does not end");
        }
        more = (s->c != '\\' || put_next(s)) && put_next(s);
    }
    return more && put_next(s);
}

/* Characters that are no value, and end one that has no quotes. */
static bool is_mark(int c)
{
    return c == ',' || c == ':' || c == '}' || c == ']';
}

/* A number, true, false or null. */
static bool put_word(scan_t *s)
{
    bool more;

    do {
        more = put_next(s);
    } while (more && !is_blank(s->c) && !is_mark(s->c) && s->c != EOF);
    return more;
}

/* Of any kind. */
static bool read_value(scan_t *s)
{
    uint64_t depth = 0, line;
    bool     more;

    skip_blanks(s);
    if (is_mark(s->c)) {
        return fail(s, "a value is missing");
    }
    s->n = 0;
    line = s->line_of_c;
    do {
        if (s->c == '"') {
            more = put_text(s);
        } else if (s->c == '{' || s->c == '[') {
            ++depth;
            more = put_next(s);
        } else if (s->c == '}' || s->c == ']') {
            --depth;
            more = put_next(s);
        } else if (is_mark(s->c) || is_blank(s->c)) {
            more = put_next(s);
        } else {
            more = put_word(s);
        }
    } while (more && depth > 0);
    more = more && put(s, '\0');
    if (more || s->c == EOF) {
        s->line = line; /* what does not end, too, is told where it begins */
    }
    return more;
}

static bool read_object(scan_t *s)
{
    skip_blanks(s);
    return s->c == '{' ? read_value(s) : fail(s, "no object");
}

/* ---- the frame ---- */

static fs_tool_piece_t next_event(scan_t *s)
{
    if (s->past_one && !take(s, ',')) {
        fail(s, "no \",\" or \"]\" after an event");
        return FS_TOOL_PIECE_WRONG;
    }
    s->past_one = true;
    return read_object(s) ? FS_TOOL_PIECE_EVENT : FS_TOOL_PIECE_WRONG;
}

static bool read_name(scan_t *s)
{
    if (s->past_one && !take(s, ',')) {
        return fail(s, "no \",\" or \"}\" after a member");
    }
    s->past_one = true;
    skip_blanks(s);
    if (s->c != '"') {
        return fail(s, "the name of a member is missing");
    }
    return read_value(s) &&
           (take(s, ':') || fail(s, "no \":\" after the name of a member"));
}

static fs_tool_piece_t end(scan_t *s)
{
    skip_blanks(s);
    if (s->c != EOF) {
        fail(s, "something follows the object");
    } else if (!s->has_head || !s->has_list) {
        s->why  = "this is no trace of coll_fast";
        s->line = 1;
    }
    return s->why == NULL ? FS_TOOL_PIECE_END : FS_TOOL_PIECE_WRONG;
}

/* A member of the file's object; the list of events only begins here. */
static bool next_member(scan_t *s, bool *is_head_p)
{
    *is_head_p = false;
    if (!read_name(s)) {
        return false;
    }
    if (strcmp(s->piece, "\"traceEvents\"") == 0) {
        s->in_list  = take(s, '[');
        s->has_list = true;
        s->past_one = !s->in_list;
        return s->in_list || fail(s, "no list of events");
    }
    *is_head_p  = strcmp(s->piece, "\"otherData\"") == 0;
    s->has_head = s->has_head || *is_head_p;
    return *is_head_p ? read_object(s) : read_value(s);
}

fs_tool_piece_t fs_tool_trace_scan_next(scan_t *s)
{
    bool is_head = false;

    if (!s->inside) {
        s->inside = take(s, '{');
        if (!s->inside) {
            s->why  = s->c == EOF ? "the file is empty" : "no object";
            s->line = 1;
            return FS_TOOL_PIECE_WRONG;
        }
    }
    while (!is_head) {
        if (s->in_list && !take(s, ']')) {
            return next_event(s);
        }
        if (s->in_list) {
            s->in_list  = false;
            s->past_one = true;
        } else if (take(s, '}')) {
            return end(s);
        } else if (!next_member(s, &is_head)) {
            return FS_TOOL_PIECE_WRONG;
        }
    }
    return FS_TOOL_PIECE_HEAD;
}
