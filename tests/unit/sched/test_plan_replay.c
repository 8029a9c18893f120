/* SPDX-License-Identifier: BSD-3-Clause */
/* Small programs, written by hand, in which one thing is wrong that random
 * damage seldom hits. test_plan_check.c does the damage. */
#include "fs_test_util.h"
#include "sched/plan/fs_plan_check.h"
#include "sched/plan/fs_reduction.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 3, MAX_OPS = 8, LEN = 10 };

/* Programs of a few ranks. Each operation waits for the one before it on its
 * rank unless it is told otherwise. */
typedef struct hand {
    uint32_t         n_ranks;
    fs_plan_t        plan[MAX_RANKS];
    fs_plan_t       *plans[MAX_RANKS];
    fs_op_t          ops[MAX_RANKS][MAX_OPS];
    uint32_t         next[MAX_RANKS][MAX_OPS];
    uint32_t         after[MAX_RANKS][MAX_OPS]; /* one edge each, or none */
    fs_plan_params_t params;
    uint64_t         bytes[MAX_RANKS * MAX_RANKS];
    fs_reduction_t   reduction; /* instead of bytes, if there are elements */
} hand_t;

enum { NOTHING = UINT32_MAX };

/* Every rank is a server of its own. */
static void hand_init(hand_t *h, uint32_t n_ranks, uint32_t window)
{
    memset(h, 0, sizeof(*h));
    h->n_ranks = n_ranks;
    h->params =
        (fs_plan_params_t){.chunk = 100, .window = window, .staging_limit = 40};
    for (uint32_t r = 0; r < n_ranks; ++r) {
        h->plans[r] = &h->plan[r];
        h->plan[r]  = (fs_plan_t){.ops           = h->ops[r],
                                  .next          = h->next[r],
                                  .staging_bytes = 40,
                                  .window        = window};
    }
}

static uint32_t add(hand_t *h, uint32_t rank, fs_op_t op)
{
    uint32_t k = h->plan[rank].n_ops++;

    op.len_bytes      = op.len_bytes == 0 ? LEN : op.len_bytes;
    h->ops[rank][k]   = op;
    h->after[rank][k] = k == 0 ? NOTHING : k - 1;
    return k;
}

static fs_place_t place(fs_buffer_t buffer, uint32_t block, uint64_t offset)
{
    return (fs_place_t){buffer, block, offset};
}

static uint32_t copy(hand_t *h, fs_place_t src, fs_place_t dst)
{
    return add(h, 0, (fs_op_t){.kind = FS_OP_COPY, .src = src, .dst = dst});
}

static uint32_t reduce(hand_t *h, uint32_t rank, fs_place_t src, fs_place_t dst)
{
    return add(h, rank,
               (fs_op_t){.kind = FS_OP_REDUCE, .src = src, .dst = dst});
}

static uint32_t send(hand_t *h, uint32_t rank, uint32_t peer, uint32_t seq,
                     fs_place_t src)
{
    return add(h, rank,
               (fs_op_t){.kind    = FS_OP_SEND,
                         .channel = FS_CH_WIRE,
                         .peer    = peer,
                         .seq     = seq,
                         .src     = src});
}

static uint32_t recv(hand_t *h, uint32_t rank, uint32_t peer, uint32_t seq,
                     fs_place_t dst)
{
    return add(h, rank,
               (fs_op_t){.kind    = FS_OP_RECV,
                         .channel = FS_CH_WIRE,
                         .peer    = peer,
                         .seq     = seq,
                         .dst     = dst});
}

/* Edges into successor lists. */
static void link_up(hand_t *h, uint32_t r)
{
    fs_plan_t *plan = &h->plan[r];

    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        plan->ops[k].next = plan->n_next;
        for (uint32_t j = 0; j < plan->n_ops; ++j) {
            if (h->after[r][j] == k) {
                plan->next[plan->n_next++] = j;
                ++plan->ops[k].n_next;
                ++plan->ops[j].n_after;
            }
        }
    }
}

/* NULL: nothing is wrong. */
static void expect(hand_t *h, const char *what)
{
    static const uint32_t server_of[] = {0, 1, 2};
    char                  why[200]    = "";
    fs_topo_t            *topo        = NULL;
    fs_status_t           status;

    for (uint32_t r = 0; r < h->n_ranks; ++r) {
        link_up(h, r);
    }
    ck_assert_int_eq(fs_topo_create(h->n_ranks, server_of, 0, &topo), FS_OK);
    status = h->reduction.elem_bytes > 0
                 ? fs_reduction_check(topo, &h->params, &h->reduction, h->plans,
                                      why, sizeof(why))
                 : fs_plan_check(topo, &h->params, h->bytes, h->plans, why,
                                 sizeof(why));
    fs_topo_destroy(topo);
    if (what == NULL) {
        ck_assert_msg(status == FS_OK, "%s", why);
    } else {
        ck_assert_int_eq(status, FS_ERR_INVAL);
        ck_assert_msg(strstr(why, what) != NULL, "'%s', not '%s'", why, what);
    }
}

/* ---- one rank: 20 bytes to itself, through staging ---- */

/* 0 packs, 1 unpacks, 2 packs again, 3 unpacks; one after the other. Half of
 * the first slot is used again. */
static void pack_twice(hand_t *h)
{
    hand_init(h, 1, 1);
    h->bytes[0] = 20;
    copy(h, place(FS_BUF_SEND, 0, 0), place(FS_BUF_STAGING, 0, 0));
    copy(h, place(FS_BUF_STAGING, 0, 0), place(FS_BUF_RECV, 0, 0));
    copy(h, place(FS_BUF_SEND, 0, 10), place(FS_BUF_STAGING, 0, 5));
    copy(h, place(FS_BUF_STAGING, 0, 5), place(FS_BUF_RECV, 0, 10));
}

START_TEST(good)
{
    hand_t h;

    pack_twice(&h);
    expect(&h, NULL);
}
END_TEST

START_TEST(slot_is_still_read)
{
    hand_t h;

    pack_twice(&h);
    h.after[0][2] = 0; /* not 1, which reads what 2 overwrites */
    expect(
        &h,
        "operation 2: overwrites bytes that another operation may still read");
}
END_TEST

START_TEST(slot_is_still_written)
{
    hand_t h;

    pack_twice(&h);
    h.ops[0][1]   = h.ops[0][0]; /* packs the same again, and does not wait */
    h.after[0][1] = NOTHING;
    expect(&h, "does not wait for the writer before it");
}
END_TEST

START_TEST(slot_is_empty)
{
    hand_t h;

    pack_twice(&h);
    h.ops[0][3].src.offset = 12; /* 2 wrote 5 to 15 */
    expect(&h, "reads bytes that nobody wrote");
    pack_twice(&h);
    h.after[0][1] = NOTHING;
    h.after[0][2] = 0;
    expect(&h, "operation 1: does not wait for the writer of what it reads");
}
END_TEST

/* Half a slot is written again; the other half is what it was. */
START_TEST(half_a_slot)
{
    hand_t h;

    hand_init(&h, 1, 1);
    h.bytes[0] = 15;
    copy(&h, place(FS_BUF_SEND, 0, 0), place(FS_BUF_STAGING, 0, 0));
    copy(&h, place(FS_BUF_SEND, 0, 10), place(FS_BUF_STAGING, 0, 0));
    copy(&h, place(FS_BUF_SEND, 0, 0), place(FS_BUF_RECV, 0, 0));
    copy(&h, place(FS_BUF_STAGING, 0, 5), place(FS_BUF_RECV, 0, 5));
    copy(&h, place(FS_BUF_STAGING, 0, 0), place(FS_BUF_RECV, 0, 10));
    for (uint32_t k = 1; k < 5; ++k) {
        h.ops[0][k].len_bytes = 5;
    }
    expect(&h, NULL);
}
END_TEST

START_TEST(wrong_bytes)
{
    hand_t h;

    pack_twice(&h);
    h.ops[0][3].src.offset = 4; /* a byte of the first chunk */
    expect(&h, "bytes of another block or offset");
    pack_twice(&h);
    h.ops[0][2].src.offset = 0;
    h.ops[0][3].dst.offset = 0; /* the first chunk again, not the second */
    expect(&h, "is missing or comes twice");
    pack_twice(&h);
    h.ops[0][3].dst = place(FS_BUF_STAGING, 0, 20);
    expect(&h, "is missing or comes twice");
}
END_TEST

START_TEST(wrong_places)
{
    hand_t h;

    pack_twice(&h);
    h.ops[0][3].dst.buffer = FS_BUF_SEND;
    expect(&h, "that is read only");
    pack_twice(&h);
    h.ops[0][2].src.buffer = FS_BUF_RECV;
    expect(&h, "that is write only");
    pack_twice(&h);
    h.ops[0][2].src.block = 1;
    expect(&h, "the block of a rank that does not exist");
    pack_twice(&h);
    h.ops[0][1].src.block = 1;
    expect(&h, "reads beyond the end");
    pack_twice(&h);
    h.ops[0][1].src.offset = 31;
    expect(&h, "reads beyond the end");
    pack_twice(&h);
    h.ops[0][3].dst.offset = UINT64_MAX - 5;
    expect(&h, "writes beyond the end");
}
END_TEST

/* A copy onto itself is no memcpy(). */
START_TEST(overlapping_copy)
{
    hand_t h;

    pack_twice(&h);
    h.ops[0][1].dst = place(FS_BUF_STAGING, 0, 5);
    expect(&h, "overwrites bytes that another operation may still read");
}
END_TEST

START_TEST(wrong_edges)
{
    hand_t h;

    pack_twice(&h);
    h.plan[0].n_next = 5; /* link_up() goes on from there */
    expect(&h, "edges without a source");
    pack_twice(&h);
    h.ops[0][3].n_next = 6;
    expect(&h, "successors outside the list");
    pack_twice(&h);
    h.ops[0][2].n_after = 1; /* and one more */
    expect(&h, "has a wrong number of predecessors");
    pack_twice(&h);
    h.after[0][2] = 2;
    expect(&h, "operation 2: waits forever");
}
END_TEST

/* ---- several ranks ---- */

/* 0 sends two messages to 1. */
static void two_messages(hand_t *h)
{
    hand_init(h, 2, 2);
    h->bytes[1] = 2 * LEN;
    for (uint32_t k = 0; k < 2; ++k) {
        send(h, 0, 1, k, place(FS_BUF_SEND, 1, k * LEN));
        recv(h, 1, 0, k, place(FS_BUF_RECV, 0, k * LEN));
    }
}

START_TEST(messages)
{
    hand_t h;

    two_messages(&h);
    expect(&h, NULL);
    two_messages(&h);
    --h.plan[1].n_ops;
    expect(&h, "rank 0, operation 1: has no receive");
    two_messages(&h);
    --h.plan[0].n_ops;
    expect(&h, "rank 1, operation 1: has no send");
    two_messages(&h);
    h.ops[0][1].len_bytes = 9;
    expect(&h, "differs in length");
}
END_TEST

/* Both ends agree, but not with the order of their programs. */
START_TEST(numbers_follow_the_plan)
{
    hand_t h;

    two_messages(&h);
    for (uint32_t r = 0; r < 2; ++r) {
        h.ops[r][0].seq = 1;
        h.ops[r][1].seq = 0;
    }
    expect(&h, "is not the next of its kind");
}
END_TEST

/* From 0 to 2 by way of 1: it arrives, but crosses the wire twice. */
START_TEST(detour)
{
    hand_t h;

    hand_init(&h, 3, 1);
    h.bytes[2] = LEN;
    send(&h, 0, 1, 0, place(FS_BUF_SEND, 2, 0));
    recv(&h, 1, 0, 0, place(FS_BUF_STAGING, 0, 0));
    send(&h, 1, 2, 0, place(FS_BUF_STAGING, 0, 0));
    recv(&h, 2, 1, 0, place(FS_BUF_RECV, 0, 0));
    expect(&h, "sends bytes between servers that differ");
}
END_TEST

/* 1 receives from 0, which waits for a message that 1 sends when it has
 * received from 2: with both receives posted all is well, with one at a time
 * the first waits for what comes after the second. */
static void circle(hand_t *h, uint32_t window)
{
    uint32_t first, second;

    hand_init(h, 3, window);
    h->bytes[0 * 3 + 1] = h->bytes[2 * 3 + 1] = h->bytes[1 * 3 + 0] = LEN;
    recv(h, 0, 1, 0, place(FS_BUF_RECV, 1, 0));
    send(h, 0, 1, 0, place(FS_BUF_SEND, 1, 0));
    first  = recv(h, 1, 0, 0, place(FS_BUF_RECV, 0, 0));
    second = recv(h, 1, 2, 0, place(FS_BUF_RECV, 2, 0));
    send(h, 1, 0, 0, place(FS_BUF_SEND, 0, 0));
    send(h, 2, 1, 0, place(FS_BUF_SEND, 1, 0));
    ck_assert_uint_eq(first + 1, second);
    h->after[1][second] = NOTHING;
}

START_TEST(window)
{
    hand_t h;

    circle(&h, 2);
    expect(&h, NULL);
    circle(&h, 1);
    expect(&h, "waits forever");
}
END_TEST

/* Receives are posted in plan order: one that is not ready holds up the next,
 * even if there is room in the window. */
START_TEST(receives_in_order)
{
    hand_t h;

    hand_init(&h, 3, 2);
    h.bytes[0 * 3 + 1] = h.bytes[2 * 3 + 1] = LEN;
    send(&h, 0, 1, 0, place(FS_BUF_SEND, 1, 0));
    send(&h, 2, 1, 0, place(FS_BUF_SEND, 1, 0));
    recv(&h, 1, 0, 0, place(FS_BUF_RECV, 0, 0));
    recv(&h, 1, 2, 0, place(FS_BUF_RECV, 2, 0));
    h.after[1][0] = 1;
    h.after[1][1] = NOTHING;
    expect(&h, "waits forever");
}
END_TEST

/* Sends leave in plan order: 0 has a message for 1 that waits for one from 2,
 * and behind it the message that 2 waits for. */
START_TEST(sends_in_order)
{
    hand_t h;

    hand_init(&h, 3, 4);
    h.bytes[0 * 3 + 1] = h.bytes[0 * 3 + 2] = h.bytes[2 * 3 + 0] = LEN;
    send(&h, 0, 1, 0, place(FS_BUF_SEND, 1, 0));
    send(&h, 0, 2, 0, place(FS_BUF_SEND, 2, 0));
    recv(&h, 0, 2, 0, place(FS_BUF_RECV, 2, 0));
    h.after[0][0] = 2;
    h.after[0][1] = h.after[0][2] = NOTHING;
    recv(&h, 1, 0, 0, place(FS_BUF_RECV, 0, 0));
    recv(&h, 2, 0, 0, place(FS_BUF_RECV, 0, 0));
    send(&h, 2, 0, 0, place(FS_BUF_SEND, 0, 0));
    expect(&h, "waits forever");
}
END_TEST

/* ---- reductions ---- */

static const fs_place_t own    = {FS_BUF_SEND, 0, 0};
static const fs_place_t result = {FS_BUF_RECV, 0, 0};
static const fs_place_t slot   = {FS_BUF_STAGING, 0, 0};

/* Two ranks exchange their vectors, and both add 1's to 0's, which is the left
 * operand. */
enum { R0_SEND = 0, R0_RECV, R0_REDUCE };
enum { R1_RECV = 0, R1_SEND, R1_COPY, R1_REDUCE };

static void sum_of_two(hand_t *h)
{
    hand_init(h, 2, 1);
    h->reduction = (fs_reduction_t){.n_elems = LEN / 2, .elem_bytes = 2};
    send(h, 0, 1, 0, own);
    recv(h, 0, 1, 0, result);
    reduce(h, 0, own, result);
    recv(h, 1, 0, 0, slot);
    send(h, 1, 0, 0, own);
    add(h, 1, (fs_op_t){.kind = FS_OP_COPY, .src = own, .dst = result});
    reduce(h, 1, slot, result);
}

/* The same in place, with 0's as the right operand. */
static void sum_in_place(hand_t *h)
{
    hand_init(h, 2, 1);
    h->reduction =
        (fs_reduction_t){.n_elems = LEN, .elem_bytes = 1, .in_place = true};
    send(h, 0, 1, 0, result);
    recv(h, 0, 1, 0, slot);
    reduce(h, 0, slot, result);
    recv(h, 1, 0, 0, slot);
    send(h, 1, 0, 0, result);
    reduce(h, 1, result, slot);
    add(h, 1, (fs_op_t){.kind = FS_OP_COPY, .src = slot, .dst = result});
}

START_TEST(good_sums)
{
    hand_t h;

    sum_of_two(&h);
    expect(&h, NULL);
    sum_in_place(&h);
    expect(&h, NULL);
    hand_init(&h, 2, 1); /* of nothing */
    h.reduction = (fs_reduction_t){.elem_bytes = 4, .in_place = true};
    expect(&h, NULL);
}
END_TEST

START_TEST(wrong_sums)
{
    hand_t h;

    sum_of_two(&h);
    reduce(&h, 0, own, result);
    expect(&h,
           "rank 0, operation 3: adds a contribution that the sum has already");
    sum_of_two(&h);
    h.ops[0][R0_REDUCE].kind = FS_OP_COPY;
    expect(&h, "rank 0: byte 0 of the result is not the sum of all ranks");
    sum_of_two(&h);
    --h.plan[1].n_ops;
    expect(&h, "rank 1: byte 0 of the result is not the sum of all ranks");
    sum_of_two(&h);
    h.ops[1][R1_REDUCE].len_bytes = 6;
    expect(&h, "rank 1: byte 6 of the result is not the sum of all ranks");
    sum_of_two(&h);
    h.ops[1][R1_REDUCE].len_bytes = 5;
    expect(&h, "rank 1, operation 3: cuts an element");
    sum_of_two(&h);
    h.ops[0][R0_REDUCE].src.offset = h.ops[0][R0_REDUCE].dst.offset = 1;
    h.ops[0][R0_REDUCE].len_bytes                                   = 8;
    expect(&h, "rank 0, operation 2: cuts an element");
    sum_of_two(&h);
    h.ops[0][R0_REDUCE].src.offset = 2;
    h.ops[0][R0_REDUCE].len_bytes  = 8;
    expect(&h, "adds bytes of different offsets");
    sum_of_two(&h);
    h.ops[1][R1_COPY].len_bytes = h.ops[1][R1_REDUCE].len_bytes = 8;
    expect(&h, "rank 1: a byte of the result is missing");
    sum_of_two(&h);
    h.ops[1][R1_COPY].len_bytes = 8;
    expect(&h, "rank 1, operation 3: reads bytes that nobody wrote");
    sum_in_place(&h); /* its halves exchanged */
    add(&h, 1, h.ops[1][3]);
    h.ops[1][3].src.offset = h.ops[1][4].dst.offset = LEN / 2;
    h.ops[1][3].len_bytes = h.ops[1][4].len_bytes = LEN / 2;
    expect(&h, "rank 1: byte 0 of the result is not the sum of all ranks");
}
END_TEST

/* Integers do not mind, other operations do: all ranks must have the same bits. */
START_TEST(same_operands_in_another_order)
{
    hand_t h;

    sum_of_two(&h);
    h.ops[1][R1_RECV].dst   = result;
    h.ops[1][R1_REDUCE].src = own;
    h.ops[1][R1_COPY].dst   = slot;
    expect(&h, "rank 1: the result is added in another order than on rank 0");
}
END_TEST

START_TEST(vectors_are_memory)
{
    hand_t h;

    sum_of_two(&h);
    h.after[0][R0_REDUCE] = R0_SEND;
    expect(&h, "rank 0, operation 2: reads bytes that nobody wrote");
    sum_of_two(&h);
    h.after[1][R1_COPY] = NOTHING;
    h.after[1][R1_SEND] = R1_COPY;
    h.after[1][R1_RECV] = NOTHING;
    expect(&h, "rank 1, operation 3: does not wait for the writer of what it");
    sum_in_place(&h);
    h.after[0][R0_REDUCE] = R0_RECV;
    h.after[0][R0_RECV]   = NOTHING;
    expect(&h, "rank 0, operation 2: overwrites bytes that another operation "
               "may still read");
    sum_in_place(&h);
    h.ops[0][R0_SEND].src = own;
    expect(&h, "reads from a buffer that is write only");
    sum_of_two(&h);
    h.ops[0][R0_SEND].src.block = 1;
    expect(&h, "reads beyond the end");
    sum_of_two(&h);
    h.ops[1][R1_COPY].dst = own;
    expect(&h, "writes to a buffer that is read only");
    sum_of_two(&h);
    h.ops[0][R0_REDUCE].src = result;
    expect(&h, "rank 0, operation 2:");
}
END_TEST

START_TEST(no_reduction)
{
    hand_t h;

    pack_twice(&h);
    h.ops[0][1].kind = FS_OP_REDUCE;
    expect(&h, "operation 1: reduces, in an alltoallv");
    sum_of_two(&h);
    h.reduction.n_elems = UINT64_MAX / 2 + 1;
    expect(&h, "9223372036854775808 elements of 2 bytes");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan_replay");
    TCase *tcase = tcase_create("plan_replay");

    tcase_add_test(tcase, good);
    tcase_add_test(tcase, slot_is_still_read);
    tcase_add_test(tcase, slot_is_still_written);
    tcase_add_test(tcase, slot_is_empty);
    tcase_add_test(tcase, half_a_slot);
    tcase_add_test(tcase, wrong_bytes);
    tcase_add_test(tcase, wrong_places);
    tcase_add_test(tcase, overlapping_copy);
    tcase_add_test(tcase, wrong_edges);
    tcase_add_test(tcase, messages);
    tcase_add_test(tcase, numbers_follow_the_plan);
    tcase_add_test(tcase, detour);
    tcase_add_test(tcase, window);
    tcase_add_test(tcase, receives_in_order);
    tcase_add_test(tcase, sends_in_order);
    tcase_add_test(tcase, good_sums);
    tcase_add_test(tcase, wrong_sums);
    tcase_add_test(tcase, same_operands_in_another_order);
    tcase_add_test(tcase, vectors_are_memory);
    tcase_add_test(tcase, no_reduction);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
