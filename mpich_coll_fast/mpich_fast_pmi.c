/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Have all ranks loaded and selected the library? A rank that has not cannot be
 * asked by any call of MPI, and waiting for it would never end.
 *
 * So each rank that has puts a record into the key-value space of the process
 * manager before MPI_Init, in which MPICH spreads its own records there and
 * waits for all ranks. After it a rank looks for the records of its neighbours
 * in a binary tree of the ranks, and what they see goes up and down that tree,
 * in messages between neighbours whose records are there. If a rank is missing,
 * the one above it learns of it, and the ones below it are cut off and notice
 * that: all come to the same conclusion.
 *
 * This is MPICH 4.0 to 4.3 under hydra, which talks to each rank in lines of
 * text over the descriptor PMI_FD (PMI-1); between two calls of MPI nothing is
 * under way there. Anything else is left alone, and nothing is known: then all
 * ranks are taken to be there.
 */
#include "mpich_fast.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 60000,
    FEW = 16,
    TAG = 32067, /* 32767 is the largest that every MPI has */
    PROTOCOL = 1 /* grows when anything changes in what ranks do together in MPI_Init */
};

static struct {
    bool works;
    int fd;
    dev_t dev;
    ino_t ino; /* of fd: somebody else's in a process that has closed it */
    char kvs[256];
} pmi;

/* ---- lines ---- */

static bool send_line(const char *line)
{
    size_t len = strlen(line);

    while (len > 0) {
        ssize_t n = TEMP_FAILURE_RETRY(send(pmi.fd, line, len, MSG_NOSIGNAL));

        if (n <= 0) {
            return false;
        }
        line += n;
        len -= (size_t) n;
    }
    return true;
}

/* No byte more than that line: what follows is MPICH's. */
static bool receive_line(char *line, size_t size)
{
    struct pollfd ready = {.fd = pmi.fd, .events = POLLIN};

    for (size_t len = 0; len + 1 < size; ++len) {
        if (TEMP_FAILURE_RETRY(poll(&ready, 1, PATIENCE_MS)) <= 0
            || TEMP_FAILURE_RETRY(read(pmi.fd, line + len, 1)) != 1) {
            return false;
        }
        if ('\n' == line[len]) {
            line[len] = '\0';
            return true;
        }
    }
    return false;
}

/* The value of key= in a line, up to a blank; NULL: not there. */
static const char *value_of(const char *line, const char *key, char *value, size_t size)
{
    const char *at = strstr(line, key);

    if (NULL == at) {
        return NULL;
    }
    snprintf(value, size, "%.*s", (int) strcspn(at + strlen(key), " "), at + strlen(key));
    return value;
}

/* line becomes the answer. False: it is not cmd=ANSWER. */
static bool ask(char *line, size_t size, const char *answer)
{
    char cmd[64];

    return send_line(line) && receive_line(line, size)
           && NULL != value_of(line, "cmd=", cmd, sizeof(cmd)) && 0 == strcmp(cmd, answer);
}

/* ---- records ---- */

static bool is_success(const char *line)
{
    char rc[16];

    return NULL != value_of(line, " rc=", rc, sizeof(rc)) && 0 == strcmp(rc, "0");
}

/* Equal records mean equal versions. */
static void print_record(char *record, size_t size)
{
    snprintf(record, size, FS_VERSION "/%d", PROTOCOL);
}

static bool put_word(const char *rank)
{
    char line[1024] = "cmd=init pmi_version=1 pmi_subversion=1\n", record[64];

    if (!ask(line, sizeof(line), "response_to_init") || !is_success(line)) {
        return false;
    }
    strcpy(line, "cmd=get_my_kvsname\n");
    if (!ask(line, sizeof(line), "my_kvsname")
        || NULL == value_of(line, " kvsname=", pmi.kvs, sizeof(pmi.kvs))) {
        return false;
    }
    print_record(record, sizeof(record));
    snprintf(line, sizeof(line), "cmd=put kvsname=%s key=fastsched-%s value=%s\n", pmi.kvs, rank,
             record);
    return ask(line, sizeof(line), "put_result") && is_success(line);
}

static bool has_word(int rank)
{
    char line[1024], record[64], value[64];

    print_record(record, sizeof(record));
    snprintf(line, sizeof(line), "cmd=get kvsname=%s key=fastsched-%d\n", pmi.kvs, rank);
    return ask(line, sizeof(line), "get_result") && is_success(line)
           && NULL != value_of(line, " value=", value, sizeof(value)) && 0 == strcmp(value, record);
}

typedef int library_version_fn_t(char *version, int *len);

static bool is_known_mpich(void)
{
    library_version_fn_t *get_version =
        (library_version_fn_t *) mpich_fast_next("PMPI_Get_library_version");
    char version[2 * MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int len;

    return MPI_SUCCESS == get_version(version, &len) && 0 == strncmp(version, "MPICH Version:", 14)
           && '4' == version[14 + strspn(version + 14, " \t")];
}

/* HYDI_CONTROL_FD: the manager is hydra. */
void mpich_fast_before_init(void)
{
    static bool done;
    const char *fd = getenv("PMI_FD"), *rank = getenv("PMI_RANK"), *size = getenv("PMI_SIZE");
    struct stat is;

    if (done || NULL == fd || NULL == rank || NULL == size || atoi(size) < 2
        || NULL == getenv("HYDI_CONTROL_FD") || !is_known_mpich()) {
        return;
    }
    done = true;
    pmi.fd = atoi(fd);
    if (0 == fstat(pmi.fd, &is) && S_ISSOCK(is.st_mode)) {
        pmi.dev = is.st_dev;
        pmi.ino = is.st_ino;
        pmi.works = put_word(rank);
    }
}

/* ---- the tree ---- */

typedef struct neighbour {
    int rank; /* below 0: there is none */
    bool here;
} neighbour_t;

static neighbour_t probe_at(int rank, int size)
{
    return rank < size ? (neighbour_t){rank, has_word(rank)} : (neighbour_t){-1, false};
}

static void tell(neighbour_t to, int missing)
{
    if (to.rank >= 0 && to.here) {
        mpi.Send(&missing, 1, MPI_INT, to.rank, TAG, MPI_COMM_WORLD);
    }
}

/* The lower of missing and what the neighbour says, or itself if it is not here. */
static int receive(neighbour_t from, int missing)
{
    int other = missing;

    if (from.rank >= 0 && from.here) {
        mpi.Recv(&other, 1, MPI_INT, from.rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (from.rank >= 0) {
        other = from.rank;
    }
    return other < missing ? other : missing;
}

/* The messages come before any of the user's between these two, so nobody takes one for another. */
static int find_missing(int rank, int size)
{
    neighbour_t up = 0 == rank ? (neighbour_t){-1, false} : probe_at((rank - 1) / 2, size);
    neighbour_t left = probe_at(2 * rank + 1, size), right = probe_at(2 * rank + 2, size);
    int missing = receive(right, receive(left, size));

    tell(up, missing);
    missing = receive(up, missing);
    tell(left, missing);
    tell(right, missing);
    return missing;
}

/* The first that is here does. If the first few are not, any above one that is not may: to look for
 * all of them would take the manager of a large job long. */
static bool speaks(int rank)
{
    int n_below = rank < FEW ? rank : FEW;

    for (int below = 0; below < n_below; ++below) {
        if (has_word(below)) {
            return false;
        }
    }
    return rank <= FEW || !has_word(rank - 1);
}

/* Is it still the same descriptor, and have MPICH's records been spread with
 * ours? */
static bool still_works(int rank)
{
    struct stat is;

    return pmi.works && 0 == fstat(pmi.fd, &is) && pmi.dev == is.st_dev && pmi.ino == is.st_ino
           && has_word(rank);
}

bool mpich_fast_all_here(int rank, int size)
{
    int missing = still_works(rank) ? find_missing(rank, size) : size;

    if (missing < size && speaks(rank)) {
        mpich_fast_sayf("not used: rank %d runs without this version of " MPICH_FAST_NAME ", or has "
                        "not chosen it; all calls go to the MPI",
                        missing);
    }
    return missing == size;
}
