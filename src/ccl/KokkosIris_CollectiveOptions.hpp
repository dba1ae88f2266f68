// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Options of the collective operations, and the memory that they keep between calls.

#ifndef KOKKOSIRIS_COLLECTIVE_OPTIONS_HPP
#define KOKKOSIRIS_COLLECTIVE_OPTIONS_HPP

#include <Kokkos_Core.hpp>
#include <array>
#include <ccl/KokkosIris_CallFlags.hpp>
#include <ccl/KokkosIris_CollectiveShare.hpp>
#include <ccl/KokkosIris_PacketKernel.hpp>
#include <cstddef>
#include <cstdint>
#include <heap/KokkosIris_ContextState.hpp>
#include <memory>
#include <string>
#include <utility>

namespace KokkosIris {

/// How the ranks of a collective operation exchange their data.
enum class CollectiveForm : std::int32_t {
  automatic,  ///< by the size of the call
  packets,    ///< every rank sends every other one what it needs, in words that carry flags: small
              ///< messages
  direct      ///< ranks read and write each other's operands: large ones
};

/// Tuning of a collective operation; changes neither results nor who may pass what. All ranks give
/// the same values.
struct CollectiveConfig {
  CollectiveForm form = CollectiveForm::automatic;
  /// At most so many teams: a kernel has no more than the message gives work to, nor than run at
  /// once. 0: no other limit.
  std::int32_t teams = 0;

  bool operator==(const CollectiveConfig&) const = default;
};

namespace Impl {

const char* to_string(CollectiveOperation operation) noexcept;
const char* to_string(CollectiveForm form) noexcept;

/// What a workspace was prepared for; equal on all ranks.
struct CollectiveSignature {
  CollectiveOperation operation;
  std::uint32_t dimensions;
  std::size_t type;                    ///< a number that differs for other element types
  std::array<std::size_t, 8> extents;  ///< of the source; 0 beyond its dimensions
  std::int64_t element_bytes;
  std::int32_t order;   ///< in which the elements lie, see ElementOrder
  CollectiveForm form;  ///< as chosen
  CollectiveConfig config;

  bool operator==(const CollectiveSignature&) const = default;
};

/// Memory of a prepared workspace.
struct CollectiveState {
  CollectiveSignature signature;
  std::weak_ptr<ContextState> context;
  std::uint64_t epoch = 0;   ///< recoveries of the context before the preparation
  std::uint32_t number = 0;  ///< of the preparation, the same on all ranks; not 0

  CallFlags flags;        ///< of the direct form
  PacketBuffers buffers;  ///< of packets
  int league = 1;         ///< the most teams of this rank's kernel

  // In this order: freeing local memory waits for this rank's kernels, and only then may the block
  // of the heap go, which others' kernels may still use until they drop it, too.
  std::shared_ptr<void> symmetric_memory;
  std::shared_ptr<void> local_memory;
};

}  // namespace Impl

/// Memory and flags of a collective operation, returned by its call and reusable by later calls
/// with the same operation, extents, element type and config; those do no communication between
/// hosts and allocate nothing, so that they can be captured in a CUDA or HIP graph. Copies refer to
/// the same workspace. It serves one call at a time, and all ranks pass the workspaces of the same
/// earlier call. A workspace that does not fit is prepared anew, which is collective. Its memory is
/// freed with the last copy. Ranks that pass workspaces of different calls get an error that names
/// both by number(). After an error calls prepare anew; a graph that has captured a call with a
/// workspace whose kernel gave up is an error when it is launched again.
class CollectiveWorkspace {
 public:
  CollectiveWorkspace() = default;
  explicit CollectiveWorkspace(std::shared_ptr<Impl::CollectiveState> state)
      : m_state(std::move(state)) {}

  /// False for a default-constructed workspace.
  explicit operator bool() const { return m_state != nullptr; }
  /// Name of the operation it was prepared for, or "none".
  std::string operation() const;
  /// Name of the form that serves it, "packets" or "direct", or "none".
  std::string form() const;
  /// Number of the call that prepared it: equal on all ranks, and different for every preparation
  /// of a context; 0 for a default-constructed workspace. Errors about workspaces name it.
  std::uint32_t number() const { return m_state ? m_state->number : 0; }

  /// For the layers of the library.
  const std::shared_ptr<Impl::CollectiveState>& state() const { return m_state; }

 private:
  std::shared_ptr<Impl::CollectiveState> m_state;
};

/// Options of a collective operation, given as `{.async_op = true, .workspace = workspace}`.
struct CollectiveOptions {
  /// false: the call ends with a barrier, after which the results of all ranks are complete.
  /// true: it returns after the launch; when the execution space instance is fenced this rank's
  /// result is complete and its operands may be changed. All ranks give the same value: the barrier
  /// is collective.
  bool async_op = false;
  CollectiveConfig config = {};
  /// Result of an earlier call; spares the preparation if operation, extents, type and config are
  /// equal.
  CollectiveWorkspace workspace = {};
};

}  // namespace KokkosIris

#endif
