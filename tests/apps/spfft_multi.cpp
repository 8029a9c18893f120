// SPDX-License-Identifier: BSD-3-Clause
// Four transforms of SpFFT at once, to and fro, three times: their exchanges are
// nonblocking. Before that each of them alone, blocking: under MPICH fast serves
// nonblocking calls only on a communicator that has had a blocking one. In C++,
// since SpFFT 1.0.6 crashes when C asks for several.
//
//   spfft_multi buffered | compact | unbuffered
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mpi.h>
#include <spfft/spfft.hpp>
#include <vector>

static const int n = 40, n_at_once = 4;

struct Digest {
    uint64_t value = 0xcbf29ce484222325u;

    void add(const double *values, size_t n_values)
    {
        for (size_t k = 0; k < n_values; ++k) {
            uint64_t word;

            std::memcpy(&word, &values[k], sizeof(word));
            value = (value ^ word) * 0x100000001b3u;
            value ^= value >> 29;
        }
    }
};

static SpfftExchangeType exchange_of(const char *name)
{
    return std::strcmp(name, "buffered") == 0  ? SPFFT_EXCH_BUFFERED
           : std::strcmp(name, "compact") == 0 ? SPFFT_EXCH_COMPACT_BUFFERED
                                               : SPFFT_EXCH_UNBUFFERED;
}

// Columns of waves, dealt unevenly; the number of columns.
static int deal(int rank, int n_ranks, std::vector<int> &triplets)
{
    int n_columns = 0;

    for (int x = 0; x < n; ++x) {
        for (int y = 0; y < n; ++y) {
            if ((7 * x + y) % (n_ranks + 1) % n_ranks != rank) {
                continue;
            }
            n_columns++;
            for (int z = 0; z < n; ++z) {
                triplets.insert(triplets.end(), {x, y, z});
            }
        }
    }
    return n_columns;
}

static uint64_t run(SpfftExchangeType exchange, int rank, int n_ranks)
{
    std::vector<int>              triplets;
    int                           n_columns = deal(rank, n_ranks, triplets);
    int                           planes  = n / n_ranks + (rank < n % n_ranks);
    int                           n_waves = (int)triplets.size() / 3;
    std::vector<spfft::Transform> transforms;
    std::vector<std::vector<double>> waves(n_at_once);
    const double                    *in[n_at_once];
    double                          *out[n_at_once];
    SpfftProcessingUnitType          host[n_at_once];
    SpfftScalingType                 scaling[n_at_once];
    Digest                           digest;

    for (int k = 0; k < n_at_once; ++k) {
        spfft::Grid grid(n, n, n, n_columns, planes, SPFFT_PU_HOST, 1,
                         MPI_COMM_WORLD, exchange);

        transforms.push_back(grid.create_transform(
            SPFFT_PU_HOST, SPFFT_TRANS_C2C, n, n, n, planes, n_waves,
            SPFFT_INDEX_TRIPLETS, triplets.data()));
        for (int i = 0; i < 2 * n_waves; ++i) {
            waves[k].push_back((i * 7919 + rank * 31 + k) % 1000 / 999.0);
        }
        in[k]      = waves[k].data();
        out[k]     = waves[k].data();
        host[k]    = SPFFT_PU_HOST;
        scaling[k] = SPFFT_FULL_SCALING;
    }
    for (int k = 0; k < n_at_once; ++k) {
        transforms[k].backward(in[k], host[k]);
        transforms[k].forward(host[k], out[k], scaling[k]);
    }
    for (int turn = 0; turn < 3; ++turn) {
        spfft::multi_transform_backward(n_at_once, transforms.data(), in, host);
        for (auto &transform : transforms) {
            digest.add(transform.space_domain_data(SPFFT_PU_HOST),
                       (size_t)2 * n * n * planes);
        }
        spfft::multi_transform_forward(n_at_once, transforms.data(), host, out,
                                       scaling);
        for (auto &wave : waves) {
            digest.add(wave.data(), wave.size());
        }
    }
    return digest.value;
}

int main(int argc, char **argv)
{
    uint64_t mine, all;
    int      rank, n_ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    mine = run(exchange_of(argc > 1 ? argv[1] : ""), rank, n_ranks) *
           (2 * (uint64_t)rank + 1);
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        std::printf("digest %016" PRIx64 "\n", all);
    }
    MPI_Finalize();
    return 0;
}
