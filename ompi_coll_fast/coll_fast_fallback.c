/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Make "--mca coll fast" a complete selection.
 *
 * The coll framework wants a provider for every collective, and the user wants
 * those there would be without a list: only alltoallv is to change. So this file
 * adds the helpers of parameter fallback, as the framework itself would have.
 *
 * It runs from our open function: the list has been applied by then, and the
 * components have not been asked for modules yet. ompi_info never opens
 * components, so it sees no change.
 */
#include "coll_fast.h"

#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/mca_base_component_repository.h"
#include "opal/util/argv.h"

/* The user's list of components to include; NULL if there is none. */
static const char *include_list(void)
{
    const char *list = ompi_coll_base_framework.framework_selection;

    return NULL == list || '\0' == list[0] || '^' == list[0] ? NULL : list;
}

static bool contains(char **names, const char *name)
{
    for (int i = 0; NULL != names && NULL != names[i]; ++i) {
        if (0 == strcmp(names[i], name)) {
            return true;
        }
    }
    return false;
}

bool mca_coll_fast_is_named(void)
{
    char **names = NULL == include_list() ? NULL : opal_argv_split(include_list(), ',');
    bool named = contains(names, "fast");

    opal_argv_free(names);
    return named;
}

static bool is_loaded(mca_base_framework_t *framework, const char *name)
{
    mca_base_component_list_item_t *item;

    OPAL_LIST_FOREACH(item, &framework->framework_components, mca_base_component_list_item_t)
    {
        if (0 == strcmp(item->cli_component->mca_component_name, name)) {
            return true;
        }
    }
    return false;
}

static bool is_static(mca_base_framework_t *framework, const char *name)
{
    for (int i = 0; NULL != framework->framework_static_components
                    && NULL != framework->framework_static_components[i];
         ++i) {
#if defined(MCA_BASE_COMPONENT_INIT) /* Open MPI 6: one more indirection */
        const mca_base_component_t *c = *framework->framework_static_components[i];
#else
        const mca_base_component_t *c = framework->framework_static_components[i];
#endif
        if (0 == strcmp(c->mca_component_name, name)) {
            return true;
        }
    }
    return false;
}

static bool is_on_disk(mca_base_framework_t *framework, const char *name)
{
    mca_base_component_repository_item_t *item;
    opal_list_t *on_disk = NULL;

    if (OPAL_SUCCESS != mca_base_component_repository_get_components(framework, &on_disk)) {
        return false;
    }
    OPAL_LIST_FOREACH(item, on_disk, mca_base_component_repository_item_t)
    {
        if (0 == strcmp(item->ri_name, name)) {
            return true;
        }
    }
    return false;
}

static bool exists(mca_base_framework_t *framework, const char *name)
{
    return is_loaded(framework, name) || is_static(framework, name) || is_on_disk(framework, name);
}

/* What the user wrote, if it names a component that does not exist; else NULL. */
const char *mca_coll_fast_unknown_helper(void)
{
    const char *text = mca_coll_fast_component.fallback;
    bool all = NULL == text || 0 == strcmp(text, FAST_FALLBACK);
    char **names = all ? NULL : opal_argv_split(text, ',');
    bool unknown = false;

    for (int i = 0; NULL != names && NULL != names[i]; ++i) {
        unknown = unknown || !exists(&ompi_coll_base_framework, names[i]);
    }
    opal_argv_free(names);
    return unknown ? text : NULL;
}

static char **loaded(mca_base_framework_t *framework)
{
    mca_base_component_list_item_t *item;
    char **names = NULL;

    OPAL_LIST_FOREACH(item, &framework->framework_components, mca_base_component_list_item_t)
    {
        opal_argv_append_nosize(&names, item->cli_component->mca_component_name);
    }
    return names;
}

/* What the user wrote, without those that are there. The finder complains about
 * names that it does not know, hence only those that exist. */
static char *missing_of_list(mca_base_framework_t *framework)
{
    char **names = opal_argv_split(mca_coll_fast_component.fallback, ',');
    char **missing = NULL;
    char *list;

    for (int i = 0; NULL != names && NULL != names[i]; ++i) {
        if (!is_loaded(framework, names[i]) && exists(framework, names[i])) {
            opal_argv_append_nosize(&missing, names[i]);
        }
    }
    list = NULL == missing ? NULL : opal_argv_join(missing, ',');
    opal_argv_free(missing);
    opal_argv_free(names);
    return list;
}

/* For free(): the selection that adds the helpers, for the finder; NULL: there are none. Of "all",
 * the finder skips those that cannot be loaded, as it does without a list. */
static char *selection(mca_base_framework_t *framework, char **before)
{
    char *names, *list = NULL;

    if (0 != strcmp(mca_coll_fast_component.fallback, FAST_FALLBACK)) {
        return missing_of_list(framework);
    }
    names = opal_argv_join(before, ',');
    if (asprintf(&list, "^%s", names) < 0) {
        list = NULL;
    }
    free(names);
    return list;
}

/* The finder reads the selection string: lend it ours for one call. */
static void load(mca_base_framework_t *framework, char *list)
{
    char *saved = framework->framework_selection;

    framework->framework_selection = list;
    (void) mca_base_component_find(NULL, framework, false, true);
    framework->framework_selection = saved;
}

static int start(mca_base_component_t *component)
{
    int rc = OPAL_SUCCESS;

    if (NULL != component->mca_register_component_params) {
        rc = component->mca_register_component_params();
    }
    if (OPAL_SUCCESS == rc && NULL != component->mca_open_component) {
        rc = component->mca_open_component();
    }
    return rc;
}

static opal_list_item_t *own_item(mca_base_framework_t *framework)
{
    mca_base_component_list_item_t *item;

    OPAL_LIST_FOREACH(item, &framework->framework_components, mca_base_component_list_item_t)
    {
        if (&mca_coll_fast_component.super.collm_version == item->cli_component) {
            return &item->super;
        }
    }
    return opal_list_get_end(&framework->framework_components);
}

/* The finder appends, and the framework is walking this list with us as its
 * current item: before us, helpers are not opened a second time. Of equal
 * priorities order decides, so theirs stays. */
static void start_before_us(mca_base_framework_t *framework, char **before)
{
    opal_list_item_t *own = own_item(framework);
    mca_base_component_list_item_t *item, *next;

    OPAL_LIST_FOREACH_SAFE(item, next, &framework->framework_components,
                           mca_base_component_list_item_t)
    {
        if (contains(before, item->cli_component->mca_component_name)) {
            continue;
        }
        opal_list_remove_item(&framework->framework_components, &item->super);
        if (OPAL_SUCCESS == start((mca_base_component_t *) item->cli_component)) {
            opal_list_insert_pos(&framework->framework_components, own, &item->super);
        } else {
            mca_base_component_close(item->cli_component, framework->framework_output);
            OBJ_RELEASE(item);
        }
    }
}

int mca_coll_fast_add_helpers(void)
{
    mca_base_framework_t *framework = &ompi_coll_base_framework;
    char **before, *list;

    if (!mca_coll_fast_is_named() || NULL == mca_coll_fast_component.fallback) {
        return OMPI_SUCCESS;
    }
    before = loaded(framework);
    list = selection(framework, before);
    if (NULL != list) {
        load(framework, list);
        start_before_us(framework, before);
    }
    free(list);
    opal_argv_free(before);
    return OMPI_SUCCESS;
}

/* ---- components above us ---- */

static int priority_of(const mca_base_component_t *component)
{
    int index = mca_base_var_find("ompi", "coll", component->mca_component_name, "priority");
    const int *value = NULL;

    return index >= 0 && OPAL_SUCCESS == mca_base_var_get_value(index, &value, NULL, NULL)
                   && NULL != value
               ? *value
               : -1;
}

/* These serve communicators that we do not, or no alltoallv. */
static bool is_rival(const char *name)
{
    static const char *const others[] = {"fast", "inter", "self", "sync"};

    for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); ++k) {
        if (0 == strcmp(name, others[k])) {
            return false;
        }
    }
    return true;
}

int mca_coll_fast_highest_rival(const char **name_p)
{
    mca_base_component_list_item_t *item;
    int highest = -1;

    OPAL_LIST_FOREACH(item, &ompi_coll_base_framework.framework_components,
                      mca_base_component_list_item_t)
    {
        const char *name = item->cli_component->mca_component_name;

        if (is_rival(name) && priority_of(item->cli_component) > highest) {
            highest = priority_of(item->cli_component);
            *name_p = name;
        }
    }
    return highest;
}
