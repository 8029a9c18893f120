/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process tells the others before any of them waits for it: a text with a
 * line NAME=VALUE for its version, its priority, and each parameter that must be
 * equal on all ranks and is not its default.
 */
#include "base/fs_strbuf.h"
#include "comm/fs_params.h"
#include "wrapper/fs_wrapper.h"

#include <string.h>

static const char version[] = "version", priority[] = "priority";

void fs_wrapper_settings(const fs_wrapper_t *wrapper, const char *version_text,
                         const char *priority_text,
                         char        record[FS_SETTINGS_MAX])
{
    fs_strbuf_t line = {record, FS_SETTINGS_MAX, 0};
    fs_params_t defaults;

    fs_params_init(&defaults);
    fs_strbuf_add(&line, "%s=%s\n%s=%s\n", version, version_text, priority,
                  priority_text);
    for (size_t k = 0; fs_params_info(k) != NULL; ++k) {
        char value[FS_PARAM_TEXT_MAX], usual[FS_PARAM_TEXT_MAX];

        fs_params_text(&wrapper->params, k, value);
        fs_params_text(&defaults, k, usual);
        if (strcmp(value, usual) != 0) {
            fs_strbuf_add(&line, "%s=%s\n", fs_params_info(k)->name, value);
        }
    }
}

/* The value of name in a record, or its default. */
static void read_value(const char *record, const char *name, const char *usual,
                       char value[FS_PARAM_TEXT_MAX])
{
    fs_strbuf_t line = {value, FS_PARAM_TEXT_MAX, 0};
    size_t      len  = strlen(name);

    while (*record != '\0') {
        size_t end = strcspn(record, "\n");

        if (strncmp(record, name, len) == 0 && record[len] == '=') {
            fs_strbuf_add(&line, "%.*s", (int)(end - len - 1),
                          record + len + 1);
            return;
        }
        record += record[end] == '\0' ? end : end + 1;
    }
    fs_strbuf_add(&line, "%s", usual);
}

static bool differs_in(const char *name, const char *usual, const char *word_a,
                       uint32_t rank_a, const char *word_b, uint32_t rank_b,
                       char *why, size_t why_len)
{
    char a[FS_PARAM_TEXT_MAX], b[FS_PARAM_TEXT_MAX];

    read_value(word_a, name, usual, a);
    read_value(word_b, name, usual, b);
    if (strcmp(a, b) == 0) {
        return false;
    }
    fs_params_explain(name, a, rank_a, b, rank_b, why, why_len);
    return true;
}

void fs_wrapper_explain_settings(const char *word_a, uint32_t rank_a,
                                 const char *word_b, uint32_t rank_b, char *why,
                                 size_t why_len)
{
    static const char *const first[] = {version, priority};
    fs_params_t              defaults;

    for (size_t k = 0; k < 2; ++k) {
        if (differs_in(first[k], "", word_a, rank_a, word_b, rank_b, why,
                       why_len)) {
            return;
        }
    }
    fs_params_init(&defaults);
    for (size_t k = 0; fs_params_info(k) != NULL; ++k) {
        char usual[FS_PARAM_TEXT_MAX];

        fs_params_text(&defaults, k, usual);
        if (differs_in(fs_params_info(k)->name, usual, word_a, rank_a, word_b,
                       rank_b, why, why_len)) {
            return;
        }
    }
}

bool fs_wrapper_same_priority(const char *word_a, const char *word_b)
{
    char why[1];

    return !differs_in(priority, "", word_a, 0, word_b, 0, why, sizeof(why));
}
