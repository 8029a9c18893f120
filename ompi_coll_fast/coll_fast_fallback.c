/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Make "--mca coll fast" a complete selection.
 *
 * The coll framework wants a provider for every collective. When the user's
 * list names fast but nobody who does the rest, this file adds the helpers of
 * parameter fallback, as the framework itself would have.
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

/* What the user wrote, if it names a component that does not exist; else NULL.
 * Our own list names some that not every Open MPI has. */
const char *mca_coll_fast_unknown_helper(void)
{
    const char *text = mca_coll_fast_component.fallback;
    char **names = NULL == text ? NULL : opal_argv_split(text, ',');
    bool unknown = false;

    for (int i = 0; NULL != names && NULL != names[i]; ++i) {
        unknown = unknown || !exists(&ompi_coll_base_framework, names[i]);
    }
    opal_argv_free(names);
    return unknown && 0 != strcmp(text, FAST_FALLBACK) ? text : NULL;
}

/* The helpers to add. The finder complains about names it does not know, hence
 * only those that exist. */
static char **missing_helpers(mca_base_framework_t *framework)
{
    char **names = opal_argv_split(mca_coll_fast_component.fallback, ',');
    char **missing = NULL;

    for (int i = 0; NULL != names && NULL != names[i]; ++i) {
        if (!is_loaded(framework, names[i]) && exists(framework, names[i])) {
            opal_argv_append_nosize(&missing, names[i]);
        }
    }
    opal_argv_free(names);
    return missing;
}

/* The finder reads the selection string: lend it ours for one call. */
static void load(mca_base_framework_t *framework, char **names)
{
    char *saved = framework->framework_selection;
    char *list = opal_argv_join(names, ',');

    framework->framework_selection = list;
    (void) mca_base_component_find(NULL, framework, false, true);
    framework->framework_selection = saved;
    free(list);
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

/* The finder appends, and the framework is walking this list with us as its
 * current item: in front, helpers are not opened a second time. */
static void start_in_front(mca_base_framework_t *framework, char **names)
{
    mca_base_component_list_item_t *item, *next;

    OPAL_LIST_FOREACH_SAFE(item, next, &framework->framework_components,
                           mca_base_component_list_item_t)
    {
        if (!contains(names, item->cli_component->mca_component_name)) {
            continue;
        }
        opal_list_remove_item(&framework->framework_components, &item->super);
        if (OPAL_SUCCESS == start((mca_base_component_t *) item->cli_component)) {
            opal_list_prepend(&framework->framework_components, &item->super);
        } else {
            mca_base_component_close(item->cli_component, framework->framework_output);
            OBJ_RELEASE(item);
        }
    }
}

int mca_coll_fast_add_helpers(void)
{
    mca_base_framework_t *framework = &ompi_coll_base_framework;
    char **names;

    if (!mca_coll_fast_is_named() || NULL == mca_coll_fast_component.fallback) {
        return OMPI_SUCCESS;
    }
    names = missing_helpers(framework);
    if (NULL != names) {
        load(framework, names);
        start_in_front(framework, names);
        opal_argv_free(names);
    }
    return OMPI_SUCCESS;
}
