// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Times NVSHMEM's device functions between two GPUs, one for each of two MPI ranks. Prints one line
// a record, which to_json.py reads. A time is the maximum over the ranks of the rank's median; one
// sample is the mean of many rounds in one kernel, or of several kernels in a row.

#include <NvshmemBench.hpp>
#include <cstring>

namespace Peers {
namespace {

constexpr int rounds = 1000;
constexpr int launches = 10;

/// Every block one part, of a multiple of 16 bytes but for the last.
template <bool IsPut>
__global__ void __launch_bounds__(1024)
    copy_by_blocks(Word* to, const Word* from, std::size_t words, int peer) {
  const std::size_t part = ((words + gridDim.x - 1) / gridDim.x + 1) / 2 * 2;
  const std::size_t first = std::size_t(blockIdx.x) * part;
  if (first >= words) return;
  const std::size_t bytes = min(part, words - first) * sizeof(Word);
  if constexpr (IsPut) {
    nvshmemx_putmem_block(to + first, from + first, bytes, peer);
  } else {
    nvshmemx_getmem_block(to + first, from + first, bytes, peer);
  }
  __syncthreads();
  if (threadIdx.x == 0) nvshmem_quiet();
}

/// Each addend depends on the value before it, so that no two are under way at once.
__global__ void add_in_chain(Word* word, int peer, int* failed) {
  Word last = 0;
  for (int i = 0; i < rounds; ++i) {
    last = nvshmem_uint64_atomic_fetch_add(word, 1 + (last >> 63), peer);
  }
  if ((last >> 63) != 0) *failed = 1;
}

struct Ball {
  Word* target;  ///< symmetric
  const Word* source;
  std::size_t words;  ///< 0: a signal alone
  Word* flag;         ///< symmetric
  Word first;         ///< number of the first round
};

__device__ void send(const Ball& ball, Word count, int peer) {
  if (ball.words != 0) {
    nvshmemx_putmem_signal_block(ball.target, ball.source, ball.words * sizeof(Word), ball.flag,
                                 count, NVSHMEM_SIGNAL_SET, peer);
  } else if (threadIdx.x == 0) {
    nvshmemx_signal_op(ball.flag, count, NVSHMEM_SIGNAL_SET, peer);
  }
}

/// One block on each GPU; rank 0 sends first.
__global__ void __launch_bounds__(1024) ping_pong(Ball ball, int rank) {
  for (int i = 0; i < rounds; ++i) {
    const Word count = ball.first + Word(i);
    if (rank == 0) send(ball, count, 1);
    if (threadIdx.x == 0) nvshmem_signal_wait_until(ball.flag, NVSHMEM_CMP_GE, count);
    __syncthreads();
    if (rank == 1) send(ball, count, 0);
  }
}

__global__ void barriers() {
  for (int i = 0; i < rounds; ++i) nvshmem_barrier_all();
}

template <bool HasPut>
__global__ void quiets(Word* word, int peer) {
  for (int i = 0; i < rounds; ++i) {
    if constexpr (HasPut) nvshmem_uint64_p(word, Word(i) + 1, peer);
    nvshmem_quiet();
  }
}

/// Rank 0 copies, rank 1 waits.
template <bool IsPut>
void measure_copies(Bench& bench) {
  const char* const op = IsPut ? "put" : "get";
  Word* const source = IsPut ? bench.here() : bench.there();
  Word* const target = IsPut ? bench.there() : bench.here();
  for (const int blocks : {16, 132}) {
    for (const int threads : {512, 1024}) {
      const auto copies = [&](int count) {
        if (bench.rank() != 0) return;
        for (int i = 0; i < count; ++i) {
          copy_by_blocks<IsPut><<<blocks, threads>>>(target, source, most_words, 1);
        }
      };
      const auto once = [&] { copies(1); };
      const std::string form =
          std::string(op) + "mem_block " + std::to_string(blocks) + " x " + std::to_string(threads);
      bench.check_copy(form, IsPut ? 0 : 1, source, target, most_words, once);
      bench.cell(op, form, most_words * sizeof(Word),
                 [&] { return bench.stream_time([&] { copies(launches); }) / launches; });
      bench.check_copy(form, IsPut ? 0 : 1, source, target, most_words, once);
    }
  }
}

void measure_fetch_add(Bench& bench) {
  Word* const word = bench.flag(0);
  const int calls = bench.cell("fetch_add", "thread", sizeof(Word), [&] {
    if (bench.rank() != 0) return 0.0;
    return bench.stream_time([&] { add_in_chain<<<1, 1>>>(word, 1, bench.wrong()); }) / rounds;
  });
  bench.together();
  Word sum = 0;
  check(cudaMemcpy(&sum, word, sizeof(sum), cudaMemcpyDeviceToHost), "cudaMemcpy");
  require(bench.rank() == 0 || sum == Word(calls) * rounds, "fetch_add: the sum is wrong");
  bench.require_right("fetch_add");
}

/// What is sent is the same in all rounds of a kernel, and the flag numbers go on rising.
void measure_ping_pong(Bench& bench, const char* op, const std::string& form, std::size_t words,
                       int threads) {
  check(cudaMemset(bench.flag(1), 0, sizeof(Word)), "cudaMemset");
  Ball ball{bench.there(), bench.here(), words, bench.flag(1), 1};
  const auto play = [&] {
    ping_pong<<<1, threads>>>(ball, bench.rank());
    ball.first += rounds;
  };
  for (const int source_rank : {0, 1}) {
    bench.check_copy(form, source_rank, bench.here(), bench.there(), words, play);
  }
  bench.cell(op, form, words * sizeof(Word),
             [&] { return bench.stream_time(play) / (2 * rounds); });
  for (const int source_rank : {0, 1}) {
    bench.check_copy(form, source_rank, bench.here(), bench.there(), words, play);
  }
}

void measure_quiet(Bench& bench) {
  Word* const word = bench.flag(1);
  const auto by_rank_0 = [&](auto* kernel) {
    return [&bench, kernel, word] {
      if (bench.rank() != 0) return 0.0;
      return bench.stream_time([&] { kernel<<<1, 1>>>(word, 1); }) / rounds;
    };
  };
  bench.cell("quiet", "thread, nothing to wait for", 0, by_rank_0(&quiets<false>));
  bench.cell("quiet", "thread, behind a put of 8 B", sizeof(Word), by_rank_0(&quiets<true>));
  Word last = 0;
  check(cudaMemcpy(&last, word, sizeof(last), cudaMemcpyDeviceToHost), "cudaMemcpy");
  require(bench.rank() == 0 || last == rounds, "quiet: the last word put is not there");
}

void measure_all(Bench& bench) {
  measure_ping_pong(bench, "signal", "signal_op / signal_wait_until", 0, 1);
  measure_ping_pong(bench, "put_signal", "putmem_signal_block, 32 threads", 1, 32);
  measure_ping_pong(bench, "put_signal", "putmem_signal_block, 512 threads", 8192, 512);
  measure_ping_pong(bench, "put_signal", "putmem_signal_block, 1024 threads", 8192, 1024);
  bench.cell("barrier", "thread", 0,
             [&] { return bench.stream_time([] { barriers<<<1, 1>>>(); }) / rounds; });
  measure_quiet(bench);
  measure_fetch_add(bench);
  measure_copies<true>(bench);
  measure_copies<false>(bench);
}

/// Multicast takes switch resources that all tenants of a host share, and nothing here needs it;
/// the ranks are on one host, which may have no other network. cudaMalloc'ed memory cannot be
/// multicast.
void set_environment(int rank) {
  constexpr const char* wanted[][2] = {{"NVSHMEM_DISABLE_NVLS", "1"},
                                       {"NVSHMEM_DISABLE_NCCL", "1"},
                                       {"NVSHMEM_DISABLE_CUDA_VMM", "1"},
                                       {"NVSHMEM_REMOTE_TRANSPORT", "none"},
                                       {"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo"},
                                       {"NVSHMEM_SYMMETRIC_SIZE", "512M"}};
  if (rank == 0) std::printf("@environment");
  for (const auto& [name, value] : wanted) {
    setenv(name, value, 0);
    const char* const is = std::getenv(name);
    const bool required = std::strcmp(name, "NVSHMEM_DISABLE_NVLS") == 0;
    require(!required || std::strcmp(is, value) == 0, std::string(name) + " has to be " + value);
    if (rank == 0) std::printf("\t%s=%s", name, is);
  }
  if (rank == 0) std::printf("\n");
}

void start(int rank) {
  int here = 0, gpus = 0;
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &here);
  MPI_Comm_free(&node);
  check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
  require(gpus >= 2, "needs two GPUs that both ranks see");
  check(cudaSetDevice(here), "cudaSetDevice");

  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  if (rank == 0) require(nvshmemx_get_uniqueid(&id) == 0, "nvshmemx_get_uniqueid");
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  require(nvshmemx_set_attr_uniqueid_args(rank, 2, &id, &attributes) == 0,
          "nvshmemx_set_attr_uniqueid_args");
  require(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) == 0, "nvshmemx_init_attr");
}

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void describe() {
  cudaDeviceProp properties{};
  int gpus = 0, driver = 0, runtime = 0, major = 0, minor = 0, patch = 0, length = 0;
  char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  nvshmemx_vendor_get_version_info(&major, &minor, &patch);
  MPI_Get_library_version(mpi, &length);
  mpi[std::strcspn(mpi, ",\t\n")] = '\0';
  std::printf("@machine\tgpu=%s\tgpus=%d\n", properties.name, gpus);
  std::printf("@versions\tNVSHMEM=%d.%d.%d\tMPI=%s\tdriver=%s\truntime=CUDA %s\n", major, minor,
              patch, mpi, cuda_version(driver).c_str(), cuda_version(runtime).c_str());
}

}  // namespace
}  // namespace Peers

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double seconds = argc == 2 ? std::atof(argv[1]) : 0.5;
  Peers::require(size == 2 && argc <= 2 && seconds > 0.0,
                 "usage: mpiexec -n 2 peers_nvshmem [<seconds for each cell>]");
  Peers::set_environment(rank);
  Peers::start(rank);
  if (rank == 0) Peers::describe();
  {
    Peers::Bench bench(seconds);
    Peers::measure_all(bench);
  }
  nvshmem_finalize();
  MPI_Finalize();
  return 0;
}
