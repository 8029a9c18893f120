/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_T's variables: parameters that may be written between calls, counters of the process and of
 * each communicator.
 */
#include "coll_fast.h"

#include <string.h>

static const mca_base_component_t *component(void)
{
    return &mca_coll_fast_component.super.collm_version;
}

/* ---- parameters that are written ---- */

void mca_coll_fast_register_written(size_t k)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;

    if (c->n_written < FAST_MAX_WRITTEN) {
        c->written[c->n_written++] = (fast_written_t){.row = k};
    }
}

static void set(const fs_param_info_t *info, const char *text)
{
    fs_wrapper_t *wrapper = &mca_coll_fast_component.wrapper;
    char why[512];
    fs_status_t status;

    pthread_mutex_lock(&wrapper->lock);
    status = fs_params_set(&wrapper->params, info->name, text, why, sizeof(why));
    pthread_mutex_unlock(&wrapper->lock);
    if (FS_OK != status) {
        mca_coll_fast_complain("parameter coll_fast_%s; it keeps the value it had", why);
    }
}

void mca_coll_fast_read_written(void)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;

    for (unsigned k = 0; k < c->n_written; ++k) {
        fast_written_t *written = &c->written[k];
        const char *text = NULL == c->value[written->row] ? "" : c->value[written->row];

        if (0 != strncmp(text, written->text, sizeof(written->text) - 1)) {
            snprintf(written->text, sizeof(written->text), "%s", text);
            set(fs_params_info(written->row), text);
        }
    }
}

/* ---- counters of the process ---- */

static void register_pvar(const char *name, const char *help, int class, int type, void *storage)
{
    (void) mca_base_component_pvar_register(
        component(), name, help, OPAL_INFO_LVL_4, class, type, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
        MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, NULL, NULL, NULL, storage);
}

/* A level, not a state: ompi_info 4.1.4 crashes when it prints the names of a
 * state's values. */
static void register_last_algorithm(void)
{
    char help[256] = "Algorithm of the last MPI_Alltoallv:";

    for (unsigned alg = 0; alg < FS_N_ALGS; ++alg) {
        size_t len = strlen(help);

        snprintf(help + len, sizeof(help) - len, "%s %u %s", 0 == alg ? "" : ",", alg,
                 fs_alg_name((fs_alg_t) alg));
    }
    register_pvar("last_algorithm", help, MCA_BASE_PVAR_CLASS_LEVEL, MCA_BASE_VAR_TYPE_UNSIGNED_INT,
                  &mca_coll_fast_component.wrapper.last_algorithm);
}

static void register_pvars(void)
{
    fs_wrapper_t *w = &mca_coll_fast_component.wrapper;

    register_pvar("calls", "MPI_Alltoallv calls seen", MCA_BASE_PVAR_CLASS_COUNTER,
                  MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, &w->calls);
    for (unsigned alg = FS_ALG_NATIVE + 1; alg < FS_N_ALGS; ++alg) {
        char name[64], help[64];

        snprintf(name, sizeof(name), "calls_%s", fs_alg_name((fs_alg_t) alg));
        snprintf(help, sizeof(help), "Calls of these that used %s", fs_alg_name((fs_alg_t) alg));
        register_pvar(name, help, MCA_BASE_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG,
                      &w->calls_by[alg]);
    }
    register_pvar("inter_bytes", "Bytes between servers in these calls, all ranks",
                  MCA_BASE_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG,
                  &w->inter_bytes);
    register_last_algorithm();
}

/* ---- counters of a communicator ---- */

/* NULL: it is the MPI's own, or had no call yet, or its first one is not through with the set-up. */
static const fs_comm_t *ours_of(const ompi_communicator_t *comm)
{
    const mca_coll_fast_module_t *module;

    if (NULL == comm->c_coll || mca_coll_fast_alltoallv != comm->c_coll->coll_alltoallv) {
        return NULL;
    }
    module = (const mca_coll_fast_module_t *) comm->c_coll->coll_alltoallv_module;
    return __atomic_load_n(&module->is_pending, __ATOMIC_ACQUIRE) ? NULL : module->shared.ours;
}

/* A variable's context is the offset of its field in fs_comm_stats_t. */
static uint64_t field_of(const mca_base_pvar_t *pvar, const void *comm)
{
    const fs_comm_t *ours = ours_of(comm);
    fs_comm_stats_t stats;

    if (NULL == ours) {
        return 0;
    }
    fs_comm_get_stats(ours, &stats);
    return *(const uint64_t *) ((const char *) &stats + (uintptr_t) pvar->ctx);
}

static int get_number(const mca_base_pvar_t *pvar, void *value, void *comm)
{
    *(unsigned long long *) value = field_of(pvar, comm);
    return OPAL_SUCCESS;
}

static int get_seconds(const mca_base_pvar_t *pvar, void *value, void *comm)
{
    *(double *) value = (double) field_of(pvar, comm) * 1e-9;
    return OPAL_SUCCESS;
}

static void register_of_comm(const char *name, const char *help, bool is_time, size_t offset)
{
    (void) mca_base_component_pvar_register(
        component(), name, help, OPAL_INFO_LVL_4,
        is_time ? MCA_BASE_PVAR_CLASS_TIMER : MCA_BASE_PVAR_CLASS_COUNTER,
        is_time ? MCA_BASE_VAR_TYPE_DOUBLE : MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
        MCA_BASE_VAR_BIND_MPI_COMM, MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS,
        is_time ? get_seconds : get_number, NULL, NULL, (void *) (uintptr_t) offset);
}

#define OF_COMM(_name, _field, _is_time, _help) \
    register_of_comm("comm_" _name, _help, _is_time, offsetof(fs_comm_stats_t, _field));

static void register_calls_of_comm(void)
{
    for (unsigned alg = 0; alg < FS_N_ALGS; ++alg) {
        char name[64], help[128];

        snprintf(name, sizeof(name), "comm_calls_%s", fs_alg_name((fs_alg_t) alg));
        snprintf(help, sizeof(help), "Calls on this communicator that used %s%s",
                 fs_alg_name((fs_alg_t) alg),
                 FS_ALG_NATIVE == alg ? ", Open MPI's own algorithm (blocking ones)" : "");
        register_of_comm(name, help, false,
                         offsetof(fs_comm_stats_t, calls_by) + alg * sizeof(uint64_t));
    }
}

void mca_coll_fast_register_pvars(void)
{
    register_pvars();
    OF_COMM("calls", calls, false, "Calls on this communicator, once it is served by fast")
    register_calls_of_comm();
    OF_COMM("inter_bytes", inter_bytes, false,
            "Bytes between servers in calls on this communicator that fast ran, all ranks")
    OF_COMM("early_bytes", early_bytes, false,
            "Bytes this rank has sent before all ranks had entered the call")
    OF_COMM("waited", waited_ns, true,
            "Seconds from this rank's entries to blocking calls until all ranks had entered")
}
