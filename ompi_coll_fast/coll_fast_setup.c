/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set-up of a communicator by its first nonblocking call, which must not wait: it
 * goes on in a thread, see fs_setup.h, and in Open MPI's progress, which gathers what
 * the thread asks for.
 *
 * On the communicator itself, by plain messages with a tag of its nonblocking
 * collectives that the call has taken: so they have a place in the order of its
 * collectives. In step k a rank has 2^k blocks, sends them to the rank 2^k before it,
 * and gets as many from the one 2^k behind it.
 */
#include "coll_fast.h"

#include <pthread.h>
#include <string.h>

#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/pml/pml.h"
#include "opal/runtime/opal_progress.h"

/* ---- a question ---- */

static void post_step(mca_coll_fast_module_t *module)
{
    fast_gather_t *g = &module->gather;
    fs_setup_question_t *q = &module->setup.question;
    uint32_t n = (uint32_t) ompi_comm_size(module->comm);
    uint32_t me = (uint32_t) ompi_comm_rank(module->comm);
    uint32_t n_blocks = g->distance < n - g->distance ? g->distance : n - g->distance;
    int to = (int) ((me + n - g->distance) % n), from = (int) ((me + g->distance) % n);
    char *all = q->out;
    void *in = NULL == all ? (void *) &g->heard : all + g->distance * q->len;
    const void *out = NULL == all ? (const void *) &g->said : all;
    size_t len = NULL == all ? sizeof(g->said) : n_blocks * q->len;
    int rc;

    g->requests[0] = g->requests[1] = NULL;
    rc = MCA_PML_CALL(
        irecv(in, len, MPI_BYTE, from, module->setup_tag, module->comm, &g->requests[0]));
    if (OMPI_SUCCESS == rc) {
        rc = MCA_PML_CALL(isend(out, len, MPI_BYTE, to, module->setup_tag,
                                MCA_PML_BASE_SEND_STANDARD, module->comm, &g->requests[1]));
    }
    g->status = OMPI_SUCCESS == rc ? g->status : FS_ERR_NATIVE;
}

static void begin(mca_coll_fast_module_t *module)
{
    fast_gather_t *g = &module->gather;
    const fs_setup_question_t *q = &module->setup.question;

    *g = (fast_gather_t){.is_begun = true, .distance = 1, .said = q->status};
    if (NULL != q->out) {
        memcpy(q->out, q->in, q->len);
    }
    post_step(module);
}

static void reverse(char *first, char *end)
{
    while (first < end) {
        char byte = *first;

        *first++ = *--end;
        *end = byte;
    }
}

/* The first block is this rank's, and they are in order otherwise. */
static void put_in_order(const mca_coll_fast_module_t *module)
{
    const fs_setup_question_t *q = &module->setup.question;
    char *all = q->out, *end = all + q->len * (size_t) ompi_comm_size(module->comm);
    char *rank_0 = end - q->len * (size_t) ompi_comm_rank(module->comm);

    reverse(all, rank_0);
    reverse(rank_0, end);
    reverse(all, end);
}

/* Is the step over? */
static bool has_come(mca_coll_fast_module_t *module)
{
    fast_gather_t *g = &module->gather;

    for (int k = 0; k < 2; ++k) {
        fs_status_t status =
            NULL == g->requests[k] ? FS_OK : mca_coll_fast_p2p.test(module, g->requests[k], NULL);

        if (FS_INPROGRESS == status) {
            return false;
        }
        g->requests[k] = NULL;
        g->status = FS_OK != status ? FS_ERR_NATIVE : g->status;
    }
    return true;
}

static void progress_question(mca_coll_fast_module_t *module)
{
    fast_gather_t *g = &module->gather;
    bool is_gather = NULL != module->setup.question.out;
    fs_status_t answer;

    if (!g->is_begun) {
        begin(module);
    }
    while (has_come(module)) {
        if (!is_gather && g->heard < g->said) {
            g->said = g->heard;
        }
        g->distance *= 2;
        if (FS_OK != g->status || g->distance >= (uint32_t) ompi_comm_size(module->comm)) {
            answer = is_gather || FS_OK != g->status ? g->status : g->said;
            if (is_gather) {
                put_in_order(module);
            }
            g->is_begun = false;
            fs_setup_answer(&module->setup, answer);
            return;
        }
        post_step(module);
    }
}

/* ---- all set-ups ---- */

/* Whoever has it makes progress, others do not wait for it. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static mca_coll_fast_module_t *first;

static void put_on(mca_coll_fast_module_t *module)
{
    pthread_mutex_lock(&turn);
    module->next_in_setup = first;
    __atomic_store_n(&first, module, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&turn);
}

static void take_off(mca_coll_fast_module_t **at)
{
    __atomic_store_n(at, (*at)->next_in_setup, __ATOMIC_RELAXED);
}

void mca_coll_fast_set_up_beside(mca_coll_fast_module_t *module, const fs_native_t *native,
                                 const fs_member_t *member)
{
    fs_wrapper_t *wrapper = &mca_coll_fast_component.wrapper;

    module->setup_tag = ompi_coll_base_nbc_reserve_tags(module->comm, 1);
    module->gather = (fast_gather_t){.is_begun = false};
    module->is_pending = true;
    fs_setup_begin(&module->setup, wrapper, &module->shared, native, member);
    put_on(module);
    mca_coll_fast_register_progress();
}

void mca_coll_fast_progress_set_ups(void)
{
    mca_coll_fast_module_t **at = &first, *module;

    if (NULL == __atomic_load_n(&first, __ATOMIC_RELAXED) || 0 != pthread_mutex_trylock(&turn)) {
        return;
    }
    while (NULL != (module = *at)) {
        fs_setup_state_t state = fs_setup_look(&module->setup);

        if (FS_SETUP_ASKS == state) {
            progress_question(module);
        }
        if (FS_SETUP_OVER == state) {
            take_off(at);
            module->setup_status = fs_setup_end(&module->setup);
            mca_coll_fast_begin_early(module);
        } else {
            at = &module->next_in_setup;
        }
    }
    pthread_mutex_unlock(&turn);
}

void mca_coll_fast_wait_for_set_up(mca_coll_fast_module_t *module)
{
    while (__atomic_load_n(&module->is_pending, __ATOMIC_ACQUIRE)) {
        opal_progress();
    }
}

/* At the end of a program that has not waited for its calls. Threads that ask stay asleep: messages
 * may still come for them. */
void mca_coll_fast_abandon_set_ups(void)
{
    pthread_mutex_lock(&turn);
    while (NULL != first) {
        first->is_pending = false;
        take_off(&first);
    }
    pthread_mutex_unlock(&turn);
}
