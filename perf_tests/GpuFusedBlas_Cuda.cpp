// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// requires: fused

#include <GpuFusedBlas.hpp>
#include <GpuStream.hpp>

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace Bench {
namespace {

constexpr std::size_t workspace_bytes = std::size_t(64) << 20;
constexpr int most_algorithms = 8;

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": status " + std::to_string(int(status)));
}

/// The functions that are used, from whatever version of the library there is.
struct Functions {
  SharedLibrary library{{"libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR), "libcublasLt.so.13",
                         "libcublasLt.so.12"}};
#define KOKKOSIRIS_BENCH_FUNCTION(name) decltype(&::cublasLt##name) name = nullptr;
#define KOKKOSIRIS_BENCH_FUNCTIONS(apply)                                              \
  apply(GetVersion) apply(Create) apply(Destroy) apply(Matmul) apply(MatmulDescCreate) \
      apply(MatmulDescDestroy) apply(MatrixLayoutCreate) apply(MatrixLayoutDestroy)    \
          apply(MatrixLayoutSetAttribute) apply(MatmulPreferenceCreate)                \
              apply(MatmulPreferenceDestroy) apply(MatmulPreferenceSetAttribute)       \
                  apply(MatmulAlgoGetHeuristic)
  KOKKOSIRIS_BENCH_FUNCTIONS(KOKKOSIRIS_BENCH_FUNCTION)

  void find() {
#define KOKKOSIRIS_BENCH_FIND(name) library.get("cublasLt" #name, name);
    KOKKOSIRIS_BENCH_FUNCTIONS(KOKKOSIRIS_BENCH_FIND)
  }
#undef KOKKOSIRIS_BENCH_FUNCTION
#undef KOKKOSIRIS_BENCH_FUNCTIONS
#undef KOKKOSIRIS_BENCH_FIND
};

constexpr cudaDataType type_of(Element element) {
  constexpr cudaDataType types[] = {CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F, CUDA_R_64F};
  return types[static_cast<int>(element)];
}

/// A row-major matrix is the transpose of a column-major one of exchanged extents.
class Layout {
 public:
  Layout(const Functions& lt, Element element, std::int64_t rows, std::int64_t columns,
         std::int64_t stride, int batch, std::int64_t step)
      : m_lt(lt) {
    check(m_lt.MatrixLayoutCreate(&m_handle, type_of(element), std::uint64_t(columns),
                                  std::uint64_t(rows), stride),
          "cublasLtMatrixLayoutCreate");
    if (batch == 1) return;
    const std::int32_t count = batch;
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, step);
  }
  ~Layout() { m_lt.MatrixLayoutDestroy(m_handle); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  cublasLtMatrixLayout_t get() const { return m_handle; }

 private:
  template <class Value>
  void set(cublasLtMatrixLayoutAttribute_t attribute, const Value& value) {
    check(m_lt.MatrixLayoutSetAttribute(m_handle, attribute, &value, sizeof(value)),
          "cublasLtMatrixLayoutSetAttribute");
  }

  const Functions& m_lt;
  cublasLtMatrixLayout_t m_handle = nullptr;
};

/// The largest power of two, up to 256, that divides an address and, in batches, the step.
std::uint32_t alignment_of(Element element, const void* data, int batch, std::int64_t step) {
  std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(data) | 256;
  if (batch > 1) bits |= std::uintptr_t(bytes_of(element) * step);
  return std::uint32_t(bits & (~bits + 1));
}

/// A product with its descriptions and algorithm.
class Plan {
 public:
  Plan(const Functions& lt, cublasLtHandle_t handle, void* workspace, const GemmProblem& problem,
       cudaStream_t stream)
      : m_lt(lt),
        m_handle(handle),
        m_workspace(workspace),
        m_problem(problem),
        m_stream(stream),
        m_a(lt, problem.element, problem.m, problem.k, problem.a_stride, problem.batch,
            problem.a_step),
        m_b(lt, problem.element, problem.k, problem.n, problem.b_stride, problem.batch,
            problem.b_step),
        m_c(lt, problem.element, problem.m, problem.n, problem.c_stride, problem.batch,
            problem.c_step) {
    // Without TF32, which a compute type of its own would allow.
    const bool is_double = problem.element == Element::float64;
    check(m_lt.MatmulDescCreate(&m_operation, is_double ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                is_double ? CUDA_R_64F : CUDA_R_32F),
          "cublasLtMatmulDescCreate");
    choose();
  }
  ~Plan() { m_lt.MatmulDescDestroy(m_operation); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  bool found() const { return m_found; }
  void operator()() const { check(enqueue(m_algorithm), "cublasLtMatmul"); }

 private:
  cublasStatus_t enqueue(const cublasLtMatmulAlgo_t& algorithm) const {
    const float one = 1.0f, beta = m_problem.beta;
    const double double_one = 1.0, double_beta = m_problem.beta;
    const bool is_double = m_problem.element == Element::float64;
    const void* const alpha_place = is_double ? static_cast<const void*>(&double_one) : &one;
    const void* const beta_place = is_double ? static_cast<const void*>(&double_beta) : &beta;
    // The transpose of A B is that of B times that of A.
    return m_lt.Matmul(m_handle, m_operation, alpha_place, m_problem.b, m_b.get(), m_problem.a,
                       m_a.get(), beta_place, m_problem.c, m_c.get(), m_problem.c, m_c.get(),
                       &algorithm, m_workspace, workspace_bytes, m_stream);
  }

  int propose(std::array<cublasLtMatmulHeuristicResult_t, most_algorithms>& proposals) const {
    cublasLtMatmulPreference_t preference = nullptr;
    check(m_lt.MatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check(m_lt.MatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)),
            "cublasLtMatmulPreferenceSetAttribute");
    };
    const GemmProblem& p = m_problem;
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    // Parts of K are added in float, as ours are; the default allows sums of rounded parts.
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        std::uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        alignment_of(p.element, p.b, p.batch, p.b_step));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        alignment_of(p.element, p.a, p.batch, p.a_step));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        alignment_of(p.element, p.c, p.batch, p.c_step));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
        alignment_of(p.element, p.c, p.batch, p.c_step));
    int count = 0;
    const cublasStatus_t status = m_lt.MatmulAlgoGetHeuristic(
        m_handle, m_operation, m_b.get(), m_a.get(), m_c.get(), m_c.get(), preference,
        most_algorithms, proposals.data(), &count);
    m_lt.MatmulPreferenceDestroy(preference);
    return status == CUBLAS_STATUS_SUCCESS ? count : 0;
  }

  void choose() {
    std::array<cublasLtMatmulHeuristicResult_t, most_algorithms> proposals = {};
    const int count = propose(proposals);
    const StreamClock clock;
    double best_us = std::numeric_limits<double>::infinity();
    for (int i = 0; i < count; ++i) {
      const auto& proposal = proposals[std::size_t(i)];
      if (proposal.state != CUBLAS_STATUS_SUCCESS) continue;
      // The first call also loads the kernel.
      if (enqueue(proposal.algo) != CUBLAS_STATUS_SUCCESS) {
        cudaGetLastError();  // not to be taken for an error of the next one
        continue;
      }
      const double us =
          clock.time(m_stream, 3, [&] { check(enqueue(proposal.algo), "cublasLtMatmul"); });
      if (us >= best_us) continue;
      best_us = us;
      m_algorithm = proposal.algo;
    }
    m_found = std::isfinite(best_us);
  }

  const Functions& m_lt;
  cublasLtHandle_t m_handle;
  void* m_workspace;
  GemmProblem m_problem;
  cudaStream_t m_stream;
  Layout m_a, m_b, m_c;
  cublasLtMatmulDesc_t m_operation = nullptr;
  cublasLtMatmulAlgo_t m_algorithm = {};
  bool m_found = false;
};

class Loaded : public CublasLt {
 public:
  explicit Loaded(std::unique_ptr<Functions> functions) : m_functions(std::move(functions)) {
    m_functions->find();
    check(m_functions->Create(&m_handle), "cublasLtCreate");
    check_cuda(cudaMalloc(&m_workspace, workspace_bytes), "cudaMalloc");
  }
  ~Loaded() override {
    cudaFree(m_workspace);
    m_functions->Destroy(m_handle);
  }
  std::string version() const override {
    const std::size_t number = m_functions->GetVersion();
    return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
           std::to_string(number % 100);
  }
  const std::string& folder() const override { return m_functions->library.folder(); }
  std::function<void()> plan(const GemmProblem& problem, cudaStream_t stream) const override {
    const auto made =
        std::make_shared<const Plan>(*m_functions, m_handle, m_workspace, problem, stream);
    if (!made->found()) return {};
    return [made] { (*made)(); };
  }

 private:
  std::unique_ptr<Functions> m_functions;
  cublasLtHandle_t m_handle = nullptr;
  void* m_workspace = nullptr;
};

}  // namespace

std::unique_ptr<CublasLt> CublasLt::open() {
  auto functions = std::make_unique<Functions>();
  if (!functions->library.found()) return nullptr;
  return std::make_unique<Loaded>(std::move(functions));
}

}  // namespace Bench

#else

namespace Bench {

std::unique_ptr<CublasLt> CublasLt::open() { return nullptr; }

}  // namespace Bench

#endif
