// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Reads NumPy's .npy files, as far as this example needs them.

#ifndef KOKKOSIRIS_EXAMPLE_NPY_HPP
#define KOKKOSIRIS_EXAMPLE_NPY_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

/// An array of rank 1 or 2 in C order, its values as double.
struct NpyArray {
  std::size_t rows = 0;
  std::size_t cols = 1;
  std::vector<double> values;

  double operator()(std::size_t i, std::size_t j = 0) const { return values[i * cols + j]; }
};

template <class T>
std::vector<double> npy_values(const std::string& bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(T));
  return {elements.begin(), elements.end()};
}

/// Reads format version 1, little endian, C order, elements of type uint8, float32 or float64.
/// \throws std::runtime_error for anything else
inline NpyArray read_npy(const std::string& path) {
  const auto require = [&](bool good, const char* fault) {
    if (!good) throw std::runtime_error(path + ": " + fault);
  };
  std::ifstream file(path, std::ios::binary);
  require(file.is_open(), "cannot be opened");
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  require(bytes.compare(0, 8, "\x93NUMPY\x01\x00", 8) == 0 && bytes.size() > 10,
          "no .npy file of version 1");
  // A Python dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (64, 240), }.
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  const std::size_t header_bytes = byte(8) + 256u * byte(9);
  const std::string header = bytes.substr(10, header_bytes);
  require(header.size() == header_bytes, "ends too early");
  require(header.find("'fortran_order': False") != std::string::npos, "is not in C order");
  const std::string shape_key = "'shape': (";
  const std::size_t shape_at = header.find(shape_key);
  require(shape_at != std::string::npos, "has no shape");

  NpyArray array;
  char comma = 0;
  std::istringstream shape(header.substr(shape_at + shape_key.size()));
  require(static_cast<bool>(shape >> array.rows >> comma), "is not of rank 1 or 2");
  if (!(shape >> array.cols)) array.cols = 1;

  const std::string data = bytes.substr(10 + header_bytes);
  const auto has_type = [&](const char* name) { return header.find(name) != std::string::npos; };
  if (has_type("'|u1'")) array.values = npy_values<std::uint8_t>(data);
  if (has_type("'<f4'")) array.values = npy_values<float>(data);
  if (has_type("'<f8'")) array.values = npy_values<double>(data);
  require(array.values.size() == array.rows * array.cols, "has another size or type than expected");
  return array;
}

#endif
