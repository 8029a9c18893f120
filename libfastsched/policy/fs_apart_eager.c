/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy/fs_apart_eager.h"

#include "base/fs_arith.h"
#include "policy/fs_apart.h"

static uint32_t next_run(fs_apart_eager_t *eager)
{
    if (eager->n_won < FS_APART_EAGER_TO_WIN) {
        return 1;
    }
    eager->run = fs_u32_max(fs_u32_min(2 * eager->run + 1, FS_APART_EAGER_MOST),
                            FS_APART_EAGER_LEAST);
    return eager->run;
}

/* By chance, perhaps: one trial, and half as many the next time. */
static void doubt(fs_apart_eager_t *eager)
{
    eager->n_won -= eager->n_won > 0;
    eager->run /= 2;
}

void fs_apart_eager_note(fs_apart_eager_t *eager, bool apart)
{
    uint32_t first = eager->is_warm ? 1 : FS_APART_EAGER_FIRST;

    eager->rest -= eager->rest > 0;
    eager->left = 0;
    if (!apart) {
        eager->n_seen = 0;
        doubt(eager);
    } else if (++eager->n_seen >= first && eager->rest == 0) {
        eager->left = next_run(eager);
    }
}

bool fs_apart_eager_take(fs_apart_eager_t *eager)
{
    return --eager->left == 0;
}

static void rest(fs_apart_eager_t *eager)
{
    eager->price = eager->n_lost = eager->n_won = eager->run = 0;
    eager->rested =
        fs_u32_max(fs_u32_min(2 * eager->rested, FS_APART_EAGER_REST_MOST),
                   FS_APART_EAGER_REST);
    eager->rest = eager->rested;
}

void fs_apart_eager_timed(fs_apart_eager_t *eager, uint64_t price,
                          uint64_t usual)
{
    bool is_warm = eager->is_warm, has_won;

    eager->n_seen = 0;
    if (price == 0 || usual == 0) {
        return;
    }
    eager->is_warm = true;
    has_won        = fs_apart_average(eager->price, price) < usual;
    if (!is_warm && !has_won) {
        return;
    }
    eager->price = fs_apart_average(eager->price, price);
    if (has_won) {
        eager->n_lost = eager->rested = 0;
        eager->n_won += eager->n_won < FS_APART_EAGER_TO_WIN;
    } else {
        doubt(eager);
        if (++eager->n_lost == FS_APART_EAGER_LOST) {
            rest(eager);
        }
    }
}
