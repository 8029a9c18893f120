/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which radix: few phases with many messages, or many with few?
 *
 * A radix of N sends N - 1 messages per server and each byte once. A smaller
 * one sends (r - 1) log_r N messages, but a byte (1 - 1/r) log_r N times, and
 * what is forwarded is copied together first. So small ones pay where start-up
 * costs count more than bytes.
 *
 * Bundles times bytes times 10^9 ns need 128 bits.
 */
#include "sched/plan/fs_radix.h"

#define NS_PER_S UINT64_C(1000000000)

/* What the busiest lane has to do in one phase. */
typedef struct share {
    uint64_t  messages;
    fs_u128_t copy_ns; /* of what is forwarded */
    fs_u128_t bytes;
} share_t;

static fs_u128_t div_up(fs_u128_t a, fs_u128_t b)
{
    return (a + b - 1) / b;
}

static fs_u128_t max_of(fs_u128_t a, fs_u128_t b)
{
    return a > b ? a : b;
}

/* Which messages of a phase the first lane has: 1, 1 + step, ... (their digits),
 * or a part of the first. No lane has more: messages do not grow. */
typedef struct deal {
    uint64_t step;
    uint64_t each; /* messages, or parts */
    uint64_t parts;
} deal_t;

/* Sum over the lane's digits z of what is in [z * run, z * run + run) below
 * `end`. */
static uint64_t below(const deal_t *deal, uint64_t end, uint64_t run)
{
    uint64_t full = 0, next;

    if (end >= 2 * run) {
        full = fs_u64_min(deal->each, (end / run - 2) / deal->step + 1);
    }
    next = (1 + full * deal->step) * run;
    return full * run +
           (full < deal->each && end > next ? fs_u64_min(end - next, run) : 0);
}

/* The same if digits repeat in blocks. */
static uint64_t in_blocks(const deal_t *deal, uint64_t n, uint64_t run,
                          uint64_t block)
{
    return n / block * run * deal->each + below(deal, n % block, run);
}

static deal_t deal_out(const fs_radix_load_t *load, uint64_t stride,
                       uint64_t block)
{
    uint64_t n       = load->n_servers;
    uint64_t sent    = fs_u64_min(block / stride - 1, (n - 1) / stride);
    deal_t   first   = {1, 1, 1};
    uint64_t bundles = in_blocks(&first, n, stride, block);

    return (deal_t){load->n_lanes, fs_u64_div_up(sent, load->n_lanes),
                    fs_u64_max(1, fs_u64_min(load->n_lanes / sent, bundles))};
}

static share_t share_of_lane(const fs_radix_cost_t *cost,
                             const fs_radix_load_t *load, uint64_t stride,
                             uint64_t block)
{
    uint64_t n = load->n_servers, digits = block / stride;
    deal_t   deal    = deal_out(load, stride, block);
    uint64_t bundles = in_blocks(&deal, n, stride, block);
    /* The server's own are whole strides away. */
    uint64_t  own  = in_blocks(&deal, fs_u64_div_up(n, stride), 1, digits);
    uint64_t  rows = below(&deal, fs_u64_min(n, block), stride);
    fs_u128_t copy =
        cost->block_ns +
        div_up((fs_u128_t)load->bundle_bytes * NS_PER_S, cost->rate_copy);
    fs_u128_t bytes = (fs_u128_t)bundles * load->bundle_bytes +
                      (fs_u128_t)rows * load->row_bytes;

    return (share_t){deal.each, div_up((bundles - own) * copy, deal.parts),
                     div_up(bytes, deal.parts)};
}

/* All is sent, then taken in as it comes. The last one is over when the
 * processor has taken in all after it sent all, or waited for the first; or when
 * what was sent last has come; or what the NIC had to carry. */
static fs_u128_t time_of_phase(const fs_radix_cost_t *cost,
                               const share_t         *share)
{
    uint64_t  m = share->messages, o = cost->overhead_ns;
    fs_u128_t wire      = max_of((fs_u128_t)m * cost->gap_ns,
                                 div_up(share->bytes * NS_PER_S, cost->rate));
    fs_u128_t sends     = (fs_u128_t)m * o + share->copy_ns;
    fs_u128_t one       = wire / m + cost->latency_ns; /* on its way */
    fs_u128_t first     = o + share->copy_ns / m + one;
    fs_u128_t processor = max_of(sends, first) + (fs_u128_t)(m - 1) * o;
    fs_u128_t nic       = first - wire / m + wire;

    return max_of(max_of(processor, nic), sends + one) + o;
}

uint64_t fs_radix_time_ns(const fs_radix_cost_t *cost,
                          const fs_radix_load_t *load, uint32_t radix)
{
    uint64_t  n   = load->n_servers, block;
    fs_u128_t sum = 0;

    for (uint64_t stride = 1; stride < n && sum < UINT64_MAX; stride = block) {
        share_t share;

        block = stride * radix;
        share = share_of_lane(cost, load, stride, block);
        sum += time_of_phase(cost, &share);
        /* Lanes wait for each other before they forward. */
        if (block < n && load->n_lanes > 1) {
            sum += (fs_u128_t)load->n_lanes * cost->sync_ns;
        }
    }
    return sum < UINT64_MAX ? (uint64_t)sum : UINT64_MAX;
}

uint32_t fs_radix_choose(const fs_radix_cost_t *cost,
                         const fs_radix_load_t *load)
{
    uint32_t best     = 2;
    uint64_t shortest = UINT64_MAX;

    for (uint32_t r = 2; r <= load->n_servers; ++r) {
        uint64_t time = fs_radix_time_ns(cost, load, r);

        if (time <= shortest) {
            shortest = time;
            best     = r;
        }
    }
    return best;
}
