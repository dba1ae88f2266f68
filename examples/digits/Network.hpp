// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The perceptron, its input and the expected result (data/README.md says where they come from).

#ifndef KOKKOSIRIS_EXAMPLE_NETWORK_HPP
#define KOKKOSIRIS_EXAMPLE_NETWORK_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "Npy.hpp"

/// logits = max(0, max(0, images / 16 w1 + b1) w2 + b2) w3 + b3, for 600 pictures of 8 x 8 pixels.
struct Network {
  explicit Network(const std::string& folder)
      : images(read_npy(folder + "/images.npy")),
        labels(read_npy(folder + "/labels.npy")),
        w1(read_npy(folder + "/w1.npy")),
        b1(read_npy(folder + "/b1.npy")),
        w2(read_npy(folder + "/w2.npy")),
        b2(read_npy(folder + "/b2.npy")),
        w3(read_npy(folder + "/w3.npy")),
        b3(read_npy(folder + "/b3.npy")),
        reference_logits(read_npy(folder + "/reference_logits.npy")) {
    for (double& pixel : images.values) pixel /= 16.0;
  }

  NpyArray images, labels, w1, b1, w2, b2, w3, b3, reference_logits;
};

/// view = the part of `array` that begins at (row, col).
template <class ViewType>
void copy_part(const ViewType& view, const NpyArray& array, std::size_t row, std::size_t col) {
  using T = typename ViewType::non_const_value_type;
  const auto host = Kokkos::create_mirror_view(view);
  for (std::size_t i = 0; i < host.extent(0); ++i) {
    if constexpr (ViewType::rank() == 1) {
      host(i) = static_cast<T>(array(row + i, col));
    } else {
      for (std::size_t j = 0; j < host.extent(1); ++j) {
        host(i, j) = static_cast<T>(array(row + i, col + j));
      }
    }
  }
  Kokkos::deep_copy(view, host);
}

/// How good the logits of all pictures are.
struct Score {
  int correct = 0;     ///< pictures whose digit is recognised
  int mismatches = 0;  ///< pictures whose digit is another one than that of the reference logits
  double max_error = 0.0;  ///< largest distance from the reference logits over their largest size
};

template <class ViewType>
Score evaluate(const ViewType& logits, const Network& network) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), logits);
  const NpyArray& reference = network.reference_logits;
  Score score;
  double scale = 0.0;
  for (std::size_t i = 0; i < reference.rows; ++i) {
    std::size_t best = 0;
    std::size_t expected = 0;
    for (std::size_t j = 0; j < reference.cols; ++j) {
      const double z = static_cast<double>(host(i, j));
      if (z > static_cast<double>(host(i, best))) best = j;
      if (reference(i, j) > reference(i, expected)) expected = j;
      scale = std::max(scale, std::abs(reference(i, j)));
      const double error = std::abs(z - reference(i, j));
      score.max_error = std::isnan(error) ? std::numeric_limits<double>::infinity()
                                          : std::max(score.max_error, error);
    }
    score.correct += best == static_cast<std::size_t>(network.labels(i)) ? 1 : 0;
    score.mismatches += best != expected ? 1 : 0;
  }
  score.max_error /= scale;
  return score;
}

#endif
