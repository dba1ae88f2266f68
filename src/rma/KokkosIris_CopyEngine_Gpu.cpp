// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The copy engine of GPUs: a proxy thread and two streams for each peer.
//
// Kernels commit descriptors to rings in host memory; the proxy hands each to the ring's stream:
// the copy, its signal, and a write of the ring's count of completed copies, in this order. The
// stream carries them out in order, so nothing needs to be waited for on the host, and a kernel in
// quiet() polls a word in the memory of its own GPU.
//
// The host's copies wait for the work in an execution space before them, so they have streams of
// their own: a kernel that waits for its copies must not find them behind one that waits for the
// kernel. For the same reason the two kinds of streams have urgencies, hence queues of the
// hardware, that no other streams have.
//
// A kernel cannot wake a thread of the host. While copies come, the proxy looks at the rings all
// the time; then it sleeps between looks, longer after a while: a copy that comes after a pause
// waits up to `short_sleep` for the proxy, after a long pause up to `long_sleep`, which costs a
// core some promille of its time. While copies can be expected to run, the next one may follow at
// their end, and it goes on looking. Where ranks have no processors to spare
// (Runtime::has_spare_processors) it sleeps for `shortest_sleep` between any two looks: it would
// keep ranks from running, and a thread that never sleeps is not let in for milliseconds when the
// application's spin as well.
//
// Kernels tell the host by a word in its memory that they have submitted copies: reading how many
// from the GPU's takes microseconds.

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <core/KokkosIris_DeviceControl.hpp>
#include <core/KokkosIris_Error.hpp>
#include <core/KokkosIris_GpuRuntime.hpp>
#include <core/KokkosIris_Runtime.hpp>
#include <core/KokkosIris_ServiceThread.hpp>
#include <core/KokkosIris_Wait.hpp>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <rma/KokkosIris_HostCopyQueue.hpp>
#include <thread>
#include <vector>

namespace KokkosIris::Impl {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto busy_time = std::chrono::microseconds(100);      ///< after a copy
constexpr double slow_link = 100.0;                             ///< expected of copies, bytes a ns
constexpr auto shortest_sleep = std::chrono::microseconds(5);   ///< where it must not spin
constexpr auto attentive_time = std::chrono::milliseconds(50);  ///< with short sleeps
constexpr auto short_sleep = std::chrono::microseconds(20);
constexpr auto long_sleep = std::chrono::microseconds(500);

/// Of streams: those of the rings never wait for anything but copies.
constexpr int ring_urgency = 2;
constexpr int host_urgency = 1;

/// Descriptors that share one write of the completed count, as long as they are small.
constexpr std::uint64_t largest_batch = 8;
constexpr std::uint64_t largest_batch_bytes = 65536;

/// The largest pitch of a 2-D copy, a limit of the runtimes' (MaxPitch).
constexpr std::uint64_t largest_pitch = std::numeric_limits<std::int32_t>::max();

/// What the proxy and kernels share. In the memory of the GPU: the queues, then the rings, then two
/// counters each. In pinned memory of the host: the entries, then a word for each ring.
class RingStorage {
 public:
  RingStorage(const Gpu& gpu, int peers, std::size_t entries, CopyEngine* engine, GpuStream stream)
      : m_gpu(gpu), m_entries(entries) {
    const auto count = static_cast<std::size_t>(peers);
    const std::size_t rings_at = sizeof(PaddedFlag);
    static_assert(sizeof(CopyEngineQueues) <= sizeof(PaddedFlag));
    const std::size_t counters_at = (rings_at + count * sizeof(CopyRing) + sizeof(PaddedFlag) - 1) /
                                    sizeof(PaddedFlag) * sizeof(PaddedFlag);
    const std::size_t bytes = counters_at + 2 * count * sizeof(PaddedFlag);
    std::vector<char> image(bytes);
    try {
      m_device = static_cast<char*>(gpu.allocate(bytes));
      m_host = static_cast<CopyRingEntry*>(
          gpu.allocate_host(count * (entries * sizeof(CopyRingEntry) + sizeof(PaddedFlag))));
      m_host_words = reinterpret_cast<PaddedFlag*>(m_host + count * entries);
      auto* const counters = reinterpret_cast<PaddedFlag*>(m_device + counters_at);
      for (std::size_t peer = 0; peer < count; ++peer) {
        m_rings.push_back(CopyRing{&counters[2 * peer].value, &counters[2 * peer + 1].value,
                                   m_host + peer * entries, &m_host_words[peer].value});
      }
      const CopyEngineQueues queues{reinterpret_cast<CopyRing*>(m_device + rings_at), entries,
                                    engine};
      std::memcpy(image.data(), &queues, sizeof(queues));
      std::memcpy(image.data() + rings_at, m_rings.data(), count * sizeof(CopyRing));
      gpu.copy(m_device, image.data(), bytes, stream);
      gpu.synchronize(stream);
    } catch (...) {
      release();
      throw;
    }
  }
  RingStorage(const RingStorage&) = delete;
  RingStorage& operator=(const RingStorage&) = delete;
  ~RingStorage() { release(); }

  CopyEngineQueues* queues() const { return reinterpret_cast<CopyEngineQueues*>(m_device); }
  /// Addresses of the counters are those of the device.
  const CopyRing& ring(int peer) const { return m_rings[static_cast<std::size_t>(peer)]; }
  std::size_t entries() const { return m_entries; }

 private:
  void release() noexcept {
    if (m_host != nullptr) m_gpu.free_host(m_host);
    if (m_device != nullptr) m_gpu.free(m_device);
  }

  Gpu m_gpu;
  std::size_t m_entries;
  char* m_device = nullptr;
  CopyRingEntry* m_host = nullptr;
  PaddedFlag* m_host_words = nullptr;
  std::vector<CopyRing> m_rings;
};

/// Streams and events that end with their owner.
class StreamSet {
 public:
  explicit StreamSet(const Gpu& gpu) : m_gpu(gpu) {}
  StreamSet(const StreamSet&) = delete;
  StreamSet& operator=(const StreamSet&) = delete;
  ~StreamSet() {
    for (const GpuStream stream : m_streams) m_gpu.destroy_stream(stream);
    for (const GpuEvent event : m_events) m_gpu.destroy_event(event);
  }
  GpuStream add_stream(int urgency) { return m_streams.emplace_back(m_gpu.create_stream(urgency)); }
  GpuEvent add_event() { return m_events.emplace_back(m_gpu.create_event()); }

 private:
  Gpu m_gpu;
  std::vector<GpuStream> m_streams;
  std::vector<GpuEvent> m_events;
};

void copy_data(const Gpu& gpu, GpuStream stream, const CopyWork& work) {
  if (work.width == 0 || work.height == 0) return;
  const bool adjacent =
      work.height == 1 || (work.destination_pitch == work.width && work.source_pitch == work.width);
  const auto fits = [&](std::uint64_t pitch) {
    return pitch >= work.width && pitch <= largest_pitch;
  };
  if (adjacent) {
    gpu.copy(work.destination, work.source, work.width * work.height, stream);
  } else if (fits(work.destination_pitch) && fits(work.source_pitch)) {
    gpu.copy_2d(work.destination, work.destination_pitch, work.source, work.source_pitch,
                work.width, work.height, stream);
  } else {
    for (std::uint64_t row = 0; row < work.height; ++row) {
      gpu.copy(work.destination + row * work.destination_pitch,
               work.source + row * work.source_pitch, work.width, stream);
    }
  }
}

void carry_out(const Gpu& gpu, GpuStream stream, const CopyWork& work) {
  copy_data(gpu, stream, work);
  if (work.signal_action == CopySignal::set) {
    gpu.write_word(stream, work.signal, work.signal_value);
  } else if (work.signal_action == CopySignal::add) {
    gpu.add_to_word(stream, work.signal, work.signal_value);
  }
}

class GpuCopyEngine : public CopyEngine, public HostCopyQueue {
 public:
  GpuCopyEngine(Runtime& runtime, std::size_t entries)
      : m_runtime(runtime),
        m_gpu(Gpu::of_default_instance(runtime.rank())),
        m_streams(m_gpu),
        m_own_stream(m_streams.add_stream(ring_urgency)),
        m_storage(m_gpu, runtime.size(), entries, this, m_own_stream),
        m_peers(static_cast<std::size_t>(runtime.size())),
        m_seen_reserved(static_cast<std::uint64_t*>(m_gpu.allocate_host(sizeof(std::uint64_t))),
                        [gpu = m_gpu](void* memory) { gpu.free_host(memory); }) {
    m_gpu.rehearse_stream_work(m_own_stream);
    for (std::size_t i = 0; i < m_peers.size(); ++i) {
      Peer& peer = m_peers[i];
      peer.ring_stream = m_streams.add_stream(ring_urgency);
      peer.host_stream = m_streams.add_stream(host_urgency);
      peer.order = m_streams.add_event();
      peer.done = m_streams.add_event();
      // A stream, too, is set up by its first use.
      m_gpu.write_word(peer.ring_stream, m_storage.ring(static_cast<int>(i)).completed, 0);
      m_gpu.record(peer.order, peer.ring_stream);
      m_gpu.wait(peer.host_stream, peer.order);
      m_gpu.record(peer.done, peer.host_stream);
      m_gpu.synchronize(peer.host_stream);
    }
    m_proxy = start_service_thread(runtime.rank(), "KokkosIris:copy", [this] { run(); });
  }
  ~GpuCopyEngine() override {
    m_stop.store(true);
    m_proxy.join();
    for (const Peer& peer : m_peers) {
      try {
        m_gpu.synchronize(peer.ring_stream);
        m_gpu.synchronize(peer.host_stream);
      } catch (const Error& error) {
        report(error.what());
      }
    }
  }
  GpuCopyEngine(const GpuCopyEngine&) = delete;
  GpuCopyEngine& operator=(const GpuCopyEngine&) = delete;

  CopyEngineQueues* queues() noexcept override { return m_storage.queues(); }
  // Only kernels use the rings, and the proxy alone carries out what they hold.
  void submitted(int, std::uint64_t, const CopyWork&) noexcept override {}
  void progress(int) noexcept override {}
  HostCopyQueue* host_queue() noexcept override { return this; }

  void follow(int number, const GpuExecutionSpace& exec) override {
    Peer& peer = m_peers[static_cast<std::size_t>(number)];
    const std::lock_guard<std::mutex> lock(peer.mutex);
    if (m_gpu.is_capturing(gpu_stream(exec))) {
      throw_error(
          ErrorCode::invalid_argument, m_runtime.rank(), "copy engine",
          "the instance's stream is being captured, and a graph cannot hold copies that the "
          "host submits: submit them before or after the capture, or let a kernel submit "
          "them");
    }
    take_all(number, peer);
    join(peer);
    // Both only enqueue. Asking whether the instance has anything to do takes three times as long.
    m_gpu.record(peer.order, gpu_stream(exec));
    m_gpu.wait(peer.host_stream, peer.order);
  }
  void submit(int number, const CopyWork& work) override {
    Peer& peer = m_peers[static_cast<std::size_t>(number)];
    const std::lock_guard<std::mutex> lock(peer.mutex);
    peer.unmarked = true;  // also if the copy is refused half-way
    carry_out(m_gpu, peer.host_stream, work);
  }
  void mark(int number) override {
    Peer& peer = m_peers[static_cast<std::size_t>(number)];
    const std::lock_guard<std::mutex> lock(peer.mutex);
    put_mark(number, peer);
  }
  bool wait(int number) override {
    Peer& peer = m_peers[static_cast<std::size_t>(number)];
    const std::uint64_t target = reserved(number, peer);
    bool marked = false;
    auto complete = [&] {
      const std::lock_guard<std::mutex> lock(peer.mutex);
      marked = marked || mark_covers(target, number, peer);
      // Another thread may have recorded the event anew, later: then this one waits longer.
      return marked && m_gpu.is_complete(peer.done);
    };
    return m_runtime.wait_until({WaitPhase::copy_engine_quiet, m_runtime.rank()},
                                &is_ready<decltype(complete)>, &complete);
  }

 private:
  struct alignas(128) Peer {
    std::mutex mutex;
    std::uint64_t taken = 0;   ///< positions of the ring that have been handed to its stream
    std::uint64_t joined = 0;  ///< positions that the host's stream waits for
    std::uint64_t marked = 0;  ///< positions that come before `done`
    bool unmarked = false;     ///< the host has submitted copies that do not
    GpuStream ring_stream = nullptr;
    GpuStream host_stream = nullptr;
    GpuEvent order = nullptr;  ///< passed from one stream to the next
    GpuEvent done = nullptr;   ///< what quiet on the host waits for

    std::mutex reserved_mutex;
    bool reserved_stale = false;      ///< kernels have reserved since
    std::uint64_t seen_reserved = 0;  ///< positions that kernels had reserved
  };

  /// Later copies of the host wait for those that were taken from the ring. The caller holds the
  /// mutex, or is alone.
  void join(Peer& peer) {
    if (peer.joined == peer.taken) return;
    m_gpu.record(peer.order, peer.ring_stream);
    m_gpu.wait(peer.host_stream, peer.order);
    peer.joined = peer.taken;
  }

  /// Hands all that has been committed of a ring to its stream. The caller holds the mutex.
  void take_all(int number, Peer& peer) {
    while (hand_over(number, peer)) {
    }
  }

  /// Sees to it that the event is behind all that was submitted: records it unless it is there
  /// already, since what the host's stream merely waits for is no copy. The caller holds the mutex.
  void put_mark(int number, Peer& peer) {
    take_all(number, peer);
    if (peer.marked == peer.taken && !peer.unmarked) return;
    join(peer);
    m_gpu.record(peer.done, peer.host_stream);
    peer.marked = peer.taken;
    peer.unmarked = false;
  }

  /// True if the event is, or can now be, behind all positions before `target`; else one of them
  /// has not been committed yet. The caller holds the mutex.
  bool mark_covers(std::uint64_t target, int number, Peer& peer) {
    const auto reaches = [target](std::uint64_t count) {
      return static_cast<std::int64_t>(count - target) >= 0;
    };
    if (reaches(peer.marked)) return true;
    take_all(number, peer);
    if (!reaches(peer.taken)) return false;
    put_mark(number, peer);
    return true;
  }

  /// Hands the oldest committed copies of a ring to its stream. The caller holds the mutex.
  /// \return how many bytes they have, or nothing if there was none
  std::optional<std::uint64_t> hand_over(int number, Peer& peer) {
    const CopyRing& ring = m_storage.ring(number);
    const std::uint64_t first = peer.taken;
    std::uint64_t bytes = 0;
    while (peer.taken - first < largest_batch && bytes <= largest_batch_bytes) {
      const CopyWork* const work = committed_copy(ring.entries, m_storage.entries(), peer.taken);
      if (work == nullptr) break;
      // A copy that is refused is over as well: its entry must not stop those behind it.
      ++peer.taken;
      bytes += work->width * work->height;
      try {
        carry_out(m_gpu, peer.ring_stream, *work);
      } catch (const Error& error) {
        m_runtime.raise_abort(error.code(), "copy engine", error.what());
      }
    }
    if (peer.taken == first) return std::nullopt;
    m_gpu.write_word(peer.ring_stream, ring.completed, peer.taken);
    return bytes;
  }

  /// Positions of a ring that kernels had reserved which ended before the call. The GPU is asked
  /// only if some have: they say so in `used` after they reserve, so a reservation that the answer
  /// lacks will set it again.
  std::uint64_t reserved(int number, Peer& peer) {
    const CopyRing& ring = m_storage.ring(number);
    const std::lock_guard<std::mutex> peer_lock(peer.reserved_mutex);
    if (__atomic_exchange_n(ring.used, 0, __ATOMIC_SEQ_CST) != 0) peer.reserved_stale = true;
    if (peer.reserved_stale) {
      const std::lock_guard<std::mutex> lock(m_own_mutex);
      m_gpu.copy(m_seen_reserved.get(), ring.reserved, sizeof(std::uint64_t), m_own_stream);
      m_gpu.synchronize(m_own_stream);
      peer.seen_reserved = *m_seen_reserved;
      peer.reserved_stale = false;
    }
    return peer.seen_reserved;
  }

  /// \return as hand_over
  std::optional<std::uint64_t> look_at_all_rings() {
    std::optional<std::uint64_t> bytes;
    for (std::size_t i = 0; i < m_peers.size(); ++i) {
      const std::lock_guard<std::mutex> lock(m_peers[i].mutex);
      if (const auto more = hand_over(static_cast<int>(i), m_peers[i])) {
        bytes = bytes.value_or(0) + *more;
      }
    }
    return bytes;
  }

  void run() noexcept {
    try {
      m_gpu.make_current();
      // Sleeps end when they should, not up to 50 us later.
      static_cast<void>(prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL));
      const bool may_spin = m_runtime.has_spare_processors();
      auto last_work = Clock::now();
      auto expected_end = last_work;
      for (;;) {
        // Read before the look at the rings: what was submitted before the end is finished.
        const bool stop = m_stop.load();
        if (const auto bytes = look_at_all_rings()) {
          last_work = Clock::now();
          expected_end =
              std::max(expected_end, last_work) +
              std::chrono::nanoseconds(std::llround(static_cast<double>(*bytes) / slow_link));
          continue;
        }
        if (stop) return;
        const auto now = Clock::now();
        const auto idle = now - last_work;
        if (idle <= busy_time || now < expected_end) {
          if (!may_spin) std::this_thread::sleep_for(shortest_sleep);
        } else if (idle > attentive_time) {
          std::this_thread::sleep_for(long_sleep);
        } else {
          std::this_thread::sleep_for(short_sleep);
        }
      }
    } catch (const Error& error) {
      m_runtime.raise_abort(error.code(), "copy engine", error.what());
    }
  }

  Runtime& m_runtime;
  Gpu m_gpu;
  StreamSet m_streams;
  GpuStream m_own_stream;
  RingStorage m_storage;
  std::vector<Peer> m_peers;
  std::mutex m_own_mutex;
  std::unique_ptr<std::uint64_t, std::function<void(void*)>> m_seen_reserved;
  std::atomic<bool> m_stop = false;
  std::thread m_proxy;
};

}  // namespace

template <>
std::unique_ptr<CopyEngine> make_copy_engine<GpuMemorySpace>(Runtime& runtime,
                                                             std::size_t entries) {
  return std::make_unique<GpuCopyEngine>(runtime, entries);
}

}  // namespace KokkosIris::Impl
