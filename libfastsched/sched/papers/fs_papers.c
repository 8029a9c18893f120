/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of the papers' methods. */
#include "sched/papers/fs_papers.h"

static const fs_balance_mode_t *const modes[] = {
#define X(_how, _word, _text) [_how] = &fs_balance_##_word,
    FS_PAPERS_BALANCE_MAP(X)
#undef X
};

static const fs_decompose_method_t *const methods[] = {
#define X(_how, _word, _text) [_how] = &fs_decompose_##_word,
    FS_PAPERS_DECOMPOSE_MAP(X)
#undef X
};

const fs_balance_mode_t *fs_papers_balance(fs_balance_t how)
{
    return (size_t)how < sizeof(modes) / sizeof(modes[0]) ? modes[how] : NULL;
}

const fs_decompose_method_t *fs_papers_decompose(fs_decompose_t how)
{
    return (size_t)how < sizeof(methods) / sizeof(methods[0]) ? methods[how]
                                                              : NULL;
}
