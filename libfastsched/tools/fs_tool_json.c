/* SPDX-License-Identifier: BSD-3-Clause */
/* A small JSON writer. Its user sees to it that keys are unique and that what
 * is opened is closed. */
#include "tools/fs_tool_json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

void fs_tool_json_init(fs_tool_json_t *json, FILE *out, unsigned wrap)
{
    *json = (fs_tool_json_t){.out = out, .wrap = wrap};
}

static void new_line(fs_tool_json_t *json)
{
    fprintf(json->out, "\n%*s", (int)(2 * json->depth), "");
}

/* What comes before a value: comma, line, key. */
static void lead(fs_tool_json_t *json, const char *key)
{
    if (json->n[json->depth]++ > 0) {
        fputs(json->depth <= json->wrap ? "," : ", ", json->out);
    }
    if (json->depth > 0 && json->depth <= json->wrap) {
        new_line(json);
    }
    if (key != NULL) {
        fprintf(json->out, "\"%s\": ", key);
    }
}

void fs_tool_json_open(fs_tool_json_t *json, const char *key, char kind)
{
    lead(json, key);
    assert(json->depth < FS_TOOL_JSON_DEPTH);
    fputc(kind, json->out);
    json->close[++json->depth] = kind == '{' ? '}' : ']';
    json->n[json->depth]       = 0;
}

void fs_tool_json_close(fs_tool_json_t *json)
{
    unsigned depth = json->depth--;

    if (depth <= json->wrap && json->n[depth] > 0) {
        new_line(json);
    }
    fputc(json->close[depth], json->out);
    if (json->depth == 0) {
        fputc('\n', json->out);
        json->n[0] = 0;
    }
}

void fs_tool_json_u64(fs_tool_json_t *json, const char *key, uint64_t value)
{
    lead(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void fs_tool_json_real(fs_tool_json_t *json, const char *key, double value,
                       int decimals)
{
    if (!isfinite(value)) {
        fs_tool_json_null(json, key);
        return;
    }
    lead(json, key);
    fprintf(json->out, "%.*f", decimals, value);
}

void fs_tool_json_bool(fs_tool_json_t *json, const char *key, bool value)
{
    lead(json, key);
    fputs(value ? "true" : "false", json->out);
}

void fs_tool_json_null(fs_tool_json_t *json, const char *key)
{
    lead(json, key);
    fputs("null", json->out);
}

void fs_tool_json_text(fs_tool_json_t *json, const char *key, const char *text)
{
    lead(json, key);
    fputc('"', json->out);
    for (const char *p = text; *p != '\0'; ++p) {
        unsigned char byte = (unsigned char)*p;

        if (byte == '"' || byte == '\\') {
            fprintf(json->out, "\\%c", byte);
        } else if (byte < ' ' || byte >= 0x7f) {
            fprintf(json->out, "\\u%04x", byte);
        } else {
            fputc(byte, json->out);
        }
    }
    fputc('"', json->out);
}
