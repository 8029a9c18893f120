/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do all ranks of a communicator come to our alltoallv? A rank where the
 * component is missing, not named or below another one never does, and takes no
 * part in any exchange of ours. So each process leaves a word in PMIx while the
 * component is opened; MPI_Init's fence carries the words to every node, and
 * before a communicator's first exchange its ranks compare them.
 *
 * "Immediate": PMIx answers from what the fence has brought; otherwise a word that
 * nobody has left would be waited for. From 5.0 on the fence does not always bring
 * the words of other nodes: then they are fetched from there, which takes a
 * millisecond, or PATIENCE_S where there is none. What is not compared: the words
 * of other jobs (MPI_Comm_spawn), and any where Open MPI was told to leave them
 * where they are. Both are alike on every rank.
 */
#include "coll_fast.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/proc/proc.h"
#include "opal/util/proc.h"

#define KEY "coll.fast.word"

enum { PATIENCE_S = 10 };

/* A rank that refuses its parameters: its word begins so. */
static const char refusal[] = "refused";

static bool fence_brings_words(void)
{
    return opal_pmix_collect_all_data && !opal_pmix_base_async_modex;
}

void mca_coll_fast_leave_word(void)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;
    int size = ompi_proc_world_size(), rc;

    if (size < 2) {
        return;
    }
    c->alike = calloc((size_t) size, sizeof(*c->alike));
    if ('\0' != c->bad_value[0]) {
        snprintf(c->word, sizeof(c->word), "%s", refusal);
    } else {
        fs_wrapper_settings(&c->wrapper, FS_VERSION, c->standing, c->word);
    }
    OPAL_MODEX_SEND_VALUE(rc, FAST_PMIX_GLOBAL, KEY, c->word, FAST_PMIX_STRING);
    (void) rc; /* then the others miss it, and say so */
}

#if defined(MCA_COLL_BASE_VERSION_2_0_0)
/* As OPAL_MODEX_RECV_VALUE_IMMEDIATE() does, which crashes where there is no memory. */
static int read_immediately(opal_process_name_t *name, char **word_p)
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
        rc = opal_value_unload(value, (void **) word_p, OPAL_STRING);
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
static char *read_word(opal_process_name_t name)
{
    char *word = NULL;
    int rc;

#if defined(MCA_COLL_BASE_VERSION_2_0_0)
    rc = read_immediately(&name, &word);
#else
    OPAL_MODEX_RECV_VALUE_IMMEDIATE(rc, KEY, &name, &word, FAST_PMIX_STRING);
#endif
    return OPAL_SUCCESS == rc ? word : NULL;
}

/* The same where PMIx may have to fetch it: from another node. */
static char *fetch_word(const opal_proc_t *of)
{
    opal_process_name_t name = of->proc_name;
    char *word = read_word(name);

#if !defined(MCA_COLL_BASE_VERSION_2_0_0)
    if (NULL == word && !OPAL_PROC_ON_LOCAL_NODE(of->proc_flags)) {
        int seconds = PATIENCE_S;
        pmix_value_t *value = NULL;
        pmix_proc_t proc;
        pmix_info_t info;

        OPAL_PMIX_CONVERT_NAME(&proc, &name);
        PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &seconds, PMIX_INT);
        if (PMIX_SUCCESS == PMIx_Get(&proc, KEY, &info, 1, &value) && NULL != value) {
            word = PMIX_STRING == value->type ? strdup(value->data.string) : NULL;
            PMIX_VALUE_RELEASE(value);
        }
        PMIX_INFO_DESTRUCT(&info);
    }
#endif
    return word;
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

/* Once per process: the words do not change. */
static bool has_our_word(ompi_communicator_t *comm, int rank)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;
    const opal_proc_t *of = &ompi_comm_peer_lookup(comm, rank)->super;
    fast_alike_t *known = NULL == c->alike ? NULL : &c->alike[of->proc_name.vpid];
    fast_alike_t alike = NULL == known ? FAST_UNKNOWN : __atomic_load_n(known, __ATOMIC_RELAXED);

    if (FAST_UNKNOWN == alike) {
        char *word = fetch_word(of);

        alike = NULL != word && 0 == strcmp(word, c->word) ? FAST_ALIKE : FAST_UNLIKE;
        free(word);
        if (NULL != known) {
            __atomic_store_n(known, alike, __ATOMIC_RELAXED);
        }
    }
    return FAST_ALIKE == alike;
}

/* The lowest rank that comes here speaks for all that do. */
static bool speaks(ompi_communicator_t *comm)
{
    bool first = 0 == ompi_comm_rank(comm) || !has_our_word(comm, 0);

    for (int r = 0; first && r < ompi_comm_rank(comm); ++r) {
        char *word = read_word(name_of(comm, r));

        first = NULL == word || !fs_wrapper_same_priority(word, mca_coll_fast_component.word);
        free(word);
    }
    return first;
}

static void explain(ompi_communicator_t *comm, int rank)
{
    ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);
    char *word = read_word(proc->super.proc_name);
    char why[256];

    if (NULL == word) {
        snprintf(why, sizeof(why),
                 "rank %d (%s) does not have the component, or does not choose it (parameters "
                 "mca_base_component_path, coll, coll_fast_priority)",
                 rank, opal_get_proc_hostname(&proc->super));
    } else if (0 == strcmp(word, refusal)) {
        snprintf(why, sizeof(why), "rank %d has a parameter value that is not allowed", rank);
    } else {
        fs_wrapper_explain_settings(mca_coll_fast_component.word, (uint32_t) ompi_comm_rank(comm),
                                    word, (uint32_t) rank, why, sizeof(why));
    }
    mca_coll_fast_complain("not used on %s: %s", comm->c_name, why);
    free(word);
}

/* One line is enough for all communicators that this process is in. */
static void explain_once(ompi_communicator_t *comm, int rank)
{
    if (!__atomic_exchange_n(&mca_coll_fast_component.explained, true, __ATOMIC_RELAXED)
        && speaks(comm)) {
        explain(comm, rank);
    }
}

bool mca_coll_fast_ranks_are_alike(ompi_communicator_t *comm)
{
    if (!fence_brings_words() || !is_of_one_job(comm)) {
        return true;
    }
    for (int r = 0; r < ompi_comm_size(comm); ++r) {
        if (!has_our_word(comm, r)) {
            explain_once(comm, r);
            return false;
        }
    }
    return true;
}

/* ---- parameters that are refused ---- */

bool mca_coll_fast_is_first_to_refuse(void)
{
    opal_process_name_t name = OPAL_PROC_MY_NAME;
    bool first = true;

    if (!fence_brings_words()) {
        return true;
    }
    for (name.vpid = 0; first && name.vpid < OPAL_PROC_MY_NAME.vpid; ++name.vpid) {
        char *word = read_word(name);

        first = NULL == word || 0 != strcmp(word, refusal);
        free(word);
    }
    return first;
}
