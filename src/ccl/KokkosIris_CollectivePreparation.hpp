// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Preparing the workspace of a collective operation: choice of the form, agreement, memory, flags.

#ifndef KOKKOSIRIS_COLLECTIVE_PREPARATION_HPP
#define KOKKOSIRIS_COLLECTIVE_PREPARATION_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <ccl/KokkosIris_CollectiveOptions.hpp>
#include <ccl/KokkosIris_CollectiveProblem.hpp>
#include <core/KokkosIris_AlignedParts.hpp>
#include <core/KokkosIris_Concurrency.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <heap/KokkosIris_Context.hpp>
#include <heap/KokkosIris_Fill.hpp>
#include <memory>
#include <string>

namespace KokkosIris::Impl {

/// Bytes that a rank sends to all others together up to which packets are faster. On the host,
/// where ranks share memory and its caches, flags cost less than packets from a cache line or two
/// on.
template <bool Host>
inline constexpr std::int64_t most_packet_bytes = Host ? 128 : 1 << 20;

template <bool Host>
CollectiveForm choose_form(const CollectiveProblem& problem, const CollectiveConfig& config) {
  if (config.form != CollectiveForm::automatic) return config.form;
  const std::int64_t sent = problem.block() * problem.element_bytes * (problem.ranks - 1);
  return problem.ranks > 1 && sent <= most_packet_bytes<Host> ? CollectiveForm::packets
                                                              : CollectiveForm::direct;
}

/// Words that this rank's teams share.
struct alignas(128) CollectiveLocalWords {
  CallWords call;
  PaddedFlag given_up;
};

/// Allocates and clears the memory of a workspace. Collective.
template <class ExecutionSpace, class MemorySpace>
void allocate_collective(const ExecutionSpace& exec, Context<MemorySpace>& context,
                         const CollectiveProblem& problem, CollectiveState& state) {
  const bool sends_packets = state.signature.form == CollectiveForm::packets;
  PacketBuffers& buffers = state.buffers;
  buffers.context = state.flags.context = context.device();
  buffers.league = state.league;
  buffers.message = PacketBuffers::packets_of(problem.block() * problem.element_bytes);
  const std::size_t bytes = sends_packets
                                ? PacketBuffers::symmetric_bytes(problem.ranks, buffers.message)
                                : CallFlags::symmetric_bytes(problem.ranks);
  auto block = context.template empty<std::uint64_t*>("KokkosIris::workspace",
                                                      bytes / sizeof(std::uint64_t));
  static_assert(AlignedParts::alignment % alignof(CollectiveLocalWords) == 0);
  AlignedParts parts;
  const std::size_t words_at = parts.add(sizeof(CollectiveLocalWords));
  const std::size_t calls_at =
      parts.add(static_cast<std::size_t>(state.league) * sizeof(std::uint64_t));
  std::string fault;
  Kokkos::View<char*, MemorySpace> local;
  try {
    local = Kokkos::View<char*, MemorySpace>(
        Kokkos::view_alloc(Kokkos::WithoutInitializing, "KokkosIris::workspace"),
        parts.bytes_anywhere());
    fill(exec, AlignedParts::begin_in(local.data()), parts.bytes(), ConstantValues<char>{0});
    fill(exec, block.data(), block.size(), ConstantValues<std::uint64_t>{0});
    exec.fence("KokkosIris::workspace");
  } catch (const std::exception& error) {
    fault = std::string("no memory for the flags of a workspace: ") + error.what();
  }
  // Also the barrier after which the flags of all ranks are clear.
  agree_on_collective(context.runtime(), state.signature, problem.type_name, fault,
                      ErrorCode::out_of_memory);

  char* const begin = AlignedParts::begin_in(local.data());
  auto* const own = reinterpret_cast<CollectiveLocalWords*>(begin + words_at);
  if (sends_packets) {
    buffers.packets = reinterpret_cast<Packet*>(block.data());
    buffers.given_up = &own->given_up;
    buffers.calls = reinterpret_cast<std::uint64_t*>(begin + calls_at);
  } else {
    state.flags.place(reinterpret_cast<char*>(block.data()));
    state.flags.local = &own->call;
  }
  state.symmetric_memory = std::make_shared<decltype(block)>(block);
  state.local_memory = std::make_shared<decltype(local)>(local);
}

/// A new workspace. Collective, and all ranks may have a fault.
template <class ExecutionSpace, class MemorySpace>
CollectiveWorkspace make_collective_workspace(const ExecutionSpace& exec,
                                              Context<MemorySpace>& context,
                                              const CollectiveProblem& problem,
                                              const CollectiveSignature& signature,
                                              const std::string& fault) {
  Runtime& runtime = context.runtime();
  agree_on_collective(runtime, signature, problem.type_name, fault);
  auto state = std::make_shared<CollectiveState>();
  const std::int64_t resident = resident_teams(exec, context.shared_state()->ranks_on_gpu());
  const std::int64_t asked = signature.config.teams;
  state->league = static_cast<int>(asked > 0 ? std::min(asked, resident) : resident);
  state->signature = signature;
  allocate_collective(exec, context, problem, *state);
  state->context = context.shared_state();
  state->epoch = runtime.epoch();
  state->number = std::max(1u, static_cast<std::uint32_t>(runtime.calls()));
  return CollectiveWorkspace(state);
}

/// The workspace for a call: the given one if it fits, else a new one (collective). The launch
/// comes next.
/// \throws Error on all ranks if one has illegal arguments or they differ
template <bool Host, class ExecutionSpace, class MemorySpace>
CollectiveWorkspace prepare_collective(const ExecutionSpace& exec, Context<MemorySpace>& context,
                                       const CollectiveProblem& problem,
                                       const CollectiveOptions& options) {
  Runtime& runtime = context.runtime();
  const char* const name = to_string(problem.operation);
  // A recovery from an earlier error, if there is one to make, outdates the given workspace.
  runtime.enter(name);
  const auto& given = options.workspace.state();
  const bool can_serve =
      given && given->epoch == runtime.epoch() && given->context.lock().get() == &context.state();
  std::string fault;
  CollectiveSignature signature = signature_of(problem, options.config, fault);
  signature.form = choose_form<Host>(problem, options.config);
  if (!fault.empty() && can_serve) {
    // The other ranks may be in the kernel already, where they would wait for this one.
    runtime.fail(ErrorCode::invalid_argument, name, fault);
  }
  const CollectiveWorkspace workspace =
      can_serve && given->signature == signature
          ? options.workspace
          : make_collective_workspace(exec, context, problem, signature, fault);
  runtime.begin_launch(workspace.number());
  return workspace;
}

}  // namespace KokkosIris::Impl

#endif
