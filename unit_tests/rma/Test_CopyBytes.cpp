// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// no_gpu: CopyBytes.*-*BlocksSharedByWorkers

// The byte movers and the addressing of blocks, without a context.
// ranks: 1

#include <TestUtilities.hpp>
#include <rma/KokkosIris_BlockCopy.hpp>
#include <rma/KokkosIris_CopyBytes.hpp>
#include <rma/KokkosIris_StridedLoop.hpp>
#include <vector>

namespace {

namespace Impl = KokkosIris::Impl;

constexpr std::size_t margin = 128;
constexpr unsigned char sentinel = 0x5c;

/// Calls move(dst, src, n) with the given offsets from an aligned address; checks the data and that
/// nothing around them has changed.
template <class Move>
void check_move(std::size_t n, std::size_t dst_offset, std::size_t src_offset, const Move& move) {
  std::vector<unsigned char> src(n + margin + src_offset),
      dst(n + 3 * margin + dst_offset, sentinel);
  for (std::size_t i = 0; i < src.size(); ++i) {
    src[i] = static_cast<unsigned char>(::Test::random_bits(n, i));
  }
  const auto aligned = [](unsigned char* p) {
    return p + (-reinterpret_cast<std::uintptr_t>(p) & 63u);
  };
  unsigned char* const to = aligned(dst.data() + 16) + dst_offset;
  const unsigned char* const from = aligned(src.data()) + src_offset;
  ASSERT_LE(to + n, dst.data() + dst.size());
  ASSERT_LE(from + n, src.data() + src.size());
  move(to, from, n);
  ASSERT_EQ(std::memcmp(to, from, n), 0)
      << n << " bytes, offsets " << dst_offset << ", " << src_offset;
  for (unsigned char* p = dst.data(); p != dst.data() + dst.size(); ++p) {
    if (p < to || p >= to + n) {
      ASSERT_EQ(*p, sentinel) << n << " bytes, offsets " << dst_offset << ", " << src_offset;
    }
  }
}

template <class Move>
void check_small_moves(const Move& move) {
  for (std::size_t n : {0, 1, 2, 3, 5, 7, 8, 13, 15, 16, 17, 31, 33, 63, 64, 65, 127, 251}) {
    for (std::size_t to = 0; to < 18; ++to) {
      for (std::size_t from = 0; from < 18; ++from) check_move(n, to, from, move);
    }
  }
}

TEST(CopyBytes, ThroughTheCaches) {
  check_small_moves(
      [](void* to, const void* from, std::size_t n) { Impl::copy_bytes(to, from, n); });
}

TEST(CopyBytes, ByWords) {
  check_small_moves(
      [](void* to, const void* from, std::size_t n) { Impl::copy_bytes_by_words(to, from, n); });
}

TEST(CopyBytes, PromisedAlignment) {
  for (std::size_t n : {0, 16, 32, 48, 1024}) {
    for (std::size_t to : {0, 16}) {
      check_move(n, to, 32, [](void* to, const void* from, std::size_t n) {
        Impl::copy_bytes_by_words<16>(to, from, n);
      });
      check_move(n, to, 16, [](void* to, const void* from, std::size_t n) {
        Impl::copy_bytes<16>(to, from, n);
      });
    }
  }
}

TEST(CopyBytes, ToPeer) {
  const auto move = [](void* to, const void* from, std::size_t n) {
    Impl::copy_bytes(to, from, n, Impl::Destination::peer);
  };
  check_small_moves(move);
  // Around every threshold: where streaming begins, and where the method may change.
  for (std::size_t n : {std::size_t(4095), std::size_t(4096), std::size_t(4097), std::size_t(8191),
                        std::size_t(65537), (std::size_t(8) << 20) - 1, std::size_t(8) << 20,
                        (std::size_t(8) << 20) + 77}) {
    for (std::size_t to : {0, 1, 63}) {
      for (std::size_t from : {0, 1, 32}) check_move(n, to, from, move);
    }
  }
}

TEST(CopyBytes, StreamedSmallBlocks) {
  // Never streamed by the library, but the function's contract has no smallest size.
  check_small_moves(
      [](void* to, const void* from, std::size_t n) { Impl::stream_bytes_on_host(to, from, n); });
}

TEST(CopyBytes, WordSplitCoversEveryByteOnce) {
  alignas(64) static unsigned char a[256], b[256];
  for (std::size_t to = 0; to < 17; ++to) {
    for (std::size_t from = 0; from < 17; ++from) {
      for (std::size_t n = 0; n < 80; ++n) {
        const Impl::WordSplit split(a + to, b + from, n);
        ASSERT_EQ(split.head + split.words * split.width + split.tail, n);
        ASSERT_LT(split.tail, split.width);
        ASSERT_EQ((to ^ from) % split.width, 0u);
        if (split.words != 0) {
          ASSERT_EQ((to + split.head) % split.width, 0u);
          ASSERT_TRUE(split.width == 16 || (to ^ from) % (2 * split.width) != 0);
        }
      }
    }
  }
}

/// Devices refuse accesses that are not aligned, which the host does not notice: above all where
/// the bytes end before the first aligned word.
TEST(CopyBytes, PiecesAreAligned) {
  alignas(64) static unsigned char a[256], b[256];
  for (std::size_t to = 0; to < 17; ++to) {
    for (std::size_t from = 0; from < 17; ++from) {
      for (std::size_t n = 0; n < 80; ++n) {
        const Impl::WordSplit split(a + to, b + from, n);
        std::size_t covered = split.words * split.width;
        const auto check = [&](std::size_t begin, std::size_t bytes) {
          std::size_t next = 0;
          Impl::for_pieces(reinterpret_cast<std::uintptr_t>(a) + to + begin, split.width, bytes,
                           [&](std::size_t offset, std::size_t width) {
                             ASSERT_EQ(offset, next);
                             ASSERT_EQ((to + begin + offset) % width, 0u) << to << " " << n;
                             ASSERT_EQ((from + begin + offset) % width, 0u) << from << " " << n;
                             next += width;
                             covered += width;
                           });
          ASSERT_EQ(next, bytes);
        };
        check(0, split.head);
        check(split.head + split.words * split.width, split.tail);
        ASSERT_EQ(covered, n);
      }
    }
  }
}

/// Every word belongs to one worker, and a group of neighbours begins with a line of the
/// destination.
TEST(CopyBytes, WorkersBeginWithALine) {
  alignas(128) static unsigned char a[4096];
  for (std::size_t offset = 0; offset < 256; offset += 16) {
    for (const std::size_t workers : {1, 3, 8, 9, 32, 224}) {
      std::vector<int> owners(workers, 0);
      for (std::size_t worker = 0; worker < workers; ++worker) {
        const std::size_t first = Impl::first_word<Impl::Word16>(a + offset, worker, workers);
        ASSERT_LT(first, workers);
        ++owners[first];
        if (worker == 0 && workers % 8 == 0) {
          ASSERT_EQ((offset + first * 16) % 128, 0u) << offset << " " << workers;
        }
      }
      for (const int owner : owners) ASSERT_EQ(owner, 1) << offset << " " << workers;
    }
  }
}

/// Workers that take words in turn, as device threads do, one after the other.
TEST(CopyBytes, SharedByWorkers) {
  for (const std::size_t workers : {1, 2, 5, 64, 500}) {
    check_small_moves([=](void* to, const void* from, std::size_t n) {
      const Impl::BytesCopy<1> copy{to, from, n, Impl::Destination::own};
      for (std::size_t worker = workers; worker > 0; --worker) copy.share(worker - 1, workers);
    });
    for (const std::size_t n : {std::size_t(4096), std::size_t(40000)}) {
      check_move(n, 3, 5, [=](void* to, const void* from, std::size_t n) {
        for (std::size_t worker = 0; worker < workers; ++worker) {
          Impl::copy_bytes_by_words(to, from, n, worker, workers);
        }
      });
    }
  }
}

/// Blocks of rows with and without 16-byte words, and without adjacent elements.
template <class Layout>
void check_shared_block(std::size_t rows, std::size_t columns, std::size_t pitch,
                        std::size_t first) {
  using View = Kokkos::View<std::uint32_t**, Layout, Kokkos::HostSpace>;
  const View a("a", rows, pitch);
  const Kokkos::View<std::uint32_t**, Kokkos::LayoutRight, Kokkos::HostSpace> b("b", rows, pitch);
  const auto part = std::pair(first, first + columns);
  const auto dst = Kokkos::subview(a, Kokkos::ALL, part);
  const auto src = Kokkos::subview(b, Kokkos::ALL, part);
  for (const std::size_t workers : {1, 3, 32}) {
    ::Test::random_fill(b, rows + columns);
    Kokkos::deep_copy(a, 0xdeadbeefu);
    const auto loop = Impl::make_strided_loop(dst, src);
    const Impl::BlockCopy<1, std::uint32_t, std::remove_const_t<decltype(loop)>> copy(
        loop, dst.data(), src.data(), Impl::Destination::own);
    for (std::size_t worker = 0; worker < workers; ++worker) copy.share(worker, workers);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < pitch; ++j) {
        const bool inside = j >= first && j < first + columns;
        ASSERT_EQ(a(i, j), inside ? b(i, j) : 0xdeadbeefu) << i << " " << j << " " << workers;
      }
    }
  }
}

TEST(CopyBytes, BlocksSharedByWorkers) {
  check_shared_block<Kokkos::LayoutRight>(7, 12, 24, 4);
  check_shared_block<Kokkos::LayoutRight>(7, 13, 24, 3);
  check_shared_block<Kokkos::LayoutRight>(5, 24, 24, 0);
  check_shared_block<Kokkos::LayoutLeft>(9, 11, 16, 2);
  check_shared_block<Kokkos::LayoutLeft>(1, 1, 3, 1);
}

TEST(StridedLoop, ContiguousOperandsBecomeOneRow) {
  const Kokkos::View<int***, Kokkos::LayoutLeft, Kokkos::HostSpace> a("a", 3, 4, 5),
      b("b", 3, 4, 5);
  const auto loop = Impl::make_strided_loop(a, b);
  EXPECT_EQ(loop.dims, 1);
  EXPECT_EQ(loop.total, 60u);
  EXPECT_EQ(loop.row_length(), 60u);
  EXPECT_TRUE(loop.unit_rows(2));
}

/// What for_rows calls, written down. Callable in kernels, as nvcc wants of what for_rows is given.
struct Rows {
  static constexpr int most = 16;
  struct {
    std::size_t offset[2], length;
  } m_rows[most];
  int m_count = 0;

  KOKKOS_FUNCTION void add(const std::size_t (&at)[2], std::size_t n) {
    if (m_count < most) m_rows[m_count] = {{at[0], at[1]}, n};
    ++m_count;
  }
};
struct AddRow {
  Rows* m_rows;
  KOKKOS_FUNCTION void operator()(const std::size_t (&at)[2], std::size_t n) const {
    m_rows->add(at, n);
  }
};

TEST(StridedLoop, MixedLayoutsKeepTheirDimensions) {
  const Kokkos::View<int**, Kokkos::LayoutLeft, Kokkos::HostSpace> a("a", 3, 4);
  const Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> b("b", 3, 4);
  const auto loop = Impl::make_strided_loop(a, b);
  EXPECT_EQ(loop.dims, 2);
  EXPECT_FALSE(loop.unit_rows(2));
  // Every pair of offsets belongs to one pair of indices.
  std::size_t seen = 0;
  Rows rows;
  loop.for_rows(1, 11, AddRow{&rows});
  ASSERT_LE(rows.m_count, Rows::most);
  for (int row = 0; row < rows.m_count; ++row) {
    for (std::size_t i = 0; i < rows.m_rows[row].length; ++i, ++seen) {
      const std::size_t left = rows.m_rows[row].offset[0] + i * loop.row_stride(0);
      const std::size_t right = rows.m_rows[row].offset[1] + i * loop.row_stride(1);
      EXPECT_EQ(left % 3, right / 4);
      EXPECT_EQ(left / 3, right % 4);
    }
  }
  EXPECT_EQ(seen, 10u);
}

TEST(StridedLoop, RowsOfSubviews) {
  const Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> a("a", 8, 10), b("b", 8, 6);
  const auto part = Kokkos::subview(a, Kokkos::ALL, std::pair(2, 8));
  const auto loop = Impl::make_strided_loop(part, b);
  EXPECT_EQ(loop.dims, 2);
  EXPECT_EQ(loop.row_length(), 6u);
  EXPECT_TRUE(loop.unit_rows(2));
}

TEST(StridedLoop, OffsetsAbove32Bits) {
  // Strides only: no memory of that size is touched.
  using View = Kokkos::View<char**, Kokkos::LayoutStride, Kokkos::HostSpace,
                            Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  char byte = 0;
  const std::size_t rows = 3, stride = std::size_t(5) << 31;
  const View view(&byte, Kokkos::LayoutStride(rows, stride, 2, std::size_t(1)));
  const auto loop = Impl::make_strided_loop(view, view);
  Rows found;
  loop.for_rows(0, loop.total, AddRow{&found});
  ASSERT_EQ(found.m_count, 3);
  for (int row = 0; row < 3; ++row) {
    EXPECT_EQ(found.m_rows[row].offset[0], std::size_t(row) * stride);
  }
}

TEST(StridedLoop, PartsCoverTheRange) {
  for (std::size_t n : {0, 1, 63, 64, 65, 1000, 4099}) {
    for (std::size_t parts : {1, 2, 3, 7, 64}) {
      std::size_t next = 0;
      for (std::size_t part = 0; part < parts; ++part) {
        const Impl::Part range = Impl::part_of(n, parts, part);
        ASSERT_LE(range.begin, range.end);
        if (range.begin == range.end) continue;
        ASSERT_EQ(range.begin, next);
        ASSERT_EQ(range.begin % 64, 0u);
        next = range.end;
      }
      ASSERT_EQ(next, n) << parts;
    }
  }
}

}  // namespace
