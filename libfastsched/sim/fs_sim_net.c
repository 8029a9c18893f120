/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows through ports, moment by moment.
 *
 * A message waits for alpha, then its bytes flow; messages of one pair of ranks
 * follow each other, as on a connection, and so do the copies of a rank.
 *
 * Whenever a flow begins or ends, the ports on its way are touched; before the
 * clock moves on, the rates of all flows that are linked with a touched port
 * are found anew. The rate of a flow changes in no other way, so the heap knows
 * when each would end.
 *
 * Rates are max-min fair, found by filling: of all ports, the one that has the
 * least left for each of its open flows is the bottleneck of these; they get
 * that much, and the other ports on their way have less left for the rest.
 */
#include "sim/fs_sim_net.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_FLOWS = 256, FIRST_LIST = 4, NONE = UINT32_MAX };

/* ---- life ---- */

static fs_status_t grow_list(uint32_t **list, uint32_t *max, uint32_t wanted)
{
    uint32_t *bigger = realloc(*list, wanted * sizeof(*bigger));

    if (bigger == NULL) {
        return FS_ERR_NOMEM;
    }
    *list = bigger;
    *max  = wanted;
    return FS_OK;
}

/* Twice as many flows. */
static fs_status_t more_flows(fs_sim_net_t *net)
{
    uint32_t       old    = net->max_flows;
    uint32_t       wanted = old == 0 ? FIRST_FLOWS : 2 * old, ignored;
    fs_sim_flow_t *flows;

    if (wanted < old || grow_list(&net->free, &ignored, wanted) != FS_OK ||
        grow_list(&net->part_flows, &ignored, wanted) != FS_OK ||
        grow_list(&net->ended, &net->max_ended, wanted) != FS_OK ||
        fs_sim_heap_reserve(&net->heap, wanted) != FS_OK) {
        return FS_ERR_NOMEM;
    }
    flows = realloc(net->flows, wanted * sizeof(*flows));
    if (flows == NULL) {
        return FS_ERR_NOMEM;
    }
    memset(flows + old, 0, (wanted - old) * sizeof(*flows));
    net->flows     = flows;
    net->max_flows = wanted;
    for (uint32_t id = wanted; id > old; --id) {
        net->free[net->n_free++] = id - 1;
    }
    return FS_OK;
}

static bool time_ok(double seconds)
{
    return seconds >= 0 && seconds < 1e18;
}

static bool rate_ok(double rate)
{
    return rate > 0 && rate < 1e30;
}

static bool params_ok(const fs_sim_params_t *p)
{
    return rate_ok(p->rate_out) && rate_ok(p->rate_up) &&
           (p->rate_copy == 0 || rate_ok(p->rate_copy)) &&
           time_ok(p->alpha_out) && time_ok(p->alpha_up) &&
           time_ok(p->incast) && time_ok(p->look) &&
           (uint32_t)p->fabric < FS_SIM_N_FABRICS;
}

fs_status_t fs_sim_net_init(fs_sim_net_t *net, const fs_topo_t *topo,
                            const fs_sim_params_t *params)
{
    *net        = (fs_sim_net_t){.params = params};
    net->status = params_ok(params)
                      ? fs_sim_wiring_init(&net->wiring, topo, params)
                      : FS_ERR_INVAL;
    if (net->status != FS_OK) {
        return net->status;
    }
    net->round      = 1; /* ports have seen none */
    net->ports      = calloc(net->wiring.n_ports, sizeof(*net->ports));
    net->touched    = malloc(net->wiring.n_ports * sizeof(*net->touched));
    net->part_ports = malloc(net->wiring.n_ports * sizeof(*net->part_ports));
    net->sender     = calloc(fs_topo_n_ranks(topo), sizeof(*net->sender));
    net->status     = net->ports == NULL || net->touched == NULL ||
                          net->part_ports == NULL || net->sender == NULL
                          ? FS_ERR_NOMEM
                          : more_flows(net);
    return net->status;
}

void fs_sim_net_fini(fs_sim_net_t *net)
{
    for (uint32_t p = 0; net->ports != NULL && p < net->wiring.n_ports; ++p) {
        free(net->ports[p].flows);
    }
    fs_sim_wiring_fini(&net->wiring);
    fs_sim_heap_fini(&net->heap);
    free(net->flows);
    free(net->free);
    free(net->ports);
    free(net->touched);
    free(net->part_ports);
    free(net->part_flows);
    free(net->sender);
    free(net->ended);
}

/* ---- flows in ports ---- */

/* The flows of a port are about to be others. */
static void touch(fs_sim_net_t *net, uint32_t p)
{
    if (net->ports[p].round != net->round) {
        net->ports[p].round            = net->round;
        net->touched[net->n_touched++] = p;
    }
}

static void enter(fs_sim_net_t *net, uint32_t id, uint32_t p)
{
    fs_sim_port_t *port = &net->ports[p];

    if (port->n == port->max) {
        fs_status_t status =
            grow_list(&port->flows, &port->max,
                      port->max == 0 ? FIRST_LIST : 2 * port->max);

        if (status != FS_OK) {
            net->status = status;
            return;
        }
    }
    port->flows[port->n++] = id;
    touch(net, p);
}

static void leave(fs_sim_net_t *net, uint32_t id, uint32_t p)
{
    fs_sim_port_t *port = &net->ports[p];
    uint32_t       k    = 0;

    while (port->flows[k] != id) {
        ++k;
    }
    port->flows[k] = port->flows[--port->n];
    touch(net, p);
}

static void schedule(fs_sim_net_t *net, uint32_t id, double time)
{
    fs_sim_heap_set(&net->heap,
                    (fs_sim_event_t){time, net->flows[id].order, id});
}

/* The flow that a message of the same pair has to let pass, or NONE. */
static uint32_t find_flow(const fs_sim_net_t *net, const fs_sim_flow_t *f)
{
    const fs_sim_port_t *port = &net->ports[f->path[0]];

    for (uint32_t k = 0; k < port->n; ++k) {
        const fs_sim_flow_t *other = &net->flows[port->flows[k]];

        if (other->src == f->src && other->dst == f->dst) {
            return port->flows[k];
        }
    }
    return NONE;
}

/* Alpha is over. */
static void flow(fs_sim_net_t *net, uint32_t id)
{
    fs_sim_flow_t *f     = &net->flows[id];
    uint32_t       first = find_flow(net, f);

    f->flowing = true;
    if (first != NONE) {
        net->flows[net->flows[first].last].behind = id;
        net->flows[first].last                    = id;
        return;
    }
    f->began = f->since = net->now;
    for (uint32_t k = 0; k < f->n_path; ++k) {
        enter(net, id, f->path[k]);
    }
}

/* The next message of the pair takes the place of the first in all ports, and
 * its rate. */
static void take_over(fs_sim_net_t *net, uint32_t first, uint32_t id)
{
    fs_sim_flow_t *f = &net->flows[id];

    f->last  = net->flows[first].last;
    f->rate  = net->flows[first].rate;
    f->began = f->since = net->now;
    for (uint32_t h = 0; h < f->n_path; ++h) {
        fs_sim_port_t *port = &net->ports[f->path[h]];
        uint32_t       k    = 0;

        while (port->flows[k] != first) {
            ++k;
        }
        port->flows[k] = id;
        if (net->params->incast_bytes > 0) {
            touch(net, f->path[h]); /* one of them may count, the other not */
        }
    }
    schedule(net, id, net->now + f->left / f->rate);
}

/* ---- how fast ---- */

/* Ranks that send messages which count to a NIC. */
static uint32_t count_senders(fs_sim_net_t *net, const fs_sim_port_t *port)
{
    uint32_t n = 0, count = ++net->n_counts;

    for (uint32_t k = 0; k < port->n; ++k) {
        const fs_sim_flow_t *f = &net->flows[port->flows[k]];

        if (f->bytes >= net->params->incast_bytes &&
            net->sender[f->src] != count) {
            net->sender[f->src] = count;
            ++n;
        }
    }
    return n;
}

static double rate_of_port(fs_sim_net_t *net, uint32_t p)
{
    uint32_t senders;

    if (!fs_sim_port_is_nic_in(&net->wiring, p)) {
        return net->wiring.rate[p];
    }
    senders = count_senders(net, &net->ports[p]);
    if (senders > net->max_senders) {
        net->max_senders = senders;
    }
    return senders < 2 ? net->wiring.rate[p]
                       : net->wiring.rate[p] /
                             (1 + net->params->incast * (senders - 1));
}

/* A port of the part that is being settled. */
static void open_port(fs_sim_net_t *net, uint32_t p, uint32_t *n_ports)
{
    net->ports[p].round           = net->round;
    net->ports[p].open            = net->ports[p].n;
    net->ports[p].left            = rate_of_port(net, p);
    net->part_ports[(*n_ports)++] = p;
}

/* All ports and flows that are linked with a port. Returns the flows. */
static uint32_t gather_part(fs_sim_net_t *net, uint32_t start,
                            uint32_t *n_ports)
{
    uint32_t n_flows = 0;

    *n_ports = 0;
    open_port(net, start, n_ports);
    for (uint32_t k = 0; k < *n_ports; ++k) {
        const fs_sim_port_t *port = &net->ports[net->part_ports[k]];

        for (uint32_t e = 0; e < port->n; ++e) {
            fs_sim_flow_t *f = &net->flows[port->flows[e]];

            if (f->round == net->round) {
                continue;
            }
            f->round                   = net->round;
            f->found                   = false;
            net->part_flows[n_flows++] = port->flows[e];
            for (uint32_t h = 0; h < f->n_path; ++h) {
                if (net->ports[f->path[h]].round != net->round) {
                    open_port(net, f->path[h], n_ports);
                }
            }
        }
    }
    return n_flows;
}

static void set_rate(fs_sim_net_t *net, uint32_t id, double rate)
{
    fs_sim_flow_t *f = &net->flows[id];

    f->found = true;
    for (uint32_t h = 0; h < f->n_path; ++h) {
        --net->ports[f->path[h]].open;
        net->ports[f->path[h]].left -= rate;
    }
    if (rate == f->rate) {
        return;
    }
    f->left -= f->rate * (net->now - f->since);
    f->left  = f->left < 0 ? 0 : f->left;
    f->since = net->now;
    f->rate  = rate;
    schedule(net, id, net->now + f->left / rate);
}

/* The port with the least for each of its open flows; ports without any are
 * dropped from the list on the way. */
static uint32_t find_bottleneck(fs_sim_net_t *net, uint32_t *n_ports,
                                double *share_p)
{
    uint32_t best = 0, n = 0;

    for (uint32_t k = 0; k < *n_ports; ++k) {
        const fs_sim_port_t *port = &net->ports[net->part_ports[k]];
        double               share;

        if (port->open == 0) {
            continue;
        }
        share = port->left / port->open;
        if (n == 0 || share < *share_p) {
            *share_p = share;
            best     = net->part_ports[k];
        }
        net->part_ports[n++] = net->part_ports[k];
    }
    *n_ports = n;
    return best;
}

static void fill_part(fs_sim_net_t *net, uint32_t n_flows, uint32_t n_ports)
{
    double level = 0, share = 0;

    while (n_flows > 0) {
        uint32_t             p    = find_bottleneck(net, &n_ports, &share);
        const fs_sim_port_t *port = &net->ports[p];

        /* Shares only grow; what says otherwise is rounding. */
        level = share > level ? share : level;
        for (uint32_t e = 0; e < port->n; ++e) {
            if (!net->flows[port->flows[e]].found) {
                set_rate(net, port->flows[e], level);
                --n_flows;
            }
        }
    }
}

/* New rates for all that is linked with a touched port. */
static void settle(fs_sim_net_t *net)
{
    uint32_t n = net->n_touched;

    if (n == 0) {
        return;
    }
    ++net->round; /* so that no port counts as touched */
    for (uint32_t k = 0; k < n; ++k) {
        uint32_t p = net->touched[k], n_ports, n_flows;

        if (net->ports[p].round != net->round) {
            n_flows = gather_part(net, p, &n_ports);
            fill_part(net, n_flows, n_ports);
        }
    }
    ++net->round;
    net->n_touched = 0;
}

/* ---- begin and end ---- */

static double alpha(const fs_sim_net_t *net, const fs_sim_flow_t *f)
{
    if (f->src == f->dst) {
        return 0;
    }
    return f->path[0] < net->wiring.first_up
               ? net->params->alpha_out
               : net->params->alpha_up *
                     (net->params->fabric == FS_SIM_SWITCH ? 1 : f->n_path);
}

/* NONE: no memory. */
static uint32_t new_flow(fs_sim_net_t *net, uint32_t src, uint32_t dst,
                         uint64_t bytes, uint64_t tag)
{
    uint32_t id;

    if (net->status == FS_OK && net->n_free == 0) {
        net->status = more_flows(net);
    }
    if (net->status != FS_OK) {
        return NONE;
    }
    id             = net->free[--net->n_free];
    net->flows[id] = (fs_sim_flow_t){.tag    = tag,
                                     .bytes  = bytes,
                                     .left   = (double)bytes,
                                     .order  = net->n_begun++,
                                     .src    = src,
                                     .dst    = dst,
                                     .behind = NONE,
                                     .last   = id};
    return id;
}

/* Until then it flows, through no port. */
static void flow_until(fs_sim_net_t *net, uint32_t id, double time)
{
    net->flows[id].flowing = true;
    net->flows[id].began   = net->now;
    schedule(net, id, time);
}

void fs_sim_net_wait(fs_sim_net_t *net, double time, uint64_t tag)
{
    uint32_t id = new_flow(net, 0, 0, 0, tag);

    if (id != NONE) {
        flow_until(net, id, time);
    }
}

void fs_sim_net_begin(fs_sim_net_t *net, uint32_t src, uint32_t dst,
                      uint64_t bytes, uint64_t tag)
{
    uint32_t       id = new_flow(net, src, dst, bytes, tag);
    fs_sim_flow_t *f;
    double         wait;

    if (id == NONE) {
        return;
    }
    if (src == dst && net->params->rate_copy == 0) {
        flow_until(net, id, net->now);
        return;
    }
    f         = &net->flows[id];
    f->n_path = (uint8_t)fs_sim_path(&net->wiring, src, dst, f->path);
    wait      = alpha(net, f);
    if (wait > 0) {
        schedule(net, id, net->now + wait);
    } else {
        flow(net, id);
    }
}

static void end(fs_sim_net_t *net, uint32_t id)
{
    fs_sim_flow_t *f = &net->flows[id];

    if (f->behind != NONE) {
        take_over(net, id, f->behind);
    } else {
        for (uint32_t k = 0; k < f->n_path; ++k) {
            leave(net, id, f->path[k]);
        }
    }
    net->ended[net->n_ended++] = id;
}

bool fs_sim_net_next(fs_sim_net_t *net)
{
    settle(net);
    if (net->status != FS_OK || net->heap.n == 0) {
        return false;
    }
    net->now = net->heap.events[0].time;
    while (net->heap.n > 0 && net->heap.events[0].time <= net->now) {
        uint32_t id = fs_sim_heap_pop(&net->heap).id;

        if (net->flows[id].flowing) {
            end(net, id);
        } else {
            flow(net, id);
        }
    }
    return net->status == FS_OK;
}

void fs_sim_net_forget(fs_sim_net_t *net)
{
    while (net->n_ended > 0) {
        net->free[net->n_free++] = net->ended[--net->n_ended];
    }
}
