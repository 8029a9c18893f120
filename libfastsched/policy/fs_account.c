/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy/fs_account.h"

#include <stdlib.h>
#include <string.h>

fs_status_t fs_account_init(fs_account_t *account, uint32_t n_servers)
{
    *account = (fs_account_t){
        .lines = calloc(2 * (size_t)n_servers, sizeof(*account->lines))};
    account->n_lines = account->lines == NULL ? 0 : 2 * n_servers;
    return account->lines == NULL ? FS_ERR_NOMEM : FS_OK;
}

void fs_account_fini(fs_account_t *account)
{
    free(account->lines);
    *account = (fs_account_t){0};
}

void fs_account_add(fs_account_t *account, uint32_t line, uint64_t bound,
                    uint64_t inter_bytes)
{
    if (line >= account->n_lines) {
        return;
    }
    ++account->lines[line].n_calls;
    account->lines[line].bound += bound;
    ++account->n_calls;
    account->bound += bound;
    account->inter_bytes += inter_bytes;
}

const fs_account_line_t *fs_account_busiest(const fs_account_t *account)
{
    const fs_account_line_t *busiest = NULL;

    for (uint32_t k = 0; k < account->n_lines; ++k) {
        const fs_account_line_t *line = &account->lines[k];

        if (line->n_calls > 0 &&
            (busiest == NULL || line->bound > busiest->bound)) {
            busiest = line;
        }
    }
    return busiest;
}

void fs_account_add_left(fs_account_left_t left[FS_ACCOUNT_REASONS],
                         const char *reason, uint64_t n)
{
    for (unsigned k = 0; k < FS_ACCOUNT_REASONS; ++k) {
        if (left[k].reason == NULL) {
            left[k].reason = reason;
        }
        if (strcmp(left[k].reason, reason) == 0) {
            left[k].n_calls += n;
            return;
        }
    }
}

const fs_account_left_t *
fs_account_usual(const fs_account_left_t left[FS_ACCOUNT_REASONS])
{
    const fs_account_left_t *usual = NULL;

    for (unsigned k = 0; k < FS_ACCOUNT_REASONS && left[k].reason != NULL;
         ++k) {
        usual = usual == NULL || left[k].n_calls > usual->n_calls ? &left[k]
                                                                  : usual;
    }
    return usual;
}
