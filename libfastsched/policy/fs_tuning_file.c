/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of fs_tuning.h. It is read as a whole, and replaced as a whole: written
 * beside it and then renamed. Processes that do that take turns by a lock on
 * another file, which stays: the lock of a file that is replaced is worth nothing.
 */
#include "policy/fs_tuning.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    BLOCK    = 65536,
    MOST     = 64 << 20, /* bytes of a file */
    LOCK_MS  = 20,       /* between two tries */
    N_LOCKS  = 500,      /* tries: ten seconds */
    PATH_LEN = PATH_MAX + 16
};

static fs_status_t say(fs_status_t status, const char *path, const char *text,
                       char *why, size_t why_len)
{
    snprintf(why, why_len, "tuning file %s: %s", path, text);
    return status;
}

/* ---- reading ---- */

/* All of it; *text_p is the caller's. */
static fs_status_t read_all(FILE *file, char **text_p, size_t *len_p)
{
    char  *text = NULL;
    size_t len = 0, max = 0, n = 1;

    for (; n > 0; len += n) {
        if (len == max) {
            char *bigger = realloc(text, 2 * max + BLOCK);

            if (bigger == NULL || max > MOST) {
                free(bigger != NULL ? bigger : text);
                return bigger == NULL ? FS_ERR_NOMEM : FS_ERR_OVERFLOW;
            }
            text = bigger;
            max  = 2 * max + BLOCK;
        }
        n = fread(text + len, 1, max - len, file);
    }
    *text_p = text;
    *len_p  = len;
    return FS_OK;
}

static fs_status_t parse_file(fs_tuning_t *tuning, FILE *file, const char *path,
                              char *why, size_t why_len)
{
    char        reason[200] = "";
    char       *text        = NULL;
    size_t      len         = 0;
    fs_status_t status      = read_all(file, &text, &len);

    if (status != FS_OK) {
        return say(status, path,
                   status == FS_ERR_OVERFLOW ? "too large" : "out of memory",
                   why, why_len);
    }
    if (ferror(file)) {
        status = say(FS_ERR_NATIVE, path, strerror(errno), why, why_len);
    } else {
        status = fs_tuning_parse(tuning, text, len, reason, sizeof(reason));
        if (status != FS_OK) {
            say(status, path, reason, why, why_len);
        }
    }
    free(text);
    return status;
}

fs_status_t fs_tuning_load(fs_tuning_t *tuning, const char *path, char *why,
                           size_t why_len)
{
    FILE       *file = fopen(path, "re");
    fs_status_t status;

    if (file == NULL) {
        return errno == ENOENT
                   ? FS_OK
                   : say(FS_ERR_NATIVE, path, strerror(errno), why, why_len);
    }
    status = parse_file(tuning, file, path, why, why_len);
    fclose(file);
    return status;
}

/* ---- writing ---- */

/* -1, and errno. */
static int lock(const char *path)
{
    char name[PATH_LEN];
    int  fd;

    snprintf(name, sizeof(name), "%s.lock", path);
    fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    for (int k = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0; ++k) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || k == N_LOCKS) {
            int error = errno;

            close(fd);
            errno = error;
            return -1;
        }
        nanosleep(&(struct timespec){0, LOCK_MS * 1000000L}, NULL);
    }
    return fd;
}

/* May who reads the file read the new one as well. */
static void copy_mode(const char *path, int fd)
{
    struct stat status;
    mode_t      mask = umask(0);

    (void)umask(mask);
    (void)fchmod(fd, stat(path, &status) == 0 ? status.st_mode & 07777
                                              : 0666 & ~mask);
}

static bool write_file(fs_tuning_t *tuning, int fd)
{
    FILE *file = fdopen(fd, "w");
    bool  failed;

    if (file == NULL) {
        close(fd);
        return false;
    }
    fs_tuning_print(tuning, file);
    failed = fflush(file) != 0 || ferror(file) != 0 || fsync(fd) != 0;
    return fclose(file) == 0 && !failed;
}

static fs_status_t replace(fs_tuning_t *tuning, const char *path, char *why,
                           size_t why_len)
{
    char name[PATH_LEN];
    int  fd;
    bool done = false;

    snprintf(name, sizeof(name), "%s.XXXXXX", path);
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) {
        copy_mode(path, fd);
        done = write_file(tuning, fd) && rename(name, path) == 0;
    }
    if (!done) {
        say(FS_ERR_NATIVE, path, strerror(errno), why, why_len);
        if (fd >= 0) {
            unlink(name);
        }
    }
    return done ? FS_OK : FS_ERR_NATIVE;
}

static fs_status_t merge(const fs_tuning_t *learned, const char *path,
                         char *why, size_t why_len)
{
    fs_tuning_t tuning = {.entries = NULL};
    fs_status_t status = fs_tuning_load(&tuning, path, why, why_len);

    for (size_t k = 0; k < learned->n && status == FS_OK; ++k) {
        status = fs_tuning_add(&tuning, &learned->entries[k]);
        if (status != FS_OK) {
            say(status, path, fs_strerror(status), why, why_len);
        }
    }
    if (status == FS_OK) {
        status = replace(&tuning, path, why, why_len);
    }
    fs_tuning_fini(&tuning);
    return status;
}

fs_status_t fs_tuning_save(const fs_tuning_t *learned, const char *path,
                           char *why, size_t why_len)
{
    char       *whole = realpath(path, NULL); /* a link stays one */
    const char *where = whole != NULL ? whole : path;
    int         fd;
    fs_status_t status;

    if (strlen(where) > PATH_MAX) {
        status = say(FS_ERR_NATIVE, path, strerror(ENAMETOOLONG), why, why_len);
    } else if ((fd = lock(where)) < 0) {
        status = say(FS_ERR_NATIVE, path,
                     errno == EWOULDBLOCK ? "its lock is held for too long"
                                          : strerror(errno),
                     why, why_len);
    } else {
        status = merge(learned, where, why, why_len);
        close(fd);
    }
    free(whole);
    return status;
}
