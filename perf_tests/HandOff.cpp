// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Hand-off: rank 0 puts a block on rank 1 and releases a flag; rank 1 reads all of it and gives a
// flag back. It is what a put is worth to an application: the reader's cache holds the lines of the
// block from the time before, and the writer has to take them back.

#include <MpiWindow.hpp>
#include <RawAccess.hpp>
#include <Session.hpp>
#include <algorithm>
#include <rma/KokkosIris_CopyEngineHostPut.hpp>
#include <rma/KokkosIris_Quiet.hpp>

namespace Bench {
namespace {

using KokkosIris::signal_set;
using KokkosIris::signal_t;

/// How one entrant does its part; the flags are the same for all.
struct Way {
  std::function<void(std::uint64_t)> write;      ///< rank 0: put the block, and release the flag
  std::function<void(std::uint64_t)> await;      ///< rank 1: until the block is there
  std::function<void(std::uint64_t)> give_back;  ///< rank 1: the block has been read
  std::function<void(std::uint64_t)> finish;     ///< rank 0: until it has
  std::uint64_t* block;                          ///< rank 1: the block
};

class HandOff {
 public:
  HandOff(Session& session, std::size_t words)
      : m_session(session),
        m_words(words),
        m_source(
            session.context().randint<std::uint64_t*>("source", 0, std::int64_t(1) << 62, words)),
        m_block(session.context().zeros<std::uint64_t*>("block", words)),
        m_flags(session.context().zeros<signal_t*>("flags", 64)),
        m_window(words) {
    // Both ranks know what rank 0 sends.
    std::uint64_t sum = sum_of(m_source.data(), words);
    MPI_Bcast(&sum, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    m_expected = sum;
  }

  void measure() {
    Record common;
    common.op = "handoff";
    common.bytes = static_cast<std::int64_t>(m_words * sizeof(std::uint64_t));
    const bool has_target = common.bytes >= (256 << 10) && common.bytes <= (16 << 20);
    const Target target = has_target ? Target::speedup(0.9) : Target{};
    using Role = Entrant::Role;
    std::vector<Entrant> entrants;
    entrants.push_back({Role::ours, "thread", entrant(by_thread()), target});
    entrants.push_back({Role::ours, "host", entrant(by_host()), {}});
    entrants.push_back({Role::ours, "engine", entrant(by_engine()), {}});
    entrants.push_back({Role::ours, "engine-host", entrant(by_engine_from_host()), {}});
    entrants.push_back({Role::reference, "rep movsb", entrant(by_hand(copy_string)), {}});
    entrants.push_back({Role::reference, "non-temporal", entrant(by_hand(copy_non_temporal)), {}});
    entrants.push_back({Role::informative, "memcpy", entrant(by_hand(copy_memcpy)), {}});
    entrants.push_back({Role::informative, "MPI_Put+flush", entrant(by_mpi()), {}});
    m_session.measure(common, entrants);
  }

 private:
  // 256 bytes apart.
  signal_t* there() const { return m_flags.data(); }
  signal_t* back() const { return m_flags.data() + 32; }

  Way by_thread() {
    const auto d = m_session.device();
    Way way = with_our_flags();
    way.write = [=, this](std::uint64_t g) {
      put_signal(d, m_block.data(), m_source.data(), m_words, there(), g, signal_set, 1);
    };
    return way;
  }
  Way by_host() {
    Way way = with_our_flags();
    way.write = [this](std::uint64_t g) {
      put(m_session.exec(), m_session.context(), m_block, m_source, 1);
      signal(m_session.exec(), m_session.context(), there(), g, signal_set, 1);
    };
    return way;
  }
  Way by_engine() {
    const auto d = m_session.device();
    Way way = with_our_flags();
    way.write = [=, this](std::uint64_t g) {
      put_signal(d, m_block.data(), m_source.data(), m_words, there(), g, signal_set, 1,
                 KokkosIris::copy_engine);
    };
    return way;
  }
  Way by_engine_from_host() {
    Way way = with_our_flags();
    way.write = [this](std::uint64_t g) {
      put_signal(m_session.exec(), m_session.context(), m_block, m_source, there(), g, signal_set,
                 1, KokkosIris::copy_engine);
    };
    return way;
  }
  Way by_hand(CopyFunction copy) {
    Way way = with_raw_flags();
    std::uint64_t* const theirs = m_block.peer(1).data();
    signal_t* const flag = m_flags.peer(1).data();
    way.write = [=, this](std::uint64_t g) {
      copy(theirs, m_source.data(), m_words * sizeof(std::uint64_t));
      release(flag, g);
    };
    return way;
  }
  Way by_mpi() {
    Way way = with_raw_flags();
    signal_t* const flag = m_flags.peer(1).data();
    way.block = m_window.data();
    way.write = [=, this](std::uint64_t g) {
      m_window.put(m_source.data(), m_words, 1);
      release(flag, g);
    };
    way.await = [this](std::uint64_t g) {
      spin_until(there(), g);
      m_window.synchronize();
    };
    return way;
  }

  Way with_our_flags() {
    const auto d = m_session.device();
    const auto wait = [d](const signal_t* word, std::uint64_t g) {
      if (!wait_until(d, word, KokkosIris::reached, g)) throw std::runtime_error("wait given up");
    };
    Way way;
    way.await = [=, this](std::uint64_t g) { wait(there(), g); };
    way.give_back = [=, this](std::uint64_t g) { signal(d, back(), g, signal_set, 0); };
    way.finish = [=, this](std::uint64_t g) { wait(back(), g); };
    way.block = m_block.data();
    return way;
  }
  Way with_raw_flags() {
    signal_t* const flag = m_flags.peer(0).data() + 32;
    Way way;
    way.await = [this](std::uint64_t g) { spin_until(there(), g); };
    way.give_back = [=](std::uint64_t g) { release(flag, g); };
    way.finish = [this](std::uint64_t g) { spin_until(back(), g); };
    way.block = m_block.data();
    return way;
  }

  /// The first call finds a poisoned block, and checks what arrives.
  std::function<double()> entrant(Way way) {
    return [this, way = std::move(way), first = true]() mutable {
      if (first && m_session.rank() == 1) std::fill_n(way.block, m_words, ~std::uint64_t(0));
      if (first) m_session.start();
      first = false;
      const std::size_t batch = std::clamp<std::size_t>((1 << 17) / m_words, 1, 256);
      std::uint64_t sum = m_expected;
      const double us = timed([&] {
        for (std::size_t i = 0; i < batch; ++i) {
          const std::uint64_t g = ++m_generation;
          if (m_session.rank() == 0) {
            way.write(g);
            way.finish(g);
          } else {
            way.await(g);
            sum = sum_of(way.block, m_words);
            way.give_back(g);
          }
        }
      });
      if (sum != m_expected) throw std::runtime_error("handoff: the data that arrived are wrong");
      return m_session.rank() == 0 ? us / static_cast<double>(batch) : 0.0;
    };
  }

  Session& m_session;
  std::size_t m_words;
  Context::view_type<std::uint64_t*> m_source, m_block;
  Context::view_type<signal_t*> m_flags;
  MpiWindow m_window;
  std::uint64_t m_expected = 0;
  std::uint64_t m_generation = 0;
};

void run(Session& session) {
  if (session.size() != 2) return;
  std::vector<std::size_t> sizes = {8, 4 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
  if (session.options().quick) sizes = {8, 256 << 10};
  for (const std::size_t bytes : sizes) {
    if (!session.wants("handoff/" + std::to_string(bytes))) continue;
    HandOff(session, bytes / sizeof(std::uint64_t)).measure();
  }
}

const Suite suite(10, &run);

}  // namespace
}  // namespace Bench
