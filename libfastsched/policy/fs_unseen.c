/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy/fs_unseen.h"

#include "base/fs_arith.h"

bool fs_unseen_take(fs_unseen_t *unseen, fs_tuned_t tuned, uint64_t own_bytes)
{
    if (unseen->left == 0 || unseen->tuned != tuned) {
        return false;
    }
    --unseen->left;
    ++unseen->n_taken;
    unseen->unlike |= !fs_u64_is_like(own_bytes, unseen->own_bytes);
    return true;
}

static uint32_t patience(const fs_unseen_t *unseen)
{
    return FS_UNSEEN_PATIENCE * fs_u32_max(unseen->factor, 1);
}

void fs_unseen_heed(fs_unseen_t *unseen, bool unlike)
{
    if (unlike && patience(unseen) < FS_UNSEEN_PATIENCE_MOST) {
        unseen->factor = 4 * fs_u32_max(unseen->factor, 1);
    }
    unseen->left   = unlike ? 0 : unseen->left;
    unseen->unlike = false;
}

void fs_unseen_note(fs_unseen_t *unseen, const fs_seen_t *seen)
{
    bool goes_on = seen->settled && seen->tuned == unseen->tuned &&
                   seen->served == unseen->served && !seen->unlike;

    fs_unseen_heed(unseen, seen->unlike);
    unseen->n_settled = goes_on ? unseen->n_settled + 1 : seen->settled;
    unseen->run       = goes_on ? unseen->run : 0;
    unseen->left      = 0;
    if (seen->settled && seen->counts && unseen->n_settled > patience(unseen)) {
        unseen->run  = fs_u32_min(2 * unseen->run + 1, FS_UNSEEN_MOST);
        unseen->left = unseen->run;
    }
    unseen->tuned     = seen->tuned;
    unseen->served    = seen->served;
    unseen->of_class  = seen->of_class;
    unseen->own_bytes = seen->own_bytes;
}
