/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_test.h"

#include "mpi_pattern.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

test_t test = {.program = "mpi_alltoallv", .name = "start"};

void fail(const char *format, ...)
{
    char    line[512];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    fprintf(stderr, "%s: FAILED case %s, rank %d of %d: %s\n", test.program,
            test.name, test.rank, test.size, line);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* Say what hangs; the job ends with this process. */
static void too_long(int signal_number)
{
    static const char head[] = ": FAILED: time is up in case ";

    (void)signal_number;
    if (write(2, test.program, strlen(test.program)) < 0 ||
        write(2, head, sizeof(head) - 1) < 0 ||
        write(2, test.name, strlen(test.name)) < 0 || write(2, "\n", 1) < 0) {
        _exit(3);
    }
    _exit(1);
}

void limit_time(unsigned seconds)
{
    signal(SIGALRM, too_long);
    alarm(seconds);
}

void must(int mpi_error, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int  len;

    if (mpi_error != MPI_SUCCESS) {
        MPI_Error_string(mpi_error, text, &len);
        fail("%s: %s", what, text);
    }
}

uint32_t draw(uint32_t a, uint32_t b, uint32_t c)
{
    return (uint32_t)(pattern_key(a, b, c) >> 20);
}

/* ---- which rank is on which server ---- */

static void read_list(const char *list)
{
    char *end = (char *)list;

    for (int r = 0; r < test.size; ++r) {
        test.server[r] = (int)strtol(end, &end, 10);
        end += *end == ',';
    }
}

/* "4+4+2+1"; "2x3" has been written out as "3+3". */
static void read_sizes(const char *sizes)
{
    char *end = (char *)sizes;
    int   r   = 0;

    for (int server = 0; *end != '\0'; ++server) {
        for (long n = strtol(end, &end, 10); n > 0 && r < test.size; --n) {
            test.server[r++] = server;
        }
        end += *end == '+';
    }
}

void read_servers(const char *spec)
{
    int n_servers, n_local;

    if (spec[0] == '@') {
        read_list(spec + 1);
    } else if (sscanf(spec, "%dx%d", &n_servers, &n_local) == 2) {
        for (int r = 0; r < test.size; ++r) {
            test.server[r] = r / n_local;
        }
    } else {
        read_sizes(spec);
    }
}

/* ---- performance variables, or what stands for them beside MPICH ---- */

typedef struct pvar {
    const char       *name;
    MPI_T_pvar_handle handle;
    int               found;
} pvar_t;

static MPI_T_pvar_session session;

static char   served_name[64];
static pvar_t calls        = {.name = "coll_fast_calls"};
static pvar_t calls_served = {.name = served_name};

static void find(pvar_t *pvar)
{
    int index, count;

    if (MPI_T_pvar_get_index(pvar->name, MPI_T_PVAR_CLASS_COUNTER, &index) ==
            MPI_SUCCESS &&
        MPI_T_pvar_handle_alloc(session, index, NULL, &pvar->handle, &count) ==
            MPI_SUCCESS) {
        pvar->found = 1;
    }
}

static void let_go(pvar_t *pvar)
{
    if (pvar->found) {
        MPI_T_pvar_handle_free(session, &pvar->handle);
        pvar->found = 0; /* callbacks in MPI_Finalize still make calls */
    }
}

/* Open MPI 4.1 and 5.0 take the level that is given here for the program's own: with
 * less than MPI_Init_thread() was given, its pml ob1 loses messages of threads. */
void pvars_init(void)
{
    int level, provided;

    must(MPI_Query_thread(&level), "MPI_Query_thread");
    must(MPI_T_init_thread(level, &provided), "MPI_T_init_thread");
    must(MPI_T_pvar_session_create(&session), "MPI_T_pvar_session_create");
    find(&calls);
    snprintf(served_name, sizeof(served_name), "coll_fast_calls_%s",
             test.algorithm);
    find(&calls_served);
}

void pvars_fini(void)
{
    let_go(&calls);
    let_go(&calls_served);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
}

/* See mpich_coll_fast.h. An MPICH with fast in it loads the library late. */
static unsigned long long ask_library(const char *name)
{
    unsigned long long (*counter)(const char *name);
    void *library = dlopen("libmpich_coll_fast.so", RTLD_LAZY | RTLD_NOLOAD);

    library = library != NULL ? library
                              : dlopen("libfastsched_mpi_abi.so",
                                       RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        return 0;
    }
    *(void **)&counter = dlsym(library, "mpich_fast_counter");
    dlclose(library);
    return counter(name);
}

static uint64_t read_counter(const pvar_t *pvar)
{
    unsigned long long value = 0;

    if (pvar->found) {
        must(MPI_T_pvar_read(session, pvar->handle, &value), "MPI_T_pvar_read");
    } else {
        value = ask_library(pvar->name + strlen("coll_fast_"));
    }
    return value;
}

uint64_t pvars_calls(void)
{
    return read_counter(&calls);
}

uint64_t pvars_calls_served(void)
{
    return read_counter(&calls_served);
}
