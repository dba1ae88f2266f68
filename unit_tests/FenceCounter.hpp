// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How often a call waits for an execution space, as Kokkos Tools see it.

#ifndef KOKKOSIRIS_FENCE_COUNTER_HPP
#define KOKKOSIRIS_FENCE_COUNTER_HPP

#include <TestUtilities.hpp>
#include <string>
#include <vector>

namespace Test {

/// Fences of an execution space of one type.
struct Fences {
  int instance = 0;                 ///< of one instance
  int device = 0;                   ///< of all instances
  std::vector<std::string> labels;  ///< of all of them
};

namespace Detail {
inline Fences seen_fences;
inline Kokkos::Tools::Experimental::DeviceType counted_type;
}  // namespace Detail

/// Calls `call()` and counts the fences of ExecutionSpace in it.
template <class ExecutionSpace, class Call>
Fences count_fences(const Call& call) {
  using namespace Kokkos::Tools::Experimental;
  Detail::seen_fences = {};
  Detail::counted_type = DeviceTypeTraits<ExecutionSpace>::id;
  set_begin_fence_callback([](const char* label, std::uint32_t device, std::uint64_t*) {
    const auto id = identifier_from_devid(device);
    if (id.type != Detail::counted_type) return;
    // Kokkos gives this number to fences of the whole device, others to instances.
    const bool of_device = id.instance_id == 0;
    ++(of_device ? Detail::seen_fences.device : Detail::seen_fences.instance);
    Detail::seen_fences.labels.emplace_back(label);
  });
  call();
  set_begin_fence_callback(nullptr);
  return Detail::seen_fences;
}

/// \param expected fences of an instance; there must be none of the device
template <class ExecutionSpace, class Call>
void expect_fences(const char* name, int expected, const Call& call) {
  const Fences fences = count_fences<ExecutionSpace>(call);
  EXPECT_EQ(fences.device, 0) << name;
  EXPECT_EQ(fences.instance, expected) << name;
  if (fences.device != 0 || fences.instance != expected) {
    for (const auto& label : fences.labels) std::fprintf(stderr, "  fence %s\n", label.c_str());
  }
}

}  // namespace Test

#endif
