// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Copies by the copy engine that rank 0's host asks for, while rank 1 waits.

#include <GpuBench.hpp>
#include <rma/KokkosIris_CopyEngineHostPut.hpp>
#include <rma/KokkosIris_Quiet.hpp>

namespace Bench {
namespace {

using Role = Entrant::Role;

/// One direction and size.
struct HostCopy {
  GpuBench& bench;
  bool is_put;
  std::size_t words;
  int batch;  ///< copies before the caller waits for them

  std::size_t bytes() const { return words * sizeof(std::uint64_t); }

  void submit() const {
    const int peer = bench.peer();
    if (is_put) {
      put(bench.exec(), bench.context(), bench.there(words), bench.here(words), peer,
          KokkosIris::copy_engine);
    } else {
      get(bench.exec(), bench.context(), bench.here(words), bench.there(words), peer,
          KokkosIris::copy_engine);
    }
  }
  double ours() const {
    return timed([&] {
             for (int i = 0; i < batch; ++i) submit();
             quiet(bench.exec(), bench.context(), bench.peer());
           }) /
           batch;
  }

  void submit_raw() const {
    auto* const here = bench.here(words).data();
    auto* const there = bench.there_at_peer();
    const cudaError_t status =
        is_put ? cudaMemcpyPeerAsync(there, bench.peer_ordinal(), here, bench.own_ordinal(),
                                     bytes(), bench.stream())
               : cudaMemcpyPeerAsync(here, bench.own_ordinal(), there, bench.peer_ordinal(),
                                     bytes(), bench.stream());
    check_cuda(status, "cudaMemcpyPeerAsync");
  }
  double raw() const {
    return timed([&] {
             for (int i = 0; i < batch; ++i) submit_raw();
             check_cuda(cudaStreamSynchronize(bench.stream()), "cudaStreamSynchronize");
           }) /
           batch;
  }
};

void measure(const HostCopy& copy, double target) {
  copy.bench.require_copy(
      copy.is_put, copy.words, 3 * copy.words + (copy.is_put ? 1 : 2), [&copy] { copy.ours(); },
      "gpu: a copy by the copy engine is wrong");
  Record common = GpuBench::record(copy.is_put ? "put" : "get", "uint64", copy.bytes());
  const std::string form = copy.batch == 1 ? "engine-host" : "engine-host-batch";
  std::vector<Entrant> entrants;
  entrants.push_back({Role::ours, form, copy.bench.on_rank_0([&copy] { return copy.ours(); }),
                      Target::speedup(target)});
  entrants.push_back({Role::reference, "cudaMemcpyPeerAsync",
                      copy.bench.on_rank_0([&copy] { return copy.raw(); })});
  copy.bench.session().measure(common, entrants);
}

}  // namespace

void add_gpu_host_copies(GpuCells& cells) {
  struct Size {
    const char* name;
    std::size_t bytes;
    int batch;
    double target;
  };
  constexpr Size sizes[] = {{"1MiB", std::size_t(1) << 20, 1, 0.95},
                            {"1MiBx32", std::size_t(1) << 20, 32, 0.95},
                            {"1GiB", std::size_t(1) << 30, 1, 0.98}};
  for (const Size& size : sizes) {
    for (const bool is_put : {true, false}) {
      cells.push_back(
          {std::string("gpu/engine_") + (is_put ? "put/" : "get/") + size.name,
           [size, is_put](GpuBench& bench) {
             measure({bench, is_put, size.bytes / sizeof(std::uint64_t), size.batch}, size.target);
           }});
    }
  }
}

}  // namespace Bench
