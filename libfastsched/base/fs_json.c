/* SPDX-License-Identifier: BSD-3-Clause */
/* A small JSON writer. The caller ensures that keys are unique and that objects
 * and lists are closed. The only file of base/ that does output. */
#include "base/fs_json.h"

#include "base/fs_assert.h"

#include <inttypes.h>
#include <stdarg.h>

enum { SAY_LEN = 100 };

void fs_json_init(fs_json_t *json, FILE *out, unsigned wrap)
{
    *json = (fs_json_t){.out = out, .wrap = wrap};
}

static void new_line(fs_json_t *json)
{
    fprintf(json->out, "\n%*s", (int)(2 * json->depth), "");
}

/* What comes before a value: comma, line, key. */
static void lead(fs_json_t *json, const char *key)
{
    if (json->n[json->depth]++ > 0) {
        fputs(json->depth <= json->wrap ? "," : ", ", json->out);
    }
    if (json->depth > 0 && json->depth <= json->wrap) {
        new_line(json);
    }
    if (key != NULL) {
        fputc('"', json->out);
        fputs(key, json->out);
        fputs("\": ", json->out);
    }
}

void fs_json_open(fs_json_t *json, const char *key, char kind)
{
    lead(json, key);
    fs_assert(json->depth < FS_JSON_DEPTH);
    fputc(kind, json->out);
    json->close[++json->depth] = kind == '{' ? '}' : ']';
    json->n[json->depth]       = 0;
}

void fs_json_close(fs_json_t *json)
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

void fs_json_u64(fs_json_t *json, const char *key, uint64_t value)
{
    lead(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void fs_json_u64s(fs_json_t *json, const char *key, size_t n,
                  const uint64_t *values)
{
    lead(json, key);
    fputc('[', json->out);
    for (size_t k = 0; k < n; ++k) {
        fprintf(json->out, "%s%" PRIu64, k == 0 ? "" : ", ", values[k]);
    }
    fputc(']', json->out);
}

void fs_json_milli(fs_json_t *json, const char *key, uint64_t value)
{
    lead(json, key);
    fprintf(json->out, "%" PRIu64 ".%03u", value / 1000,
            (unsigned)(value % 1000));
}

void fs_json_real(fs_json_t *json, const char *key, double value, int decimals)
{
    if (!__builtin_isfinite(value)) {
        fs_json_text(json, key, NULL);
        return;
    }
    lead(json, key);
    fprintf(json->out, "%.*f", decimals, value);
}

void fs_json_bool(fs_json_t *json, const char *key, bool value)
{
    lead(json, key);
    fputs(value ? "true" : "false", json->out);
}

void fs_json_text(fs_json_t *json, const char *key, const char *text)
{
    lead(json, key);
    if (text == NULL) {
        fputs("null", json->out);
        return;
    }
    fputc('"', json->out);
    for (; *text != '\0'; ++text) {
        unsigned char byte = (unsigned char)*text;

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

void fs_json_say(fs_json_t *json, const char *key, const char *format, ...)
{
    char    text[SAY_LEN];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fs_json_text(json, key, text);
}
