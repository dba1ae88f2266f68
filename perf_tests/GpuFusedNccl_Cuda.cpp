// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <mpi.h>

#include <GpuFusedNccl.hpp>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace Bench {
namespace {

/// \name What is used of nccl.h, version 2, which need not be there
///@{
using Status = int;
using Communicator = void*;
struct UniqueId {
  char internal[128];
};
constexpr int sum = 0;
constexpr int number_of(Element element) {
  constexpr int numbers[] = {6, 9, 7, 8};
  return numbers[static_cast<int>(element)];
}
///@}

}  // namespace

struct Nccl::Functions {
  SharedLibrary library{{"libnccl.so.2"}};
  Status (*get_version)(int*) = nullptr;
  Status (*get_unique_id)(UniqueId*) = nullptr;
  Status (*init_rank)(Communicator*, int, UniqueId, int) = nullptr;
  Status (*destroy)(Communicator) = nullptr;
  const char* (*error_string)(Status) = nullptr;
  Status (*all_reduce)(const void*, void*, std::size_t, int, int, Communicator,
                       cudaStream_t) = nullptr;
  Status (*reduce_scatter)(const void*, void*, std::size_t, int, int, Communicator,
                           cudaStream_t) = nullptr;
  Status (*all_gather)(const void*, void*, std::size_t, int, Communicator, cudaStream_t) = nullptr;

  void find() {
    library.get("ncclGetVersion", get_version);
    library.get("ncclGetUniqueId", get_unique_id);
    library.get("ncclCommInitRank", init_rank);
    library.get("ncclCommDestroy", destroy);
    library.get("ncclGetErrorString", error_string);
    library.get("ncclAllReduce", all_reduce);
    library.get("ncclReduceScatter", reduce_scatter);
    library.get("ncclAllGather", all_gather);
  }
  void check(Status status, const char* call) const {
    if (status == 0) return;
    throw std::runtime_error(std::string(call) + ": " + error_string(status));
  }
};

std::unique_ptr<Nccl> Nccl::open() {
  // NCCL reads its variables once.
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  auto functions = std::make_unique<Functions>();
  int found = functions->library.found() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (found == 0) return nullptr;
  functions->find();
  return std::unique_ptr<Nccl>(new Nccl(std::move(functions)));
}

Nccl::Nccl(std::unique_ptr<Functions> functions) : m_functions(std::move(functions)) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  UniqueId id = {};
  if (rank == 0) m_functions->check(m_functions->get_unique_id(&id), "ncclGetUniqueId");
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  m_functions->check(m_functions->init_rank(&m_communicator, size, id, rank), "ncclCommInitRank");
}

Nccl::~Nccl() { m_functions->destroy(m_communicator); }

std::string Nccl::version() const {
  int number = 0;
  m_functions->check(m_functions->get_version(&number), "ncclGetVersion");
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

const std::string& Nccl::folder() const { return m_functions->library.folder(); }

void Nccl::all_reduce(const void* from, void* to, std::size_t count, Element element,
                      cudaStream_t stream) const {
  m_functions->check(
      m_functions->all_reduce(from, to, count, number_of(element), sum, m_communicator, stream),
      "ncclAllReduce");
}

void Nccl::reduce_scatter(const void* from, void* to, std::size_t received, Element element,
                          cudaStream_t stream) const {
  m_functions->check(m_functions->reduce_scatter(from, to, received, number_of(element), sum,
                                                 m_communicator, stream),
                     "ncclReduceScatter");
}

void Nccl::all_gather(const void* from, void* to, std::size_t sent, Element element,
                      cudaStream_t stream) const {
  m_functions->check(
      m_functions->all_gather(from, to, sent, number_of(element), m_communicator, stream),
      "ncclAllGather");
}

}  // namespace Bench
