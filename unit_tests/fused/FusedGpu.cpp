// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <FusedCallsImpl.hpp>
#include <FusedGpu.hpp>
#include <FusedOracle.hpp>
#include <stdexcept>

namespace Test {

#ifdef KOKKOSIRIS_IMPL_HAS_GPU

namespace {

using GpuSpace = KokkosIris::Impl::GpuMemorySpace;
using Gpu = KokkosIris::Impl::GpuExecutionSpace;
template <class MemorySpace>
using Bytes =
    Kokkos::View<char*, Kokkos::LayoutRight, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

}  // namespace

struct FusedGpu::State {
  KokkosIris::Context<GpuSpace> context;
  KokkosIris::SymmetricView<char*, Gpu::array_layout, GpuSpace> symmetric;
  Kokkos::View<char*, GpuSpace> local, bias;
  HostBytes host_symmetric, host_local;
  Gpu part = Kokkos::Experimental::partition_space(Gpu(), 1)[0];

  State(HostBytes symmetric_bytes, HostBytes local_bytes, const KokkosIris::ContextOptions& options)
      : context(MPI_COMM_WORLD, options),
        symmetric(context.empty<char*>("arena", symmetric_bytes.size)),
        local("arena", local_bytes.size),
        host_symmetric(symmetric_bytes),
        host_local(local_bytes) {}

  /// The mirror of a place in one of the arrays; other pointers stay what they are.
  void* mirror(void* host) const {
    char* const place = static_cast<char*>(host);
    const auto offset_in = [&](const HostBytes& array) {
      const auto offset =
          reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(array.data);
      return offset < array.size ? static_cast<std::ptrdiff_t>(offset) : -1;
    };
    if (const auto offset = offset_in(host_symmetric); offset >= 0) {
      return symmetric.data() + offset;
    }
    if (const auto offset = offset_in(host_local); offset >= 0) return local.data() + offset;
    return host;
  }
  Operand mirror(Operand operand) const {
    operand.data = mirror(operand.data);
    return operand;
  }
  void push(const HostBytes& host) const {
    Kokkos::deep_copy(Bytes<GpuSpace>(static_cast<char*>(mirror(host.data)), host.size),
                      Bytes<Kokkos::HostSpace>(host.data, host.size));
  }
  void pull(const HostBytes& host) const {
    Kokkos::deep_copy(Bytes<Kokkos::HostSpace>(host.data, host.size),
                      Bytes<GpuSpace>(static_cast<char*>(mirror(host.data)), host.size));
  }

  /// The arguments with the bias on the GPU.
  Arguments with_bias(Element element, Arguments arguments) {
    if (arguments.bias == nullptr || arguments.bias_size <= 0) return arguments;
    const auto elements = (arguments.bias_size - 1) * arguments.bias_stride + 1;
    const auto bytes = static_cast<std::size_t>(elements) * bytes_of(element);
    if (bias.size() < bytes) bias = Kokkos::View<char*, GpuSpace>("bias", 2 * bytes);
    Kokkos::deep_copy(Bytes<GpuSpace>(bias.data(), bytes),
                      Bytes<Kokkos::HostSpace>(
                          const_cast<char*>(static_cast<const char*>(arguments.bias)), bytes));
    arguments.bias = bias.data();
    return arguments;
  }

  FusedWorkspace call(Element element, const Gpu& exec, FusedOperation operation, const Operand& c,
                      const Operand& a, const Operand& b, const Arguments& arguments) {
    return with_type(element, [&](auto type) {
      return call_on<decltype(type)>(exec, operation, context, c, a, b, arguments);
    });
  }
};

FusedGpu::FusedGpu(HostBytes symmetric, HostBytes local, const KokkosIris::ContextOptions& options)
    : m_state(std::make_unique<State>(symmetric, local, options)) {}

FusedWorkspace FusedGpu::call(Element element, Space space, FusedOperation operation,
                              const std::vector<HostBytes>& used, const Operand& c,
                              const Operand& a, const Operand& b, const Arguments& arguments) {
  State& gpu = *m_state;
  const Gpu exec = space == Space::part ? gpu.part : Gpu();
  for (const HostBytes& bytes : used) gpu.push(bytes);
  const Arguments there = gpu.with_bias(element, arguments);
  try {
    auto workspace =
        gpu.call(element, exec, operation, gpu.mirror(c), gpu.mirror(a), gpu.mirror(b), there);
    if (arguments.async_op) exec.fence("test");
    for (const HostBytes& bytes : used) gpu.pull(bytes);
    return workspace;
  } catch (...) {
    // The kernel, if it was launched, has given up or is about to.
    exec.fence("test");
    throw;
  }
}

KokkosIris::Impl::ContextState& FusedGpu::state() { return m_state->context.state(); }

std::shared_ptr<void> FusedGpu::reserve(std::size_t bytes) {
  auto block = m_state->context.empty<char*>("reserved", bytes);
  return std::make_shared<decltype(block)>(block);
}

#else

struct FusedGpu::State {};

FusedGpu::FusedGpu(HostBytes, HostBytes, const KokkosIris::ContextOptions&) {
  throw std::logic_error("this build has no GPU backend");
}
FusedWorkspace FusedGpu::call(Element, Space, FusedOperation, const std::vector<HostBytes>&,
                              const Operand&, const Operand&, const Operand&, const Arguments&) {
  throw std::logic_error("this build has no GPU backend");
}
KokkosIris::Impl::ContextState& FusedGpu::state() {
  throw std::logic_error("this build has no GPU backend");
}
std::shared_ptr<void> FusedGpu::reserve(std::size_t) {
  throw std::logic_error("this build has no GPU backend");
}

#endif

FusedGpu::~FusedGpu() = default;

}  // namespace Test
