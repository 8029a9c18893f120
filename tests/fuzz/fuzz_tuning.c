/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of parameter tuning. Lines are read, or the first that is not is told;
 * what has been read can be written, and reads the same again.
 */
#include "fuzz_input.h"

#include "policy/fs_tuning.h"

#include <string.h>

enum { WHY = 256 };

static void must_be_the_same(const fs_tuning_t *a, const fs_tuning_t *b)
{
    fuzz_must(a->n == b->n && a->others_len == b->others_len,
              "lines are lost in writing");
    for (size_t k = 0; k < a->n; ++k) {
        fuzz_must(
            memcmp(&a->entries[k], &b->entries[k], sizeof(a->entries[k])) == 0,
            "an entry is another one when it is read again");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fs_tuning_t a = {.entries = NULL}, b = {.entries = NULL};
    char       *text     = NULL;
    size_t      text_len = 0;
    char        why[WHY] = "";
    FILE       *file     = open_memstream(&text, &text_len);
    fs_status_t status =
        fs_tuning_parse(&a, (const char *)data, len, why, sizeof(why));

    fuzz_must(file != NULL, "out of memory");
    fuzz_must(status == FS_OK ||
                  (status == FS_ERR_INVAL && strncmp(why, "line ", 5) == 0),
              "refused for another reason");
    fs_tuning_print(&a, file);
    fclose(file);
    fuzz_must(fs_tuning_parse(&b, text, text_len, why, sizeof(why)) == FS_OK,
              "what is written cannot be read");
    must_be_the_same(&a, &b);
    free(text);
    fs_tuning_fini(&a);
    fs_tuning_fini(&b);
    return 0;
}
