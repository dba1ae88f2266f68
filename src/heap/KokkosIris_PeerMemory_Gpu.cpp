// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Slabs in GPU memory: plain allocations, whose bases the ranks open through the runtime's handles
// for other processes. CUDA and HIP from one text.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <core/KokkosIris_Error.hpp>
#include <core/KokkosIris_GpuRuntime.hpp>
#include <cstdio>
#include <exception>
#include <heap/KokkosIris_PeerMemory.hpp>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace KokkosIris::Impl {
namespace {

/// Smaller allocations may be parts of a block of the runtime's, and a handle opens at the base of
/// the block. Whole multiples of this are blocks of their own (CUDA's documentation of
/// cudaIpcGetMemHandle).
constexpr std::size_t allocation_unit = std::size_t(2) << 20;

/// Fast polls of a wait in a kernel, some hundred microseconds.
constexpr int polls_before_sleep = 1000;
/// Kernels read host memory no more often than this while they wait.
constexpr double seconds_between_looks = 100e-6;

/// A slab whose context is gone but which other ranks may still have mapped: freeing it before they
/// have closed it is undefined.
struct RetiredSlab {
  Gpu gpu;
  void* slab;
  std::shared_ptr<Runtime> runtime;

  bool is_unused() const {
    for (int other = 0; other < runtime->size(); ++other) {
      if (other == runtime->rank() || runtime->process_is_gone(other)) continue;
      if (runtime->control(other).peers_closed.load(std::memory_order_acquire) == 0) return false;
    }
    return true;
  }
};

/// The retired slabs of this process. Destruction of a context is not collective, so a slab is
/// freed at the first of these moments at which no rank has it mapped any more: shortly after its
/// context was destroyed, when another context is destroyed or made, the end of the process.
class RetiredSlabs {
 public:
  /// Never destroyed: contexts may end after the static objects of this file would.
  static RetiredSlabs& instance() {
    static RetiredSlabs& slabs = *new RetiredSlabs;
    return slabs;
  }

  void add(RetiredSlab slab) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_slabs.push_back(std::move(slab));
  }

  /// Frees what it can; tries again for `patience`.
  void free_unused(std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!free_what_is_unused() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  bool free_what_is_unused() {
    const std::lock_guard<std::mutex> lock(m_mutex);
    const auto unused = std::partition(m_slabs.begin(), m_slabs.end(),
                                       [](const RetiredSlab& one) { return !one.is_unused(); });
    for (auto slab = unused; slab != m_slabs.end(); ++slab) slab->gpu.free(slab->slab);
    m_slabs.erase(unused, m_slabs.end());
    return m_slabs.empty();
  }

  std::mutex m_mutex;
  std::vector<RetiredSlab> m_slabs;
};

/// What a rank tells the others of its slab.
struct SlabCard {
  GpuIpcHandle handle;
  GpuUuid uuid;
  int device;
  char name[64];
};

bool share_device(const std::vector<SlabCard>& cards) {
  std::vector<GpuUuid> devices;
  for (const SlabCard& card : cards) devices.push_back(card.uuid);
  std::sort(devices.begin(), devices.end());
  return std::adjacent_find(devices.begin(), devices.end()) != devices.end();
}

std::string describe(int rank, const SlabCard& card) {
  return "rank " + std::to_string(rank) + " on its GPU " + std::to_string(card.device) + " (" +
         card.name + ", " + to_string(card.uuid) + ")";
}

class GpuPeerMemory : public PeerMemory {
 public:
  GpuPeerMemory(std::shared_ptr<Runtime> runtime, std::size_t bytes)
      : m_runtime(std::move(runtime)),
        m_gpu(Gpu::of_default_instance(m_runtime->rank())),
        m_bytes(bytes),
        m_slabs(static_cast<std::size_t>(m_runtime->size()), nullptr) {}
  ~GpuPeerMemory() override;
  GpuPeerMemory(const GpuPeerMemory&) = delete;
  GpuPeerMemory& operator=(const GpuPeerMemory&) = delete;

  /// Collective. \throws Error on all ranks; the destructor then gives back what there is
  void create(Bootstrap& bootstrap);

  char* slab(int rank) const override { return m_slabs[static_cast<std::size_t>(rank)]; }
  char* const* table() const override { return m_table; }
  char* const* host_table() const override { return m_slabs.data(); }
  void read(void* to, const char* slab, std::size_t bytes) const override { copy(to, slab, bytes); }
  void write(char* slab, const void* from, std::size_t bytes) const override {
    copy(slab, from, bytes);
  }
  int ranks_on_gpu() const override { return m_ranks_on_gpu; }
  int spins() const override { return polls_before_sleep; }
  std::optional<DeviceWaitSettings> wait_settings() const override;
  bool ranks_share_device() const override { return m_ranks_share_device; }
  void wait_for_kernels() const override {
    if (Kokkos::is_initialized() && !Kokkos::is_finalized()) {
      Kokkos::fence("KokkosIris::wait_for_kernels");
    }
  }
  std::string description() const override {
    return "device memory of " + m_gpu.description() + ", opened by all ranks";
  }

 private:
  int rank() const { return m_runtime->rank(); }
  void copy(void* to, const void* from, std::size_t bytes) const {
    m_gpu.copy(to, from, bytes, m_stream);
    m_gpu.synchronize(m_stream);
  }
  char* allocate_slab() const;
  void create_own(std::size_t bytes);
  SlabCard card() const;
  void open_peer(int other, const SlabCard& mine, const SlabCard& theirs);
  void agree(Bootstrap& bootstrap, const Error* error) const;

  std::shared_ptr<Runtime> m_runtime;
  Gpu m_gpu;
  std::size_t m_bytes;
  int m_ranks_on_gpu = 1;
  std::vector<char*> m_slabs;  // null where not (yet) opened
  char** m_table = nullptr;    // m_slabs in device memory, behind the own slab
  GpuStream m_stream = nullptr;
  char* m_control = nullptr;  // the own control block as kernels reach it
  bool m_ranks_share_device = false;
};

GpuPeerMemory::~GpuPeerMemory() {
  try {
    wait_for_kernels();
  } catch (const std::exception& error) {
    // A kernel failed before; what follows frees what can be freed.
    report(error.what());
  }
  for (int other = 0; other < m_runtime->size(); ++other) {
    if (other != rank() && slab(other) != nullptr) m_gpu.close_handle(slab(other));
  }
  m_runtime->leave();
  m_runtime->control(rank()).peers_closed.store(1, std::memory_order_release);
  if (m_control != nullptr) m_gpu.unregister_host(&m_runtime->control(rank()));
  if (m_stream != nullptr) m_gpu.destroy_stream(m_stream);
  if (slab(rank()) == nullptr) return;
  RetiredSlabs::instance().add({m_gpu, slab(rank()), m_runtime});
  // Ranks usually destroy a context at about the same time.
  RetiredSlabs::instance().free_unused(std::chrono::milliseconds(200));
}

/// Makes every rank throw if one of them has an error.
void GpuPeerMemory::agree(Bootstrap& bootstrap, const Error* error) const {
  if (bootstrap.all_ok(error == nullptr)) return;
  if (error != nullptr) throw *error;
  throw_error(ErrorCode::peer_failed, rank(), "Context",
              "another rank could not allocate or open GPU memory of " + std::to_string(m_bytes) +
                  " bytes a rank");
}

char* GpuPeerMemory::allocate_slab() const {
  const std::size_t table_bytes = m_slabs.size() * sizeof(char*);
  const std::size_t whole =
      (m_bytes + table_bytes + allocation_unit - 1) / allocation_unit * allocation_unit;
  try {
    return static_cast<char*>(m_gpu.allocate(whole));
  } catch (const Error& error) {
    throw Error(error.code(), rank(),
                std::string(error.what()) + "; the slab of a rank takes " +
                    std::to_string(m_bytes) +
                    " bytes: ask for a smaller heap (ContextOptions::heap_size, "
                    "KOKKOSIRIS_HEAP_SIZE)");
  }
}

void GpuPeerMemory::create_own(std::size_t bytes) {
  m_stream = m_gpu.create_stream();
  char* const own = allocate_slab();
  m_slabs[static_cast<std::size_t>(rank())] = own;
  m_table = reinterpret_cast<char**>(own + bytes);
  m_gpu.set(own, 0, bytes, m_stream);
  m_gpu.synchronize(m_stream);
  m_control =
      static_cast<char*>(m_gpu.register_host(&m_runtime->control(rank()), sizeof(ControlBlock)));
}

SlabCard GpuPeerMemory::card() const {
  SlabCard card{};
  // A rank alone exports nothing: not every device and not every container can.
  if (m_runtime->size() > 1) card.handle = m_gpu.export_handle(slab(rank()));
  card.uuid = m_gpu.uuid();
  card.device = m_gpu.device();
  std::snprintf(card.name, sizeof(card.name), "%s", m_gpu.name().c_str());
  return card;
}

void GpuPeerMemory::open_peer(int other, const SlabCard& mine, const SlabCard& theirs) {
  const ControlBlock& control = m_runtime->control(other);
  if (control.process == getpid() &&
      control.process_namespace == m_runtime->control(rank()).process_namespace) {
    throw_error(ErrorCode::invalid_argument, rank(), "Context",
                "rank " + std::to_string(other) + " is in the same process as rank " +
                    std::to_string(rank()) +
                    "; the ranks of a context on GPUs are processes of their own");
  }
  // A device that this process does not see can still be opened, if the driver can.
  const int device = Gpu::find(theirs.uuid, rank());
  if (device >= 0 && !m_gpu.can_access(device)) {
    throw_error(ErrorCode::system, rank(), "Context",
                "no peer access: " + describe(rank(), mine) + " cannot reach the memory of " +
                    describe(other, theirs) +
                    "; choose GPUs with peer access (kokkosiris_info shows which), or put these "
                    "ranks on one GPU");
  }
  try {
    m_slabs[static_cast<std::size_t>(other)] = static_cast<char*>(m_gpu.open_handle(theirs.handle));
  } catch (const Error& error) {
    throw Error(error.code(), rank(),
                std::string(error.what()) + "; " + describe(rank(), mine) +
                    " could not open the memory of " + describe(other, theirs) +
                    (device >= 0 ? ""
                                 : std::string(", which this rank does not see (") +
                                       gpu_visibility_variable + ")"));
  }
}

void GpuPeerMemory::create(Bootstrap& bootstrap) {
  // All ranks have come here, so they have closed what they had of contexts before.
  bootstrap.barrier();
  RetiredSlabs::instance().free_unused(std::chrono::milliseconds(0));
  const auto attempt = [&](auto&& step) {
    std::optional<Error> failure;
    try {
      step();
    } catch (const Error& error) {
      failure = error;
    }
    agree(bootstrap, failure ? &*failure : nullptr);
  };
  SlabCard mine{};
  attempt([&] {
    create_own(m_bytes);
    mine = card();
  });
  const auto cards = bootstrap.all_gather(mine);
  m_ranks_share_device = share_device(cards);
  attempt([&] {
    for (int other = 0; other < m_runtime->size(); ++other) {
      if (other != rank()) open_peer(other, mine, cards[static_cast<std::size_t>(other)]);
    }
    copy(m_table, m_slabs.data(), m_slabs.size() * sizeof(char*));
    m_ranks_on_gpu = static_cast<int>(std::count_if(
        cards.begin(), cards.end(), [&](const SlabCard& card) { return card.uuid == mine.uuid; }));
  });
}

std::optional<DeviceWaitSettings> GpuPeerMemory::wait_settings() const {
  ControlBlock& control = m_runtime->control(rank());
  const auto as_kernels_see = [&](auto& word) {
    return m_control + (reinterpret_cast<char*>(&word) - reinterpret_cast<char*>(&control));
  };
  const double ticks = m_gpu.ticks_per_second();
  return DeviceWaitSettings{
      reinterpret_cast<const std::uint32_t*>(as_kernels_see(control.abort.state)),
      reinterpret_cast<std::uint64_t*>(as_kernels_see(control.report.waiting)),
      reinterpret_cast<std::uint64_t*>(as_kernels_see(control.report.too_late)),
      static_cast<std::uint64_t>(m_runtime->timeout() * ticks),
      static_cast<std::uint64_t>(seconds_between_looks * ticks)};
}

}  // namespace

template <>
std::unique_ptr<PeerMemory> make_peer_memory<GpuMemorySpace>(
    Bootstrap& bootstrap, const std::shared_ptr<Runtime>& runtime, std::size_t bytes) {
  auto memory = std::make_unique<GpuPeerMemory>(runtime, bytes);
  memory->create(bootstrap);
  return memory;
}

}  // namespace KokkosIris::Impl
