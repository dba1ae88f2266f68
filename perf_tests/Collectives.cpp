// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The collective operations on the host beside MPI's, on doubles. Cells are named
// ccl/<operation>/double/<bytes>; the bytes are those of the larger operand. Ours is a call with a
// workspace of an earlier one and `async_op`: on the host it returns when the kernel has ended.

#include <mpi.h>

#include <Session.hpp>
#include <ccl/KokkosIris_Collectives.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace Bench {
namespace {

enum class Op { all_gather, reduce_scatter, all_reduce };
constexpr const char* names[] = {"all_gather", "reduce_scatter", "all_reduce"};

class Cell {
 public:
  Cell(Session& session, Op op, std::size_t bytes)
      : m_session(session),
        m_op(op),
        m_bytes(bytes),
        m_count(bytes / sizeof(double)),
        m_block(op == Op::all_reduce ? m_count : m_count / std::size_t(session.size())),
        m_source(session.context().uniform<double*>("source", -1.0, 1.0,
                                                    op == Op::all_gather ? m_block : m_count)),
        m_result(session.context().zeros<double*>("result",
                                                  op == Op::reduce_scatter ? m_block : m_count)),
        m_theirs(m_result.size(), 0.0) {}

  void measure() {
    verify();
    const auto timed_from = [this](auto call) {
      return [this, call] {
        m_session.start();
        return timed(call);
      };
    };
    const std::vector<Entrant> entrants = {
        {Entrant::Role::ours, m_workspace.form(), timed_from([this] { ours(); })},
        {Entrant::Role::reference, "MPI", timed_from([this] { mpi(); })}};
    Record common;
    common.op = names[static_cast<int>(m_op)];
    common.type = "double";
    common.ranks = m_session.size();
    common.bytes = static_cast<std::int64_t>(m_bytes);
    m_session.measure(common, entrants);
  }

 private:
  void ours() {
    const KokkosIris::CollectiveOptions options = {.async_op = true, .workspace = m_workspace};
    const auto& exec = m_session.exec();
    auto& context = m_session.context();
    if (m_op == Op::all_gather) {
      m_workspace = all_gather(exec, context, m_result, m_source, options);
    } else if (m_op == Op::reduce_scatter) {
      m_workspace = reduce_scatter(exec, context, m_result, m_source, options);
    } else {
      m_workspace = all_reduce(exec, context, m_result, m_source, options);
    }
  }
  void mpi() {
    const int block = static_cast<int>(m_block);
    if (m_op == Op::all_gather) {
      MPI_Allgather(m_source.data(), block, MPI_DOUBLE, m_theirs.data(), block, MPI_DOUBLE,
                    MPI_COMM_WORLD);
    } else if (m_op == Op::reduce_scatter) {
      MPI_Reduce_scatter_block(m_source.data(), m_theirs.data(), block, MPI_DOUBLE, MPI_SUM,
                               MPI_COMM_WORLD);
    } else {
      MPI_Allreduce(m_source.data(), m_theirs.data(), block, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
  }
  /// Sums of as many numbers in [-1, 1), in any order.
  void verify() {
    ours();
    mpi();
    bool good = true;
    for (std::size_t i = 0; i < m_theirs.size(); ++i) {
      good = good &&
             std::fabs(m_result(i) - m_theirs[i]) <= 0x1p-52 * m_session.size() * m_session.size();
    }
    require_everywhere(good, std::string(names[static_cast<int>(m_op)]) + ": not what MPI has");
  }

  Session& m_session;
  Op m_op;
  std::size_t m_bytes, m_count, m_block;
  Context::view_type<double*> m_source, m_result;
  std::vector<double> m_theirs;
  KokkosIris::CollectiveWorkspace m_workspace;
};

void run(Session& session) {
  if (session.size() < 2) return;
  const std::size_t last = std::size_t(session.options().quick ? 1 << 16 : 1 << 24);
  for (const Op op : {Op::all_gather, Op::reduce_scatter, Op::all_reduce}) {
    for (std::size_t bytes = 256; bytes <= last; bytes *= session.options().quick ? 16 : 4) {
      const std::string name =
          std::string("ccl/") + names[static_cast<int>(op)] + "/double/" + std::to_string(bytes);
      if (session.wants(name)) Cell(session, op, bytes).measure();
    }
  }
}

const Suite suite(35, &run);

}  // namespace
}  // namespace Bench
