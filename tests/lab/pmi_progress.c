/* Preloaded into MPICH ranks of the lab, or stock MPICH 4.0 does not get
 * through MPI_Finalize over UCX's TCP: a rank that has closed its endpoints
 * blocks in a read() from the process manager, until all ranks are there, and
 * so no longer answers those whose endpoints still wait for it.  Here the
 * read() keeps UCX going while it waits.  Nothing else changes, and nothing at
 * all before the end of the job but the process manager's own exchanges. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* As in ucp.h, whose types are opaque here: the lab does not need it. */
typedef int      worker_create_fn_t(void *, const void *, void **);
typedef void     worker_destroy_fn_t(void *);
typedef unsigned worker_progress_fn_t(void *);
typedef ssize_t  read_fn_t(int, void *, size_t);

static void *worker; /* MPICH has one */

int ucp_worker_create(void *context, const void *params, void **worker_p)
{
    worker_create_fn_t *next =
        (worker_create_fn_t *)dlsym(RTLD_NEXT, "ucp_worker_create");
    const int status = next(context, params, worker_p);

    if ((status == 0) && (worker == NULL)) {
        worker = *worker_p;
    }
    return status;
}

void ucp_worker_destroy(void *dying)
{
    worker_destroy_fn_t *next =
        (worker_destroy_fn_t *)dlsym(RTLD_NEXT, "ucp_worker_destroy");

    if (dying == worker) {
        worker = NULL;
    }
    next(dying);
}

static int is_from_process_manager(int fd)
{
    const char *text = getenv("PMI_FD");

    return (text != NULL) && (atoi(text) == fd);
}

static void progress_until_readable(int fd)
{
    worker_progress_fn_t *progress =
        (worker_progress_fn_t *)dlsym(RTLD_DEFAULT, "ucp_worker_progress");
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    while ((progress != NULL) && (poll(&ready, 1, 1) == 0)) {
        while (progress(worker) > 0) {
        }
    }
}

ssize_t read(int fd, void *buffer, size_t size)
{
    static read_fn_t *next;

    if (next == NULL) {
        next = (read_fn_t *)dlsym(RTLD_NEXT, "read");
    }
    if ((worker != NULL) && is_from_process_manager(fd)) {
        progress_until_readable(fd);
    }
    return next(fd, buffer, size);
}
