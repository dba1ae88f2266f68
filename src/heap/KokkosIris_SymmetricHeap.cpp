// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <algorithm>
#include <heap/KokkosIris_SymmetricHeap.hpp>
#include <limits>

namespace KokkosIris::Impl {
namespace {

std::string describe(std::size_t bytes) {
  if (bytes == std::numeric_limits<std::size_t>::max()) return "more bytes than can be addressed";
  return std::to_string(bytes) + " bytes";
}

std::string describe(const HeapRequest& request) {
  std::string text = describe(request.bytes);
  for (std::uint32_t r = 0; r < request.rank; ++r) {
    text += (r == 0 ? " (" : " x ") + std::to_string(request.extents[r]);
  }
  return request.rank == 0 ? text : text + ")";
}

/// What a block takes: whole units, so that no gaps too small for any block are left between
/// blocks.
std::size_t whole_units(std::size_t bytes) {
  constexpr std::size_t unit = SymmetricHeap::alignment;
  if (bytes > std::numeric_limits<std::size_t>::max() - unit) return bytes;  // fails later
  return bytes == 0 ? unit : (bytes + unit - 1) / unit * unit;
}

bool all_equal(const std::vector<HeapRequest>& requests) {
  return std::all_of(requests.begin(), requests.end(),
                     [&](const HeapRequest& request) { return request == requests[0]; });
}

}  // namespace

SymmetricHeap::SymmetricHeap(Runtime& runtime, PeerMemory& memory, std::size_t reserved,
                             std::size_t bytes)
    : m_runtime(runtime),
      m_data(memory.slab(runtime.rank()) + reserved),
      m_allocator(bytes),
      m_seen(static_cast<std::size_t>(runtime.size()), 0) {
  runtime.on_catch_up([this](bool missed) { catch_up(missed); });
}

HeapBlock SymmetricHeap::allocate(std::string_view operation, const HeapRequest& request) {
  m_runtime.enter(operation);  // so that a recovery, if there is one, lies before the question
  m_asked = m_runtime.calls() + 1;
  const auto requests = m_runtime.agree(operation, request);
  reclaim();
  require_valid(operation, requests);
  require_equal(operation, requests);
  if (m_live.size() >= max_live_allocations) {
    throw_error(ErrorCode::out_of_memory, m_runtime.rank(), operation,
                std::to_string(max_live_allocations) +
                    " symmetric allocations are in use, which is the most a context can have");
  }
  const auto block = take(request.bytes);
  if (!block) throw_out_of_memory(operation, request.bytes);
  return *block;
}

std::optional<HeapBlock> SymmetricHeap::take(std::size_t bytes) {
  if (m_live.size() >= max_live_allocations) return std::nullopt;
  const auto offset = m_allocator.allocate(whole_units(bytes), alignment);
  if (!offset) return std::nullopt;
  const std::uint64_t sequence = m_sequence++;
  m_live.emplace(sequence, Live{*offset, 0});
  return HeapBlock{m_data + *offset, bytes, sequence};
}

/// An allocation that was given up here while another rank completed it takes its place here, too,
/// so that later ones get the same offsets on all ranks. Nobody here uses it.
void SymmetricHeap::catch_up(bool missed) {
  const bool asked = m_asked == m_runtime.calls();
  m_asked = 0;
  if (!missed || !asked) return;
  reclaim();
  const auto requests = m_runtime.agreed<HeapRequest>();
  if (!all_equal(requests)) return;
  if (const auto block = take(requests[0].bytes)) drop(block->sequence);
}

void SymmetricHeap::require_valid(std::string_view operation,
                                  const std::vector<HeapRequest>& requests) const {
  for (std::size_t rank = 0; rank < requests.size(); ++rank) {
    for (std::uint32_t r = 0; r < requests[rank].rank; ++r) {
      const std::size_t extent = requests[rank].extents[r];
      if (!is_negative(extent)) continue;
      throw_error(ErrorCode::invalid_argument, m_runtime.rank(), operation,
                  "extent " + std::to_string(r) + " of the view is " +
                      std::to_string(static_cast<std::ptrdiff_t>(extent)) + " on rank " +
                      std::to_string(rank) + "; extents are not negative");
    }
  }
}

void SymmetricHeap::require_equal(std::string_view operation,
                                  const std::vector<HeapRequest>& requests) const {
  if (all_equal(requests)) return;
  std::string text = "the ranks ask for different sizes:";
  for (std::size_t rank = 0; rank < requests.size(); ++rank) {
    text +=
        (rank == 0 ? " rank " : ", rank ") + std::to_string(rank) + " " + describe(requests[rank]);
  }
  const bool other_types =
      std::any_of(requests.begin(), requests.end(),
                  [&](const HeapRequest& one) { return one.type != requests[0].type; });
  if (other_types) text += ", of different element types or layouts";
  throw_error(ErrorCode::mismatch, m_runtime.rank(), operation,
              text + "; symmetric allocations are the same on every rank");
}

void SymmetricHeap::throw_out_of_memory(std::string_view operation, std::size_t bytes) const {
  throw_error(ErrorCode::out_of_memory, m_runtime.rank(), operation,
              "no room for " + describe(bytes) +
                  " on the symmetric heap: " + std::to_string(capacity() - used()) + " of " +
                  std::to_string(capacity()) + " bytes are free, the largest free block has " +
                  std::to_string(m_allocator.largest_free_block()) +
                  "; raise ContextOptions::heap_size or KOKKOSIRIS_HEAP_SIZE");
}

void SymmetricHeap::reclaim() {
  for (int rank = 0; rank < m_runtime.size(); ++rank) {
    std::uint64_t& seen = m_seen[static_cast<std::size_t>(rank)];
    const std::uint64_t dropped = m_runtime.dropped_count(rank);
    const auto& list = m_runtime.control(rank).dropped;
    for (; seen != dropped; ++seen) {
      const auto live = m_live.find(list[seen % std::size(list)]);
      if (live == m_live.end() || ++live->second.dropped_by < m_runtime.size()) continue;
      m_allocator.free(live->second.offset);
      m_live.erase(live);
    }
  }
}

}  // namespace KokkosIris::Impl
