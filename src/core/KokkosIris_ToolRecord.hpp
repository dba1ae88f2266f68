// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Kernels that Kokkos does not launch, as tools see them.

#ifndef KOKKOSIRIS_TOOL_RECORD_HPP
#define KOKKOSIRIS_TOOL_RECORD_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>

namespace KokkosIris::Impl {

/// Shows a kernel that Kokkos does not launch to the tools that know Kokkos' kernels.
class ToolRecord {
 public:
  template <class ExecutionSpace>
  ToolRecord(const ExecutionSpace& exec, const std::string& label) {
    if (!Kokkos::Tools::profileLibraryLoaded()) return;
    m_active = true;
    Kokkos::Tools::beginParallelFor(label, Kokkos::Tools::Experimental::device_id(exec), &m_id);
  }
  ~ToolRecord() {
    if (m_active) Kokkos::Tools::endParallelFor(m_id);
  }
  ToolRecord(const ToolRecord&) = delete;
  ToolRecord& operator=(const ToolRecord&) = delete;

 private:
  bool m_active = false;
  std::uint64_t m_id = 0;
};

}  // namespace KokkosIris::Impl

#endif
