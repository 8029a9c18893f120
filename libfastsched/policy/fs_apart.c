/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy/fs_apart.h"

#include "base/fs_arith.h"

enum { PS_PER_NS = 1000, AVERAGE = 4 /* calls */ };

static uint64_t price_of(const fs_apart_call_t *call)
{
    fs_u128_t price = (fs_u128_t)call->after_ns * PS_PER_NS / call->bytes;

    return fs_u64_max((uint64_t)price, 1);
}

static void average(fs_apart_t *apart, const fs_apart_call_t *call)
{
    uint64_t price = price_of(call);

    apart->price =
        apart->price == 0 || !fs_u64_is_like(call->bytes, apart->bytes)
            ? price
            : apart->price - apart->price / AVERAGE + price / AVERAGE;
    apart->bytes = call->bytes;
}

static void judge(fs_apart_t *apart, const fs_apart_call_t *call)
{
    if (apart->price == 0 || !fs_u64_is_like(call->bytes, apart->bytes)) {
        return;
    }
    if (price_of(call) < apart->price) {
        apart->n_lost = apart->rested = 0;
    } else if (++apart->n_lost == FS_APART_LOST) {
        apart->n_lost = 0;
        apart->rested = fs_u32_max(
            fs_u32_min(2 * apart->rested, FS_APART_REST_MOST), FS_APART_REST);
        apart->rest = apart->rested;
    }
}

static bool counts(const fs_apart_call_t *call)
{
    return call->run_ns / FS_APART_LONG > call->round_ns &&
           call->apart_ns > call->run_ns / FS_APART_PART;
}

void fs_apart_note(fs_apart_t *apart, const fs_apart_call_t *call)
{
    apart->rest -= apart->rest > 0;
    if (!call->computes && call->after_ns > 0 && call->bytes > 0) {
        (call->early ? judge : average)(apart, call);
    }
    apart->left = apart->rest > 0 ? 0
                  : counts(call)  ? FS_APART_CALLS
                                  : apart->left - (apart->left > 0);
}
