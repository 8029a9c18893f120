/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * Counters of libmpich_coll_fast for a program. The library works without this
 * header; a program that reads the counters finds the function with dlsym(), in
 * what dlopen("libmpich_coll_fast.so", RTLD_LAZY | RTLD_NOLOAD) returns.
 */
#ifndef MPICH_COLL_FAST_H
#define MPICH_COLL_FAST_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A sum over all communicators of this process, as the Open MPI component has
 * it for a performance variable.
 *
 * @param[in] name  "calls": MPI_Alltoallv calls seen; "calls_staged" and so
 *                  on, for each algorithm: of these, run so; "inter_bytes":
 *                  bytes between servers in these, all ranks;
 *                  "last_algorithm": of the last call, 0 native, 1
 *                  staged and so on, as fs_alg_t of fastsched.h counts
 * @return The sum; all ones for another name.
 */
unsigned long long mpich_fast_counter(const char *name);

#ifdef __cplusplus
}
#endif

#endif
