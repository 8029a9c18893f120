/* SPDX-License-Identifier: BSD-3-Clause */
/* From the exchange counts to the steady state: a closed walk, then
 * partners. */
#include "sched/allreduce/fs_straggler_steady.h"

#include "base/fs_assert.h"

/* A side as a number: ages fit in four bits each. */
enum { N_HAVINGS = FS_STEADY_AGES * FS_STEADY_AGES, N_SIDES = N_HAVINGS * 16 };

static uint32_t having_of(fs_steady_side_t side)
{
    return side.has[0] * FS_STEADY_AGES + side.has[1];
}

static uint32_t number_of(fs_steady_side_t side)
{
    return having_of(side) * FS_STEADY_AGES + side.gets;
}

static fs_steady_side_t side_of(uint32_t number)
{
    return (fs_steady_side_t){
        {number / N_HAVINGS, number / FS_STEADY_AGES % FS_STEADY_AGES},
        number % FS_STEADY_AGES};
}

/* Everything is a round older, and the oldest no longer alive. */
static fs_steady_side_t a_round_later(fs_steady_side_t side, uint32_t oldest)
{
    uint32_t         ages[3] = {side.has[0], side.has[1], side.gets + 1};
    fs_steady_side_t next    = {{0, 0}, 0};

    ages[0] += ages[0] > 0;
    ages[1] += ages[1] > 0;
    for (uint32_t k = 0; k < 3; ++k) {
        if (ages[k] == 0 || ages[k] > oldest) {
            continue;
        }
        fs_assert(next.has[0] == 0);
        if (ages[k] > next.has[1]) {
            next.has[0] = next.has[1];
            next.has[1] = ages[k];
        } else {
            next.has[0] = ages[k];
        }
    }
    return next;
}

/* ---- the walk ---- */

typedef struct walk {
    uint32_t  oldest;
    uint32_t  left[N_SIDES]; /* how often a side is still to be walked */
    uint32_t *stack;         /* [n_places] sides */
    uint32_t *path;          /* [n_places] sides, the last one first */
    uint32_t  n_path;
} walk_t;

/* A side that starts with a having and is still to be walked; N_SIDES: none. */
static uint32_t way_out(const walk_t *walk, uint32_t having)
{
    for (uint32_t gets = 0; gets < FS_STEADY_AGES; ++gets) {
        if (walk->left[having * FS_STEADY_AGES + gets] > 0) {
            return having * FS_STEADY_AGES + gets;
        }
    }
    return N_SIDES;
}

/* Hierholzer's algorithm: go on while there is a way; at a dead end the path
 * is complete, and the walk steps back. */
static void walk_all(walk_t *walk, uint32_t first)
{
    uint32_t having = having_of(a_round_later(side_of(first), walk->oldest));
    uint32_t depth  = 0;

    walk->left[first]--;
    for (;;) {
        uint32_t side = way_out(walk, having);

        if (side != N_SIDES) {
            walk->left[side]--;
            walk->stack[depth++] = side;
            having = having_of(a_round_later(side_of(side), walk->oldest));
        } else if (depth > 0) {
            side                       = walk->stack[--depth];
            walk->path[walk->n_path++] = side;
            having                     = side / FS_STEADY_AGES;
        } else {
            return;
        }
    }
}

static void count_sides(walk_t *walk, const fs_steady_counts_t *exchanges)
{
    for (uint32_t k = 0; k < exchanges->n_rules; ++k) {
        const fs_steady_rule_t *rule = &exchanges->rules[k];

        walk->left[number_of(rule->a)] += rule->count;
        if (!rule->alone) {
            walk->left[number_of(rule->b)] += rule->count;
        }
    }
}

/* A rank comes from place p + 1 to place p, so the path, whose last step comes
 * first, has the places in order; place 0 is where it starts. */
static fs_status_t lay_out(fs_steady_t              *steady,
                           const fs_steady_counts_t *exchanges,
                           fs_arena_t               *arena)
{
    walk_t *walk = fs_arena_calloc(arena, 1, sizeof(*walk));

    if (walk == NULL) {
        return FS_ERR_NOMEM;
    }
    walk->oldest = exchanges->oldest;
    walk->stack = fs_arena_calloc(arena, exchanges->n_places, sizeof(uint32_t));
    walk->path  = fs_arena_calloc(arena, exchanges->n_places, sizeof(uint32_t));
    if (walk->stack == NULL || walk->path == NULL) {
        return FS_ERR_NOMEM;
    }
    count_sides(walk, exchanges);
    walk_all(walk, number_of(exchanges->rules[0].a));
    fs_assert(walk->n_path + 1 == exchanges->n_places);
    steady->side[0] = exchanges->rules[0].a;
    for (uint32_t place = 1; place <= walk->n_path; ++place) {
        steady->side[place] = side_of(walk->path[place - 1]);
    }
    return FS_OK;
}

/* ---- the partners ---- */

/* Places of each kind of side, in lists. */
typedef struct lists {
    uint32_t  head[N_SIDES]; /* place + 1; 0: empty */
    uint32_t *next;          /* [n_places] likewise */
} lists_t;

static uint32_t take(lists_t *lists, fs_steady_side_t side)
{
    uint32_t *head  = &lists->head[number_of(side)];
    uint32_t  place = *head - 1;

    fs_assert(*head != 0);
    *head = lists->next[place];
    return place;
}

static fs_status_t pair_up(fs_steady_t              *steady,
                           const fs_steady_counts_t *exchanges,
                           fs_arena_t               *arena)
{
    lists_t *lists = fs_arena_calloc(arena, 1, sizeof(*lists));

    if (lists == NULL) {
        return FS_ERR_NOMEM;
    }
    lists->next = fs_arena_calloc(arena, steady->n_places, sizeof(uint32_t));
    if (lists->next == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t place = steady->n_places; place-- > 0;) {
        uint32_t *head = &lists->head[number_of(steady->side[place])];

        lists->next[place]     = *head;
        *head                  = place + 1;
        steady->partner[place] = place;
    }
    for (uint32_t k = 0; k < exchanges->n_rules; ++k) {
        const fs_steady_rule_t *rule = &exchanges->rules[k];

        for (uint32_t i = 0; i < rule->count && !rule->alone; ++i) {
            uint32_t a = take(lists, rule->a), b = take(lists, rule->b);

            steady->partner[a] = b;
            steady->partner[b] = a;
        }
    }
    return FS_OK;
}

fs_status_t fs_steady_init(fs_steady_t              *steady,
                           const fs_steady_counts_t *exchanges,
                           fs_arena_t               *arena)
{
    fs_status_t status;

    steady->n_places = exchanges->n_places;
    steady->oldest   = exchanges->oldest;
    steady->n_more   = exchanges->n_more;
    steady->side =
        fs_arena_calloc(arena, exchanges->n_places, sizeof(steady->side[0]));
    steady->partner =
        fs_arena_calloc(arena, exchanges->n_places, sizeof(steady->partner[0]));
    if (steady->side == NULL || steady->partner == NULL) {
        return FS_ERR_NOMEM;
    }
    status = lay_out(steady, exchanges, arena);
    return status == FS_OK ? pair_up(steady, exchanges, arena) : status;
}
