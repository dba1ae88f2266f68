// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The kernel of small collective calls: every rank sends what each other one needs as packets.

#ifndef KOKKOSIRIS_PACKET_KERNEL_HPP
#define KOKKOSIRIS_PACKET_KERNEL_HPP

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Core.hpp>
#include <ccl/KokkosIris_CollectiveShare.hpp>
#include <ccl/KokkosIris_Packets.hpp>
#include <ccl/KokkosIris_SumWords.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <core/KokkosIris_DeviceControl.hpp>
#include <core/KokkosIris_MemoryOrder.hpp>
#include <core/KokkosIris_Wait.hpp>
#include <cstddef>
#include <cstdint>
#include <rma/KokkosIris_CopyBytes.hpp>

namespace KokkosIris::Impl {

/// Packets of a prepared workspace; trivially copyable.
///
/// A rank keeps what all ranks send it twice, for even and odd calls. A rank that sends in call g
/// has ended call g - 1, in which it received from every rank what that one had sent after it had
/// ended call g - 2, and all reading of what is overwritten now. So a call needs no entry and no
/// end, and touches no operand of another rank.
///
/// All this relies on the calls before: when a wait is given up the workspace is marked, and later
/// kernels, enqueued before or repeated by a graph, send nothing and see to it that there is an
/// error.
struct PacketBuffers {
  DeviceContext context;
  Packet* packets = nullptr;       ///< [parity][sender][packet], symmetric
  std::int64_t message = 0;        ///< packets of a message
  PaddedFlag* given_up = nullptr;  ///< not 0: for ever
  std::uint64_t* calls = nullptr;  ///< [league]: calls that the team has ended, the same for all
  int league = 1;                  ///< the most teams of a kernel

  static constexpr int threads_of_team = 512;  ///< on a GPU

  static constexpr std::int64_t packets_of(std::int64_t bytes) {
    return (bytes + Packet::payload_bytes - 1) / Packet::payload_bytes;
  }
  static constexpr std::size_t symmetric_bytes(int ranks, std::int64_t message) {
    return std::size_t(2) * static_cast<std::size_t>(ranks) * static_cast<std::size_t>(message) *
           sizeof(Packet);
  }

  /// Where this rank keeps what `from` sends it in a call.
  KOKKOS_FUNCTION Packet* from(std::uint64_t call, int sender) const {
    return packets + (static_cast<std::int64_t>(call & 1) * context.size() + sender) * message;
  }
  /// Where rank `to` keeps what this rank sends it, as mapped here.
  KOKKOS_FUNCTION Packet* at(std::uint64_t call, int to) const {
    return context.translate(from(call, context.rank()), to);
  }

  /// Number of the running call; 0 if the workspace was given up. By every thread.
  template <class Team>
  KOKKOS_FUNCTION std::uint64_t begin(const Team& team) const {
    const std::uint64_t call = load_relaxed(&calls[team.league_rank()]) + 1;
    if (load_relaxed(&given_up->value) == 0) return call;
    if (team.league_rank() == 0 && team.team_rank() == 0) wait_for_error(context);
    return 0;
  }
  /// By all threads of a team, after begin() of each. A league may have fewer teams than another
  /// one: each counts for those that are missing, too.
  template <class Team>
  KOKKOS_FUNCTION void count(const Team& team, std::uint64_t call) const {
    team.team_barrier();
    if (call == 0) return;
    const int teams = team.league_size();
    const int first = team.league_rank() + team.team_rank() * teams;
    for (int i = first; i < league; i += teams * team.team_size()) calls[i] = call;
  }
  /// Waits for a packet.
  /// \return false if given up
  KOKKOS_FUNCTION bool receive(std::uint64_t call, int sender, std::int64_t i,
                               std::uint64_t& payload) const {
    const Packet* const packet = from(call, sender) + i;
    const std::uint32_t flag = packet_flag(call);
    // Of a long message no more are waited for at a time than there are threads.
    const std::int64_t crowd =
        message < league * threads_of_team ? message : league * threads_of_team;
    const bool come =
        wait_in_crowd(context, {WaitPhase::peer_operand, sender}, static_cast<std::uint64_t>(crowd),
                      [&] { return load_packet(packet, flag, payload); });
    if (!come) store_relaxed(&given_up->value, std::uint64_t(1));
    return come;
  }
};

/// Elements of adjacent memory by packets.
template <class T>
struct Payloads {
  static constexpr std::int64_t elements = Packet::payload_bytes / std::int64_t(sizeof(T));
  using Elements = WordElements<T, std::uint64_t>;
  std::int64_t count;  ///< of elements; the last packet may be longer

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t packets() const {
    return (count + elements - 1) / elements;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::uint64_t load(const T* data, std::int64_t packet) const {
    const T* const from = data + packet * elements;
    if (is_word(from, packet)) return read_word<std::uint64_t>(from);
    Elements some{};
    for (std::int64_t i = 0; i < elements; ++i) {
      if (packet * elements + i < count) some.items[i] = read_word<T>(from + i);
    }
    return Kokkos::bit_cast<std::uint64_t>(some);
  }
  KOKKOS_FORCEINLINE_FUNCTION void store(T* data, std::int64_t packet,
                                         std::uint64_t payload) const {
    T* const to = data + packet * elements;
    if (is_word(to, packet)) return write_word(to, payload);
    const auto some = Kokkos::bit_cast<Elements>(payload);
    for (std::int64_t i = 0; i < elements; ++i) {
      if (packet * elements + i < count) write_word(to + i, some.items[i]);
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION bool is_word(const void* data, std::int64_t packet) const {
    return reinterpret_cast<std::uintptr_t>(data) % sizeof(std::uint64_t) == 0 &&
           (packet + 1) * elements <= count;
  }
};

/// One kernel of a call. Threads work for themselves: each sends its packets to all ranks, then
/// receives those of the same numbers and adds or stores them.
template <class T, CollectiveOperation operation>
struct PacketKernel {
  /// Threads of a team on a GPU.
  static constexpr int team_threads = PacketBuffers::threads_of_team;
  static constexpr bool gathers = operation == CollectiveOperation::all_gather;
  static constexpr bool scatters = operation == CollectiveOperation::reduce_scatter;

  PacketBuffers buffers;
  const T* source;
  T* destination;
  Payloads<T> payloads;  ///< of a message

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::uint64_t call = buffers.begin(team);
    const ItemRange mine = share_of(kernel_thread(team), payloads.packets());
    // All threads come to the barrier, though they may disagree about a workspace that is being
    // given up.
    if (call != 0) send(call, mine);
    buffers.count(team, call);
    if (call != 0) receive(call, mine);
  }

 private:
  /// What this rank sends to `to`, or keeps for itself.
  KOKKOS_FUNCTION const T* message_for(int to) const {
    return scatters ? source + to * payloads.count : source;
  }

  KOKKOS_FUNCTION void send(std::uint64_t call, const ItemRange& mine) const {
    const DeviceState& state = buffers.context.state();
    const std::uint32_t flag = packet_flag(call);
    for (std::int64_t i = mine.first; i < mine.end; i += mine.step) {
      const std::uint64_t same = scatters ? 0 : payloads.load(source, i);
      for (int step = 1; step < state.size; ++step) {
        const int to = state.peer_at(step);
        const std::uint64_t payload = scatters ? payloads.load(message_for(to), i) : same;
        store_packet(buffers.at(call, to) + i, payload, flag);
      }
    }
  }

  KOKKOS_FUNCTION void receive(std::uint64_t call, const ItemRange& mine) const {
    for (std::int64_t i = mine.first; i < mine.end; i += mine.step) {
      if (gathers ? !gather(call, i) : !reduce(call, i)) return;
    }
  }

  KOKKOS_FUNCTION bool gather(std::uint64_t call, std::int64_t i) const {
    const DeviceState& state = buffers.context.state();
    payloads.store(destination + state.rank * payloads.count, i, payloads.load(source, i));
    for (int step = 1; step < state.size; ++step) {
      const int sender = state.peer_at(step);
      std::uint64_t payload = 0;
      if (!buffers.receive(call, sender, i, payload)) return false;
      payloads.store(destination + sender * payloads.count, i, payload);
    }
    return true;
  }

  /// In the order of ranks, so that all get the same bits.
  KOKKOS_FUNCTION bool reduce(std::uint64_t call, std::int64_t i) const {
    std::uint64_t payload = 0;
    if (!summand(call, 0, i, payload)) return false;
    WordSum<T, std::uint64_t> sum;
    sum.start(payload);
    for (int rank = 1; rank < buffers.context.size(); ++rank) {
      if (!summand(call, rank, i, payload)) return false;
      sum.add(payload);
    }
    payloads.store(destination, i, sum.result());
    return true;
  }
  KOKKOS_FUNCTION bool summand(std::uint64_t call, int rank, std::int64_t i,
                               std::uint64_t& payload) const {
    if (rank != buffers.context.rank()) return buffers.receive(call, rank, i, payload);
    payload = payloads.load(message_for(rank), i);
    return true;
  }
};

}  // namespace KokkosIris::Impl

#endif
