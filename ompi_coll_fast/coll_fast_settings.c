/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do all ranks of a communicator call our alltoallv? A rank where the component
 * is missing, not named or has a lower priority than another one never does,
 * and takes no part in any exchange of ours. So each process publishes a record
 * of its settings in PMIx while the component is opened; MPI_Init's fence
 * carries the records to every server, and before a communicator's first
 * exchange its ranks compare them.
 *
 * "Immediate": PMIx answers from the data of the fence; otherwise it would wait
 * for a record that was never published. From 5.0 on the fence does not always
 * bring the records of other nodes: then they are fetched from there, which
 * takes a millisecond, or PATIENCE_S where there is none. What is not compared:
 * the records of other jobs (MPI_Comm_spawn), and any where Open MPI was set
 * to leave them where they are. Both are alike on every rank.
 */
#include "coll_fast.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/proc/proc.h"
#include "opal/util/proc.h"

#define KEY "coll.fast.word"

enum { PATIENCE_S = 10 };

/* The record of a rank with a parameter value that is not allowed. */
static const char refusal[] = "refused";

/* By the end of MPI_Init, which waits for them at the latest there (pmix_base_async_modex). */
static bool fence_brings_records(void)
{
    return opal_pmix_collect_all_data;
}

void mca_coll_fast_publish_settings(void)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;
    int size = ompi_proc_world_size(), rc;

    if (size < 2) {
        return;
    }
    c->alike = calloc((size_t) size, sizeof(*c->alike));
    if ('\0' != c->bad_value[0]) {
        snprintf(c->record, sizeof(c->record), "%s", refusal);
    } else {
        fs_wrapper_settings(&c->wrapper, FS_VERSION, c->standing, c->record);
    }
    OPAL_MODEX_SEND_VALUE(rc, FAST_PMIX_GLOBAL, KEY, c->record, FAST_PMIX_STRING);
    (void) rc; /* without it the others report this rank */
}

#if defined(MCA_COLL_BASE_VERSION_2_0_0)
/* As OPAL_MODEX_RECV_VALUE_IMMEDIATE() does, which crashes where there is no
 * memory. */
static int read_immediately(opal_process_name_t *name, char **record_p)
{
    opal_value_t immediate, *value = NULL;
    opal_list_t infos;
    int rc;

    OBJ_CONSTRUCT(&infos, opal_list_t);
    OBJ_CONSTRUCT(&immediate, opal_value_t);
    immediate.key = (char *) OPAL_PMIX_IMMEDIATE;
    immediate.type = OPAL_BOOL;
    immediate.data.flag = true;
    opal_list_append(&infos, &immediate.super);
    rc = opal_pmix.get(name, KEY, &infos, &value);
    if (OPAL_SUCCESS == rc && NULL != value) {
        rc = opal_value_unload(value, (void **) record_p, OPAL_STRING);
        OBJ_RELEASE(value);
    }
    opal_list_remove_item(&infos, &immediate.super);
    immediate.key = NULL; /* not for free() */
    OBJ_DESTRUCT(&immediate);
    OBJ_DESTRUCT(&infos);
    return rc;
}
#endif

/* For free(). NULL: there is none. */
static char *read_record(opal_process_name_t name)
{
    char *record = NULL;
    int rc;

#if defined(MCA_COLL_BASE_VERSION_2_0_0)
    rc = read_immediately(&name, &record);
#else
    OPAL_MODEX_RECV_VALUE_IMMEDIATE(rc, KEY, &name, &record, FAST_PMIX_STRING);
#endif
    return OPAL_SUCCESS == rc ? record : NULL;
}

/* The same where PMIx may have to fetch it: from another node. */
static char *fetch_record(const opal_proc_t *of)
{
    opal_process_name_t name = of->proc_name;
    char *record = read_record(name);

#if !defined(MCA_COLL_BASE_VERSION_2_0_0)
    if (NULL == record && !OPAL_PROC_ON_LOCAL_NODE(of->proc_flags)) {
        int seconds = PATIENCE_S;
        pmix_value_t *value = NULL;
        pmix_proc_t proc;
        pmix_info_t info;

        OPAL_PMIX_CONVERT_NAME(&proc, &name);
        PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &seconds, PMIX_INT);
        if (PMIX_SUCCESS == PMIx_Get(&proc, KEY, &info, 1, &value) && NULL != value) {
            record = PMIX_STRING == value->type ? strdup(value->data.string) : NULL;
            PMIX_VALUE_RELEASE(value);
        }
        PMIX_INFO_DESTRUCT(&info);
    }
#endif
    return record;
}

static opal_process_name_t name_of(ompi_communicator_t *comm, int rank)
{
    return ompi_comm_peer_lookup(comm, rank)->super.proc_name;
}

/* ---- before a communicator's first exchange ---- */

static bool is_of_one_job(ompi_communicator_t *comm)
{
    bool one = true;

    for (int r = 0; r < ompi_comm_size(comm); ++r) {
        one = one && name_of(comm, r).jobid == OPAL_PROC_MY_NAME.jobid;
    }
    return one;
}

/* Once per process: the records do not change. */
static bool has_our_record(ompi_communicator_t *comm, int rank)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;
    const opal_proc_t *of = &ompi_comm_peer_lookup(comm, rank)->super;
    fast_alike_t *known = NULL == c->alike ? NULL : &c->alike[of->proc_name.vpid];
    fast_alike_t alike = NULL == known ? FAST_UNKNOWN : __atomic_load_n(known, __ATOMIC_RELAXED);

    if (FAST_UNKNOWN == alike) {
        char *record = fetch_record(of);

        alike = NULL != record && 0 == strcmp(record, c->record) ? FAST_ALIKE : FAST_UNLIKE;
        free(record);
        if (NULL != known) {
            __atomic_store_n(known, alike, __ATOMIC_RELAXED);
        }
    }
    return FAST_ALIKE == alike;
}

/* The lowest of the ranks with our priority prints the message, if that is the highest: others come
 * only where the component above them has no such function. */
static bool speaks(ompi_communicator_t *comm)
{
    bool first = 0 == ompi_comm_rank(comm) || !has_our_record(comm, 0);

    for (int r = 0; first && r < ompi_comm_rank(comm); ++r) {
        char *record = read_record(name_of(comm, r));

        first = NULL == record || !fs_wrapper_same_priority(record, mca_coll_fast_component.record);
        free(record);
    }
    return first;
}

static void explain(ompi_communicator_t *comm, int rank)
{
    ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);
    char *record = read_record(proc->super.proc_name);
    char why[256];

    if (NULL == record) {
        snprintf(why, sizeof(why),
                 "rank %d (%s) does not have the component, or does not choose it (parameters "
                 "mca_base_component_path, coll, coll_fast_priority)",
                 rank, opal_get_proc_hostname(&proc->super));
    } else if (0 == strcmp(record, refusal)) {
        snprintf(why, sizeof(why), "rank %d has a parameter value that is not allowed", rank);
    } else {
        fs_wrapper_explain_settings(mca_coll_fast_component.record, (uint32_t) ompi_comm_rank(comm),
                                    record, (uint32_t) rank, why, sizeof(why));
    }
    mca_coll_fast_complain("not used on %s: %s", comm->c_name, why);
    free(record);
}

/* One line is enough for all communicators that this process is in. */
static void explain_once(ompi_communicator_t *comm, int rank)
{
    if (0 == strcmp(mca_coll_fast_component.standing, FAST_ABOVE)
        && !__atomic_exchange_n(&mca_coll_fast_component.explained, true, __ATOMIC_RELAXED)
        && speaks(comm)) {
        explain(comm, rank);
    }
}

bool mca_coll_fast_can_compare(ompi_communicator_t *comm)
{
    return fence_brings_records() && is_of_one_job(comm);
}

bool mca_coll_fast_ranks_are_alike(ompi_communicator_t *comm)
{
    if (!mca_coll_fast_can_compare(comm)) {
        return true;
    }
    for (int r = 0; r < ompi_comm_size(comm); ++r) {
        if (!has_our_record(comm, r)) {
            explain_once(comm, r);
            return false;
        }
    }
    return true;
}

/* ---- parameters that are refused ---- */

bool mca_coll_fast_is_first_to_refuse(ompi_communicator_t *comm)
{
    bool first = true;

    if (!fence_brings_records() || opal_pmix_base_async_modex) { /* MPI_Init goes on */
        return true;
    }
    for (int r = 0; first && r < ompi_comm_rank(comm); ++r) {
        char *record = read_record(name_of(comm, r));

        first = NULL == record || 0 != strcmp(record, refusal);
        free(record);
    }
    return first;
}
