// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <algorithm>
#include <core/KokkosIris_AlignedParts.hpp>
#include <core/KokkosIris_GpuRuntime.hpp>
#include <fused/KokkosIris_Sm90Engine.hpp>
#include <fused/KokkosIris_Sm90Workspace.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Packets.hpp>
#include <heap/KokkosIris_Creation.hpp>
#include <limits>
#include <string>

namespace KokkosIris::Impl {
namespace Sm90 {
namespace {

/// What follows was measured on H200. Not the device's own: all ranks must choose the same.
constexpr std::int64_t multiprocessors = 132;
constexpr double tile_us = 0.011;       ///< of a tile of 256 columns, for each of K
constexpr double last_tiles_us = 20.0;  ///< until the last tiles of 256 columns are exchanged
/// From the last product to the end, what it takes more than with large tiles of 128 columns.
constexpr double wide_end_us = 1.0;        ///< large tiles of 256 columns
constexpr double small_end_us = 1.0;       ///< small tiles
constexpr double small_rows_end_us = 2.0;  ///< and if they have all 128 rows
constexpr double add_parts_us = 2.0;       ///< and if there are parts of K to be added
constexpr double block_gb_s = 75.0;     ///< what a block of small tiles receives, from the L2 cache
constexpr double block_b_gb_s = 55.0;   ///< and of B alone, which comes from memory
constexpr double memory_gb_s = 4000.0;  ///< of all blocks
/// Messages in packets are twice as long.
constexpr std::int64_t most_packet_bytes = std::int64_t(2) << 20;
constexpr std::int64_t most_small_rows = 512;
/// Shards that blocks send themselves, because copy engines take 10 us to begin: so large, if the
/// product with a shard takes no longer than this.
constexpr std::int64_t most_pushed_bytes = std::int64_t(2) << 20;
constexpr double longest_pushed_us = 6.0;
constexpr std::int64_t pushed_piece_bytes = 8192;

bool gathers(const FusedProblem& p) {
  return p.ranks > 1 && p.operation == FusedOperation::all_gather_matmul;
}
bool exchanges(const FusedProblem& p) { return p.ranks > 1 && !gathers(p); }
std::int64_t chunks_of(const FusedProblem& p) {
  return p.operation == FusedOperation::matmul_reduce_scatter ? p.ranks : 1;
}

bool can_be_small(const FusedProblem& p) {
  const std::int64_t sent = exchanges(p) ? 2 * p.m() * p.n() / chunks_of(p) : 0;
  return p.m() <= most_small_rows && sent <= most_packet_bytes;
}

std::int64_t tiles_of(const FusedProblem& p, int columns) {
  const std::int64_t tiles =
      ceil_div(p.m(), tile_rows) * chunks_of(p) * ceil_div(p.n() / chunks_of(p), columns);
  return std::max<std::int64_t>(1, tiles);  // also for calls that are refused
}

/// Parts of K that keep all multiprocessors busy, if the parts are not too short: 1, 2 or 4.
int parts_of(const FusedProblem& p, int columns) {
  const std::int64_t shards =
      p.operation == FusedOperation::all_gather_matmul ? std::int64_t(p.ranks) : 1;
  const std::int64_t blocks = shards * ceil_div(p.k() / shards, block_k);
  constexpr std::int64_t fewest_blocks = 8;
  const std::int64_t most =
      std::min(multiprocessors / tiles_of(p, columns), blocks / fewest_blocks);
  return most >= 4 ? 4 : most >= 2 ? 2 : 1;
}

constexpr double bytes_of_us = 1e3;  ///< in a GB/s

/// Until all of B has come from memory.
double all_b_us(const FusedProblem& p) {
  return 2.0 * static_cast<double>(p.k()) * static_cast<double>(p.n()) / memory_gb_s / bytes_of_us;
}

/// Estimate of the products in small tiles: the stages of a block, or all of B.
double small_us(const FusedProblem& p, const TilePlan& plan) {
  const auto rounds =
      static_cast<double>(ceil_div(tiles_of(p, plan.columns) * plan.parts, multiprocessors));
  const double stages = static_cast<double>(ceil_div(p.k(), block_k)) / plan.parts;
  const std::int64_t rows = std::min<std::int64_t>(tile_rows, round_up(p.m(), 8));
  const double a_bytes = 2.0 * block_k * static_cast<double>(rows);
  const double b_bytes = 2.0 * block_k * plan.columns;
  const double stage_us =
      std::max((a_bytes + b_bytes) / block_gb_s, b_bytes / block_b_gb_s) / bytes_of_us;
  return std::max(rounds * stages * stage_us, all_b_us(p));
}

/// The same for large tiles, if all multiprocessors go through them in step.
double large_us(const FusedProblem& p, const TilePlan& plan) {
  const auto rounds = static_cast<double>(ceil_div(tiles_of(p, plan.columns), multiprocessors));
  const double relative = plan.columns == 256 ? 1.0 : 0.54;
  return std::max(rounds * tile_us * static_cast<double>(p.k()) * relative, all_b_us(p));
}

double products_us(const FusedProblem& p, const TilePlan& plan) {
  return plan.small ? small_us(p, plan) : large_us(p, plan);
}
double end_us(const FusedProblem& p, const TilePlan& plan) {
  if (!plan.small) {
    const double tail = exchanges(p) ? last_tiles_us * plan.columns / 256 : 0.0;
    return tail + (plan.columns == 256 ? wide_end_us : 0.0);
  }
  const double rows = static_cast<double>(std::min<std::int64_t>(tile_rows, p.m())) / tile_rows;
  return small_end_us + small_rows_end_us * rows + (plan.parts > 1 ? add_parts_us : 0.0);
}
double estimated_us(const FusedProblem& p, const TilePlan& plan) {
  return products_us(p, plan) + end_us(p, plan);
}

}  // namespace

Form form_of(const FusedProblem& p) {
  if (p.ranks == 1) return Form::product;
  switch (p.operation) {
    case FusedOperation::matmul_reduce_scatter:
      return Form::sum_to_owner;
    case FusedOperation::matmul_all_gather:
      return Form::send_to_all;
    case FusedOperation::all_gather_matmul:
      return Form::product;
    case FusedOperation::matmul_all_reduce:
      break;
  }
  return Form::sum_to_all;
}

TilePlan plan_tiles(const FusedProblem& p, const FusedConfig& config) {
  const bool can = can_be_small(p);
  // Where the widest is asked for, small tiles go first. Shards are sent by the warps that are
  // idle, which are fewer beside large tiles.
  const bool may_be_large = config.block_columns == 0 && !gathers(p);
  TilePlan best;
  for (TilePlan plan :
       {TilePlan{256, false}, TilePlan{128, true}, TilePlan{64, true}, TilePlan{128, false}}) {
    if (plan.small && !can) continue;
    if (!plan.small && plan.columns == 128 && can && !may_be_large) continue;
    if (plan.small) plan.parts = parts_of(p, plan.columns);
    const bool wanted = config.block_columns == 0 || plan.columns <= config.block_columns;
    // The widest that is allowed, or the fastest.
    const bool better = best.columns == 0 || (config.block_columns == 0 &&
                                              estimated_us(p, plan) < estimated_us(p, best));
    if (wanted && better) best = plan;
  }
  return best;
}

TileMap tile_map(const FusedProblem& p, Form form, const TilePlan& plan) {
  const int tile_columns = plan.columns;
  TileMap tiles;
  tiles.tile_columns = tile_columns;
  tiles.parts = plan.parts;
  tiles.columns = p.n();
  tiles.rows_of_tiles = static_cast<int>(ceil_div(p.m(), tile_rows));
  // Small tiles of an all-reduce are added by all ranks.
  const bool has_owners = form == Form::sum_to_owner || (form == Form::sum_to_all && !plan.small);
  tiles.chunks = has_owners ? p.ranks : 1;
  // An all-reduce may be cut anywhere: between tiles.
  const bool between_tiles = has_owners && form == Form::sum_to_all;
  tiles.chunk_columns =
      between_tiles ? round_up(ceil_div(p.n(), p.ranks), tile_columns) : p.n() / tiles.chunks;
  tiles.columns_of_tiles = static_cast<int>(ceil_div(tiles.chunk_columns, tile_columns));
  // With fewer tiles than blocks, foreign and own ones are computed side by side.
  tiles.alternates =
      form == Form::sum_to_all && tiles.chunks > 1 && tiles.slots() >= multiprocessors;
  // Operands that arrive chunk by chunk are walked by smaller groups of rows.
  tiles.group = p.operation == FusedOperation::all_gather_matmul ? 8 : 16;
  return tiles;
}

namespace {

/// Sets the sizes of the exchange of a workspace that has all else.
void set_exchange_sizes(const FusedProblem& p, const TilePlan& plan, Sm90Workspace& w) {
  Exchange& e = w.arguments.exchange;
  const Form form = w.arguments.form;
  e.slots = w.arguments.tiles.slots();
  e.image_bytes = half_rows * w.variant.columns * 2;
  // Partial tiles have one consumer each, tiles that go to all have one image for all.
  const bool one_consumer = form == Form::sum_to_owner || form == Form::sum_to_all;
  e.partial_areas = one_consumer ? p.ranks - 1 : 1;
  if (w.arguments.shards > 1) {
    // Small chunks come early, large ones use the link well.
    const std::int64_t tiles = std::clamp<std::int64_t>(p.m() / 512, 1, 8);
    e.chunk_rows = static_cast<int>(tiles * tile_rows);
    e.chunks = static_cast<int>(ceil_div(p.m(), e.chunk_rows));
    e.rows = static_cast<int>(p.m());
    e.gathered_bytes = p.m() * w.pitch * 2;
    // The own shard's product hides what the copy engine takes to begin, or it does not. Blocks
    // send whole vectors.
    const bool is_short = products_us(p, plan) / p.ranks < longest_pushed_us;
    const bool is_small = (p.ranks - 1) * e.gathered_bytes <= most_pushed_bytes;
    if (is_short && is_small && w.pitch == w.shard_k) {
      e.piece_rows = static_cast<int>(
          std::clamp<std::int64_t>(pushed_piece_bytes / (2 * w.pitch), 1, e.chunk_rows));
    }
  }
}

/// What follows from the problem and its plan.
void shape_workspace(const FusedProblem& p, const TilePlan& plan, Sm90Workspace& w) {
  w.variant = {p.element == element_number<half_t>(), plan.columns, plan.small};
  Arguments& arguments = w.arguments;
  arguments.form = form_of(p);
  arguments.tiles = tile_map(p, arguments.form, plan);
  arguments.rows = static_cast<int>(p.m());
  arguments.box_rows = static_cast<int>(std::min<std::int64_t>(tile_rows, round_up(p.m(), 8)));
  arguments.shards = gathers(p) ? p.ranks : 1;
  w.shard_k = p.k() / arguments.shards;
  w.pitch = round_up(w.shard_k, 8);
  arguments.k_blocks = static_cast<int>(ceil_div(w.shard_k, block_k));
  set_exchange_sizes(p, plan, w);
}

/// Lays out the block for the exchange of a workspace that has its shape.
BlockLayout lay_out(const FusedProblem& p, const Sm90Workspace& w) {
  AlignedParts parts;
  const auto add = [&parts](std::int64_t bytes) {
    return parts.add(static_cast<std::size_t>(bytes));
  };
  const Exchange& e = w.arguments.exchange;
  const Form form = w.arguments.form;
  constexpr std::int64_t word = sizeof(std::uint64_t), parities = 2;
  const std::int64_t ranks = p.ranks, half_tiles = parities * e.slots * halves;
  const std::int64_t tile_packets = packets_of(tile_rows * w.variant.columns);
  const bool by_images = form != Form::product && !w.variant.small;
  const bool by_packets = form != Form::product && w.variant.small;
  const bool has_sums = by_images && form == Form::sum_to_all;
  BlockLayout layout;
  layout.partial_ready = add(by_images ? half_tiles * ranks * word : 0);
  layout.sum_ready = add(has_sums ? half_tiles * ranks * word : 0);
  layout.arrived = add(gathers(p) ? ranks * e.chunks * word : 0);
  layout.done = add(gathers(p) ? ranks * std::int64_t(sizeof(PaddedFlag)) : 0);
  layout.packets = add(
      by_packets ? half_tiles / halves * ranks * tile_packets * std::int64_t(sizeof(Packet)) : 0);
  layout.cleared_end = parts.bytes();
  layout.partials = add(by_images ? half_tiles * e.partial_areas * e.image_bytes : 0);
  layout.sums = add(has_sums ? half_tiles * e.image_bytes : 0);
  layout.gathered = add(gathers(p) ? (ranks - 1) * e.gathered_bytes : 0);
  layout.end = parts.bytes();
  return layout;
}

void place_exchange(char* block, const BlockLayout& layout, bool gathers, Exchange& e) {
  e.partial_ready = reinterpret_cast<std::uint64_t*>(block + layout.partial_ready);
  e.sum_ready = reinterpret_cast<std::uint64_t*>(block + layout.sum_ready);
  e.arrived = reinterpret_cast<std::uint64_t*>(block + layout.arrived);
  e.done = reinterpret_cast<PaddedFlag*>(block + layout.done);
  e.packets = block + layout.packets;
  e.partials = block + layout.partials;
  e.sums = block + layout.sums;
  e.gathered = gathers ? block + layout.gathered : nullptr;
}

/// Loads the kernels of all layouts.
void prepare_kernels(const Gpu& gpu, Variant variant) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      variant.transposed_a = a;
      variant.transposed_b = b;
      gpu.check_call("FuncSetAttribute", [&] { return prepare_kernel(variant); });
    }
  }
}

/// The blocks of a tile's parts of K are a cluster, and all clusters run at once: as many parts as
/// there is room for. Ranks may differ in it.
void limit_parts(const Gpu& gpu, int league, Sm90Workspace& w) {
  TileMap& tiles = w.arguments.tiles;
  for (; tiles.parts > 1; tiles.parts /= 2) {
    int clusters = 0;
    gpu.check_call("OccupancyMaxActiveClusters",
                   [&] { return count_clusters(w.variant, tiles.parts, clusters); });
    if (std::min(league, clusters * tiles.parts) >= tiles.tasks()) break;
  }
  w.blocks = std::min(league, tiles.tasks());
}

/// Local memory: the words of the rank, the first call being number 1.
Kokkos::View<char*, GpuMemorySpace> allocate_words(const GpuExecutionSpace& exec, Exchange& e) {
  static_assert(AlignedParts::alignment % alignof(CallWords) == 0);
  AlignedParts parts;
  parts.add(sizeof(CallWords));
  Kokkos::View<char*, GpuMemorySpace> memory(
      Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "KokkosIris::workspace"),
      parts.bytes_anywhere());
  e.local = reinterpret_cast<CallWords*>(AlignedParts::begin_in(memory.data()));
  fill(exec, reinterpret_cast<char*>(e.local), sizeof(CallWords), ConstantValues<char>{0});
  fill(exec, &e.local->call.value, 1, ConstantValues<std::uint64_t>{1});
  return memory;
}

/// True if the device and the extents suit the kernels.
bool suits(const GpuExecutionSpace& exec, const FusedProblem& p) {
  const cudaDeviceProp& device = exec.cuda_device_prop();
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max() / 4;
  return device.major == 9 && device.minor == 0 && p.a.element_bytes == 2 &&
         std::min({p.m(), p.n(), p.k()}) >= 1 && std::max({p.m(), p.n(), p.k()}) <= largest;
}

/// What a workspace takes of the heap.
std::size_t staged_bytes(const FusedProblem& p, const TilePlan& plan) {
  Sm90Workspace shape;
  shape_workspace(p, plan, shape);
  return lay_out(p, shape).end;
}

}  // namespace
}  // namespace Sm90

TileSizes sm90_sizes(const GpuExecutionSpace& exec, const FusedProblem& p,
                     const FusedConfig& config, std::size_t heap_bytes) {
  const bool rows_suit = config.panel_rows == 0 || config.panel_rows == Sm90::tile_rows;
  if (!rows_suit || !Sm90::suits(exec, p)) return {};
  const Sm90::TilePlan plan = Sm90::plan_tiles(p, config);
  if (plan.columns == 0) return {};
  const bool is_asked_for = config.engine == TileEngine::sm90;
  if (!is_asked_for && Sm90::staged_bytes(p, plan) > heap_bytes / 2) return {};
  return {Sm90::tile_rows, plan.columns, plan.columns};
}

void sm90_prepare(const GpuExecutionSpace& exec, Context<GpuMemorySpace>& context,
                  const FusedProblem& p, WorkspaceState& state) {
  using namespace Sm90;
  auto w = std::make_shared<Sm90Workspace>();
  shape_workspace(p, plan_tiles(p, state.signature.config), *w);
  Exchange& exchange = w->arguments.exchange;
  exchange.context = context.device();
  const BlockLayout layout = lay_out(p, *w);
  auto block = context.template empty<char*>("KokkosIris::workspace", layout.end);
  place_exchange(block.data(), layout, gathers(p), exchange);
  const Gpu gpu(gpu_device(exec), context.rank());
  std::string fault;
  ErrorCode code = ErrorCode::out_of_memory;
  try {
    prepare_kernels(gpu, w->variant);
    limit_parts(gpu, state.league, *w);
    state.local_memory =
        std::make_shared<Kokkos::View<char*, GpuMemorySpace>>(allocate_words(exec, exchange));
    fill(exec, block.data(), layout.cleared_end, ConstantValues<char>{0});
    exec.fence("KokkosIris::workspace");
    if (gathers(p) && exchange.piece_rows == 0) {
      w->copies = std::make_unique<ShardCopies>(gpu, exchange, p.m(), w->shard_k, w->pitch,
                                                context.state().ranks_share_device());
    }
  } catch (const Error& error) {
    code = error.code();
    fault = std::string("no workspace: ") + error.what();
  } catch (const std::exception& error) {
    fault = std::string("no workspace: ") + error.what();
  }
  // Also the barrier after which the flags of all ranks are clear.
  agree_on_call(context.runtime(), state.signature, 0, fault, code);
  state.symmetric_memory = std::make_shared<decltype(block)>(block);
  state.sm90 = std::move(w);
}

}  // namespace KokkosIris::Impl
