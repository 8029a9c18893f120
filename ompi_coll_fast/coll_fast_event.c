/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_T's event: the end of a call. Open MPI 4.1 and 5.0 have no events. */
#include "coll_fast.h"

#include <stddef.h>

#if defined(OPAL_MCA_BASE_CB_REQUIRE_NONE) /* Open MPI 6 */
#    include "base/fs_clock.h"
#    include "opal/mca/base/mca_base_event.h"

/* What a tool reads, in this order. */
typedef struct payload {
    unsigned long long comm, inter_bytes;
    double seconds, waited;
    unsigned algorithm;
} payload_t;

static mca_base_event_t *event; /* NULL: none */

static void describe(char *text, size_t size)
{
    size_t len =
        (size_t) snprintf(text, size,
                          "A call has ended on this rank: handle of its communicator in C; bytes "
                          "between servers, of all ranks; seconds from entry to exit; of these, "
                          "until all ranks had entered (0 also if not known); algorithm:");

    for (unsigned alg = 0; alg < FS_N_ALGS && len < size; ++alg) {
        len += (size_t) snprintf(text + len, size - len, "%s %u %s", 0 == alg ? "" : ",", alg,
                                 fs_alg_name((fs_alg_t) alg));
    }
}

void mca_coll_fast_register_event(void)
{
    const mca_base_var_type_t types[] = {
        MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG,
        MCA_BASE_VAR_TYPE_DOUBLE, MCA_BASE_VAR_TYPE_DOUBLE, MCA_BASE_VAR_TYPE_UNSIGNED_INT};
    const ptrdiff_t offsets[] = {offsetof(payload_t, comm), offsetof(payload_t, inter_bytes),
                                 offsetof(payload_t, seconds), offsetof(payload_t, waited),
                                 offsetof(payload_t, algorithm)};
    mca_base_event_source_t *source;
    char text[512];
    int index = mca_base_event_source_register("coll_fast", "coll component fast",
                                               MCA_BASE_EVENT_SOURCE_ORDERED, 1000000000,
                                               OPAL_COUNT_MAX, NULL, true, NULL);

    event = NULL;
    if (index < 0 || OPAL_SUCCESS != mca_base_event_source_get_by_index(index, &source)) {
        return;
    }
    describe(text, sizeof(text));
    index = mca_base_component_event_register(&mca_coll_fast_component.super.collm_version, "call",
                                              text, OPAL_INFO_LVL_4, 5, types, offsets, NULL,
                                              MCA_BASE_VAR_BIND_NO_OBJECT, 0, source, NULL);
    if (index < 0 || OPAL_SUCCESS != mca_base_event_get_by_index(index, &event)) {
        event = NULL;
    }
}

void mca_coll_fast_call_is_over(const fs_wrapper_comm_t *comm, const fs_served_t *served)
{
    const mca_coll_fast_module_t *module =
        (const mca_coll_fast_module_t *) ((const char *) comm
                                          - offsetof(mca_coll_fast_module_t, shared));
    payload_t payload;

    if (NULL == event || !mca_base_event_active(event)) {
        return;
    }
    payload = (payload_t){.comm = (uintptr_t) module->comm,
                          .inter_bytes = served->inter_bytes,
                          .seconds = (double) (fs_now_ns() - served->entered_ns) * 1e-9,
                          .waited = (double) served->waited_ns * 1e-9,
                          .algorithm = served->alg};
    /* Else it comes from Open MPI's progress, where a tool may not do all. */
    mca_base_event_raise_internal(event, NULL, NULL, &payload,
                                  served->blocking ? MCA_BASE_EVENT_CB_REQUIRE_NONE
                                                   : MCA_BASE_EVENT_CB_REQUIRE_MPI_RESTRICTED);
}
#else
void mca_coll_fast_register_event(void)
{
}

void mca_coll_fast_call_is_over(const fs_wrapper_comm_t *comm, const fs_served_t *served)
{
    (void) comm;
    (void) served;
}
#endif
