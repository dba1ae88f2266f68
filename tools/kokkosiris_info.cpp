// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// kokkosiris_info: what this installation is, where its ranks run, how fast they reach each other.

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <KokkosIris.hpp>
#include <chrono>
#include <core/KokkosIris_GpuReport.hpp>
#include <core/KokkosIris_GpuSpace.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>
#ifdef KOKKOSIRIS_ENABLE_FUSED
#include <fused/arch/host/KokkosIris_PackedGemm.hpp>
#endif

namespace {

using HostContext = KokkosIris::Context<Kokkos::HostSpace>;

constexpr char usage[] =
    "usage: [mpiexec -n RANKS] kokkosiris_info [--help | --version]\n"
    "Prints versions, environment variables, the ranks' places, GPUs, and a one-second copy "
    "probe.\n";

/// The processors that this process may use, in the kernel's form: "0-3,8".
std::string allowed_processors() {
  std::ifstream status("/proc/self/status");
  for (std::string key, value; status >> key && std::getline(status >> std::ws, value);) {
    if (key == "Cpus_allowed_list:") return value;
  }
  return "unknown";
}

/// Memory nodes that have one of the processors; empty where the kernel does not tell.
std::string numa_nodes(const cpu_set_t& processors) {
  std::string text;
  for (int node = 0; node < 1024; ++node) {
    const std::string folder = "/sys/devices/system/node/node" + std::to_string(node);
    if (!std::filesystem::exists(folder)) continue;
    bool used = false;
    for (int cpu = 0; cpu < CPU_SETSIZE && !used; ++cpu) {
      used = CPU_ISSET(cpu, &processors) &&
             std::filesystem::exists(folder + "/cpu" + std::to_string(cpu));
    }
    if (used) text.append(text.empty() ? "" : ",").append(std::to_string(node));
  }
  return text.empty() ? "unknown" : text;
}

/// Where a rank runs.
struct Place {
  char host[64];
  char processors[256];
  char nodes[64];
  int process;
};

Place this_place() {
  Place place{};
  gethostname(place.host, sizeof(place.host) - 1);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  std::snprintf(place.processors, sizeof(place.processors), "%s", allowed_processors().c_str());
  std::snprintf(place.nodes, sizeof(place.nodes), "%s", numa_nodes(allowed).c_str());
  place.process = getpid();
  return place;
}

void print_software() {
  std::printf("KokkosIris %s\n", KOKKOSIRIS_VERSION_STRING);
  std::printf("  Kokkos          %d.%d.%d, default execution space %s", KOKKOS_VERSION / 10000,
              KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100,
              Kokkos::DefaultExecutionSpace::name());
  if (Kokkos::is_initialized()) {
    const Kokkos::DefaultExecutionSpace exec;
    std::printf(", concurrency %d", static_cast<int>(exec.concurrency()));
  }
  std::printf("\n");
  std::printf("  backends        ");
#ifdef KOKKOS_ENABLE_SERIAL
  std::printf("Serial ");
#endif
#ifdef KOKKOS_ENABLE_OPENMP
  std::printf("OpenMP ");
#endif
#ifdef KOKKOS_ENABLE_THREADS
  std::printf("Threads ");
#endif
#ifdef KOKKOSIRIS_IMPL_HAS_GPU
  std::printf("%s ", KokkosIris::Impl::GpuExecutionSpace::name());
#endif
  std::printf("\n");
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(library, &length);
  std::printf("  MPI             %.*s\n", static_cast<int>(std::strcspn(library, ",\n")), library);
#ifdef KOKKOSIRIS_ENABLE_FUSED
  std::printf("  fused           yes; instruction sets of the packed engine here:");
  using namespace KokkosIris::Impl;
  for (const auto* engine : packed_gemm_variants(ElementKind::bf16))
    std::printf(" %s", engine->name);
  std::printf("\n");
#endif
}

void print_environment() {
  std::printf("\nenvironment variables\n");
  for (const auto& variable : KokkosIris::environment_variables()) {
    const auto value = KokkosIris::Impl::environment(variable.name);
    std::printf("  %-24s %-10s %s (default %s)\n", variable.name, value ? value->c_str() : "unset",
                variable.meaning, variable.default_value);
  }
}

void print_ranks(const std::vector<Place>& places) {
  std::printf("\nranks: %zu\n", places.size());
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const Place& place = places[rank];
    std::printf("  rank %-3zu host %s  process %d  processors %s  NUMA nodes %s\n", rank,
                place.host, place.process, place.processors, place.nodes);
  }
}

/// Copies on the host with the host's copy, in memory of a GPU with the runtime's.
template <class To, class From>
void copy_once(const To& to, const From& from) {
  if constexpr (KokkosIris::Impl::is_gpu_space_v<typename To::memory_space>) {
    const typename To::execution_space exec;
    Kokkos::deep_copy(exec, to, from);
    exec.fence("KokkosIris::info");
  } else {
    std::memcpy(to.data(), from.data(), to.span());
  }
}

/// Bytes a second that this rank copies into the neighbour's heap, or out of it.
template <class Context>
double copy_rate(Context& context, bool to_peer, std::size_t bytes, double seconds) {
  const auto mine = context.template full<char*>("KokkosIris::info", 1, bytes);
  const auto theirs = mine.peer((context.rank() + 1) % context.size());
  const auto own = context.template full<char*>("KokkosIris::info", 2, bytes);
  const auto start = std::chrono::steady_clock::now();
  double elapsed = 0.0;
  double copied = 0.0;
  while (elapsed < seconds) {
    if (to_peer) {
      copy_once(theirs, own.view());
    } else {
      copy_once(own.view(), theirs);
    }
    copied += static_cast<double>(bytes);
    elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  context.barrier();
  return copied / elapsed;
}

template <class Context>
void probe(Context& context, std::size_t bytes, double seconds) {
  const double written = copy_rate(context, true, bytes, seconds / 2);
  const double read = copy_rate(context, false, bytes, seconds / 2);
  const auto all_written = context.runtime().agree("info", written);
  const auto all_read = context.runtime().agree("info", read);
  if (context.rank() != 0) return;
  std::printf("copy between neighbours, all ranks at once, %zu MiB blocks\n", bytes >> 20);
  for (std::size_t rank = 0; rank < all_read.size(); ++rank) {
    std::printf("  rank %zu, peer %zu:  write %6.2f GB/s  read %6.2f GB/s\n", rank,
                (rank + 1) % all_read.size(), all_written[rank] / 1e9, all_read[rank] / 1e9);
  }
}

struct Line {
  char text[512];
};

/// The memory of each rank's heap, then how fast the ranks reach each other.
template <class MemorySpace>
void show_heap(std::size_t block, double seconds) {
  KokkosIris::Context<MemorySpace> context(MPI_COMM_WORLD, {.heap_size = 4 * block});
  Line mine{};
  std::snprintf(mine.text, sizeof(mine.text), "%s", context.state().memory_description().c_str());
  const auto all = context.runtime().agree("info", mine);
  if (context.rank() == 0) {
    std::printf("\nheap: %s\n", MemorySpace::name());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      std::printf("  rank %-3zu %s\n", rank, all[rank].text);
    }
  }
  probe(context, block, seconds);
}

/// The GPUs that rank 0 sees; others may see fewer, or in another order.
void print_gpus(int rank) {
  if constexpr (KokkosIris::Impl::has_gpu_v) {
    if (rank != 0) return;
    std::printf("\nGPUs that rank 0 sees\n");
    for (const auto& line : KokkosIris::Impl::describe_gpus(rank)) {
      std::printf("  %s\n", line.c_str());
    }
  }
}

void run() {
  int rank = 0;
  {
    HostContext context(MPI_COMM_WORLD, {.heap_size = std::size_t(1) << 20});
    rank = context.rank();
    const auto places = context.runtime().agree("info", this_place());
    if (rank == 0) {
      print_software();
      print_environment();
      print_ranks(places);
    }
  }
  print_gpus(rank);
  show_heap<Kokkos::HostSpace>(std::size_t(4) << 20, 1.0);
  if constexpr (KokkosIris::Impl::has_gpu_v) {
    show_heap<KokkosIris::Impl::GpuMemorySpace>(std::size_t(64) << 20, 1.0);
  }
}

/// False in a build for GPUs where there is none, which Kokkos does not survive.
bool can_run_kokkos() {
  if constexpr (KokkosIris::Impl::has_gpu_v) return KokkosIris::Impl::visible_gpus() > 0;
  return true;
}

/// What can be said without Kokkos.
void run_without_gpu(int rank) {
  if (rank != 0) return;
  print_software();
  print_environment();
  std::printf(
      "\nno GPU is present (or no driver): this build is for GPUs, so nothing else can be run\n");
}

}  // namespace

int main(int argc, char* argv[]) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string option = argc > 1 ? argv[1] : "";
  int status = 0;
  if (option == "--help" || option == "-h") {
    if (rank == 0) std::printf("%s", usage);
  } else if (option == "--version") {
    if (rank == 0) std::printf("kokkosiris_info %s\n", KOKKOSIRIS_VERSION_STRING);
  } else if (!option.empty() && option.rfind("--kokkos", 0) != 0) {
    if (rank == 0) std::fprintf(stderr, "unknown option %s\n%s", option.c_str(), usage);
    status = 2;
  } else if (!can_run_kokkos()) {
    run_without_gpu(rank);
  } else {
    const Kokkos::ScopeGuard guard(argc, argv);
    try {
      run();
    } catch (const KokkosIris::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      status = 1;
    }
  }
  MPI_Finalize();
  return status;
}
