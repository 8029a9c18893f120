/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Before Open MPI: it says that it is of another series than it is.
 */
extern const char ompi_version_string[];

const char ompi_version_string[] = "9.8.7";
