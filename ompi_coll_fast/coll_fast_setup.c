/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set-up of a communicator by its first nonblocking call, which must not wait: it
 * goes on in a thread, see fs_setup.h, and in Open MPI's progress, which gathers what
 * the thread asks for.
 *
 * On the communicator itself, by plain messages with a tag of its nonblocking
 * collectives that the call has taken: so they have a place in the order of its
 * collectives.
 */
#include "coll_fast.h"

#include <pthread.h>

#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/pml/pml.h"
#include "opal/runtime/opal_progress.h"

/* ---- messages ---- */

static fs_status_t isend(void *ctx, const void *buf, uint64_t len_bytes, uint32_t peer,
                         uint32_t tag, void **request_p)
{
    mca_coll_fast_module_t *module = ctx;
    int rc = MCA_PML_CALL(isend(buf, len_bytes, MPI_BYTE, (int) peer, (int) tag,
                                MCA_PML_BASE_SEND_STANDARD, module->comm,
                                (ompi_request_t **) request_p));

    return OMPI_SUCCESS == rc ? FS_OK : FS_ERR_NATIVE;
}

static fs_status_t irecv(void *ctx, void *buf, uint64_t len_bytes, uint32_t peer, uint32_t tag,
                         void **request_p)
{
    mca_coll_fast_module_t *module = ctx;
    int rc = MCA_PML_CALL(irecv(buf, len_bytes, MPI_BYTE, (int) peer, (int) tag, module->comm,
                                (ompi_request_t **) request_p));

    return OMPI_SUCCESS == rc ? FS_OK : FS_ERR_NATIVE;
}

static fs_status_t test(void *ctx, void *request, uint64_t *len_p)
{
    return mca_coll_fast_p2p.test(ctx, request, len_p);
}

static const fs_native_p2p_t messages = {.isend = isend, .irecv = irecv, .test = test};

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
    module->gather = (fs_setup_gather_t){.is_begun = false};
    __atomic_store_n(&module->is_pending, true, __ATOMIC_RELEASE);
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
        uint32_t tag = (uint32_t) module->setup_tag;

        if (FS_SETUP_OVER
            == fs_setup_turn(&module->setup, &module->gather, &messages, module, tag)) {
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
        __atomic_store_n(&first->is_pending, false, __ATOMIC_RELEASE);
        take_off(&first);
    }
    pthread_mutex_unlock(&turn);
}
