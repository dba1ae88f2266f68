// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <algorithm>
#include <core/KokkosIris_Error.hpp>
#include <core/KokkosIris_GpuIntrinsics.hpp>
#include <core/KokkosIris_GpuRuntime.hpp>
#include <cstdio>
#include <cstring>
#include <desul/atomics.hpp>
#include <functional>

#if defined(KOKKOS_ENABLE_CUDA)
#include <cuda.h>
#endif

// KOKKOSIRIS_GPU(Malloc) is cudaMalloc or hipMalloc: the two runtimes have the same functions with
// the same arguments, but for the few that are named below.
#if defined(KOKKOS_ENABLE_CUDA)
#define KOKKOSIRIS_GPU(name) cuda##name
#define KOKKOSIRIS_GPU_TEXT "cuda"
#else
#define KOKKOSIRIS_GPU(name) hip##name
#define KOKKOSIRIS_GPU_TEXT "hip"
#endif

namespace KokkosIris::Impl {
namespace {

using Status = KOKKOSIRIS_GPU(Error_t);
using Where = Gpu::Where;

#if defined(KOKKOS_ENABLE_CUDA)
using Properties = cudaDeviceProp;
constexpr Status out_of_memory = cudaErrorMemoryAllocation;
constexpr Status unloading = cudaErrorCudartUnloading;
const GpuStream legacy_stream = cudaStreamLegacy;
#else
using Properties = hipDeviceProp_t;
constexpr Status out_of_memory = hipErrorOutOfMemory;
constexpr Status unloading = hipErrorDeinitialized;
const GpuStream legacy_stream = nullptr;
#endif

std::string text_of(const char* call, Status status) {
  return std::string(KOKKOSIRIS_GPU_TEXT) + call + ": " + KOKKOSIRIS_GPU(GetErrorName)(status) +
         ", " + KOKKOSIRIS_GPU(GetErrorString)(status);
}

void check(Status status, const char* call, int device, int rank, const std::string& detail,
           Where where) {
  if (status == KOKKOSIRIS_GPU(Success)) return;
  // The runtime keeps the last error, which would be taken for that of a later call of the
  // application's.
  static_cast<void>(KOKKOSIRIS_GPU(GetLastError)());
  const bool no_room = status == out_of_memory;
  throw_error(
      no_room ? ErrorCode::out_of_memory : ErrorCode::system, rank, "Context",
      text_of(call, status) + (device >= 0 ? " (GPU " + std::to_string(device) + ")" : "") + detail,
      where);
}

/// For destructors. A process that ends takes its runtime down before its static objects: what is
/// freed then has been freed.
void report_failure(Status status, const char* call) noexcept {
  if (status == KOKKOSIRIS_GPU(Success) || status == unloading) return;
  static_cast<void>(KOKKOSIRIS_GPU(GetLastError)());
  try {
    report(text_of(call, status));
  } catch (...) {
    report("a call of the GPU runtime failed");
  }
}

/// Makes a device current for a scope.
class DeviceScopeGuard {
 public:
  DeviceScopeGuard(int device, int rank, Where where) { enter(device, rank, where); }
  /// For copies, events and queries of a stream, which knows its device and is served whichever is
  /// current (CUDA C++ Programming Guide, "Stream and Event Behavior"; HIP documentation,
  /// "Multi-device management"); only handles that stand for a stream of the current device need
  /// it. Asking for it costs a call: five of them were 3 % of a copy of 1 MiB to a peer (H200).
  DeviceScopeGuard(int device, int rank, Where where, GpuStream stream) {
    if (is_of_current_device(stream)) enter(device, rank, where);
  }
  /// Does what it can, for functions that must not throw.
  explicit DeviceScopeGuard(int device) noexcept {
    if (KOKKOSIRIS_GPU(GetDevice)(&m_before) != KOKKOSIRIS_GPU(Success) || m_before == device)
      return;
    m_changed = KOKKOSIRIS_GPU(SetDevice)(device) == KOKKOSIRIS_GPU(Success);
  }
  DeviceScopeGuard(const DeviceScopeGuard&) = delete;
  DeviceScopeGuard& operator=(const DeviceScopeGuard&) = delete;
  ~DeviceScopeGuard() {
    if (m_changed) report_failure(KOKKOSIRIS_GPU(SetDevice)(m_before), "SetDevice");
  }

 private:
  static bool is_of_current_device(GpuStream stream) {
    return stream == nullptr || stream == KOKKOSIRIS_GPU(StreamPerThread) ||
           stream == legacy_stream;
  }
  void enter(int device, int rank, Where where) {
    check(KOKKOSIRIS_GPU(GetDevice)(&m_before), "GetDevice", device, rank, "", where);
    if (m_before == device) return;
    check(KOKKOSIRIS_GPU(SetDevice)(device), "SetDevice", device, rank, "", where);
    m_changed = true;
  }

  int m_before = 0;
  bool m_changed = false;
};

Properties properties_of(int device, int rank, Where where) {
  Properties properties;
  check(KOKKOSIRIS_GPU(GetDeviceProperties)(&properties, device), "GetDeviceProperties", device,
        rank, "", where);
  return properties;
}

/// One thread writes or adds to a word; the launch orders it behind the stream's earlier work.
__global__ void change_word(std::uint64_t* word, std::uint64_t value, bool adds) {
  gpu_fence_release();
  if (adds) {
    desul::atomic_add(word, value, desul::MemoryOrderRelaxed{}, desul::MemoryScopeNode{});
  } else {
    gpu_store_relaxed(word, value);
  }
}

/// Writes a word from a stream without a kernel. \return false if the driver cannot
bool stream_write([[maybe_unused]] GpuStream stream, [[maybe_unused]] std::uint64_t* word,
                  [[maybe_unused]] std::uint64_t value) {
#if defined(KOKKOS_ENABLE_CUDA)
  using Function = CUresult (*)(CUstream, CUdeviceptr, cuuint64_t, unsigned);
  static const auto write =
      reinterpret_cast<Function>(find_driver_function("cuStreamWriteValue64"));
  // The default flags include the barrier that the contract needs.
  return write != nullptr && write(stream, reinterpret_cast<CUdeviceptr>(word), value,
                                   CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS;
#else
  // hipStreamWriteValue64 launches a kernel of the runtime's (ROCm/clr, submitStreamOperation in
  // rocclr/device/rocm/rocvirtual.cpp), whose memory order is documented nowhere. Ours is.
  return false;
#endif
}

}  // namespace

// Calls a function of the runtime behind a DeviceScopeGuard of these arguments, and checks it.
#define KOKKOSIRIS_GPU_GUARDED_CALL(guard_arguments, name, ...)                              \
  do {                                                                                       \
    const DeviceScopeGuard guard guard_arguments;                                            \
    check(KOKKOSIRIS_GPU(name)(__VA_ARGS__), #name, m_device, m_rank, std::string(), where); \
  } while (false)
#define KOKKOSIRIS_GPU_CALL(name, ...) \
  KOKKOSIRIS_GPU_GUARDED_CALL((m_device, m_rank, where), name, __VA_ARGS__)
// The same for functions that take a stream and do not need the device to be current for it.
#define KOKKOSIRIS_GPU_STREAM_CALL(stream, name, ...) \
  KOKKOSIRIS_GPU_GUARDED_CALL((m_device, m_rank, where, stream), name, __VA_ARGS__)
// For functions that must not throw.
#define KOKKOSIRIS_GPU_CALL_NOEXCEPT(name, ...)               \
  do {                                                        \
    const DeviceScopeGuard guard(m_device);                   \
    report_failure(KOKKOSIRIS_GPU(name)(__VA_ARGS__), #name); \
  } while (false)

#if defined(KOKKOS_ENABLE_CUDA)
void* find_driver_function(const char* name) noexcept {
  [[maybe_unused]] constexpr unsigned version = 12000;
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
  const Status status =
      cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
#else
  const Status status = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  if (status == cudaSuccess && result == cudaDriverEntryPointSuccess) return found;
  static_cast<void>(cudaGetLastError());
  return nullptr;
}
#endif

std::string to_string(const GpuUuid& uuid) {
  std::string text = "GPU-";
#if defined(KOKKOS_ENABLE_HIP)
  // Characters, see Gpu::uuid.
  for (const unsigned char character : uuid) {
    if (character != 0) text += static_cast<char>(character);
  }
#else
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", uuid[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
#endif
  return text;
}

int Gpu::count(int rank, Where where) {
  int devices = 0;
  check(KOKKOSIRIS_GPU(GetDeviceCount)(&devices), "GetDeviceCount", -1, rank, "", where);
  return devices;
}

int Gpu::find(const GpuUuid& uuid, int rank, Where where) {
  const int devices = count(rank, where);
  for (int device = 0; device < devices; ++device) {
    if (Gpu(device, rank).uuid(where) == uuid) return device;
  }
  return -1;
}

GpuUuid Gpu::uuid(Where where) const {
  const Properties properties = properties_of(m_device, m_rank, where);
  GpuUuid uuid;
  static_assert(sizeof(properties.uuid) == sizeof(uuid));
  std::memcpy(uuid.data(), &properties.uuid, sizeof(uuid));
#if defined(KOKKOS_ENABLE_HIP)
  // Sixteen characters, or "XX" where the device has none (HSA_AMD_AGENT_INFO_UUID in ROCr's
  // hsa_ext_amd.h). The place on the bus tells such devices of a node apart, too.
  if (uuid[0] == 0 || (uuid[0] == 'X' && uuid[1] == 'X')) {
    const std::string address = bus_address(where);
    uuid.fill(0);
    std::memcpy(uuid.data(), address.data(), std::min(address.size(), uuid.size()));
  }
#endif
  return uuid;
}

std::string Gpu::name(Where where) const { return properties_of(m_device, m_rank, where).name; }

std::string Gpu::description(Where where) const {
  return "GPU " + std::to_string(m_device) + " (" + name(where) + ", " + to_string(uuid(where)) +
         ")";
}

std::string Gpu::bus_address(Where where) const {
  char text[32] = "";
  check(KOKKOSIRIS_GPU(DeviceGetPCIBusId)(text, sizeof(text), m_device), "DeviceGetPCIBusId",
        m_device, m_rank, "", where);
  return text;
}

double Gpu::ticks_per_second([[maybe_unused]] Where where) const {
#if defined(KOKKOS_ENABLE_CUDA)
  return 1e9;
#else
  int kilohertz = 0;
  check(hipDeviceGetAttribute(&kilohertz, hipDeviceAttributeWallClockRate, m_device),
        "DeviceGetAttribute", m_device, m_rank, "", where);
  // Of this rate the deadlines of kernels are made; 0 would be none.
  if (kilohertz <= 0) {
    throw_error(ErrorCode::system, m_rank, "Context",
                "GPU " + std::to_string(m_device) +
                    " tells no rate of its clock, which deadlines " +
                    "need (hipDeviceAttributeWallClockRate is " + std::to_string(kilohertz) + ")",
                where);
  }
  return 1e3 * kilohertz;
#endif
}

bool Gpu::can_access(int other, Where where) const {
  if (other == m_device) return true;
  int possible = 0;
  check(KOKKOSIRIS_GPU(DeviceCanAccessPeer)(&possible, m_device, other), "DeviceCanAccessPeer",
        m_device, m_rank, "", where);
  return possible != 0;
}

std::optional<Gpu::Link> Gpu::link(int other) const noexcept {
  int rank = 0;
  int atomics = 0;
  if (KOKKOSIRIS_GPU(DeviceGetP2PAttribute)(&rank, KOKKOSIRIS_GPU(DevP2PAttrPerformanceRank),
                                            m_device, other) != KOKKOSIRIS_GPU(Success) ||
      KOKKOSIRIS_GPU(DeviceGetP2PAttribute)(&atomics,
                                            KOKKOSIRIS_GPU(DevP2PAttrNativeAtomicSupported),
                                            m_device, other) != KOKKOSIRIS_GPU(Success)) {
    static_cast<void>(KOKKOSIRIS_GPU(GetLastError)());
    return std::nullopt;
  }
  return Link{rank, atomics != 0};
}

void* Gpu::allocate(std::size_t bytes, Where where) const {
  const DeviceScopeGuard guard(m_device, m_rank, where);
  void* memory = nullptr;
#if defined(KOKKOS_ENABLE_CUDA)
  const char* const function = "Malloc";
  const Status status = cudaMalloc(&memory, bytes);
#else
  // Of memory by hipMalloc a running kernel need not see what other GPUs and copy engines write;
  // it is coarse-grained (HIP documentation, "Coherence control"). ROCm/iris allocates its
  // heap in this way, too (malloc_fine_grained in iris/_hip.py).
  const char* const function = "ExtMallocWithFlags";
  const Status status = hipExtMallocWithFlags(&memory, bytes, hipDeviceMallocFinegrained);
#endif
  check(status, function, m_device, m_rank, " for " + std::to_string(bytes) + " bytes", where);
  return memory;
}

void Gpu::free(void* memory) const noexcept { KOKKOSIRIS_GPU_CALL_NOEXCEPT(Free, memory); }

void* Gpu::allocate_managed(std::size_t bytes) const noexcept {
  const DeviceScopeGuard guard(m_device);
  void* memory = nullptr;
  if (KOKKOSIRIS_GPU(MallocManaged)(&memory, bytes) == KOKKOSIRIS_GPU(Success)) return memory;
  static_cast<void>(KOKKOSIRIS_GPU(GetLastError)());
  return nullptr;
}

void* Gpu::allocate_host(std::size_t bytes, Where where) const {
  void* memory = nullptr;
#if defined(KOKKOS_ENABLE_CUDA)
  KOKKOSIRIS_GPU_CALL(HostAlloc, &memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
#else
  KOKKOSIRIS_GPU_CALL(HostMalloc, &memory, bytes,
                      hipHostMallocPortable | hipHostMallocMapped | hipHostMallocCoherent);
#endif
  std::memset(memory, 0, bytes);
  return memory;
}

void Gpu::free_host(void* memory) const noexcept {
#if defined(KOKKOS_ENABLE_CUDA)
  KOKKOSIRIS_GPU_CALL_NOEXCEPT(FreeHost, memory);
#else
  KOKKOSIRIS_GPU_CALL_NOEXCEPT(HostFree, memory);
#endif
}

void* Gpu::register_host(void* memory, std::size_t bytes, Where where) const {
  KOKKOSIRIS_GPU_CALL(HostRegister, memory, bytes,
                      KOKKOSIRIS_GPU(HostRegisterPortable) | KOKKOSIRIS_GPU(HostRegisterMapped));
  void* address = nullptr;
  try {
    KOKKOSIRIS_GPU_CALL(HostGetDevicePointer, &address, memory, 0);
  } catch (...) {
    unregister_host(memory);
    throw;
  }
  return address;
}

void Gpu::unregister_host(void* memory) const noexcept {
  KOKKOSIRIS_GPU_CALL_NOEXCEPT(HostUnregister, memory);
}

GpuIpcHandle Gpu::export_handle(void* base, Where where) const {
  GpuIpcHandle handle;
  KOKKOSIRIS_GPU_CALL(IpcGetMemHandle, &handle, base);
  return handle;
}

void* Gpu::open_handle(const GpuIpcHandle& handle, Where where) const {
  void* base = nullptr;
  KOKKOSIRIS_GPU_CALL(IpcOpenMemHandle, &base, handle, KOKKOSIRIS_GPU(IpcMemLazyEnablePeerAccess));
  return base;
}

void Gpu::close_handle(void* base) const noexcept {
  KOKKOSIRIS_GPU_CALL_NOEXCEPT(IpcCloseMemHandle, base);
}

GpuStream Gpu::create_stream(int urgency, Where where) const {
  int lowest = 0;
  int highest = 0;
  KOKKOSIRIS_GPU_CALL(DeviceGetStreamPriorityRange, &lowest, &highest);
  // Smaller numbers go first; other streams have 0. HIP has one level above that and one below,
  // each with queues of its own (ROCm/clr, queuePool_ in rocclr/device/rocm/rocdevice.hpp): there
  // the lower urgency takes the level below, since sharing no queue matters more than going first.
  const bool one_above = highest == -1 && lowest > 0;
  const int priority = one_above && urgency == 1 ? lowest : std::max(highest, -urgency);
  GpuStream stream = nullptr;
  KOKKOSIRIS_GPU_CALL(StreamCreateWithPriority, &stream, KOKKOSIRIS_GPU(StreamNonBlocking),
                      priority);
  return stream;
}

void Gpu::destroy_stream(GpuStream stream) const noexcept {
  KOKKOSIRIS_GPU_CALL_NOEXCEPT(StreamDestroy, stream);
}

void Gpu::synchronize(GpuStream stream, Where where) const {
  KOKKOSIRIS_GPU_STREAM_CALL(stream, StreamSynchronize, stream);
}

GpuEvent Gpu::create_event(Where where) const {
  GpuEvent event = nullptr;
  KOKKOSIRIS_GPU_CALL(EventCreateWithFlags, &event, KOKKOSIRIS_GPU(EventDisableTiming));
  return event;
}

void Gpu::destroy_event(GpuEvent event) const noexcept {
  KOKKOSIRIS_GPU_CALL_NOEXCEPT(EventDestroy, event);
}

void Gpu::record(GpuEvent event, GpuStream stream, Where where) const {
  KOKKOSIRIS_GPU_STREAM_CALL(stream, EventRecord, event, stream);
}

void Gpu::wait(GpuStream stream, GpuEvent event, Where where) const {
  KOKKOSIRIS_GPU_STREAM_CALL(stream, StreamWaitEvent, stream, event, 0);
}

bool Gpu::is_complete(GpuEvent event, Where where) const {
  const Status status = KOKKOSIRIS_GPU(EventQuery)(event);
  if (status == KOKKOSIRIS_GPU(ErrorNotReady)) return false;
  check(status, "EventQuery", m_device, m_rank, "", where);
  return true;
}

bool Gpu::is_capturing(GpuStream stream, Where where) const {
  auto status = KOKKOSIRIS_GPU(StreamCaptureStatusNone);
  KOKKOSIRIS_GPU_STREAM_CALL(stream, StreamIsCapturing, stream, &status);
  return status != KOKKOSIRIS_GPU(StreamCaptureStatusNone);
}

void Gpu::synchronize(GpuEvent event, Where where) const {
  KOKKOSIRIS_GPU_CALL(EventSynchronize, event);
}

void Gpu::check_call(const char* function, const std::function<GpuStatus()>& call,
                     Where where) const {
  const DeviceScopeGuard guard(m_device, m_rank, where);
  check(call(), function, m_device, m_rank, "", where);
}

void Gpu::make_current(Where where) const {
  check(KOKKOSIRIS_GPU(SetDevice)(m_device), "SetDevice", m_device, m_rank, "", where);
}

void Gpu::write_word(GpuStream stream, std::uint64_t* word, std::uint64_t value,
                     Where where) const {
  const DeviceScopeGuard guard(m_device, m_rank, where);
  if (stream_write(stream, word, value)) return;
  change_word<<<1, 1, 0, stream>>>(word, value, false);
  check(KOKKOSIRIS_GPU(GetLastError)(), "LaunchKernel", m_device, m_rank, "", where);
}

void Gpu::add_to_word(GpuStream stream, std::uint64_t* word, std::uint64_t value,
                      Where where) const {
  const DeviceScopeGuard guard(m_device, m_rank, where);
  change_word<<<1, 1, 0, stream>>>(word, value, true);
  check(KOKKOSIRIS_GPU(GetLastError)(), "LaunchKernel", m_device, m_rank, "", where);
}

void Gpu::copy(void* to, const void* from, std::size_t bytes, GpuStream stream, Where where) const {
  KOKKOSIRIS_GPU_STREAM_CALL(stream, MemcpyAsync, to, from, bytes, KOKKOSIRIS_GPU(MemcpyDefault),
                             stream);
}

void Gpu::copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                  std::size_t width, std::size_t height, GpuStream stream, Where where) const {
  KOKKOSIRIS_GPU_STREAM_CALL(stream, Memcpy2DAsync, to, to_pitch, from, from_pitch, width, height,
                             KOKKOSIRIS_GPU(MemcpyDefault), stream);
}

void Gpu::set(void* memory, int byte, std::size_t bytes, GpuStream stream, Where where) const {
  KOKKOSIRIS_GPU_CALL(MemsetAsync, memory, byte, bytes, stream);
}

}  // namespace KokkosIris::Impl
