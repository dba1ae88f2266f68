// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1
// no_gpu: *

#include <TestUtilities.hpp>
#include <set>

namespace {

using KokkosIris::Error;
using KokkosIris::ErrorCode;

TEST(Error, EveryCodeHasItsOwnName) {
  std::set<std::string> names;
  for (const ErrorCode code : {ErrorCode::invalid_argument, ErrorCode::mismatch,
                               ErrorCode::out_of_memory, ErrorCode::timeout, ErrorCode::peer_failed,
                               ErrorCode::peer_died, ErrorCode::system, ErrorCode::misuse}) {
    EXPECT_TRUE(names.insert(KokkosIris::to_string(code)).second);
  }
  EXPECT_EQ(names.count("unknown error"), 0u);
  EXPECT_STREQ(KokkosIris::to_string(static_cast<ErrorCode>(99)), "unknown error");
}

TEST(Error, SaysWhoWhatAndWhere) {
  try {
    KokkosIris::Impl::throw_error(ErrorCode::out_of_memory, 3, "zeros", "no room");
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_EQ(error.rank(), 3);
    const std::string text = error.what();
    EXPECT_EQ(text.rfind("KokkosIris::zeros: no room [rank 3, out of memory, Test_Error.cpp:", 0),
              0u)
        << text;
  }
}

TEST(Error, WithoutARank) {
  try {
    KokkosIris::Impl::throw_error(ErrorCode::misuse, -1, "Context", "too early");
    FAIL() << "did not throw";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()).find("rank"), std::string::npos) << error.what();
  }
}

TEST(Error, EveryPhaseHasItsOwnName) {
  using KokkosIris::Impl::WaitPhase;
  std::set<std::string> names;
  int phases = 0;
  for (;; ++phases) {
    const std::string name = KokkosIris::Impl::to_string(static_cast<WaitPhase>(phases));
    if (name == "an unknown phase") break;
    EXPECT_TRUE(names.insert(name).second) << name;
    ASSERT_LT(phases, 1000);
  }
  EXPECT_EQ(phases, static_cast<int>(WaitPhase::outdated_workspace) + 1);
}

TEST(Error, ReportWritesOneLine) {
  testing::internal::CaptureStderr();
  KokkosIris::Impl::report("something went wrong");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "KokkosIris: something went wrong\n");
}

}  // namespace
