// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Libraries that the baselines need and that may be absent: found when the program runs.

#ifndef KOKKOSIRIS_BENCH_GPU_FUSED_LIBRARY_HPP
#define KOKKOSIRIS_BENCH_GPU_FUSED_LIBRARY_HPP

#include <string>
#include <vector>

namespace Bench {

/// Type of a matrix' elements; what cuBLAS and NCCL are told.
enum class Element { half, bfloat16, float32, float64 };

constexpr int bytes_of(Element element) {
  constexpr int bytes[] = {2, 2, 4, 8};
  return bytes[static_cast<int>(element)];
}
/// As records name them.
constexpr const char* to_string(Element element) {
  constexpr const char* names[] = {"half", "bfloat16", "float", "double"};
  return names[static_cast<int>(element)];
}

/// A shared library, loaded until the program ends.
class SharedLibrary {
 public:
  /// Looks for the names, the first being the best, in
  /// - the folders of the variable KOKKOSIRIS_BENCH_LIBRARIES, set apart by colons,
  /// - the loader's path,
  /// - $CUDA_HOME/lib64 and /usr/local/cuda/lib64,
  /// - the folders nvidia/*/lib of the Python wheels that python3 sees.
  explicit SharedLibrary(const std::vector<std::string>& names);

  bool found() const { return m_handle != nullptr; }
  /// The folder it was found in.
  const std::string& folder() const { return m_folder; }

  /// Sets a pointer to the function of this name.
  /// \throws std::runtime_error if the library has none
  template <class Function>
  void get(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(address(name));
  }

 private:
  void* address(const char* name) const;

  void* m_handle = nullptr;
  std::string m_folder;
};

}  // namespace Bench

#endif
