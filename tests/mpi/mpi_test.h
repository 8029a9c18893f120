/* SPDX-License-Identifier: BSD-3-Clause */
/* What the cases share: who we are, how to fail, what should have served a
 * call. Plain MPI-3: the same sources are built against every MPI. */
#ifndef MPI_TEST_H
#define MPI_TEST_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* What --expect says must have served a call of which bytes cross servers. */
typedef enum expect {
    EXPECT_ANY,    /* do not look */
    EXPECT_HOST,   /* the component sees the call, and leaves it to the MPI */
    EXPECT_ABSENT, /* the component never sees a call, or is not loaded */
    EXPECT_SERVED  /* the component runs it, with the algorithm named */
} expect_t;

typedef struct test {
    int         rank; /* in MPI_COMM_WORLD */
    int         size;
    const char *program;
    const char *name;   /* of the case that runs */
    int        *server; /* [size], from --servers; all 0 without */
    expect_t    expect;
    const char *algorithm;    /* of EXPECT_SERVED; otherwise any */
    size_t      large_bytes;  /* of the largest pair of case "large" */
    int         device;       /* --device */
    int         device_packs; /* --device-packs */
    int         by_w;         /* --alltoallw */
    int         nonblocking;  /* --nonblocking */
    int         persistent;   /* --persistent */
    int         unprimed;     /* --unprimed */
} test_t;

extern test_t test;

/* Print one line and end the job with exit status 1. */
void fail(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));

/* From now on, so many seconds; then the job has failed. 0: no limit. */
void limit_time(unsigned seconds);

/* Errors of MPI are failures, whatever the error handler. */
void must(int mpi_error, const char *what);

/* Read "2x2", "4+4+2+1", "@0,1,0,1" into test.server. */
void read_servers(const char *spec);

/* The component's performance variables; 0 where there are none. */
void     pvars_init(void);
void     pvars_fini(void);
uint64_t pvars_calls(void);
uint64_t pvars_calls_served(void); /* with test.algorithm */

/* Memory of tests/accel/fake_cuda.h, which has to be loadable: its address on
 * the "device", and where we may look at it. */
void device_open(void);
void device_alloc(size_t len, int device, uint64_t *address_p,
                  unsigned char **alias_p);
void device_free(uint64_t address);

/* A number from numbers: the same on every rank and in every run. */
uint32_t draw(uint32_t a, uint32_t b, uint32_t c);

/* ---- the cases, one file each family ---- */

typedef struct test_case {
    const char *name;
    void (*run)(void); /* NULL: this MPI lacks what it needs */
} test_case_t;

extern const test_case_t count_cases[];
extern const test_case_t type_cases[];
extern const test_case_t comm_cases[];
extern const test_case_t flight_cases[];
extern const test_case_t other_cases[];
extern const test_case_t plan_cases[];
extern const test_case_t end_cases[];    /* the last: they wait for the end */
extern const test_case_t thread_cases[]; /* only with --threads */
extern const test_case_t huge_cases[];   /* only by name */
extern const test_case_t check_cases[]; /* only by name, want parameter check */
extern const test_case_t persistent_cases[];  /* only by name */
extern const test_case_t nonblocking_cases[]; /* only by name */

/* After MPI_Finalize: has it left out what these cases wait for? */
int end_cases_owe(void);

#endif
