/* SPDX-License-Identifier: BSD-3-Clause */
/* What is broken in the programs of an allreduce is found: wrong schedules, wrong
 * operations, missing edges. */
#include "fs_test_group.h"

#include <stdlib.h>
#include <string.h>

/* A schedule in which one message is not what it should be. */
START_TEST(broken_schedules_are_found)
{
    for (uint32_t n = 3; n <= 7; ++n) {
        fs_test_group_t g;

        fs_test_group_init(&g, FS_STRAGGLER_STRAGGLAR, n, n / 2, 1);
        for (size_t k = 0; k < g.schedule->n_msgs; ++k) {
            fs_straggler_msg_t *msg = &g.schedule->msgs[k], saved = *msg;

            msg->reduce = !msg->reduce;
            fs_test_group_plan(&g, 5 * n, 8, k % 2 == 0);
            ck_assert_msg(fs_test_group_check(&g) == FS_ERR_INVAL,
                          "%u ranks, message %zu", n, k);
            *msg       = saved;
            msg->chunk = (msg->chunk + 1) % g.schedule->n_chunks;
            fs_test_group_plan(&g, 5 * n, 8, k % 2 == 0);
            ck_assert_msg(fs_test_group_check(&g) == FS_ERR_INVAL,
                          "%u ranks, message %zu, chunk", n, k);
            *msg = saved;
        }
        fs_test_group_plan(&g, 5 * n, 8, false);
        fs_test_group_prove(&g);
        fs_test_group_fini(&g);
    }
}
END_TEST

static void expect_broken(fs_test_group_t *g, const char *what, uint32_t rank,
                          uint32_t op)
{
    if (fs_test_group_check(g) != FS_ERR_INVAL) {
        ck_abort_msg("rank %u, operation %u: %s is not found", rank, op, what);
    }
}

static void break_op(fs_test_group_t *g, uint32_t rank, uint32_t k)
{
    fs_op_t *op = &g->plans[rank]->ops[k], saved = *op;

    if (op->kind == FS_OP_REDUCE) {
        op->kind = FS_OP_COPY;
        expect_broken(g, "a sum that replaces", rank, k);
        *op     = saved;
        op->src = saved.dst;
        op->dst = saved.src;
        expect_broken(g, "operands exchanged", rank, k);
        *op = saved;
        op->len_bytes -= g->reduction.elem_bytes;
        expect_broken(g, "a sum that is short", rank, k);
        *op = saved;
        op->src.offset += g->reduction.elem_bytes;
        expect_broken(g, "a sum of other elements", rank, k);
    }
    if (op->kind == FS_OP_COPY) {
        op->kind = FS_OP_REDUCE;
        expect_broken(g, "a copy that adds", rank, k);
    }
    if (op->kind == FS_OP_RECV) {
        op->dst.offset += g->reduction.elem_bytes;
        expect_broken(g, "a message beside its place", rank, k);
    }
    if (op->kind == FS_OP_SEND) {
        op->src.offset += g->reduction.elem_bytes;
        expect_broken(g, "a message from beside its place", rank, k);
    }
    *op = saved;
}

/* Every operation of every rank. */
START_TEST(broken_operations_are_found)
{
    for (uint32_t n = 3; n <= 9; ++n) {
        for (int in_place = 0; in_place <= 1; ++in_place) {
            fs_test_group_t g;

            fs_test_group_init(&g, FS_STRAGGLER_STRAGGLAR, n, 1, 1);
            g.params.staging_limit = 64 * 6; /* in place, some copy */
            fs_test_group_plan(&g, 10 * n, 8, in_place != 0);
            for (uint32_t r = 0; r < n; ++r) {
                for (uint32_t k = 0; k < g.plans[r]->n_ops; ++k) {
                    break_op(&g, r, k);
                }
            }
            fs_test_group_prove(&g);
            fs_test_group_fini(&g);
        }
    }
}
END_TEST

/* ---- without an edge there is a race exactly if all pairs say so ---- */

/* Bytes that an operation reads or writes: the vector, and staging behind it. */
typedef struct access {
    uint64_t begin;
    uint64_t end;
    bool     written;
} access_t;

static uint32_t list_accesses(const fs_test_group_t *g, const fs_op_t *op,
                              access_t list[3])
{
    uint64_t vector = g->reduction.n_elems * g->reduction.elem_bytes;
    uint32_t n      = 0;

    for (int written = 0; written <= 1; ++written) {
        const fs_place_t *p = written ? &op->dst : &op->src;
        bool used           = op->kind != (written ? FS_OP_SEND : FS_OP_RECV);

        if (used && p->buffer != FS_BUF_SEND) {
            uint64_t at = p->offset +
                          (p->buffer == FS_BUF_STAGING ? vector : 0);

            list[n++] = (access_t){at, at + op->len_bytes, written != 0};
        }
    }
    return n;
}

static bool conflict(const fs_test_group_t *g, const fs_op_t *a,
                     const fs_op_t *b)
{
    access_t x[3], y[3];
    uint32_t n_x = list_accesses(g, a, x), n_y = list_accesses(g, b, y);
    bool     found = false;

    for (uint32_t i = 0; i < n_x; ++i) {
        for (uint32_t k = 0; k < n_y; ++k) {
            found |= (x[i].written || y[k].written) && x[i].begin < y[k].end &&
                     y[k].begin < x[i].end;
        }
    }
    return found;
}

/* [n_ops x n_ops] a path leads from a to b, but for one edge. */
static bool *find_paths(const fs_plan_t *plan, uint32_t without)
{
    uint32_t n    = plan->n_ops;
    bool    *path = fs_test_alloc((size_t)n * n, sizeof(*path));
    bool     changed;

    do {
        changed = false;
        for (uint32_t a = n; a-- > 0;) {
            const fs_op_t *op = &plan->ops[a];

            for (uint32_t e = op->next; e < op->next + op->n_next; ++e) {
                uint32_t next = plan->next[e];

                for (uint32_t b = 0; b < n && e != without; ++b) {
                    if ((b == next || path[(size_t)next * n + b]) &&
                        !path[(size_t)a * n + b]) {
                        path[(size_t)a * n + b] = changed = true;
                    }
                }
            }
        }
    } while (changed);
    return path;
}

static bool has_race(const fs_test_group_t *g, const fs_plan_t *plan,
                     uint32_t without)
{
    uint32_t n    = plan->n_ops;
    bool    *path = find_paths(plan, without), race = false;

    for (uint32_t a = 0; a < n; ++a) {
        for (uint32_t b = a + 1; b < n; ++b) {
            race |= conflict(g, &plan->ops[a], &plan->ops[b]) &&
                    !path[(size_t)a * n + b] && !path[(size_t)b * n + a];
        }
    }
    free(path);
    return race;
}

/* Remove edge e, one of the owner's, look, and put it back. */
static void without_edge(fs_test_group_t *g, uint32_t rank, uint32_t owner,
                         uint32_t e)
{
    fs_plan_t *plan = g->plans[rank];
    fs_op_t   *ops  = plan->ops;
    uint32_t   last = ops[owner].next + ops[owner].n_next - 1;
    uint32_t   then = plan->next[e], at_last = plan->next[last];
    bool       race  = has_race(g, plan, e);
    fs_plan_t  whole = *plan;
    size_t     bytes = plan->n_ops * sizeof(*ops);
    fs_op_t   *saved = fs_test_alloc(plan->n_ops, sizeof(*saved));
    uint32_t  *next  = fs_test_alloc(plan->n_next, sizeof(*next));

    /* The owner's last edge takes its place, those behind move up. */
    memcpy(saved, ops, bytes);
    memcpy(next, plan->next, plan->n_next * sizeof(*next));
    next[e] = at_last;
    memmove(next + last, next + last + 1,
            (plan->n_next - last - 1) * sizeof(*next));
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        ops[k].next -= ops[k].next > last;
    }
    --ops[owner].n_next;
    --ops[then].n_after;
    plan->next = next;
    --plan->n_next;
    if (fs_test_group_check(g) != (race ? FS_ERR_INVAL : FS_OK)) {
        ck_abort_msg("rank %u of %u, %u before %u: %s, the checker says '%s'",
                     rank, g->n, owner, then, race ? "a race" : "no race",
                     g->why);
    }
    *plan = whole;
    memcpy(ops, saved, bytes);
    free(saved);
    free(next);
}

START_TEST(missing_edges_are_found)
{
    uint32_t        n = 3 + (uint32_t)_i % 6;
    fs_test_group_t g;

    fs_test_group_init(&g, FS_STRAGGLER_STRAGGLAR, n, (uint32_t)_i % n, 1);
    g.params.staging_limit = _i % 3 == 0 ? 128 : 1 << 20;
    fs_test_group_plan(&g, 9 * n, 8, _i % 2 == 0);
    for (uint32_t r = 0; r < n; ++r) {
        const fs_plan_t *p = g.plans[r];

        ck_assert(!has_race(&g, p, UINT32_MAX));
        for (uint32_t k = 0; k < p->n_ops; ++k) {
            for (uint32_t e = 0; e < p->ops[k].n_next; ++e) {
                without_edge(&g, r, k, p->ops[k].next + e);
            }
        }
    }
    fs_test_group_prove(&g);
    fs_test_group_fini(&g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("straggler_broken");
    TCase *tcase = tcase_create("straggler_broken");

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, broken_schedules_are_found);
    tcase_add_test(tcase, broken_operations_are_found);
    tcase_add_loop_test(tcase, missing_edges_are_found, 0, 12);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
