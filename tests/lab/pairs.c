/* pairs BYTES SRC:DST...  Each pair of ranks moves BYTES from SRC to DST, all
 * at once; rank 0 prints the seconds until the last one has its bytes.  With
 * these, a test knows what every NIC of the lab must have carried.  A barrier
 * of small messages comes first, so that no connection is made while we time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAG = 1, CHUNK = 1 << 20 };

typedef struct {
    char        *buffer;
    long         bytes;
    int          rank;
    int          size;
    MPI_Request *requests;
    int          n_requests;
} job_t;

static void fail(const char *what, const char *value)
{
    fprintf(stderr, "pairs: %s: %s\n", what, value);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void parse_pair(const job_t *job, const char *text, int *src, int *dst)
{
    char rest;

    if ((sscanf(text, "%d:%d%c", src, dst, &rest) != 2) || (*src < 0) ||
        (*dst < 0) || (*src >= job->size) || (*dst >= job->size)) {
        fail("not SRC:DST, two ranks", text);
    }
}

static void post_message(job_t *job, int src, int dst, long bytes)
{
    long at;

    for (at = 0; at < bytes; at += CHUNK) {
        const int n = (int)((bytes - at < CHUNK) ? bytes - at : CHUNK);

        if (job->rank == src) {
            MPI_Isend(job->buffer, n, MPI_BYTE, dst, TAG, MPI_COMM_WORLD,
                      &job->requests[job->n_requests++]);
        }
        if (job->rank == dst) {
            MPI_Irecv(job->buffer, n, MPI_BYTE, src, TAG, MPI_COMM_WORLD,
                      &job->requests[job->n_requests++]);
        }
    }
}

static double run_pairs(job_t *job, char **pairs, int n_pairs, long bytes)
{
    double seconds, slowest;
    int    i, src, dst;

    MPI_Barrier(MPI_COMM_WORLD);
    seconds         = MPI_Wtime();
    job->n_requests = 0;
    for (i = 0; i < n_pairs; i++) {
        parse_pair(job, pairs[i], &src, &dst);
        post_message(job, src, dst, bytes);
    }
    MPI_Waitall(job->n_requests, job->requests, MPI_STATUSES_IGNORE);
    seconds = MPI_Wtime() - seconds;
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return slowest;
}

int main(int argc, char **argv)
{
    job_t  job = {0};
    double seconds;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    job.bytes = (argc > 2) ? atol(argv[1]) : 0;
    if (job.bytes <= 0) {
        fail("usage", "pairs BYTES SRC:DST...");
    }

    /* Every rank may be in every pair, twice if it sends to itself. */
    job.buffer   = calloc(1, CHUNK);
    job.requests = calloc(2 * (size_t)argc * (size_t)(job.bytes / CHUNK + 1),
                          sizeof(*job.requests));
    if ((job.buffer == NULL) || (job.requests == NULL)) {
        fail("no memory for", argv[1]);
    }

    (void)run_pairs(&job, argv + 2, argc - 2, 1);
    seconds = run_pairs(&job, argv + 2, argc - 2, job.bytes);
    if (job.rank == 0) {
        printf("%.4f\n", seconds);
    }

    free(job.requests);
    free(job.buffer);
    MPI_Finalize();
    return 0;
}
