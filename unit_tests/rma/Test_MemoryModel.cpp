// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Litmus tests of the memory model, a million rounds each. A batch is one kernel that visits
// thousands of cells, each on cache lines of its own, without waiting for the other ranks in
// between, so that they race through the same cells; one barrier a batch lines them up. A cell of
// batch g holds values above those of batch g - 1, and nothing is ever reset. (On a GPU an eighth
// of the rounds, because ranks may share it.) timeout: 180

#include <DeviceTesting.hpp>
#include <utility>
#include <vector>

namespace {

using KokkosIris::DeviceContext;
using KokkosIris::signal_set;
using KokkosIris::signal_t;

constexpr int cells = 4096;

/// Batches of a test, and rounds of the tests without batches.
template <class ExecutionSpace>
inline constexpr int batches_on = KokkosIris::Impl::is_gpu_space_v<ExecutionSpace> ? 32 : 256;
template <class ExecutionSpace>
inline constexpr int rounds_on = KokkosIris::Impl::is_gpu_space_v<ExecutionSpace> ? 300 : 3000;

/// A word with a pair of cache lines for itself.
struct alignas(128) Cell {
  signal_t word;
};
/// Data beside it, on lines of their own.
struct alignas(128) Payload {
  std::uint64_t words[4];
};

/// Kernel of a batch.
template <class Body>
struct Batch {
  Body m_body;
  DeviceContext m_device;
  signal_t m_g;
  int* m_ok;
  KOKKOS_FUNCTION void operator()(int) const {
    if (!KokkosIris::barrier(m_device)) return;
    m_body(m_device, m_g);
    *m_ok = KokkosIris::barrier(m_device) ? 1 : 0;
  }
};

template <class ExecutionSpace>
class MemoryModel : public testing::Test {
 public:
  using Context = KokkosIris::Context<typename ExecutionSpace::memory_space>;
  Context m_context = ::Test::make_context<ExecutionSpace>();
  int m_rank = m_context.rank();
  int m_size = m_context.size();

  /// One batch: all ranks start together, `body(d, g)` runs in a kernel of one thread, all end
  /// together. After it every rank may look at everything.
  template <class Body>
  void batch(signal_t g, const Body& body) {
    const ::Test::SharedView<int, ExecutionSpace> ok("ok");
    Kokkos::parallel_for(Kokkos::RangePolicy<ExecutionSpace>(0, 1),
                         Batch<Body>{body, m_context.device(), g, ok.data()});
    Kokkos::fence();
    if (ok() == 0) m_context.barrier();  // raises the reason
  }

  /// The rank that this one plays against, for tests of two; -1 for the last of an odd number.
  int partner() const {
    const int other = m_rank ^ 1;
    return other < m_size ? other : -1;
  }
};

TYPED_TEST_SUITE(MemoryModel, ::Test::AllExecutionSpaces, ::Test::ExecutionSpaceNames);

/// Message passing: data by plain stores, then a release signal; who acquires the signal sees the
/// data. Fails if the signal is a relaxed store and moves before the stores (compiler, or any
/// weakly ordered processor or device), or if test() is a relaxed load.
DEVICE_TYPED_TEST(MemoryModel, MessagePassing) {
  auto data = self.m_context.template zeros<Payload*>("data", cells);
  auto flags = self.m_context.template zeros<Cell*>("flags", cells);
  const ::Test::SharedView<long, TypeParam> wrong("wrong"), early("early");
  const int next = (self.m_rank + 1) % self.m_size;
  for (signal_t g = 1; g <= batches_on<TypeParam>; ++g) {
    self.batch(
        g, KOKKOS_LAMBDA(const DeviceContext& d, signal_t g) {
          const auto look = [&](int i) {
            for (int k = 0; k < 4; ++k)
              wrong() += KokkosIris::load(d, &data(i).words[k], d.rank()) != g + k;
          };
          for (int i = 0; i < cells; ++i) {
            for (int k = 0; k < 4; ++k) KokkosIris::store(d, &data(i).words[k], g + k, next);
            KokkosIris::signal(d, &flags(i).word, g, signal_set, next);
            if (KokkosIris::test(d, &flags(i).word, KokkosIris::eq, g)) {
              look(i);
              early() += 1;
            }
          }
          for (int i = 0; i < cells; ++i) {
            if (!KokkosIris::wait_until(d, &flags(i).word, KokkosIris::reached, g)) return;
            look(i);
          }
        });
  }
  EXPECT_EQ(wrong(), 0);
}

/// Message passing of blocks through the byte mover, each used again as soon as the reader says so.
/// Fails if streamed stores are not fenced before the signal (seen on x86), or if "consumed" is not
/// waited for.
DEVICE_TYPED_TEST(MemoryModel, MessagePassingOfBlocks) {
  constexpr int words = 16384;  // 128 KiB
  const int rounds = rounds_on<TypeParam>;
  auto source = self.m_context.template empty<std::uint64_t*>("source", words);
  auto data = self.m_context.template zeros<std::uint64_t*>("data", words);
  auto flag = self.m_context.template zeros<Cell>("flag");
  auto consumed = self.m_context.template zeros<Cell>("consumed");
  const ::Test::SharedView<long, TypeParam> wrong("wrong"), done("done");
  const int next = (self.m_rank + 1) % self.m_size;
  const int previous = (self.m_rank + self.m_size - 1) % self.m_size;
  const auto d = self.m_context.device();
  Kokkos::parallel_for(
      Kokkos::RangePolicy<TypeParam>(0, 1), KOKKOS_LAMBDA(int) {
        for (signal_t g = 1; g <= static_cast<signal_t>(rounds); ++g) {
          const int n = g % 64 == 0 ? words : 512 + static_cast<int>(g % 97);
          for (int i = 0; i < n; ++i) source(i) = g * 1000003u + static_cast<std::uint64_t>(i);
          if (!KokkosIris::wait_until(d, &consumed().word, KokkosIris::reached, g - 1)) return;
          const auto count = static_cast<std::size_t>(n);
          KokkosIris::put_signal(d, data.data(), source.data(), count, &flag().word, g, signal_set,
                                 next);
          if (!KokkosIris::wait_until(d, &flag().word, KokkosIris::reached, g)) return;
          // The end of the block first: what was written last.
          for (int i = n; i-- > 0;) {
            wrong() += data(i) != g * 1000003u + static_cast<std::uint64_t>(i);
          }
          KokkosIris::signal(d, &consumed().word, g, signal_set, previous);
        }
        done() = 1;
      });
  self.m_context.barrier();
  EXPECT_EQ(done(), 1);
  EXPECT_EQ(wrong(), 0);
}

/// Store buffering: each of two ranks stores to the other and then looks at its own word, with a
/// fence between; at least one sees the other's store. Fails, also on x86, if the fence is less
/// than sequentially consistent or missing: both stores then wait in store buffers.
DEVICE_TYPED_TEST(MemoryModel, StoreBuffering) {
  auto words = self.m_context.template zeros<Cell*>("words", cells);
  auto saw = self.m_context.template zeros<int*>("saw", cells);
  const int peer = self.partner();
  long both_missed = 0;
  for (signal_t g = 1; g <= batches_on<TypeParam>; ++g) {
    self.batch(
        g, KOKKOS_LAMBDA(const DeviceContext& d, signal_t g) {
          if (peer < 0) return;
          for (int i = 0; i < cells; ++i) {
            KokkosIris::signal(d, &words(i).word, g, signal_set, peer);
            KokkosIris::fence(d);
            saw(i) = KokkosIris::test(d, &words(i).word, KokkosIris::eq, g) ? 1 : 0;
          }
        });
    if (peer < 0 || self.m_rank % 2 != 0) {
      self.m_context.barrier();
      continue;
    }
    const auto mine = ::Test::staged(saw.view());
    const auto theirs = ::Test::staged(saw.peer(peer));
    for (int i = 0; i < cells; ++i) both_missed += mine(i) == 0 && theirs(i) == 0;
    self.m_context.barrier();
  }
  EXPECT_EQ(both_missed, 0);
}

/// Two times two writes: the ranks write two words in opposite order, with a fence between; it
/// cannot be that of both words the first write stays. Fails if the fence is missing, on weakly
/// ordered machines, or if remote stores of one thread overtake each other (write combining).
DEVICE_TYPED_TEST(MemoryModel, TwoPlusTwoWrites) {
  auto x = self.m_context.template zeros<Cell*>("x", cells);
  auto y = self.m_context.template zeros<Cell*>("y", cells);
  const int peer = self.partner();
  const bool first = self.m_rank % 2 == 0;
  const int home = first ? self.m_rank : peer;  // x on the even rank, y on the odd one
  const int away = first ? peer : self.m_rank;
  long crossed = 0;
  for (signal_t g = 1; g <= batches_on<TypeParam>; ++g) {
    self.batch(
        g, KOKKOS_LAMBDA(const DeviceContext& d, signal_t g) {
          if (peer < 0) return;
          for (int i = 0; i < cells; ++i) {
            signal_t* const one = first ? &x(i).word : &y(i).word;
            signal_t* const two = first ? &y(i).word : &x(i).word;
            KokkosIris::signal(d, one, 4 * g + 1, signal_set, first ? home : away);
            KokkosIris::fence(d);
            KokkosIris::signal(d, two, 4 * g + 2, signal_set, first ? away : home);
          }
        });
    if (peer >= 0 && first) {
      const auto mine = ::Test::staged(x.view());
      const auto theirs = ::Test::staged(y.peer(peer));
      for (int i = 0; i < cells; ++i)
        crossed += mine(i).word == 4 * g + 1 && theirs(i).word == 4 * g + 1;
    }
    self.m_context.barrier();
  }
  EXPECT_EQ(crossed, 0);
}

/// Write-to-read causality over three ranks: rank 1 sees rank 0's word and signals rank 2, which
/// then sees rank 0's data. Fails if a release covers only what its own thread wrote.
DEVICE_TYPED_TEST(MemoryModel, WriteToReadCausality) {
  if (self.m_size < 3) return;  // the runs with three and four ranks test it
  auto data = self.m_context.template zeros<Payload*>("data", cells);
  auto flags = self.m_context.template zeros<Cell*>("flags", cells);
  const ::Test::SharedView<long, TypeParam> wrong("wrong");
  for (signal_t g = 1; g <= batches_on<TypeParam>; ++g) {
    self.batch(
        g, KOKKOS_LAMBDA(const DeviceContext& d, signal_t g) {
          if (d.rank() > 2) return;
          for (int pass = 0; pass < 2; ++pass) {
            for (int i = 0; i < cells; ++i) {
              if (d.rank() == 0) {
                if (pass != 0) break;
                KokkosIris::store(d, &data(i).words[0], g, 2);
                KokkosIris::signal(d, &flags(i).word, g, signal_set, 1);
                continue;
              }
              // The first pass races, the second waits for what was not there yet.
              bool there = KokkosIris::test(d, &flags(i).word, KokkosIris::eq, g);
              if (pass != 0 && !there) {
                there = KokkosIris::wait_until(d, &flags(i).word, KokkosIris::eq, g);
              }
              if (!there) continue;
              if (d.rank() == 1) KokkosIris::signal(d, &flags(i).word, g, signal_set, 2);
              if (d.rank() == 2) wrong() += KokkosIris::load(d, &data(i).words[0], 2) != g;
            }
          }
        });
  }
  EXPECT_EQ(wrong(), 0);
}

/// Independent reads of independent writes: ranks 0 and 1 write x and y, ranks 2 and 3 read them in
/// opposite order; they do not disagree about which came first.
/// \param by_atomics reads and writes are acq_rel read-modify-writes; else loads with a fence
/// between
template <class TypeParam>
void independent_reads(MemoryModel<TypeParam>& test, bool by_atomics) {
  if (test.m_size < 4) return;  // the run with four ranks tests it
  auto x = test.m_context.template zeros<Cell*>("x", cells);
  auto y = test.m_context.template zeros<Cell*>("y", cells);
  auto saw =
      test.m_context.template zeros<int*>("saw", cells);  // bit 0: the first word, bit 1: second
  long disagreed = 0;
  for (signal_t g = 1; g <= batches_on<TypeParam>; ++g) {
    test.batch(
        g, KOKKOS_LAMBDA(const DeviceContext& d, signal_t g) {
          const int rank = d.rank();
          if (rank > 3) return;
          // Everything lies on rank 2 for x and on rank 3 for y, so each reader has one near, one
          // far.
          for (int i = 0; i < cells; ++i) {
            if (rank < 2) {
              signal_t* const word = rank == 0 ? &x(i).word : &y(i).word;
              if (by_atomics) KokkosIris::atomic_xchg(d, word, g, 2 + rank);
              if (!by_atomics) KokkosIris::signal(d, word, g, signal_set, 2 + rank);
              continue;
            }
            signal_t* const one = rank == 2 ? &x(i).word : &y(i).word;
            signal_t* const two = rank == 2 ? &y(i).word : &x(i).word;
            signal_t a = 0, b = 0;
            if (by_atomics) {
              a = KokkosIris::atomic_add(d, one, 0, rank);
              b = KokkosIris::atomic_add(d, two, 0, rank ^ 1);
            } else {
              a = KokkosIris::Impl::load_acquire(d.translate(one, rank));
              KokkosIris::fence(d);
              b = KokkosIris::Impl::load_acquire(d.translate(two, rank ^ 1));
            }
            saw(i) = (a == g ? 1 : 0) | (b == g ? 2 : 0);
          }
        });
    if (test.m_rank == 2) {
      const auto mine = ::Test::staged(saw.view());
      const auto other = ::Test::staged(saw.peer(3));
      for (int i = 0; i < cells; ++i) disagreed += mine(i) == 1 && other(i) == 1;
    }
    test.m_context.barrier();
  }
  EXPECT_EQ(disagreed, 0);
}

/// Fails if acq_rel read-modify-writes are carried out as relaxed ones on a machine where a store
/// may become visible to one reader before another.
DEVICE_TYPED_TEST(MemoryModel, IndependentReadsByAtomics) { independent_reads(self, true); }

/// Fails if the fence is less than sequentially consistent, on such a machine.
DEVICE_TYPED_TEST(MemoryModel, IndependentReadsWithFences) { independent_reads(self, false); }

/// The barrier inside kernels is the hand-over itself: plain stores before, plain loads after it,
/// with no signal. Fails if the arrival is not a release or the departure not an acquire, or if a
/// barrier lets a rank through before another has come.
DEVICE_TYPED_TEST(MemoryModel, BarrierOrdersPlainStores) {
  auto words = self.m_context.template zeros<std::uint64_t*>("words", self.m_size);
  const ::Test::SharedView<long, TypeParam> wrong("wrong"), ok("ok");
  const auto d = self.m_context.device();
  const int rounds = rounds_on<TypeParam>;
  Kokkos::parallel_for(
      Kokkos::RangePolicy<TypeParam>(0, 1), KOKKOS_LAMBDA(int) {
        const std::size_t mine = static_cast<std::size_t>(d.rank());
        for (int round = 1; round <= rounds; ++round) {
          const auto value = static_cast<std::uint64_t>(round);
          for (int peer = 0; peer < d.size(); ++peer)
            KokkosIris::store(d, &words(mine), value, peer);
          if (!KokkosIris::barrier(d)) return;
          for (int peer = 0; peer < d.size(); ++peer) wrong() += words(peer) != value;
          if (!KokkosIris::barrier(d)) return;
        }
        ok() = 1;
      });
  self.m_context.barrier();
  EXPECT_EQ(ok(), 1);
  EXPECT_EQ(wrong(), 0);
}

}  // namespace
