// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMELEMENTWISE_HPP
#define KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMELEMENTWISE_HPP

#include <fused/arch/host/KokkosIris_PackedGemmVector.hpp>

namespace KokkosIris::Impl {
namespace {

/// The element-wise functions of the table for element traits E; contracts in
/// KokkosIris_PackedGemm.hpp.
template <class E>
struct Elementwise {
  using Acc = typename E::acc;
  using Memory = typename E::memory;
  static constexpr int width = lanes_of<Acc>;
  using V = Vec<Acc, width>;

  static void add(void* dst, const void* src, std::int64_t n) {
    Acc* d = static_cast<Acc*>(dst);
    const Acc* s = static_cast<const Acc*>(src);
    std::int64_t i = 0;
    for (; i + width <= n; i += width) {
      V a, b;
      __builtin_memcpy(&a, d + i, sizeof(V));
      __builtin_memcpy(&b, s + i, sizeof(V));
      a += b;
      __builtin_memcpy(d + i, &a, sizeof(V));
    }
    for (; i < n; ++i) d[i] += s[i];
  }

  static void convert_store(void* dst, const void* src, std::int64_t n) {
    Memory* d = static_cast<Memory*>(dst);
    const Acc* s = static_cast<const Acc*>(src);
    std::int64_t i = 0;
    for (; i + width <= n; i += width) {
      V a;
      __builtin_memcpy(&a, s + i, sizeof(V));
      E::template store<width>(d + i, a);
    }
    for (; i < n; ++i) d[i] = E::from_acc(s[i]);
  }

  static void load_convert(void* dst, const void* src, std::int64_t n) {
    Acc* d = static_cast<Acc*>(dst);
    const Memory* s = static_cast<const Memory*>(src);
    std::int64_t i = 0;
    for (; i + width <= n; i += width) {
      V a;
      E::template load<width>(a, s + i);
      __builtin_memcpy(d + i, &a, sizeof(V));
    }
    for (; i < n; ++i) d[i] = E::to_acc(s[i]);
  }

  /// Whole 64-byte lines by streaming stores, the rest up to the first line and behind the last one
  /// by plain stores.
  static void convert_stream(void* dst, const void* src, std::int64_t n) {
    constexpr std::int64_t per_line = 64 / static_cast<std::int64_t>(sizeof(Memory));
    Memory* d = static_cast<Memory*>(dst);
    const Acc* s = static_cast<const Acc*>(src);
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(d) % 64;
    const std::int64_t head =
        min64(n, offset == 0 ? 0 : static_cast<std::int64_t>((64 - offset) / sizeof(Memory)));
    convert_store(d, s, head);
    std::int64_t i = head;
    for (; i + per_line <= n; i += per_line) {
      alignas(64) Memory line[per_line];
      for (std::int64_t j = 0; j < per_line; j += width) {
        V a;
        __builtin_memcpy(&a, s + i + j, sizeof(V));
        E::template store<width>(line + j, a);
      }
      stream_line(d + i, line);
    }
    convert_store(d + i, s + i, n - i);
  }
  static void stream_fence() { order_streams(); }

 private:
  static KOKKOSIRIS_GEMM_INLINE void stream_line(Memory* dst, const Memory* line) {
    constexpr std::int64_t per_vector = vector_bytes / static_cast<std::int64_t>(sizeof(Memory));
    using Bits = Vec<Memory, static_cast<int>(per_vector)>;
    for (std::int64_t i = 0; i < 64 / vector_bytes; ++i) {
      Bits bits;
      __builtin_memcpy(&bits, line + i * per_vector, sizeof(Bits));
      stream_vector(dst + i * per_vector, bits);
    }
  }
};

}  // namespace
}  // namespace KokkosIris::Impl

#endif
