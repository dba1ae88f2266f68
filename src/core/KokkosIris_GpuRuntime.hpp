// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The calls of the CUDA and HIP runtimes that the library makes, from one text, each one checked.
///
/// Included by sources named *_Gpu.cpp and *_Cuda.cpp, and by their own headers, only. Nothing here
/// synchronises a device, but that runtimes may do so when memory is freed or no longer pinned.

#ifndef KOKKOSIRIS_GPU_RUNTIME_HPP
#define KOKKOSIRIS_GPU_RUNTIME_HPP

#include <array>
#include <core/KokkosIris_GpuSpace.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#if defined(KOKKOS_ENABLE_CUDA)
#include <cuda_runtime.h>
#elif defined(KOKKOS_ENABLE_HIP)
#include <hip/hip_runtime.h>
#else
#error "KokkosIris_GpuRuntime.hpp needs a Kokkos with CUDA or HIP"
#endif

namespace KokkosIris::Impl {

#if defined(KOKKOS_ENABLE_CUDA)
using GpuStatus = cudaError_t;
using GpuStream = cudaStream_t;
using GpuEvent = cudaEvent_t;
using GpuIpcHandle = cudaIpcMemHandle_t;
inline constexpr char gpu_visibility_variable[] = "CUDA_VISIBLE_DEVICES";
/// A function of the driver that is loaded, so that nothing need be linked with it; null if it has
/// none of this name.
void* find_driver_function(const char* name) noexcept;
inline GpuStream gpu_stream(const GpuExecutionSpace& exec) { return exec.cuda_stream(); }
inline int gpu_device(const GpuExecutionSpace& exec) { return exec.cuda_device(); }
#else
using GpuStatus = hipError_t;
using GpuStream = hipStream_t;
using GpuEvent = hipEvent_t;
using GpuIpcHandle = hipIpcMemHandle_t;
inline constexpr char gpu_visibility_variable[] = "HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES";
inline GpuStream gpu_stream(const GpuExecutionSpace& exec) { return exec.hip_stream(); }
inline int gpu_device(const GpuExecutionSpace& exec) { return exec.hip_device(); }
#endif

/// What identifies a device on a node, whatever ordinals a process sees.
using GpuUuid = std::array<unsigned char, 16>;

/// "GPU-8-4-4-4-12", with HIP "GPU-16", as the vendor's tools print it.
std::string to_string(const GpuUuid& uuid);

/// A device as one rank uses it.
///
/// Every call makes the device current for its own duration and restores the caller's device. A
/// call that fails throws Error (system; out_of_memory where that is the reason) with the name of
/// the runtime's function, its text, the place of the call and the rank. Functions that are
/// noexcept report instead: they are for destructors.
class Gpu {
 public:
  using Where = std::source_location;

  /// \param device ordinal in this process
  /// \param rank rank in the context, for the texts of errors; -1 where there is none yet
  Gpu(int device, int rank) : m_device(device), m_rank(rank) {}
  /// The device of the default execution space instance, which contexts use.
  static Gpu of_default_instance(int rank) { return {gpu_device(GpuExecutionSpace()), rank}; }
  /// Number of devices that this process sees.
  static int count(int rank, Where where = Where::current());
  /// The ordinal of a device in this process, or -1 if the process does not see it.
  static int find(const GpuUuid& uuid, int rank, Where where = Where::current());

  int device() const { return m_device; }
  /// Any other call: `call` is made with the device current and its status checked.
  /// \param function its name, without the vendor's prefix
  void check_call(const char* function, const std::function<GpuStatus()>& call,
                  Where where = Where::current()) const;
  /// Makes the device current for good: for threads of the library's own.
  void make_current(Where where = Where::current()) const;
  int rank() const { return m_rank; }
  GpuUuid uuid(Where where = Where::current()) const;
  /// The product's name.
  std::string name(Where where = Where::current()) const;
  /// "GPU 1 (NVIDIA H200, GPU-...)".
  std::string description(Where where = Where::current()) const;
  /// Bus address, "0000:1b:00.0".
  std::string bus_address(Where where = Where::current()) const;

  /// Rate of the clock that kernels read with gpu_ticks().
  double ticks_per_second(Where where = Where::current()) const;

  /// True if kernels of this device can access memory of device `other` of this process.
  bool can_access(int other, Where where = Where::current()) const;
  /// What the runtime tells of the link to device `other`: its rank (0 is the fastest kind of link)
  /// and whether atomics work across it; nothing where it does not tell.
  struct Link {
    int performance_rank;
    bool atomics;
  };
  std::optional<Link> link(int other) const noexcept;

  /// \name Memory
  ///@{
  /// Device memory which can be exported, and in which kernels see what other GPUs and copy engines
  /// write while they run. \throws Error (out_of_memory, system)
  void* allocate(std::size_t bytes, Where where = Where::current()) const;
  void free(void* memory) const noexcept;
  /// Memory that the host and kernels reach and that moves between them; null if there is no such.
  void* allocate_managed(std::size_t bytes) const noexcept;
  /// Pinned host memory that kernels reach at the same address; zeroed.
  void* allocate_host(std::size_t bytes, Where where = Where::current()) const;
  void free_host(void* memory) const noexcept;
  /// Pins host memory of the process and returns the address at which kernels reach it.
  void* register_host(void* memory, std::size_t bytes, Where where = Where::current()) const;
  void unregister_host(void* memory) const noexcept;
  ///@}

  /// \name Memory of other processes
  ///@{
  /// Handle of an allocation; `base` is what allocate() returned.
  GpuIpcHandle export_handle(void* base, Where where = Where::current()) const;
  /// Maps another process' allocation so that kernels of this device reach it.
  void* open_handle(const GpuIpcHandle& handle, Where where = Where::current()) const;
  void close_handle(void* base) const noexcept;
  ///@}

  /// \name Streams and events
  ///@{
  /// A stream that does not wait for the legacy default stream.
  /// \param urgency 0 as other streams, 1 or 2; streams of a higher one go first as far as the
  ///        device has priorities, and share no queue of its hardware with those of another one: in
  ///        a shared queue, work can be held up by unrelated work before it that waits
  GpuStream create_stream(int urgency = 0, Where where = Where::current()) const;
  void destroy_stream(GpuStream stream) const noexcept;
  void synchronize(GpuStream stream, Where where = Where::current()) const;
  /// An event without time.
  GpuEvent create_event(Where where = Where::current()) const;
  void destroy_event(GpuEvent event) const noexcept;
  void record(GpuEvent event, GpuStream stream, Where where = Where::current()) const;
  /// Later work of `stream` waits for the event.
  void wait(GpuStream stream, GpuEvent event, Where where = Where::current()) const;
  /// True if what was recorded is complete.
  bool is_complete(GpuEvent event, Where where = Where::current()) const;
  /// True if the stream's work goes to a graph.
  bool is_capturing(GpuStream stream, Where where = Where::current()) const;
  void synchronize(GpuEvent event, Where where = Where::current()) const;
  ///@}

  /// Does each kind of work of the groups below once and waits for it; once for each device of the
  /// process. Runtimes load kernels and set up what they need when it is first used, and may wait
  /// for all kernels of the device to end for that: too late when it is a kernel that waits for the
  /// work.
  void rehearse_stream_work(GpuStream stream, Where where = Where::current()) const;

  /// \name One word of a device, this or a peer's, in order with the other work of a stream
  /// All that the stream did before is visible at system scope before the word changes.
  ///@{
  /// *word = value. Needs no room for a kernel where the driver can write from a stream (CUDA).
  void write_word(GpuStream stream, std::uint64_t* word, std::uint64_t value,
                  Where where = Where::current()) const;
  /// *word += value, atomically, by a kernel of one thread.
  void add_to_word(GpuStream stream, std::uint64_t* word, std::uint64_t value,
                   Where where = Where::current()) const;
  ///@}

  /// \name Copies, by the copy engines where the runtime can; any mix of host and device addresses
  ///@{
  void copy(void* to, const void* from, std::size_t bytes, GpuStream stream,
            Where where = Where::current()) const;
  /// `height` rows of `width` bytes. The runtime wants both pitches to be at least the width.
  void copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
               std::size_t width, std::size_t height, GpuStream stream,
               Where where = Where::current()) const;
  void set(void* memory, int byte, std::size_t bytes, GpuStream stream,
           Where where = Where::current()) const;
  ///@}

 private:
  int m_device;
  int m_rank;
};

}  // namespace KokkosIris::Impl

#endif
