# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Spack recipe of KokkosIris, for Spack 1.0 and newer.

spack repo add <checkout>/spack_repo/kokkosiris
spack install kokkosiris
"""
from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.rocm import ROCmPackage

from spack.package import *


class Kokkosiris(CMakePackage, CudaPackage, ROCmPackage):
    """Symmetric heap, one-sided access and fused GEMM collectives for Kokkos applications."""

    # The recipe lies in the repository that it builds.
    git = "file://" + str(Path(__file__).resolve().parents[4])

    license("Apache-2.0 WITH LLVM-exception")

    version("main", branch="main")

    variant("shared", default=True, description="Build a shared library")
    variant("openmp", default=True, description="Kokkos with its OpenMP backend")
    variant("fused", default=True, description="Fused GEMM and collective operations")
    variant("blas", default=True, when="+fused", description="Host tile engine on a BLAS library")
    variant("validation", default=False, description="Check every remote pointer's bounds")
    variant("tests", default=False, description="Build the tests (spack install --test runs them)")
    variant("examples", default=False, description="Build the examples")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("mpi")
    depends_on("kokkos@4.7: +serial cxxstd=20")
    depends_on("kokkos-kernels@4.4:", when="+fused")
    depends_on("blas", when="+blas")
    depends_on("googletest@1.12:", when="+tests")

    # A shared library needs a shared Kokkos (two copies of its global state otherwise).
    depends_on("kokkos+shared", when="+shared")
    depends_on("kokkos-kernels+shared", when="+shared+fused")
    depends_on("kokkos+openmp", when="+openmp")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"kokkos+cuda cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")
    for target in ROCmPackage.amdgpu_targets:
        depends_on(f"kokkos+rocm amdgpu_target={target}", when=f"+rocm amdgpu_target={target}")
    conflicts("+cuda", when="cuda_arch=none", msg="name the GPU: cuda_arch=90, for example")
    conflicts("+rocm", when="amdgpu_target=none", msg="name the GPU: amdgpu_target=gfx942")
    conflicts("+cuda", when="+rocm", msg="Kokkos has one GPU backend at a time")

    def cmake_args(self):
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("KokkosIris_ENABLE_FUSED", "fused"),
            self.define("KokkosIris_ENABLE_BLAS", "ON" if self.spec.satisfies("+blas") else "OFF"),
            self.define_from_variant("KokkosIris_ENABLE_VALIDATION", "validation"),
            self.define_from_variant("KokkosIris_ENABLE_TESTS", "tests"),
            self.define_from_variant("KokkosIris_ENABLE_EXAMPLES", "examples"),
        ]
        if self.spec.satisfies("+rocm"):
            args.append(self.define("CMAKE_CXX_COMPILER", self.spec["hip"].hipcc))
        elif self.spec.satisfies("+cuda ^kokkos+wrapper"):
            args.append(self.define("CMAKE_CXX_COMPILER", self["kokkos"].kokkos_cxx))
        return args
