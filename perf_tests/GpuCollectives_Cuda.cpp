// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The collective operations on two GPUs beside NCCL.
//
// Measured as the fused operations are (GpuFusedBench.hpp): ours, with a workspace of an earlier
// call and `async_op`, and NCCL take turns on one stream of the rank, and begin on both GPUs at the
// same time. Cells are named gpu/ccl/<operation>/<type>/<bytes>; the bytes are those of the larger
// operand: of the result of all_gather, of the source of reduce_scatter. Data are random in all
// bits of the numbers; results are compared with NCCL's before the times are taken: sums of two
// numbers are the same, bit by bit.

#include <GpuAlignedClock.hpp>
#include <GpuBench.hpp>
#include <GpuFusedNccl.hpp>
#include <ccl/KokkosIris_Collectives.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <type_traits>

namespace Bench {
namespace {

enum class Op { all_gather, reduce_scatter, all_reduce };
constexpr const char* names[] = {"all_gather", "reduce_scatter", "all_reduce"};

constexpr std::size_t most_bytes = std::size_t(256) << 20;
/// A link's bytes a microsecond, and what is added for launch and meeting.
constexpr double link_bytes_per_us = 370e3, latency_us = 6.0;

template <class T>
struct FillNumbers {
  T* m_data;
  std::uint64_t m_seed;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    const std::uint64_t bits = KokkosIris::Impl::RandomBits::mix(m_seed + i);
    m_data[i] = T(float(int(bits >> 40) - (1 << 23)) * 0x1p-23f);
  }
};
struct CountDifferent {
  const std::uint32_t* m_ours;
  const std::uint32_t* m_theirs;
  KOKKOS_FUNCTION void operator()(std::size_t i, std::size_t& different) const {
    if (m_ours[i] != m_theirs[i]) ++different;
  }
};
using Range = Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::size_t>>;

/// What the cells share.
struct Ccl {
  using Context = KokkosIris::Context<Kokkos::CudaSpace>;
  using Bytes = Kokkos::View<char*, Kokkos::CudaSpace>;

  explicit Ccl(Session& session_of_all)
      : session(session_of_all),
        context(MPI_COMM_WORLD, {.heap_size = 2 * most_bytes + (std::size_t(64) << 20)}),
        exec(Kokkos::Experimental::partition_space(Kokkos::Cuda(), 1)[0]),
        clock(context.device(), exec.cuda_stream()),
        nccl(Nccl::open()),
        source(context.empty<char*>("source", most_bytes)),
        result(context.empty<char*>("result", most_bytes)),
        theirs(Kokkos::view_alloc(std::string("theirs"), Kokkos::WithoutInitializing), most_bytes) {
    if (nccl) session.add_version("NCCL", nccl->version());
    if (!nccl && session.rank() == 0) std::printf("NCCL: not found\n");
  }

  Session& session;
  Context context;
  Kokkos::Cuda exec;
  GpuAlignedClock clock;
  std::unique_ptr<Nccl> nccl;
  Context::view_type<char*> source, result;
  Bytes theirs;
};

/// One operation of one size.
template <class T>
class Cell {
 public:
  Cell(Ccl& ccl, Op op, std::size_t bytes, std::string name)
      : m_ccl(ccl), m_op(op), m_bytes(bytes), m_count(bytes / sizeof(T)), m_name(std::move(name)) {
    if (op != Op::all_reduce) m_block = m_count / std::size_t(ccl.session.size());
    if (op == Op::all_reduce) m_block = m_count;
  }

  void measure() {
    verify();
    using Role = Entrant::Role;
    std::vector<Entrant> entrants;
    const Target target = m_bytes >= (std::size_t(1) << 20)    ? Target::ratio(1.05)
                          : m_bytes <= (std::size_t(64) << 10) ? Target::microseconds(8.0)
                                                               : Target{};
    entrants.push_back({Role::ours, m_workspace.form(), timed([this] { ours(true); }), target});
    if (m_ccl.nccl) entrants.push_back({Role::reference, "NCCL", timed([this] { nccl(); })});
    Record common;
    common.op = names[static_cast<int>(m_op)];
    common.backend = Kokkos::Cuda::name();
    common.type = to_string(element);
    common.ranks = m_ccl.session.size();
    common.bytes = std::int64_t(m_bytes);
    m_ccl.session.measure(common, entrants, [&](const std::vector<double>&) {
      const double sent = double(m_op == Op::all_reduce ? m_bytes : m_bytes / 2);
      return sent / link_bytes_per_us + latency_us;
    });
    m_ccl.exec.fence("cell");
    m_ccl.clock.require_success(m_name);
  }

 private:
  static constexpr Element element =
      std::is_same_v<T, float> ? Element::float32 : Element::bfloat16;
  using Vector = Kokkos::View<T*, Kokkos::LayoutRight, Kokkos::CudaSpace,
                              Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  std::size_t source_count() const { return m_op == Op::all_gather ? m_block : m_count; }
  std::size_t result_count() const { return m_op == Op::reduce_scatter ? m_block : m_count; }

  void ours(bool is_async) {
    const KokkosIris::CollectiveOptions options = {.async_op = is_async, .workspace = m_workspace};
    const Vector from(reinterpret_cast<T*>(m_ccl.source.data()), source_count());
    const Vector to(reinterpret_cast<T*>(m_ccl.result.data()), result_count());
    if (m_op == Op::all_gather) {
      m_workspace = all_gather(m_ccl.exec, m_ccl.context, to, from, options);
    } else if (m_op == Op::reduce_scatter) {
      m_workspace = reduce_scatter(m_ccl.exec, m_ccl.context, to, from, options);
    } else {
      m_workspace = all_reduce(m_ccl.exec, m_ccl.context, to, from, options);
    }
  }
  void nccl() const {
    const void* const from = m_ccl.source.data();
    void* const to = m_ccl.theirs.data();
    const cudaStream_t stream = m_ccl.exec.cuda_stream();
    if (m_op == Op::all_gather) {
      m_ccl.nccl->all_gather(from, to, m_block, element, stream);
    } else if (m_op == Op::reduce_scatter) {
      m_ccl.nccl->reduce_scatter(from, to, m_block, element, stream);
    } else {
      m_ccl.nccl->all_reduce(from, to, m_count, element, stream);
    }
  }
  std::function<double()> timed(std::function<void()> enqueue) const {
    return [this, enqueue] { return m_ccl.clock.time(enqueue); };
  }

  /// The first call prepares the workspace; the second is the one that will be measured, into
  /// memory full of NaN.
  void verify() {
    T* const data = reinterpret_cast<T*>(m_ccl.source.data());
    const std::uint64_t seed = std::uint64_t(m_ccl.session.rank() + 1) << 40;
    Kokkos::parallel_for("fill", Range(m_ccl.exec, 0, source_count()), FillNumbers<T>{data, seed});
    ours(false);
    const std::size_t bytes = result_count() * sizeof(T);
    check_cuda(cudaMemsetAsync(m_ccl.result.data(), 0xff, bytes, m_ccl.exec.cuda_stream()),
               "cudaMemsetAsync");
    ours(true);
    m_ccl.exec.fence("ours");
    if (!m_ccl.nccl) return;
    nccl();
    std::size_t different = 0;
    Kokkos::parallel_reduce(
        "compare", Range(m_ccl.exec, 0, bytes / 4),
        CountDifferent{reinterpret_cast<const std::uint32_t*>(m_ccl.result.data()),
                       reinterpret_cast<const std::uint32_t*>(m_ccl.theirs.data())},
        different);
    require_everywhere(different == 0, m_name + ": " + std::to_string(different) +
                                           " words differ from those of NCCL");
  }

  Ccl& m_ccl;
  Op m_op;
  std::size_t m_bytes, m_count, m_block = 0;
  std::string m_name;
  KokkosIris::CollectiveWorkspace m_workspace;
};

template <class T>
void measure_all(Session& session, const std::function<Ccl&()>& ccl) {
  const char* const type = std::is_same_v<T, float> ? "float" : "bfloat16";
  const std::size_t last = session.options().quick ? std::size_t(1) << 20 : most_bytes;
  for (const Op op : {Op::all_gather, Op::reduce_scatter, Op::all_reduce}) {
    for (std::size_t bytes = 4096; bytes <= last; bytes *= session.options().quick ? 16 : 4) {
      const std::string name = std::string("gpu/ccl/") + names[static_cast<int>(op)] + "/" + type +
                               "/" + std::to_string(bytes);
      if (session.wants(name)) Cell<T>(ccl(), op, bytes, name).measure();
    }
  }
}

void run(Session& session) {
  if (!has_two_gpus(session)) return;
  std::optional<Ccl> ccl;
  const auto maker = [&]() -> Ccl& {
    if (!ccl) ccl.emplace(session);
    return *ccl;
  };
  measure_all<KokkosIris::bhalf_t>(session, maker);
  measure_all<float>(session, maker);
}

const Suite suite(47, &run);

}  // namespace
}  // namespace Bench
