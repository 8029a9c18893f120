/* SPDX-License-Identifier: BSD-3-Clause */
/* What passes the NICs: the counters of Linux, added up over the job. */
#ifndef OSU_NIC_COUNTERS_H
#define OSU_NIC_COUNTERS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Since a host started; or between two moments, see osu_nic_counts_add(). */
typedef struct osu_nic_counts {
    int64_t sent_packets, sent_bytes, received_packets, received_bytes;
    int64_t data_packets; /* sent by TCP with something in it: no bare
                             acknowledgements, nothing sent again */
} osu_nic_counts_t;

/* One rank of each host reads its counters, the others have none. */
typedef struct osu_nic_counters {
    MPI_Comm    comm;
    bool        reads;
    bool        has_data_packets; /* of the job: every host tells them */
    const char *names;
    uint32_t    n_nics; /* of the job */
} osu_nic_counters_t;

/* Collective. names: shell patterns with commas between, borrowed. A NIC is an
 * interface of /sys/class/net that is up, no loopback and not made of others
 * (a bridge, a bond, a VLAN: theirs are counted). */
void osu_nic_counters_init(MPI_Comm comm, const char *names,
                           osu_nic_counters_t *counters);

/* Collective. This host's counters, 0 on ranks that do not read; nothing that
 * was sent before is still on its way to a rank. */
void osu_nic_counters_read(const osu_nic_counters_t *counters,
                           osu_nic_counts_t         *counts_p);

/* sum += times * counts. */
void osu_nic_counts_add(osu_nic_counts_t *sum, const osu_nic_counts_t *counts,
                        int64_t times);

/* Collective: the sum over all hosts, on rank 0. */
void osu_nic_counters_sum(const osu_nic_counters_t *counters,
                          osu_nic_counts_t         *counts);

#endif
