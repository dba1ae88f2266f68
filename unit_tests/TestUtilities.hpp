// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What the unit tests share: the execution spaces they run on, contexts, data that differs by
/// rank.

#ifndef KOKKOSIRIS_TEST_UTILITIES_HPP
#define KOKKOSIRIS_TEST_UTILITIES_HPP

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <KokkosIris.hpp>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

namespace Test {

/// The execution spaces that typed tests run on: every enabled host backend. (Kokkos never has both
/// OpenMP and Threads.)
using ExecutionSpaces = testing::Types<Kokkos::DefaultHostExecutionSpace
#if defined(KOKKOS_ENABLE_SERIAL) && \
    (defined(KOKKOS_ENABLE_OPENMP) || defined(KOKKOS_ENABLE_THREADS))
                                       ,
                                       Kokkos::Serial
#endif
                                       >;

/// The plainest of them, for tests to which it does not matter.
#ifdef KOKKOS_ENABLE_SERIAL
using PlainSpace = Kokkos::Serial;
#else
using PlainSpace = Kokkos::DefaultHostExecutionSpace;
#endif

/// Names of typed tests: `TYPED_TEST_SUITE(Suite, Test::ExecutionSpaces,
/// Test::ExecutionSpaceNames);`
struct ExecutionSpaceNames {
  template <class ExecutionSpace>
  static std::string GetName(int) {
    return ExecutionSpace::name();
  }
};

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

inline int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

inline constexpr std::size_t default_heap_size = std::size_t(64) << 20;

/// Collective over MPI_COMM_WORLD: a context with a small heap. The time-out is the environment's.
template <class ExecutionSpace = Kokkos::DefaultHostExecutionSpace>
KokkosIris::Context<typename ExecutionSpace::memory_space> make_context(
    KokkosIris::ContextOptions options = {}) {
  if (options.heap_size == 0) options.heap_size = default_heap_size;
  return KokkosIris::Context<typename ExecutionSpace::memory_space>(MPI_COMM_WORLD, options);
}

/// Sleeps, so that the ranks reach what follows at different times.
inline void delay(int milliseconds) { usleep(static_cast<useconds_t>(milliseconds) * 1000u); }

/// Random bits for element i of a stream; different for every stream.
inline std::uint64_t random_bits(std::uint64_t stream, std::uint64_t i) {
  return KokkosIris::Impl::RandomBits::for_stream(0x7e57u, stream, 1)(i);
}

/// Number of a stream of random data: different for every rank and purpose.
inline std::uint64_t stream(int rank, int purpose = 0) {
  return static_cast<std::uint64_t>(rank) * 1000003u + static_cast<std::uint64_t>(purpose);
}

/// Random element: any bits for integers, in [-1, 1) for real and complex types, random bytes for
/// structs (which are compared with operator==, so give them no floating-point members).
template <class T>
T random_value(std::uint64_t stream, std::uint64_t i) {
  const std::uint64_t bits = random_bits(stream, i);
  if constexpr (std::is_same_v<T, bool>) {
    return (bits & 1u) != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits);
  } else if constexpr (std::is_floating_point_v<T> || KokkosIris::is_half_v<T>) {
    return static_cast<T>(static_cast<double>(bits >> 11) * 0x1.0p-52 - 1.0);
  } else if constexpr (std::is_same_v<T, Kokkos::complex<float>> ||
                       std::is_same_v<T, Kokkos::complex<double>>) {
    using Real = typename T::value_type;
    return T(random_value<Real>(stream, 2 * i), random_value<Real>(stream, 2 * i + 1));
  } else {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    unsigned char bytes[sizeof(T)];
    for (std::size_t b = 0; b < sizeof(T); ++b) {
      bytes[b] = static_cast<unsigned char>(random_bits(stream, i * sizeof(T) + b));
    }
    std::memcpy(static_cast<void*>(&value), bytes, sizeof(T));
    return value;
  }
}

/// What outputs are filled with before a call: NaN where there is one, else an unlikely value.
template <class T>
T poison() {
  if constexpr (std::is_floating_point_v<T> || KokkosIris::is_half_v<T>) {
    return static_cast<T>(std::numeric_limits<double>::quiet_NaN());
  } else {
    T value;
    std::memset(static_cast<void*>(&value), 0xa5, sizeof(T));
    return value;
  }
}

/// True if two elements have the same bits (so that NaN equals NaN, and -0 is not 0); for types
/// without padding.
template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(static_cast<const void*>(&a), static_cast<const void*>(&b), sizeof(T)) == 0;
}

/// Number of elements of a view of any rank.
template <class View>
std::size_t count(const View& view) {
  std::size_t n = 1;
  for (std::size_t r = 0; r != View::rank(); ++r) n *= view.extent(r);
  return n;
}

/// Element number `flat` of a host-accessible view in row-major order, whatever its layout: the
/// tests' own addressing, independent of the library's.
template <class View>
typename View::reference_type element(const View& view, std::size_t flat) {
  std::size_t offset = 0;
  for (std::size_t k = View::rank(); k > 0; --k) {
    offset += (flat % view.extent(k - 1)) * view.stride(k - 1);
    flat /= view.extent(k - 1);
  }
  return view.data()[offset];
}

/// element(view, i) = random_value(stream, i) for a host-accessible view of any rank and layout.
template <class View>
void random_fill(const View& view, std::uint64_t stream) {
  using T = typename View::non_const_value_type;
  const std::size_t n = count(view);
  for (std::size_t i = 0; i < n; ++i) element(view, i) = random_value<T>(stream, i);
}

/// Sets every element of a host-accessible view to poison().
template <class View>
void poison_fill(const View& view) {
  using T = typename View::non_const_value_type;
  const std::size_t n = count(view);
  for (std::size_t i = 0; i < n; ++i) element(view, i) = poison<T>();
}

/// Runs `call` and expects a KokkosIris::Error of the given kind whose text contains all of
/// `parts`.
template <class Call, class... Parts>
void expect_error(KokkosIris::ErrorCode code, Call&& call, const Parts&... parts) {
  try {
    call();
  } catch (const KokkosIris::Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    const std::string text = error.what();
    (..., [&](const std::string& part) {
      EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
    }(parts));
    return;
  }
  ADD_FAILURE() << "expected an error of kind " << KokkosIris::to_string(code);
}

}  // namespace Test

#endif
