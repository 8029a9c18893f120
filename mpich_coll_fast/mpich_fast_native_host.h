/* SPDX-License-Identifier: BSD-3-Clause */
/* What libfastsched asks of an MPICH that has called us, see native/mpich_fast_native.h;
 * and its datatype engine. */
#ifndef MPICH_FAST_NATIVE_HOST_H
#define MPICH_FAST_NATIVE_HOST_H

#include "mpich_fast.h"
#include "native/mpich_fast_native.h"

extern const mpich_fast_services_t *mpich_fast_services;

extern const mpich_fast_engine_t mpich_fast_native_engine;

/* comm: as MPICH knows it. */
fs_native_t mpich_fast_native_host(void *comm);

#endif
