/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fs_tool_fields.h"

#include "tools/fs_tool.h"
#include "base/fs_value.h"

#include <string.h>

/* A place in the text; what is wrong with it, once something is. */
typedef struct cursor {
    const char *at;
    const char *why;
} cursor_t;

static void skip_blanks(cursor_t *c)
{
    c->at += strspn(c->at, " \t\r\n");
}

static bool take(cursor_t *c, char wanted)
{
    skip_blanks(c);
    if (*c->at != wanted) {
        return false;
    }
    ++c->at;
    return true;
}

static void fail(cursor_t *c, const char *why)
{
    if (c->why == NULL) {
        c->why = why;
    }
}

/* Behind the opening quote. */
static void read_text(cursor_t *c, const char **text, size_t *len)
{
    *text = c->at;
    while (*c->at != '"' && *c->at != '\0') {
        c->at += *c->at == '\\' && c->at[1] != '\0' ? 2 : 1;
    }
    *len = (size_t)(c->at - *text);
    if (!take(c, '"')) {
        fail(c, "a text does not end");
    }
}

/* A number, true, false or null. */
static void read_word(cursor_t *c, const char **word, size_t *len)
{
    *word = c->at;
    *len  = strspn(c->at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
    c->at += *len;
    if (*len == 0) {
        fail(c, "a value is missing, or is none that is known here");
    }
}

static void read_value(cursor_t *c, fs_tool_fields_t *fields,
                       fs_tool_field_t field)
{
    field.is_text = take(c, '"');
    if (field.is_text) {
        read_text(c, &field.value, &field.value_len);
    } else {
        read_word(c, &field.value, &field.value_len);
    }
    if (fields->n == FS_TOOL_MAX_FIELDS) {
        fail(c, "too many members");
    } else if (c->why == NULL) {
        fields->list[fields->n++] = field;
    }
}

/* One member; an object as a value opens another level. */
static void read_member(cursor_t *c, fs_tool_fields_t *fields, unsigned *depth)
{
    fs_tool_field_t field = {0};

    if (!take(c, '"')) {
        fail(c, "the name of a member is missing");
        return;
    }
    read_text(c, &field.key, &field.key_len);
    if (!take(c, ':')) {
        fail(c, "no \":\" after the name of a member");
        return;
    }
    if (take(c, '{')) {
        ++*depth;
    } else {
        read_value(c, fields, field);
    }
}

const char *fs_tool_fields_read(const char *text, fs_tool_fields_t *fields)
{
    cursor_t c     = {text, NULL};
    unsigned depth = 1;
    bool     first = true;

    fields->n = 0;
    if (!take(&c, '{')) {
        return "no object";
    }
    while (depth > 0 && c.why == NULL) {
        unsigned before = depth;

        if (take(&c, '}')) {
            --depth;
            first = false;
            continue;
        }
        if (!first && !take(&c, ',')) {
            return "no \",\" or \"}\" after a member";
        }
        read_member(&c, fields, &depth);
        first = depth > before;
    }
    skip_blanks(&c);
    if (c.why == NULL && *c.at != '\0') {
        return "something follows the object";
    }
    return c.why;
}

/* ---- looking ---- */

bool fs_tool_field_is_named(const fs_tool_field_t *field, const char *key)
{
    return strlen(key) == field->key_len &&
           memcmp(key, field->key, field->key_len) == 0;
}

static const fs_tool_field_t *find(const fs_tool_fields_t *fields,
                                   const char             *key)
{
    for (size_t k = fields->n; k > 0; --k) {
        if (fs_tool_field_is_named(&fields->list[k - 1], key)) {
            return &fields->list[k - 1];
        }
    }
    return NULL;
}

static bool copy_value(const fs_tool_field_t *field, bool is_text, char *text,
                       size_t text_len)
{
    size_t len;

    if (field == NULL || field->is_text != is_text) {
        return false;
    }
    len = field->value_len < text_len ? field->value_len : text_len - 1;
    memcpy(text, field->value, len);
    text[len] = '\0';
    return true;
}

bool fs_tool_fields_u64(const fs_tool_fields_t *fields, const char *key,
                        uint64_t *value_p)
{
    char digits[32];

    return copy_value(find(fields, key), false, digits, sizeof(digits)) &&
           fs_value_number(digits, value_p);
}

bool fs_tool_field_time(const fs_tool_field_t *field, uint64_t *ns_p)
{
    char     text[32], *point;
    uint64_t us, ns = 0;

    if (!copy_value(field, false, text, sizeof(text))) {
        return false;
    }
    point = strchr(text, '.');
    if (point != NULL) {
        char decimals[4] = "000";

        *point = '\0';
        if (strlen(point + 1) > 3) {
            return false;
        }
        memcpy(decimals, point + 1, strlen(point + 1));
        if (!fs_value_number(decimals, &ns)) {
            return false;
        }
    }
    if (!fs_value_number(text, &us) || us > UINT64_MAX / 2000) {
        return false;
    }
    *ns_p = us * 1000 + ns;
    return true;
}

bool fs_tool_fields_time(const fs_tool_fields_t *fields, const char *key,
                         uint64_t *ns_p)
{
    return fs_tool_field_time(find(fields, key), ns_p);
}

bool fs_tool_fields_text(const fs_tool_fields_t *fields, const char *key,
                         char *text, size_t text_len)
{
    return copy_value(find(fields, key), true, text, text_len);
}

bool fs_tool_fields_is(const fs_tool_fields_t *fields, const char *key,
                       const char *text)
{
    const fs_tool_field_t *field = find(fields, key);

    return field != NULL && field->is_text &&
           field->value_len == strlen(text) &&
           memcmp(field->value, text, field->value_len) == 0;
}
