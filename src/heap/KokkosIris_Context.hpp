// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The context: a group of ranks with a symmetric heap, and the creation of views on it.

#ifndef KOKKOSIRIS_CONTEXT_HPP
#define KOKKOSIRIS_CONTEXT_HPP

#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <heap/KokkosIris_ContextState.hpp>
#include <heap/KokkosIris_Creation.hpp>
#include <heap/KokkosIris_SymmetricView.hpp>
#include <memory>
#include <string>
#include <utility>

namespace KokkosIris {

/// A group of ranks, one process each, whose kernels address each other's memory.
///
/// Construction is collective over the communicator and needs running MPI and Kokkos; MPI is not
/// used after it. Unless said otherwise the member functions are collective: all ranks call them,
/// in the same order, from one thread at a time. Errors of collective calls are raised on every
/// rank (Error), and the context stays usable unless a process is gone. Views may outlive the
/// context; they keep their memory.
///
/// \tparam MemorySpace where the heap lies: Kokkos::HostSpace for Serial, OpenMP and Threads,
///         Kokkos::CudaSpace or Kokkos::HIPSpace for a GPU (that of the default execution space
///         instance). Contexts of both kinds can be used side by side.
template <class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
class Context {
  static_assert(Impl::is_heap_space_v<MemorySpace>,
                "KokkosIris::Context supports Kokkos::HostSpace and, in builds with a GPU backend, "
                "Kokkos::CudaSpace or Kokkos::HIPSpace; give one of them as the template argument");

 public:
  using memory_space = MemorySpace;
  using execution_space = typename MemorySpace::execution_space;
  template <class DataType, class Layout = typename execution_space::array_layout>
  using view_type = SymmetricView<DataType, Layout, MemorySpace>;

  /// \param comm any communicator of processes on one node; it is not kept
  /// \throws Error on all ranks: (misuse) without running MPI or Kokkos, (invalid_argument) for
  ///         processes on several nodes or bad options, (mismatch) for options that differ,
  ///         (out_of_memory) if the heap cannot be mapped
  explicit Context(MPI_Comm comm, const ContextOptions& options = {}) {
    Impl::MpiBootstrap bootstrap(comm);
    construct(bootstrap, options);
  }
  /// As above over another means to meet than MPI; for tests and launchers of their own.
  Context(Impl::Bootstrap& bootstrap, const ContextOptions& options) {
    construct(bootstrap, options);
  }
  Context(Context&&) noexcept = default;
  Context& operator=(Context&& other) noexcept {
    std::swap(m_state, other.m_state);
    return *this;
  }
  /// Not collective. Submitted copies are finished; ranks that still wait for this one get an
  /// error.
  ~Context() {
    if (m_state) m_state->close();
  }

  int rank() const { return device().rank(); }
  int size() const { return device().size(); }
  /// Handle for kernels; valid as long as the context.
  /// \throws Error (misuse) if this Context was moved from, as all member functions
  const DeviceContext& device() const { return state().device(); }

  /// All ranks have come here, and everything that kernels and hosts of all ranks did before is
  /// visible to all. Fences all execution spaces of this process first.
  void barrier() {
    Kokkos::fence("KokkosIris::barrier");
    state().barrier("barrier");
  }
  /// As barrier(), but fences only the given instance.
  template <class ExecutionSpace>
  void barrier(const ExecutionSpace& exec) {
    exec.fence("KokkosIris::barrier");
    state().barrier("barrier");
  }

  /// Bytes of the heap in use (each block takes a multiple of 256), and altogether. Local; equal on
  /// all ranks after a collective call.
  std::size_t heap_used() const { return state().heap().used(); }
  std::size_t heap_capacity() const { return state().heap().capacity(); }

  /// \name Creation of symmetric views
  /// Collective; all ranks give the same extents. DataType is as in Kokkos::View (`double**`,
  /// `int*[3]`), with 0 to 8 extents; elements are trivially copyable. Contents are in place on all
  /// ranks when the call returns. Values run through memory in the order of the layout.
  /// \throws Error on all ranks: (mismatch) if sizes differ, naming them; (out_of_memory)
  ///@{

  /// Contents are unspecified.
  template <class DataType, class Layout = typename execution_space::array_layout, class... Extents>
  view_type<DataType, Layout> empty(const std::string& label, Extents... extents) {
    return Impl::create<view_type<DataType, Layout>>(
        shared_state(), "empty", label, Impl::make_layout<view_type<DataType, Layout>>(extents...));
  }

  /// All elements have the value `value`.
  template <class DataType, class Layout = typename execution_space::array_layout, class Value,
            class... Extents>
  view_type<DataType, Layout> full(const std::string& label, const Value& value,
                                   Extents... extents) {
    using T = typename view_type<DataType, Layout>::value_type;
    return filled<DataType, Layout>("full", label, Impl::ConstantValues<T>{static_cast<T>(value)},
                                    extents...);
  }
  template <class DataType, class Layout = typename execution_space::array_layout, class... Extents>
  view_type<DataType, Layout> zeros(const std::string& label, Extents... extents) {
    using T = typename view_type<DataType, Layout>::value_type;
    return filled<DataType, Layout>("zeros", label, Impl::ConstantValues<T>{T{}}, extents...);
  }
  template <class DataType, class Layout = typename execution_space::array_layout, class... Extents>
  view_type<DataType, Layout> ones(const std::string& label, Extents... extents) {
    using T = typename view_type<DataType, Layout>::value_type;
    return filled<DataType, Layout>("ones", label, Impl::ConstantValues<T>{static_cast<T>(1)},
                                    extents...);
  }
  /// Zeros with extents and layout of another view.
  template <class DataType, class... Properties>
  auto zeros_like(const std::string& label, const Kokkos::View<DataType, Properties...>& like) {
    using Source = Kokkos::View<DataType, Properties...>;
    using Result = Impl::symmetric_counterpart<Source, MemorySpace>;
    using T = typename Result::value_type;
    auto view = Impl::create<Result>(shared_state(), "zeros_like", label,
                                     Impl::counterpart_layout<Result>(like));
    finish("zeros_like", view, Impl::ConstantValues<T>{T{}});
    return view;
  }
  /// A symmetric copy of a local view, whatever memory it is in. A strided view becomes
  /// LayoutRight. Runs on the default instances of the execution spaces of both memories: what
  /// other instances still write to `local` must be fenced before.
  template <class DataType, class... Properties>
  auto as_symmetric(const Kokkos::View<DataType, Properties...>& local) {
    using Source = Kokkos::View<DataType, Properties...>;
    using Result = Impl::symmetric_counterpart<Source, MemorySpace>;
    auto view = Impl::create<Result>(shared_state(), "as_symmetric", local.label(),
                                     Impl::counterpart_layout<Result>(local));
    Impl::copy_in(view, local);
    state().barrier("as_symmetric");
    return view;
  }
  /// Local, not collective: true if all elements of the view lie in this rank's heap.
  template <class DataType, class... Properties>
  bool is_symmetric(const Kokkos::View<DataType, Properties...>& view) const {
    return KokkosIris::is_symmetric(device(), view);
  }

  /// start, start + step, ... up to but without `end`; rank 1.
  /// \throws Error (invalid_argument) if step is 0 or points away from `end`
  template <class DataType, class T = std::remove_pointer_t<DataType>>
  view_type<DataType> arange(const std::string& label, std::type_identity_t<T> start,
                             std::type_identity_t<T> end, std::type_identity_t<T> step = T(1)) {
    static_assert(std::is_integral_v<T> || Impl::is_real_v<T>,
                  "arange needs an integer or floating-point element type: arange<float*>(...)");
    using Step = Impl::sequence_type<T>;
    using Exact = std::conditional_t<std::is_integral_v<T>, T, double>;
    const std::size_t n = Impl::arange_count(runtime(), Exact(start), Exact(end), Exact(step));
    return filled<DataType, typename execution_space::array_layout>(
        "arange", label, Impl::SequenceValues<T, Step>{Step(start), Step(step)}, n);
  }
  /// `steps` values from `start` to `end`, both included; rank 1. One step gives `start`.
  template <class DataType, class T = std::remove_pointer_t<DataType>>
  view_type<DataType> linspace(const std::string& label, double start, double end,
                               std::size_t steps) {
    static_assert(!std::is_integral_v<T>, "linspace needs a floating-point element type");
    return filled<DataType, typename execution_space::array_layout>(
        "linspace", label, Impl::LinspaceValues<T>{start, end, steps}, steps);
  }
  /// Uniform in [0, 1).
  template <class DataType, class Layout = typename execution_space::array_layout, class... Extents>
  view_type<DataType, Layout> rand(const std::string& label, Extents... extents) {
    return draw_uniform<DataType, Layout>("rand", label, 0.0, 1.0, extents...);
  }
  /// Uniform in [low, high); in a narrow element type `low` is rounded to it.
  /// \throws Error (invalid_argument) unless low < high, both finite
  template <class DataType, class Layout = typename execution_space::array_layout, class... Extents>
  view_type<DataType, Layout> uniform(const std::string& label, double low, double high,
                                      Extents... extents) {
    return draw_uniform<DataType, Layout>("uniform", label, low, high, extents...);
  }
  /// Normal with mean 0 and variance 1.
  template <class DataType, class Layout = typename execution_space::array_layout, class... Extents>
  view_type<DataType, Layout> randn(const std::string& label, Extents... extents) {
    using T = typename view_type<DataType, Layout>::value_type;
    static_assert(Impl::is_real_v<T>, "rand, uniform and randn need a floating-point element type");
    return filled<DataType, Layout>("randn", label, Impl::NormalValues<T>{random_bits()},
                                    extents...);
  }
  /// Integers uniform in [low, high).
  /// \throws Error (invalid_argument) if the interval is empty or the element type has not all of
  /// it
  template <class DataType, class Layout = typename execution_space::array_layout, class... Extents>
  view_type<DataType, Layout> randint(const std::string& label, std::int64_t low, std::int64_t high,
                                      Extents... extents) {
    using T = typename view_type<DataType, Layout>::value_type;
    static_assert(std::is_integral_v<T>, "randint needs an integer element type");
    const Impl::RandomBits bits = random_bits();
    const std::uint64_t count =
        Impl::randint_count(runtime(), low, high, Impl::interval_fits<T>(low, high));
    return filled<DataType, Layout>("randint", label, Impl::IntegerValues<T>{bits, low, count},
                                    extents...);
  }
  ///@}

  /// For the layers of the library.
  const std::shared_ptr<Impl::ContextState>& shared_state() const {
    if (!m_state) {
      Impl::throw_error(ErrorCode::misuse, -1, "Context", "this Context was moved from");
    }
    return m_state;
  }
  Impl::ContextState& state() const { return *shared_state(); }
  Impl::Runtime& runtime() const { return state().runtime(); }

 private:
  void construct(Impl::Bootstrap& bootstrap, const ContextOptions& options) {
    Impl::require_running_kokkos(bootstrap);
    m_state = std::make_shared<Impl::ContextState>(
        bootstrap, options,
        Impl::MemorySpaceFactory{&Impl::make_peer_memory<MemorySpace>,
                                 &Impl::make_copy_engine<MemorySpace>});
  }

  Impl::RandomBits random_bits() {
    return Impl::RandomBits::for_stream(state().seed(), static_cast<std::uint64_t>(rank()),
                                        state().next_random_stream());
  }

  template <class DataType, class Layout, class... Extents>
  view_type<DataType, Layout> draw_uniform(const char* operation, const std::string& label,
                                           double low, double high, Extents... extents) {
    using T = typename view_type<DataType, Layout>::value_type;
    static_assert(Impl::is_real_v<T>, "rand, uniform and randn need a floating-point element type");
    const Impl::RandomBits bits = random_bits();
    Impl::require_interval(runtime(), operation, low, high);
    return filled<DataType, Layout>(operation, label, Impl::UniformValues<T>{bits, low, high},
                                    extents...);
  }

  template <class View, class Values>
  void finish(const char* operation, const View& view, const Values& values) {
    const execution_space exec;
    Impl::fill(exec, view.data(), view.span(), values);
    exec.fence("KokkosIris::creation");
    state().barrier(operation);
  }

  template <class DataType, class Layout, class Values, class... Extents>
  view_type<DataType, Layout> filled(const char* operation, const std::string& label,
                                     const Values& values, Extents... extents) {
    auto view = Impl::create<view_type<DataType, Layout>>(
        shared_state(), operation, label,
        Impl::make_layout<view_type<DataType, Layout>>(extents...));
    finish(operation, view, values);
    return view;
  }

  std::shared_ptr<Impl::ContextState> m_state;
};

}  // namespace KokkosIris

#endif
