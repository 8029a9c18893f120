/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of the state machine. All that programs need is reserved before they
 * run, and kept for the next ones.
 */
#include "engine/fs_exec_state.h"

#include <stdlib.h>

fs_status_t fs_exec_create(fs_transport_t *transport, uint32_t n_ranks,
                           fs_exec_t **exec_p)
{
    fs_exec_t *exec = calloc(1, sizeof(*exec));

    if (exec == NULL) {
        return FS_ERR_NOMEM;
    }
    if (fs_credits_init(&exec->wires, n_ranks) != FS_OK) {
        free(exec);
        return FS_ERR_NOMEM;
    }
    exec->transport        = transport;
    exec->lost_peer        = FS_NO_RANK;
    transport->granted     = fs_exec_granted;
    transport->granted_arg = exec;
    *exec_p                = exec;
    return FS_OK;
}

void fs_exec_destroy(fs_exec_t *exec)
{
    if (exec != NULL) {
        fs_credits_fini(&exec->wires);
        free(exec->ops);
        free(exec->ended);
        fs_staging_fini(&exec->staging);
        free(exec);
    }
}

void fs_exec_set_trace(fs_exec_t *exec, fs_trace_t *trace)
{
    exec->trace = trace;
}

static fs_status_t reserve_ops(fs_exec_t *exec, uint32_t n_ops)
{
    fs_exec_op_t *ops;
    uint32_t     *ended;

    if (n_ops <= exec->max_ops) {
        return FS_OK;
    }
    ops   = malloc(n_ops * sizeof(*ops));
    ended = malloc(n_ops * sizeof(*ended));
    if (ops == NULL || ended == NULL) {
        free(ops);
        free(ended);
        return FS_ERR_NOMEM;
    }
    free(exec->ops);
    free(exec->ended);
    exec->ops     = ops;
    exec->ended   = ended;
    exec->max_ops = n_ops;
    return FS_OK;
}

/* Some transports know fewer numbers than a plan has messages. */
static bool has_keys_for(const fs_exec_t *exec, const fs_plan_t *plan)
{
    uint32_t max_seq = exec->transport->max_seq;

    for (uint32_t k = 0; max_seq > 0 && k < plan->n_ops; ++k) {
        const fs_op_t *op = &plan->ops[k];

        if (fs_op_is_message(op) && !fs_op_is_wire(op) && op->seq >= max_seq) {
            return false;
        }
    }
    return true;
}

fs_status_t fs_exec_reserve(fs_exec_t *exec, const fs_plan_t *plan,
                            const fs_call_t *call)
{
    fs_status_t status;

    if (!has_keys_for(exec, plan)) {
        return FS_ERR_OVERFLOW;
    }
    status = fs_staging_reserve(&exec->staging, plan, call);
    return status == FS_OK ? reserve_ops(exec, plan->n_ops) : status;
}

bool fs_exec_fits(const fs_exec_t *exec, const fs_plan_t *plan,
                  const fs_call_t *call)
{
    return fs_staging_fit(&exec->staging, plan, call);
}
