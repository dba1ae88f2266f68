// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <algorithm>
#include <core/KokkosIris_Bootstrap.hpp>
#include <core/KokkosIris_Error.hpp>

namespace KokkosIris::Impl {
namespace {

void check_mpi(int status, int rank, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw_error(
      ErrorCode::system, rank, "Context",
      std::string(call) + " failed: " + std::string(text, static_cast<std::size_t>(length)));
}

void require_running_mpi(MPI_Comm comm) {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (!initialized || finalized) {
    throw_error(ErrorCode::misuse, -1, "Context",
                "MPI is not running; construct a Context between MPI_Init and MPI_Finalize");
  }
  if (comm == MPI_COMM_NULL) {
    throw_error(ErrorCode::misuse, -1, "Context",
                "the communicator is MPI_COMM_NULL; only its members may construct a Context");
  }
  int between_groups = 0;
  MPI_Comm_test_inter(comm, &between_groups);
  if (between_groups) {
    throw_error(ErrorCode::invalid_argument, -1, "Context",
                "the communicator is an intercommunicator; merge it with MPI_Intercomm_merge");
  }
}

}  // namespace

bool Bootstrap::all_ok(bool ok) {
  const auto all = all_gather(static_cast<char>(ok));
  return std::all_of(all.begin(), all.end(), [](char one) { return one != 0; });
}

MpiBootstrap::MpiBootstrap(MPI_Comm comm) {
  require_running_mpi(comm);
  check_mpi(MPI_Comm_dup(comm, &m_comm), -1, "MPI_Comm_dup");
  MPI_Comm_set_errhandler(m_comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(m_comm, &m_rank);
  MPI_Comm_size(m_comm, &m_size);

  MPI_Comm node = MPI_COMM_NULL;
  const int split = MPI_Comm_split_type(m_comm, MPI_COMM_TYPE_SHARED, m_rank, MPI_INFO_NULL, &node);
  if (split != MPI_SUCCESS) MPI_Comm_free(&m_comm);
  check_mpi(split, m_rank, "MPI_Comm_split_type");
  int node_size = 0;
  MPI_Comm_size(node, &node_size);
  MPI_Comm_free(&node);
  if (!all_ok(node_size == m_size)) {
    MPI_Comm_free(&m_comm);
    throw_error(ErrorCode::invalid_argument, m_rank, "Context",
                std::to_string(m_size) + " ranks span several nodes (" + std::to_string(node_size) +
                    " on this one); give a communicator of one node, for instance from "
                    "MPI_Comm_split_type with MPI_COMM_TYPE_SHARED");
  }
}

MpiBootstrap::~MpiBootstrap() {
  if (m_comm != MPI_COMM_NULL) MPI_Comm_free(&m_comm);
}

void MpiBootstrap::all_gather(const void* mine, std::size_t bytes, void* all) {
  const int count = static_cast<int>(bytes);
  check_mpi(MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, m_comm), m_rank,
            "MPI_Allgather");
}

void MpiBootstrap::barrier() { check_mpi(MPI_Barrier(m_comm), m_rank, "MPI_Barrier"); }

}  // namespace KokkosIris::Impl
