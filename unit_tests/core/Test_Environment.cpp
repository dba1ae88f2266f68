// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1 3
// no_gpu: -*ContextTakesItsDefaults:*BadValueOnOneRank*

#include <TestUtilities.hpp>
#include <cstdlib>
#include <optional>
#include <set>

namespace {

using KokkosIris::ErrorCode;
using KokkosIris::Impl::environment_heap_size;
using KokkosIris::Impl::environment_timeout;
using KokkosIris::Impl::parse_size;

/// Sets an environment variable for the life of the object.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : m_name(name) {
    if (const char* old = std::getenv(name)) m_old = old;
    if (value != nullptr) {
      setenv(name, value, 1);
    } else {
      unsetenv(name);
    }
  }
  ~ScopedVariable() {
    if (m_old) {
      setenv(m_name, m_old->c_str(), 1);
    } else {
      unsetenv(m_name);
    }
  }

 private:
  const char* m_name;
  std::optional<std::string> m_old;
};

TEST(Environment, TableIsComplete) {
  std::set<std::string> names;
  for (const auto& variable : KokkosIris::environment_variables()) {
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name << " is listed twice";
    EXPECT_EQ(std::string(variable.name).rfind("KOKKOSIRIS_", 0), 0u) << variable.name;
    EXPECT_STRNE(variable.default_value, "") << variable.name;
    EXPECT_STRNE(variable.meaning, "") << variable.name;
  }
  for (const char* name : {"KOKKOSIRIS_TIMEOUT", "KOKKOSIRIS_HEAP_SIZE"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST(Environment, ParseSize) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("4096"), 4096u);
  EXPECT_EQ(parse_size("3k"), 3u << 10);
  EXPECT_EQ(parse_size("512M"), std::size_t(512) << 20);
  EXPECT_EQ(parse_size("2G"), std::size_t(2) << 30);
  EXPECT_EQ(parse_size("5t"), std::size_t(5) << 40);
  EXPECT_EQ(parse_size("18446744073709551615"), std::numeric_limits<std::size_t>::max());
  for (const char* bad : {"", " ", "G", "-1", "+1", "1.5G", "1 G", "1GB", "1Gx", "0x10", "one",
                          "18446744073709551616", "18014398509481984K", "99999999T"}) {
    EXPECT_EQ(parse_size(bad), std::nullopt) << "'" << bad << "'";
  }
}

TEST(Environment, Timeout) {
  std::string fault;
  const auto value_of = [&](const char* text) {
    const ScopedVariable variable("KOKKOSIRIS_TIMEOUT", text);
    return environment_timeout(fault);
  };
  EXPECT_EQ(value_of(nullptr), 120.0);
  EXPECT_EQ(value_of(""), 120.0);
  EXPECT_EQ(value_of("0"), 0.0);
  EXPECT_EQ(value_of("0.25"), 0.25);
  EXPECT_EQ(value_of("1e3"), 1000.0);
  EXPECT_EQ(fault, "");
  for (const char* bad : {"-1", "ten", "5s", "nan", "inf", "1,5", "1 2", "--"}) {
    fault.clear();
    value_of(bad);
    EXPECT_EQ(fault.rfind("KOKKOSIRIS_TIMEOUT is '" + std::string(bad) + "'", 0), 0u) << fault;
  }
}

TEST(Environment, HeapSize) {
  std::string fault;
  const auto value_of = [&](const char* text) {
    const ScopedVariable variable("KOKKOSIRIS_HEAP_SIZE", text);
    return environment_heap_size(fault);
  };
  EXPECT_EQ(value_of(nullptr), std::size_t(1) << 30);
  EXPECT_EQ(value_of("7M"), std::size_t(7) << 20);
  EXPECT_EQ(fault, "");
  for (const char* bad : {"0", "-1", "much", "1.5G"}) {
    fault.clear();
    value_of(bad);
    EXPECT_EQ(fault.rfind("KOKKOSIRIS_HEAP_SIZE is '" + std::string(bad) + "'", 0), 0u) << fault;
  }
}

TEST(Environment, ContextTakesItsDefaults) {
  const ScopedVariable heap("KOKKOSIRIS_HEAP_SIZE", "3M");
  const ScopedVariable timeout("KOKKOSIRIS_TIMEOUT", "17.5");
  const KokkosIris::Context<Kokkos::HostSpace> context(MPI_COMM_WORLD);
  EXPECT_EQ(context.heap_capacity(), std::size_t(3) << 20);
  EXPECT_EQ(context.runtime().timeout(), 17.5);
  const KokkosIris::Context<Kokkos::HostSpace> other(MPI_COMM_WORLD,
                                                     {.heap_size = 4096, .timeout = 30.0});
  EXPECT_EQ(other.heap_capacity(), 4096u);
  EXPECT_EQ(other.runtime().timeout(), 30.0);
}

TEST(Environment, BadValueOnOneRankIsAnErrorOnAll) {
  const int bad_rank = ::Test::world_size() - 1;
  const bool bad = ::Test::world_rank() == bad_rank;
  // On the rank itself the text comes right behind the operation, on the others behind its number.
  const std::string begin =
      "KokkosIris::Context: " + (bad ? "" : "rank " + std::to_string(bad_rank) + ": ");
  const auto construct = [](const KokkosIris::ContextOptions& options) {
    KokkosIris::Context<Kokkos::HostSpace> context(MPI_COMM_WORLD, options);
  };
  {
    const ScopedVariable heap("KOKKOSIRIS_HEAP_SIZE", bad ? "lots" : "1M");
    ::Test::expect_error(
        ErrorCode::invalid_argument, [&] { construct({}); },
        begin + "KOKKOSIRIS_HEAP_SIZE is 'lots'; give a size");
  }
  {
    const ScopedVariable heap("KOKKOSIRIS_TIMEOUT", bad ? "soon" : "10");
    ::Test::expect_error(
        ErrorCode::invalid_argument, [&] { construct({}); },
        begin + "KOKKOSIRIS_TIMEOUT is 'soon'; give seconds");
  }
  ::Test::expect_error(
      ErrorCode::invalid_argument,
      [&] { construct({.copy_engine_entries = std::size_t(bad ? 3 : 4)}); },
      begin + "copy_engine_entries is 3; give a power of two");
  if (::Test::world_size() > 1) {
    const ScopedVariable heap("KOKKOSIRIS_HEAP_SIZE", bad ? "2M" : "1M");
    ::Test::expect_error(
        ErrorCode::mismatch, [] { KokkosIris::Context<Kokkos::HostSpace> context(MPI_COMM_WORLD); },
        "2097152", "1048576", "rank " + std::to_string(bad_rank));
  }
  EXPECT_NO_THROW(::Test::make_context().barrier());
}

}  // namespace
