// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Tile engines of host functions in kernels that compilers for GPUs see too.

#ifndef KOKKOSIRIS_HOST_ENGINE_HPP
#define KOKKOSIRIS_HOST_ENGINE_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>

namespace KokkosIris::Impl {

/// Engines whose teams need scratch memory.
template <class Engine>
concept UsesScratch = requires {
  Engine::scratch_bytes();
};

/// The tile operations of `Store`, which are host functions, for a kernel that is compiled for a
/// device as well but never runs there.
template <class Store>
struct HostOnlyStore {
  Store store;

  template <class Team, class Tile, class Bias>
  KOKKOS_FUNCTION void add_bias([[maybe_unused]] const Team& team,
                                [[maybe_unused]] const Tile& tile,
                                [[maybe_unused]] const Bias& bias,
                                [[maybe_unused]] std::int64_t row,
                                [[maybe_unused]] std::int64_t col) const {
    KOKKOS_IF_ON_HOST((store.add_bias(team, tile, bias, row, col);))
  }
  template <class Team, class Part, class Target>
  KOKKOS_FUNCTION void sum([[maybe_unused]] const Team& team, [[maybe_unused]] int parts,
                           [[maybe_unused]] const Part& part, [[maybe_unused]] int targets,
                           [[maybe_unused]] const Target& target,
                           [[maybe_unused]] int local) const {
    KOKKOS_IF_ON_HOST((store.sum(team, parts, part, targets, target, local);))
  }
};

/// The same for an engine; what the functions do: KokkosIris_TileEngine_Packed.hpp.
template <class Engine>
struct HostOnlyEngine {
  using TileStore = HostOnlyStore<typename Engine::TileStore>;
  using Panel = typename Engine::Panel;

  Engine engine;

  static std::size_t scratch_bytes() requires UsesScratch<Engine> {
    return Engine::scratch_bytes();
  }

  KOKKOS_FUNCTION TileStore tile_store() const {
    KOKKOS_IF_ON_HOST((return {engine.tile_store()};))
    KOKKOS_IF_ON_DEVICE((return {};))
  }
  template <class Team>
  KOKKOS_FUNCTION void prepare([[maybe_unused]] const Team& team) const {
    KOKKOS_IF_ON_HOST((engine.prepare(team);))
  }
  template <class Team, class Shards, class Wait>
  KOKKOS_FUNCTION bool load([[maybe_unused]] const Team& team, [[maybe_unused]] char* buffer,
                            [[maybe_unused]] const Shards& a, [[maybe_unused]] const Wait& wait,
                            [[maybe_unused]] Panel& panel) const {
    KOKKOS_IF_ON_HOST((return engine.load(team, buffer, a, wait, panel);))
    KOKKOS_IF_ON_DEVICE((return false;))
  }
  template <class Rows>
  KOKKOS_FUNCTION Panel loaded([[maybe_unused]] const char* buffer,
                               [[maybe_unused]] const Rows& rows,
                               [[maybe_unused]] std::int64_t k) const {
    KOKKOS_IF_ON_HOST((return engine.loaded(buffer, rows, k);))
    KOKKOS_IF_ON_DEVICE((return {};))
  }
  template <class Team, class Tile>
  KOKKOS_FUNCTION void compute([[maybe_unused]] const Team& team,
                               [[maybe_unused]] const Panel& panel, [[maybe_unused]] int owner,
                               [[maybe_unused]] std::int64_t column,
                               [[maybe_unused]] const Tile& tile) const {
    KOKKOS_IF_ON_HOST((engine.compute(team, panel, owner, column, tile);))
  }
};

}  // namespace KokkosIris::Impl

#endif
