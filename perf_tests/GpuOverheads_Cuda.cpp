// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What is to cost nothing: the host's part of a one-sided call beside a kernel that does nothing,
// and the translation of addresses in a kernel that streams a peer's matrix.

#include <GpuBench.hpp>

namespace Bench {
namespace {

using Role = Entrant::Role;
using Policy = Kokkos::TeamPolicy<Kokkos::Cuda>;

struct Nothing {
  KOKKOS_FUNCTION void operator()(std::size_t) const {}
};

void measure_launch(GpuBench& bench) {
  // Fewer than the queue of a stream holds, so that the host never waits.
  constexpr int batch = 200;
  constexpr std::size_t words = 1024;
  const auto there = bench.there(words);
  const auto here = bench.here(words);
  // Only the calls are timed, not the kernels.
  const auto entrant = [&bench](auto call) {
    return bench.on_rank_0([&bench, call] {
      const double us = timed([&] {
        for (int i = 0; i < batch; ++i) call();
      });
      bench.exec().fence("launches");
      return us / batch;
    });
  };
  std::vector<Entrant> entrants;
  entrants.push_back({Role::ours, "host", entrant([&bench, there, here] {
                        put(bench.exec(), bench.context(), there, here, bench.peer());
                      }),
                      Target::ratio(1.1)});
  entrants.push_back({Role::reference, "empty parallel_for", entrant([&bench] {
                        Kokkos::parallel_for(
                            "empty",
                            Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::size_t>>(
                                bench.exec(), 0, words),
                            Nothing{});
                      })});
  bench.session().measure(GpuBench::record("launch", "uint64", words * sizeof(std::uint64_t)),
                          entrants);
}

constexpr int rows = 4096, columns = 2048, launches = 10;  // 64 MiB
using Matrix = GpuBench::Context::view_type<double**, Kokkos::LayoutLeft>;
using Local = Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::CudaSpace>;

/// The peer's matrix as an application writes it.
struct ThroughView {
  Matrix m_matrix;
  int m_peer;
  KOKKOS_FORCEINLINE_FUNCTION double& operator()(int i, int j) const {
    return m_matrix.peer(m_peer)(i, j);
  }
};
struct ThroughPointer {
  double* m_data;
  KOKKOS_FORCEINLINE_FUNCTION double& operator()(int i, int j) const {
    return m_data[i + std::size_t(j) * rows];
  }
};

/// A team a column.
template <class Remote, bool IsWrite>
struct Stream {
  Remote m_remote;
  Local m_local;
  KOKKOS_FUNCTION void operator()(const Policy::member_type& team) const {
    const int j = team.league_rank();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, rows), [&](int i) {
      if constexpr (IsWrite) {
        m_remote(i, j) = 2.0 * m_local(i, j);
      } else {
        m_local(i, j) = 2.0 * m_remote(i, j);
      }
    });
  }
};

template <bool IsWrite>
void measure_stream(GpuBench& bench, const char* op) {
  const Matrix matrix = bench.context().ones<double**, Kokkos::LayoutLeft>("matrix", rows, columns);
  const Local local("local", rows, columns);
  const auto entrant = [&](auto remote) {
    const Stream<decltype(remote), IsWrite> kernel{remote, local};
    return bench.on_rank_0([&bench, kernel] {
      return bench.stream_time(launches, [&] {
        Kokkos::parallel_for("stream", Policy(bench.exec(), columns, 256), kernel);
      });
    });
  };
  std::vector<Entrant> entrants;
  entrants.push_back({Role::ours, "peer(r)(i,j)", entrant(ThroughView{matrix, bench.peer()}),
                      Target::ratio(1.02)});
  entrants.push_back(
      {Role::reference, "raw pointer", entrant(ThroughPointer{matrix.peer(bench.peer()).data()})});
  bench.session().measure(
      GpuBench::record(op, "float64", sizeof(double) * std::size_t(rows) * columns), entrants);
}

}  // namespace

void add_gpu_overheads(GpuCells& cells) {
  cells.push_back({"gpu/launch", &measure_launch});
  cells.push_back(
      {"gpu/stream_read", [](GpuBench& bench) { measure_stream<false>(bench, "stream_read"); }});
  cells.push_back(
      {"gpu/stream_write", [](GpuBench& bench) { measure_stream<true>(bench, "stream_write"); }});
}

}  // namespace Bench
