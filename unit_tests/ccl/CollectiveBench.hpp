// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Calls of collective operations on operands anywhere in two arrays, and what they must leave.

#ifndef KOKKOSIRIS_TEST_COLLECTIVE_BENCH_HPP
#define KOKKOSIRIS_TEST_COLLECTIVE_BENCH_HPP

#include <DeviceTesting.hpp>
#include <ccl/KokkosIris_Collectives.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace Test {

using KokkosIris::CollectiveConfig;
using KokkosIris::CollectiveForm;
using KokkosIris::CollectiveOptions;
using KokkosIris::CollectiveWorkspace;
using Operation = KokkosIris::Impl::CollectiveOperation;

inline constexpr Operation all_operations[] = {Operation::all_gather, Operation::reduce_scatter,
                                               Operation::all_reduce};
inline constexpr CollectiveForm both_forms[] = {CollectiveForm::packets, CollectiveForm::direct};

/// Relative error of one rounding to T, and in sums of T.
template <class T>
constexpr double unit_of() {
  if constexpr (std::is_same_v<T, KokkosIris::half_t>) return 0x1p-11;
  if constexpr (std::is_same_v<T, KokkosIris::bhalf_t>) return 0x1p-8;
  return std::is_same_v<T, float> ? 0x1p-24 : 0x1p-53;
}
template <class T>
constexpr double sum_unit_of() {
  return std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24;
}

/// A call. Offsets are elements in front of the operand.
struct Call {
  Operation operation = Operation::all_reduce;
  std::int64_t block = 0;  ///< elements of a block; for all_reduce of everything
  std::int64_t source_offset = 0, destination_offset = 0;
  bool in_place = false;
  std::uint64_t seed = 0;

  std::int64_t source_count(int ranks) const {
    return operation == Operation::reduce_scatter ? block * ranks : block;
  }
  std::int64_t destination_count(int ranks) const {
    return operation == Operation::all_gather ? block * ranks : block;
  }
  std::string text() const {
    return std::string(KokkosIris::Impl::to_string(operation)) + " of " + std::to_string(block) +
           (in_place ? ", in place" : "") + ", offsets " + std::to_string(source_offset) + " " +
           std::to_string(destination_offset);
  }
};

/// Element i of rank `rank`'s source.
template <class T>
T source_value(int rank, std::uint64_t seed, std::int64_t i) {
  return random_value<T>(stream(rank, static_cast<int>(seed)), static_cast<std::uint64_t>(i));
}

/// True if `result` is the sum over ranks of element i of the sources. It is formed in the order of
/// ranks: W - 1 additions, each of which errs by at most u times the sum of magnitudes, and a last
/// rounding to T.
template <class T>
bool is_sum(T result, int ranks, std::uint64_t seed, std::int64_t i) {
  if constexpr (!KokkosIris::Impl::is_summable_v<T>) {
    return false;
  } else if constexpr (std::is_integral_v<T>) {
    std::uint64_t sum = 0;
    for (int q = 0; q < ranks; ++q) sum += static_cast<std::uint64_t>(source_value<T>(q, seed, i));
    return result == static_cast<T>(sum);
  } else {
    double sum = 0.0, magnitude = 0.0;
    for (int q = 0; q < ranks; ++q) {
      const double value = static_cast<double>(source_value<T>(q, seed, i));
      sum += value;
      magnitude += std::fabs(value);
    }
    // Of second order: the last rounding is of a sum with errors, the oracle has errors of its own.
    const double sums = (ranks - 1) * (sum_unit_of<T>() + 0x1p-53) * magnitude;
    const double rounding = sizeof(T) == 2 ? unit_of<T>() * (std::fabs(sum) + sums) : 0.0;
    // Half of the smallest number, for subnormal sums of half_t.
    const double smallest = sizeof(T) == 2 ? 0x1p-25 : 0.0;
    return std::fabs(static_cast<double>(result) - sum) <= 1.001 * (sums + rounding) + smallest;
  }
}

template <class ExecutionSpace>
class CollectiveBench : public testing::Test {
 public:
  using MemorySpace = typename ExecutionSpace::memory_space;
  using Context = KokkosIris::Context<MemorySpace>;
  template <class T>
  using Vector =
      Kokkos::View<T*, Kokkos::LayoutRight, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  template <class T>
  using HostVector = std::vector<T>;

  static constexpr std::int64_t arena_bytes = std::int64_t(12) << 20;
  static constexpr std::int64_t margin = 32;  ///< elements around operands that nobody touches

  explicit CollectiveBench(KokkosIris::ContextOptions options = {})
      : context(make_context<ExecutionSpace>(options)),
        m_source(context.template empty<char*>("source", arena_bytes)),
        m_destination(context.template empty<char*>("destination", arena_bytes)) {}

  bool on_gpu() const { return KokkosIris::Impl::is_gpu_space_v<ExecutionSpace>; }

  template <class T>
  Vector<T> source(const Call& call) const {
    char* const arena = call.in_place ? m_destination.data() : m_source.data();
    std::int64_t offset = margin + call.source_offset;
    if (call.in_place) {
      offset = margin + call.destination_offset;
      if (call.operation == Operation::all_gather) offset += rank * call.block;
    }
    return Vector<T>(reinterpret_cast<T*>(arena) + offset,
                     static_cast<std::size_t>(call.source_count(ranks)));
  }
  template <class T>
  Vector<T> destination(const Call& call) const {
    std::int64_t offset = margin + call.destination_offset;
    if (call.in_place && call.operation == Operation::reduce_scatter) offset += rank * call.block;
    return Vector<T>(reinterpret_cast<T*>(m_destination.data()) + offset,
                     static_cast<std::size_t>(call.destination_count(ranks)));
  }

  /// Gives the source of this rank its values, and everything around the operands, and the
  /// destination, NaN or what stands for it.
  template <class T>
  void prepare(const Call& call) const {
    const Vector<T> from = source<T>(call), to = destination<T>(call);
    poison_around(to);
    if (!call.in_place) poison_around(from);
    if (call.in_place && call.operation == Operation::reduce_scatter) poison_around(from);
    HostVector<T> values(from.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = source_value<T>(rank, call.seed, static_cast<std::int64_t>(i));
    }
    copy(from.data(), values);
    exec.fence("test");
  }

  template <class T>
  CollectiveWorkspace launch(const Call& call, const CollectiveOptions& options) {
    return launch_on<T>(exec, call, options);
  }
  template <class T>
  CollectiveWorkspace launch_on(const ExecutionSpace& instance, const Call& call,
                                const CollectiveOptions& options) {
    const Vector<T> from = source<T>(call), to = destination<T>(call);
    if constexpr (KokkosIris::Impl::is_summable_v<T>) {
      if (call.operation == Operation::reduce_scatter) {
        return reduce_scatter(instance, context, to, from, options);
      }
      if (call.operation == Operation::all_reduce) {
        return all_reduce(instance, context, to, from, options);
      }
    }
    return all_gather(instance, context, to, from, options);
  }

  /// Looks at the destination and around it. Collective for sums, which are compared.
  template <class T>
  void check(const Call& call) const {
    const HostVector<T> result = check_alone<T>(call);
    if (call.operation == Operation::all_reduce) expect_same_everywhere(call, result);
  }
  /// As above, and meets no other rank.
  template <class T>
  HostVector<T> check_alone(const Call& call) const {
    // Of all instances: the call may have been on another one.
    Kokkos::fence("test");
    const Vector<T> to = destination<T>(call);
    const HostVector<T> result = fetch_with_margin(to);
    std::int64_t wrong = 0, touched = 0;
    const auto count = static_cast<std::int64_t>(to.size());
    for (std::int64_t i = 0; i < count; ++i) {
      if (!is_right(call, i, result[static_cast<std::size_t>(margin + i)])) ++wrong;
    }
    const bool whole = !(call.in_place && call.operation == Operation::reduce_scatter);
    for (std::int64_t i = 0; whole && i < margin; ++i) {
      if (!same_bits(result[static_cast<std::size_t>(i)], poison<T>())) ++touched;
      if (!same_bits(result[static_cast<std::size_t>(margin + count + i)], poison<T>())) ++touched;
    }
    EXPECT_EQ(wrong, 0) << call.text() << " on rank " << rank;
    EXPECT_EQ(touched, 0) << "around dst, " << call.text() << " on rank " << rank;
    return result;
  }

  template <class T>
  CollectiveWorkspace run(const Call& call, const CollectiveOptions& options = {}) {
    prepare<T>(call);
    CollectiveWorkspace workspace = launch<T>(call, options);
    check<T>(call);
    return workspace;
  }

  void barrier() { context.barrier(); }

  Context context;
  const int rank = context.rank();
  const int ranks = context.size();
  ExecutionSpace exec;

 private:
  template <class T>
  bool is_right(const Call& call, std::int64_t i, T value) const {
    if (call.operation == Operation::all_gather) {
      const auto sender = static_cast<int>(i / call.block);
      return same_bits(value, source_value<T>(sender, call.seed, i % call.block));
    }
    const std::int64_t at = call.operation == Operation::reduce_scatter ? rank * call.block + i : i;
    return is_sum(value, ranks, call.seed, at);
  }

  template <class T>
  void copy(T* to, const HostVector<T>& values) const {
    if (values.empty()) return;
    using Host = Kokkos::View<const T*, Kokkos::LayoutRight, Kokkos::HostSpace,
                              Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    Kokkos::deep_copy(exec, Vector<T>(to, values.size()), Host(values.data(), values.size()));
    exec.fence("test");
  }
  template <class T>
  void poison_around(const Vector<T>& operand) const {
    copy(operand.data() - margin, HostVector<T>(operand.size() + 2 * margin, poison<T>()));
  }
  template <class T>
  HostVector<T> fetch_with_margin(const Vector<T>& operand) const {
    HostVector<T> values(operand.size() + 2 * margin);
    using Host = Kokkos::View<T*, Kokkos::LayoutRight, Kokkos::HostSpace,
                              Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    Kokkos::deep_copy(exec, Host(values.data(), values.size()),
                      Vector<T>(operand.data() - margin, values.size()));
    exec.fence("test");
    return values;
  }
  /// Sums have the same bits on all ranks.
  template <class T>
  void expect_same_everywhere(const Call& call, const HostVector<T>& result) const {
    std::uint64_t hash = 0xcbf29ce484222325ull;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(result.data());
    for (std::size_t i = 0; i < result.size() * sizeof(T); ++i) {
      hash = (hash ^ bytes[i]) * 0x100000001b3ull;
    }
    std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks));
    MPI_Allgather(&hash, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (const std::uint64_t theirs : all) EXPECT_EQ(theirs, hash) << call.text();
  }

  typename Context::template view_type<char*> m_source, m_destination;
};

}  // namespace Test

#endif
