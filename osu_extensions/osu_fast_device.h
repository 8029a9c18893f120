/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers on a GPU. The driver is found at run time: neither headers nor
 * libraries of CUDA or HIP are needed to build. */
#ifndef OSU_FAST_DEVICE_H
#define OSU_FAST_DEVICE_H

#include "fastsched.h"
#include "osu_parse.h"

#include <mpi.h>
#include <stddef.h>

/* Where buffers are, and how -d calls that: a list as in fastsched.h. */
#define OSU_MEMORY_MAP(X)                     \
    X(OSU_HOST, host)                         \
    X(OSU_CUDA, cuda)                         \
    X(OSU_ROCM, rocm)                         \
    /* CUDA's if there is CUDA, else HIP's */ \
    X(OSU_MANAGED, managed)

typedef enum osu_memory {
    OSU_MEMORY_MAP(FS_LIST_VALUE) OSU_N_MEMORIES
} osu_memory_t;

/* As -d takes it. */
const char   *osu_memory_name(osu_memory_t memory);
osu_verdict_t osu_parse_memory(const char *text, osu_memory_t *memory_p,
                               char *why);

/* What we use of a driver, under one set of names. All return 0 for success,
 * and when alloc, copy or set return, what they do is done. */
typedef struct osu_driver {
    int (*open)(int local_rank, char why[OSU_WHY_LEN]);
    int (*alloc)(void **p, size_t len, bool managed);
    int (*free)(void *p);
    int (*copy)(void *dst, const void *src, size_t len);
    int (*set)(void *p, int value, size_t len);
} osu_driver_t;

/* This rank's device. */
typedef struct osu_device {
    const osu_driver_t *driver; /* NULL: host memory, or no device */
    osu_memory_t        memory;
    bool                tried;
    char                why[OSU_WHY_LEN]; /* there is no device */
} osu_device_t;

/* Before MPI_Init, as MPIs want it that know of GPUs: make a device current, the
 * local rank modulo their number. If the launcher does not tell the local rank,
 * osu_device_ready() does it. */
void osu_device_open(osu_memory_t memory, osu_device_t *device);

/* Collective, after MPI_Init. False: a rank has no device; the same why on every
 * rank. */
bool osu_device_ready(MPI_Comm comm, osu_device_t *device,
                      char why[OSU_WHY_LEN]);

/* On the device, or on the host without one. NULL: out of memory. */
void *osu_device_alloc(const osu_device_t *device, size_t len);
void  osu_device_free(const osu_device_t *device, void *p);

/* Between host and device either way, and within the device; they end the job
 * if the driver cannot. */
void osu_device_copy(const osu_device_t *device, void *dst, const void *src,
                     size_t len);
void osu_device_set(const osu_device_t *device, void *p, int value, size_t len);

#endif
