// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From the operands of a call to its kernel on a Hopper GPU.

#include <algorithm>
#include <core/KokkosIris_GpuRuntime.hpp>
#include <core/KokkosIris_ToolRecord.hpp>
#include <cstdint>
#include <fused/KokkosIris_PackMatrix.hpp>
#include <fused/KokkosIris_Sm90Engine.hpp>
#include <fused/KokkosIris_Sm90Workspace.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90TensorMap.hpp>
#include <stdexcept>
#include <string>

namespace KokkosIris::Impl {
namespace {

using Sm90::Arguments;
using Sm90::Mappable;
using ConstMatrix = MatrixRef<const std::uint16_t>;
using Memory = Kokkos::View<std::uint16_t*, GpuMemorySpace>;

/// A copy of an operand with rows of adjacent elements, in memory that lasts as long as the
/// workspace.
/// \param chunks parts of the columns that begin at multiples of 16 bytes in the copy
ConstMatrix packed(const Gpu& gpu, const GpuExecutionSpace& exec, const ConstMatrix& from,
                   Memory& memory, int chunks = 1) {
  const std::int64_t width = from.cols / chunks;
  const std::int64_t chunk_pitch = round_up(width, 8);
  const std::int64_t pitch = chunks * chunk_pitch;
  const auto elements = static_cast<std::size_t>(from.rows * pitch);
  if (memory.extent(0) < elements) {
    if (gpu.is_capturing(gpu_stream(exec))) {
      throw std::runtime_error(
          "an operand has to be copied, for which there is no memory yet, and a capture cannot "
          "allocate: make one call with such operands before");
    }
    memory = Memory(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "KokkosIris::packed"),
                    elements);
  }
  const MatrixRef<std::uint16_t> to{memory.data(), from.rows, pitch, pitch, 1};
  for (int chunk = 0; chunk < chunks; ++chunk) {
    pack_matrix(exec, to.block(0, chunk * chunk_pitch, from.rows, width),
                from.block(0, chunk * width, from.rows, width));
  }
  return {to.data, to.rows, chunks == 1 ? from.cols : pitch, pitch, 1};
}

/// The maps of one call and the layouts that select its kernel.
class CallMaps {
 public:
  CallMaps(const Gpu& gpu, const GpuExecutionSpace& exec, Sm90Workspace& workspace,
           const WorkspaceState& state, const Sm90Operands& operands)
      : m_exec(exec), m_gpu(gpu), m_workspace(workspace), m_arguments(workspace.arguments) {
    m_variant = workspace.variant;
    // The instance may have fewer multiprocessors than the one that prepared. Blocks wait for other
    // ranks, and those of parts of K for each other, so all must run at once.
    m_blocks = std::min(workspace.blocks, gpu_multiprocessors(exec));
    if (m_blocks < m_arguments.tiles.tasks()) m_arguments.tiles.parts = 1;
    map_a(operands.a);
    map_b(operands.b);
    map_c(operands.c, state);
  }

  Arguments& arguments() { return m_arguments; }
  const Sm90::Variant& variant() const { return m_variant; }
  int blocks() const { return m_blocks; }
  /// A as it is read, by kernel and copies.
  const ConstMatrix& shard() const { return m_shard; }

 private:
  CUtensorMap encode(const Mappable& matrix, int box_outer) const {
    return Sm90::encode_map(matrix, box_outer, m_variant.is_half, m_arguments.exchange.rank());
  }

  void map_a(const ConstMatrix& a) {
    m_shard = a;
    auto map = Sm90::mappable(a);
    // Gathered shards have rows of adjacent elements, and one kernel takes all shards alike.
    const bool gathers = m_arguments.shards > 1;
    // A limit of the runtime's, of copies of rows.
    constexpr std::int64_t largest_copy_pitch = INT32_MAX;
    if (!map || (gathers && (map->column_major || 2 * map->pitch > largest_copy_pitch))) {
      m_shard = packed(m_gpu, m_exec, a, m_workspace.packed_a);
      map = Sm90::mappable(m_shard);
    }
    m_variant.transposed_a = map->column_major;
    m_arguments.a = encode(*map, map->column_major ? Sm90::block_k : m_arguments.box_rows);
    m_shard.row_stride = map->column_major ? m_shard.row_stride : map->pitch;
    if (m_arguments.exchange.piece_rows > 0) {
      m_arguments.shard = m_shard.data;
      m_arguments.shard_pitch = m_shard.row_stride / 8;
      m_arguments.shard_vectors = static_cast<int>(m_workspace.shard_k / 8);
    }
    if (m_variant.small) shape_ring();
    if (!gathers) return;
    const std::int64_t rows = a.rows, pitch = m_workspace.pitch;
    m_arguments.gathered = encode({m_arguments.exchange.gathered, false, m_workspace.shard_k, rows,
                                   pitch, m_arguments.shards - 1, rows * pitch},
                                  m_arguments.box_rows);
  }

  /// Rows of 128 bytes: one for each row of A, or one for each of K and 64 rows of A.
  void shape_ring() {
    const int rows = m_arguments.box_rows;
    const int lines = m_variant.transposed_a ? (rows > 64 ? 2 : 1) * Sm90::block_k : rows;
    const bool one_tile = m_arguments.tiles.tasks() <= m_blocks;
    m_arguments.small_ring = Sm90::small_ring(m_variant.columns, 128 * lines, rows, one_tile);
  }

  void map_b(const ConstMatrix& b) {
    const Sm90::TileMap& tiles = m_arguments.tiles;
    auto map = Sm90::mappable_parts(b, m_arguments.shards, true);
    m_arguments.b_chunk_pitch = tiles.chunk_columns;
    const bool chunks_fit = tiles.chunks == 1 || tiles.chunk_columns % 8 == 0;
    if (!map || (!map->column_major && !chunks_fit)) {
      m_arguments.b_chunk_pitch = round_up(tiles.chunk_columns, 8);
      map = Sm90::mappable_parts(
          packed(m_gpu, m_exec, b, m_workspace.packed_b, chunks_fit ? 1 : tiles.chunks),
          m_arguments.shards, true);
    }
    // "Transposed" is along N.
    m_variant.transposed_b = !map->column_major;
    m_arguments.b = encode(*map, map->column_major ? m_variant.columns : Sm90::block_k);
  }

  void map_c(const MatrixRef<std::uint16_t>& c, const WorkspaceState& state) {
    m_arguments.c_elements = c;
    if (m_variant.small) return;
    const bool gathers_rows = state.signature.operation == FusedOperation::matmul_all_gather;
    const int parts = gathers_rows ? m_arguments.exchange.size() : 1;
    auto map = Sm90::mappable_parts(as_const(c), parts, true);
    // Boxes are cut at any element when they are loaded, but at multiples of 16 bytes when stored.
    if (map && map->inner % 8 != 0) map.reset();
    m_arguments.c_has_map = map.has_value();
    m_arguments.c_column_major = map && map->column_major;
    if (map) {
      m_arguments.c = encode(*map, map->column_major ? m_variant.columns : Sm90::half_rows);
    }
  }

  const GpuExecutionSpace& m_exec;
  const Gpu& m_gpu;
  Sm90Workspace& m_workspace;
  Arguments m_arguments;
  Sm90::Variant m_variant{};
  int m_blocks = 0;
  ConstMatrix m_shard;
};

}  // namespace

void sm90_launch(const GpuExecutionSpace& exec, const WorkspaceState& state,
                 const Sm90Operands& operands) {
  Sm90Workspace& workspace = *state.sm90;
  const Gpu gpu(gpu_device(exec), workspace.arguments.exchange.rank());
  CallMaps maps(gpu, exec, workspace, state, operands);
  Arguments& arguments = maps.arguments();
  arguments.bias = operands.bias.data;
  arguments.bias_stride = operands.bias.stride;
  arguments.bias_axis = operands.bias.axis;

  const GpuStream stream = gpu_stream(exec);
  const bool sends = workspace.copies != nullptr;
  if (sends) workspace.copies->follow(stream);
  if (sends && workspace.copies->before_kernel()) workspace.copies->send(maps.shard(), stream);
  {
    const ToolRecord record(exec,
                            std::string("KokkosIris::") + to_string(state.signature.operation));
    gpu.check_call("LaunchKernel", [&] {
      return Sm90::launch_kernel(maps.variant(), maps.blocks(), stream, arguments);
    });
  }
  if (sends && !workspace.copies->before_kernel()) workspace.copies->send(maps.shard(), stream);
}

}  // namespace KokkosIris::Impl
