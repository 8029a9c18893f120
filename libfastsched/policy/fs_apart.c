/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy/fs_apart.h"

#include "base/fs_arith.h"

enum { PS_PER_NS = 1000, AVERAGE = 4 /* calls */ };

uint64_t fs_apart_price(uint64_t ns, uint64_t bytes)
{
    fs_u128_t price = (fs_u128_t)ns * PS_PER_NS / bytes;

    return fs_u64_max((uint64_t)price, 1);
}

uint64_t fs_apart_average(uint64_t average, uint64_t price)
{
    return average == 0 ? price : average - average / AVERAGE + price / AVERAGE;
}

static uint64_t price_of(const fs_apart_call_t *call)
{
    return fs_apart_price(call->after_ns, call->bytes);
}

static void average(fs_apart_t *apart, const fs_apart_call_t *call)
{
    bool is_like = fs_u64_is_like(call->bytes, apart->bytes);

    apart->price = fs_apart_average(is_like ? apart->price : 0, price_of(call));
    apart->bytes = call->bytes;
}

static void note_usual(fs_apart_t *apart, const fs_apart_call_t *call)
{
    bool goes_on = call->early == apart->early &&
                   fs_u64_is_like(call->bytes, apart->usual_bytes);

    apart->usual = fs_apart_average(
        goes_on ? apart->usual : 0,
        fs_apart_price(call->apart_ns + call->after_ns, call->bytes));
    apart->usual_bytes = call->bytes;
    apart->early       = call->early;
}

/* Is the price of calls like this one known that did not begin early? */
static bool is_known(const fs_apart_t *apart, const fs_apart_call_t *call)
{
    return apart->price != 0 && fs_u64_is_like(call->bytes, apart->bytes);
}

static void judge(fs_apart_t *apart, const fs_apart_call_t *call)
{
    if (!is_known(apart, call)) {
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

bool fs_apart_counts(const fs_apart_call_t *call, uint32_t part)
{
    return call->run_ns / FS_APART_LONG > call->round_ns &&
           call->apart_ns > call->run_ns / part;
}

void fs_apart_note(fs_apart_t *apart, const fs_apart_call_t *call)
{
    bool is_timed = !call->computes && call->after_ns > 0 && call->bytes > 0;
    bool is_first = is_timed && call->early && !is_known(apart, call);

    apart->rest -= apart->rest > 0;
    if (is_timed) {
        (call->early ? judge : average)(apart, call);
        note_usual(apart, call);
    }
    apart->left = apart->rest > 0 || is_first ? 0
                  : fs_apart_counts(call, FS_APART_PART)
                      ? FS_APART_CALLS
                      : apart->left - (apart->left > 0);
}
