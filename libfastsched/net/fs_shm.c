/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared memory: POSIX, for its owner only, made anew (O_EXCL) under a name
 * that nobody can guess. Its pages are reserved when it is made: a full
 * /dev/shm is an error there, not a SIGBUS later.
 */
#include "net/fs_shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 64 }; /* the rest begins on a cache line of its own */

/* The first line of a segment. */
typedef struct head {
    _Atomic uint32_t n_joined;
} head_t;

_Static_assert(sizeof(head_t) <= HEAD_BYTES, "a head is one cache line");

static void name_of(const uint64_t id[2], char *name, size_t len)
{
    snprintf(name, len, "/fastsched-%016llx%016llx", (unsigned long long)id[0],
             (unsigned long long)id[1]);
}

/* Map what is open, and close it. */
static void map(fs_shm_t *shm, int fd, size_t map_bytes)
{
    void *p = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (p != MAP_FAILED) {
        shm->map       = p;
        shm->map_bytes = map_bytes;
    }
    close(fd);
}

static void forget_name(fs_shm_t *shm)
{
    if (shm->name[0] != '\0') {
        shm_unlink(shm->name);
        shm->name[0] = '\0';
    }
}

void fs_shm_draw_id(uint64_t id[2])
{
    if (getrandom(id, 2 * sizeof(*id), 0) != 2 * sizeof(*id)) {
        id[0] = id[1] = 0;
    }
}

/* A signal undoes what one call has reserved: the next call reserves less, so that it
 * is done before another signal comes. */
static bool reserve(int fd, off_t len_bytes)
{
    enum { MOST = 4 << 20, LEAST = 4096 };
    off_t at = 0, most = MOST;
    int   err = ftruncate(fd, len_bytes) == 0 ? 0 : errno;

    while (at < len_bytes && (err == 0 || err == EINTR)) {
        off_t left = len_bytes - at, piece = left < most ? left : most;

        err  = posix_fallocate(fd, at, piece);
        at   = err == 0 ? at + piece : at;
        most = err == EINTR && most > LEAST ? most / 2 : most;
    }
    return err == 0;
}

void fs_shm_offer(fs_shm_t *shm, const uint64_t id[2], size_t len_bytes)
{
    off_t map_bytes = (off_t)(HEAD_BYTES + len_bytes);
    int   fd;

    if (len_bytes == 0 || (id[0] == 0 && id[1] == 0)) {
        return;
    }
    name_of(id, shm->name, sizeof(shm->name));
    fd = shm_open(shm->name, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    if (fd < 0) {
        shm->name[0] = '\0'; /* not ours to remove */
        return;
    }
    if (!reserve(fd, map_bytes)) {
        close(fd);
        forget_name(shm);
        return;
    }
    map(shm, fd, (size_t)map_bytes);
}

/* Whatever has that name is ours: only its owner can open it, and the size says
 * that it is complete. */
static void map_by_name(fs_shm_t *shm, const uint64_t id[2], size_t map_bytes)
{
    char        name[sizeof(shm->name)];
    struct stat st;
    int         fd;

    name_of(id, name, sizeof(name));
    fd = shm_open(name, O_RDWR, 0);
    if (fd < 0) {
        return;
    }
    if (fstat(fd, &st) != 0 || st.st_size != (off_t)map_bytes) {
        close(fd);
        return;
    }
    map(shm, fd, map_bytes);
}

void fs_shm_join(fs_shm_t *shm, const uint64_t id[2], size_t len_bytes)
{
    if (shm->map == NULL && len_bytes > 0) {
        map_by_name(shm, id, HEAD_BYTES + len_bytes);
    }
    if (shm->map != NULL) {
        atomic_fetch_add(&((head_t *)shm->map)->n_joined, 1);
    }
}

void *fs_shm_settle(fs_shm_t *shm, uint32_t n_ranks)
{
    forget_name(shm);
    if (shm->map == NULL) {
        return NULL;
    }
    if (atomic_load(&((head_t *)shm->map)->n_joined) != n_ranks) {
        fs_shm_leave(shm);
        return NULL;
    }
    return (char *)shm->map + HEAD_BYTES;
}

void fs_shm_leave(fs_shm_t *shm)
{
    forget_name(shm);
    if (shm->map != NULL) {
        munmap(shm->map, shm->map_bytes);
        shm->map = NULL;
    }
}
