/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Component: parameters, open, close.
 *
 * The parameters are libfastsched's, registered as strings and parsed there:
 * Open MPI's own integer parser ignores what follows a number ("1.5G" is 1),
 * and an unknown word would only be a warning.
 */
#include "coll_fast.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/proc/proc.h"
#include "ompi/runtime/mpiruntime.h"
#include "opal/util/proc.h"

#include "fastsched_ucx.h"

const char *mca_coll_fast_component_version_string = "fast coll component " FS_VERSION;

static int fast_register(void);
static int fast_open(void);
static int fast_close(void);

mca_coll_fast_component_t mca_coll_fast_component = {
    .super =
        {
            .collm_version =
                {
                    FAST_COLL_VERSION,
                    .mca_component_name = "fast",
                    MCA_BASE_MAKE_VERSION(component, FAST_MAJOR, FAST_MINOR, FAST_RELEASE),
                    .mca_open_component = fast_open,
                    .mca_close_component = fast_close,
                    .mca_register_component_params = fast_register,
                },
            .collm_data = {MCA_BASE_METADATA_PARAM_NONE},
            .collm_init_query = mca_coll_fast_init_query,
            .collm_comm_query = mca_coll_fast_comm_query,
        },
    .wrapper =
        {
            .say = mca_coll_fast_say,
            .say_last = mca_coll_fast_say,
            .create_net = fs_ucx_create,
            .net_is_up = mca_coll_fast_net_is_up,
            .call_is_over = mca_coll_fast_call_is_over,
            .is_driven = true,
            .lock = PTHREAD_MUTEX_INITIALIZER,
        },
};

static const mca_base_component_t *component(void)
{
    return &mca_coll_fast_component.super.collm_version;
}

static int info_level(fs_param_level_t level)
{
    switch (level) {
    case FS_PARAM_USER:
        return OPAL_INFO_LVL_3;
    case FS_PARAM_TUNER:
        return OPAL_INFO_LVL_5;
    case FS_PARAM_DEVEL:
        return OPAL_INFO_LVL_8;
    }
    return OPAL_INFO_LVL_9;
}

static void register_library_params(void)
{
    const fs_param_info_t *info;

    for (size_t k = 0; NULL != (info = fs_params_info(k)) && k < FAST_MAX_PARAMS; ++k) {
        char help[512];
        bool may_change;
        int index;

        snprintf(help, sizeof(help), "%s (allowed: %s)", info->help, info->allowed);
        mca_coll_fast_component.value[k] = (char *) info->default_value;
        may_change = fs_params_may_change(k);
        index = mca_base_component_var_register(
            component(), info->name, help, MCA_BASE_VAR_TYPE_STRING, NULL, 0,
            may_change ? MCA_BASE_VAR_FLAG_SETTABLE : 0, info_level(info->level),
            may_change ? MCA_BASE_VAR_SCOPE_ALL_EQ : MCA_BASE_VAR_SCOPE_READONLY,
            &mca_coll_fast_component.value[k]);
        if (may_change) {
            mca_coll_fast_register_written(k);
        }
        if (NULL != fs_params_alias(k)) {
            (void) mca_base_var_register_synonym(index, "ompi", "coll", "fast", fs_params_alias(k),
                                                 0);
        }
    }
}

/* May run alone (ompi_info, MPI_T): parameters only, no resources. */
static int fast_register(void)
{
    mca_coll_fast_component.priority_text = "-1";
    (void) mca_base_component_var_register(
        component(), "priority",
        "Selection priority (allowed: -1 to 100); -1: above all others if the list of coll "
        "components names fast, otherwise not used; must be above those of the components that "
        "fast falls back to",
        MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0, OPAL_INFO_LVL_3, MCA_BASE_VAR_SCOPE_READONLY,
        &mca_coll_fast_component.priority_text);
    mca_coll_fast_component.fallback = FAST_FALLBACK;
    (void) mca_base_component_var_register(
        component(), "fallback",
        "Components for the other collectives, loaded in addition if the list of coll components "
        "names fast: all (those that Open MPI loads without a list), or names; empty: none (the "
        "list must name all that are needed)",
        MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0, OPAL_INFO_LVL_6, MCA_BASE_VAR_SCOPE_READONLY,
        &mca_coll_fast_component.fallback);
    mca_coll_fast_component.n_written = 0;
    register_library_params();
    mca_coll_fast_register_pvars();
    mca_coll_fast_register_event();
    return OMPI_SUCCESS;
}

/* With a wrong value the component counts as wanted, so that the value is
 * refused like any other. */
static fs_status_t parse_priority(mca_coll_fast_component_t *c)
{
    const char *text = NULL == c->priority_text ? "" : c->priority_text;
    char *end;
    long priority = strtol(text, &end, 10);

    if (end == text || '\0' != *end || priority < -1 || priority > 100) {
        snprintf(c->bad_value, sizeof(c->bad_value), "priority is \"%s\"; allowed: -1 to 100",
                 text);
        c->priority = FAST_PRIORITY_WHEN_NAMED;
        return FS_ERR_INVAL;
    }
    c->priority = (int) priority;
    return FS_OK;
}

/* A list of components that names fast puts it above all others. */
static void settle_priority(void)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;
    const char *rival = NULL;
    int highest = mca_coll_fast_highest_rival(&rival);

    if (c->priority < 0 && mca_coll_fast_is_named()) {
        c->priority = highest < FAST_PRIORITY_WHEN_NAMED ? FAST_PRIORITY_WHEN_NAMED : highest + 1;
    }
    if (c->priority > highest) {
        snprintf(c->standing, sizeof(c->standing), FAST_ABOVE);
    } else {
        snprintf(c->standing, sizeof(c->standing), "%d, and coll_%s_priority %d", c->priority,
                 rival, highest);
    }
}

static bool is_wanted(void)
{
    return mca_coll_fast_component.priority >= 0;
}

static const char *value_of(size_t k, const fs_param_info_t *info)
{
    (void) info;
    return NULL == mca_coll_fast_component.value[k] ? "" : mca_coll_fast_component.value[k];
}

/* All parameters, or in bad_value the reason why not. */
static void parse_params(void)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;

    c->bad_value[0] = '\0';
    fs_params_init(&c->wrapper.params);
    if (FS_OK == parse_priority(c)) {
        (void) fs_wrapper_parse(&c->wrapper, value_of, c->bad_value, sizeof(c->bad_value));
    }
    c->was_off = FS_ALGORITHM_OFF == c->wrapper.params.algorithm;
}

/* Parameter servers names the server of every rank of MPI_COMM_WORLD. */
static void parse_nodes(void)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;

    if ('\0' == c->bad_value[0]) {
        (void) fs_wrapper_place(&c->wrapper, (uint32_t) ompi_proc_world_size(), c->bad_value,
                                sizeof(c->bad_value));
    }
}

static bool is_entry(const char *entry, const char *name)
{
    size_t len = strcspn(entry, "=");

    return NULL != name && strlen(name) == len && 0 == strncmp(entry, name, len);
}

/* ENTRY=VALUE of the environment, without the prefix. */
static bool is_known(const char *entry)
{
    static const char *const own[] = {"priority", "fallback"};
    const fs_param_info_t *info;

    for (size_t k = 0; k < sizeof(own) / sizeof(own[0]); ++k) {
        if (is_entry(entry, own[k])) {
            return true;
        }
    }
    for (size_t k = 0; NULL != (info = fs_params_info(k)); ++k) {
        if (is_entry(entry, info->name) || is_entry(entry, fs_params_alias(k))) {
            return true;
        }
    }
    return false;
}

static void check_fallback(void)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;
    const char *unknown = mca_coll_fast_unknown_helper();

    if (NULL != unknown && '\0' == c->bad_value[0]) {
        snprintf(c->bad_value, sizeof(c->bad_value),
                 "fallback is \"%s\"; allowed: all, or names of installed coll components",
                 unknown);
    }
}

static void check_params(void)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;

    parse_nodes();
    check_fallback();
    if (c->wrapper.on_world_rank_0) {
        fs_wrapper_look_for_unknown(&c->wrapper, "OMPI_MCA_coll_fast_", is_known, "coll_fast");
    }
}

/* Structures of Open MPI that we use may change from one series (4.1, 5.0) to the next, not
 * within one: there an Open MPI is replaced without a new build of what uses it. */
static bool is_our_open_mpi(void)
{
    char series[32];

    snprintf(series, sizeof(series), "%d.%d.", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION);
    if (0 == strncmp(ompi_version_string, series, strlen(series))) {
        return true;
    }
    if (mca_coll_fast_component.wrapper.on_world_rank_0) {
        mca_coll_fast_complain("not used: the component is for Open MPI %sx, and this is %s",
                               series, ompi_version_string);
    }
    return false;
}

/* No message if the component is not wanted: it may be installed for all
 * users. */
static int fast_open(void)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;
    int rc;

    c->wrapper.on_world_rank_0 = 0 == OPAL_PROC_MY_NAME.vpid;
    parse_params();
    rc = mca_coll_fast_add_helpers();
    settle_priority();
    if (is_wanted() && !is_our_open_mpi()) {
        c->priority = -1;
    }
    if (is_wanted()) {
        check_params();
        mca_coll_fast_publish_settings();
    }
    return rc;
}

static int fast_close(void)
{
    mca_coll_fast_component_t *c = &mca_coll_fast_component;

    if (is_wanted()) {
        fs_wrapper_summary(&c->wrapper);
    }
    mca_coll_fast_close_requests();
    mca_coll_fast_close_network();
    mca_coll_fast_free_spare();
    free(c->alike);
    c->alike = NULL;
    c->explained = false;
    c->watches_finalize = false;
    c->wrapper.served_by = NULL;
    return OMPI_SUCCESS;
}
