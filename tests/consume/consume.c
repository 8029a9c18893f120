/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of somebody else: plans with the installed library. Status 0 if the
 * schedule is as good as the lower bound. */
#include <fastsched.h>

int main(void)
{
    static const uint64_t bytes[2 * 2] = {0, 4, 6, 0};
    fs_schedule_t *schedule;
    int is_optimal;

    if (fs_schedule_create(FS_DECOMPOSE_BIRKHOFF, 0, 2, bytes, FS_ALL_SERVERS, &schedule) != FS_OK) {
        return 1;
    }
    is_optimal = 6 == schedule->total && 6 == schedule->lower_bound;
    fs_schedule_destroy(schedule);
    return is_optimal ? 0 : 1;
}
