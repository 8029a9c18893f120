/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets and bytes on the NICs: counters of Linux, summed over the job. */
#ifndef OSU_NIC_COUNTERS_H
#define OSU_NIC_COUNTERS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Since the host was started, or a difference, see osu_nic_counts_add(). */
typedef struct osu_nic_counts {
    int64_t sent_packets, sent_bytes, received_packets, received_bytes;
    int64_t data_packets; /* segments with data sent by TCP, without
                             retransmissions */
} osu_nic_counts_t;

/* One rank of each host reads its counters. */
typedef struct osu_nic_counters {
    MPI_Comm    comm;
    bool        reads;
    bool        has_data_packets; /* every host has this counter */
    const char *names;
    uint32_t    n_nics; /* of the job */
} osu_nic_counters_t;

/* Collective. names: shell patterns separated by commas, borrowed. NICs are the
 * interfaces of /sys/class/net that are up, except loopback and those on top of
 * others (bridges, bonds, VLANs). */
void osu_nic_counters_init(MPI_Comm comm, const char *names,
                           osu_nic_counters_t *counters);

/* Collective. This host's counters, 0 on ranks that do not read. Starts and ends
 * with a barrier. */
void osu_nic_counters_read(const osu_nic_counters_t *counters,
                           osu_nic_counts_t         *counts_p);

/* sum += times * counts. */
void osu_nic_counts_add(osu_nic_counts_t *sum, const osu_nic_counts_t *counts,
                        int64_t times);

/* Collective: the sum over all hosts, on rank 0. */
void osu_nic_counters_sum(const osu_nic_counters_t *counters,
                          osu_nic_counts_t         *counts);

#endif
