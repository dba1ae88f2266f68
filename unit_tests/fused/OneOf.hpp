// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Parts and targets of TileStore::sum() in tests.

#ifndef KOKKOSIRIS_TEST_ONE_OF_HPP
#define KOKKOSIRIS_TEST_ONE_OF_HPP

#include <Kokkos_Core.hpp>

namespace Test {

/// Number 0, or any other. Not a lambda: sum() is a function of devices, too.
template <class Value>
struct OneOf {
  Value first, other;
  KOKKOS_FUNCTION Value operator()(int i) const { return i == 0 ? first : other; }
};

}  // namespace Test

#endif
