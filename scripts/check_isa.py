#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the machine code of kernels for AMD GPUs, which nobody can run here.

check_isa.py <architecture> <library, object or program>   prints each kernel that breaks a rule, and which
check_isa.py <architecture> --self-test                    shows that each rule can be broken (hipcc needed)

The rules, from LLVM's "User Guide for AMDGPU Backend" (code object metadata; memory models of gfx90a and
gfx942) unless another source is named:
  scratch   no private memory and no spilt vector registers
  size      wavefronts of 64, at most so many vector registers and bytes of fixed LDS
  atomics   no floating-point atomics of the hardware on gfx90a, where they do nothing in fine-grained
            memory, of which heaps are ("HIP documentation", "Hardware atomics operation support")
  release   a release at system scope: buffer_wbl2 (gfx942: sc0 sc1), then s_waitcnt vmcnt(0), then the store
            of the flag (gfx942: sc0 sc1)
  acquire   an acquire at system scope: the load of the flag (gfx942: sc0 sc1), s_waitcnt vmcnt(0), then
            buffer_inv sc0 sc1 (gfx90a: buffer_invl2 and buffer_wbinvl1_vol)
  arrival   each wave waits for its stores before a team's barrier (s_waitcnt vmcnt(0) expcnt(0), s_barrier;
            gpu_finish_stores in src/core/KokkosIris_GpuIntrinsics.hpp)
  stores    16 bytes at a time (global_store_dwordx4 or flat_store_dwordx4)
  matrix    v_mfma of the element type, the kernel's first template argument ("AMD Instinct MI300 ISA")
"""
import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile

ANY, FUSED, MFMA = "any kernel", "fused operations", "fused operations with matrix instructions"


@dataclasses.dataclass
class Kernel:
    name: str
    facts: dict  # of the code object's metadata, numbers
    code: list  # instructions, as "mnemonic operands"


@dataclasses.dataclass
class Limits:
    vector_registers: int = 256
    lds: int = 65536


# ---- reading ----


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def llvm(tool):
    """The tool of the newest LLVM here; hipcc's own is not on the path."""
    folders = sorted(pathlib.Path("/usr/lib").glob("llvm-*/bin"), key=lambda p: int(p.parent.name[5:]))
    folders += [pathlib.Path("/opt/rocm/llvm/bin")]
    found = [folder / tool for folder in folders if (folder / tool).exists()]
    if not found:
        sys.exit(f"check_isa.py: no {tool} in /usr/lib/llvm-*/bin or /opt/rocm/llvm/bin")
    return found[-1]


def objects_of(file, folder):
    if file.suffix != ".a":
        return [file]
    run(llvm("llvm-ar"), "x", "--output", folder, file)
    return sorted(folder.glob("*.o"))


def kernels_of(file, architecture):
    """All kernels for the architecture in a library, object or program."""
    kernels = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number, item in enumerate(objects_of(file.resolve(), folder)):
            bundle, code = folder / f"{number}.bundle", folder / f"{number}.code"
            run(llvm("llvm-objcopy"), f"--dump-section=.hip_fatbin={bundle}", item, "/dev/null")\
                if has_device_code(item) else bundle.write_bytes(b"")
            if not bundle.stat().st_size:
                continue
            run(llvm("clang-offload-bundler"), "--unbundle", "--type=o", f"--input={bundle}",
                f"--targets=hipv4-amdgcn-amd-amdhsa--{architecture}", f"--output={code}")
            kernels += kernels_of_code(code)
    return kernels


def has_device_code(item):
    return ".hip_fatbin" in run(llvm("llvm-readelf"), "--section-headers", item)


def kernels_of_code(code):
    notes = run(llvm("llvm-readelf"), "--notes", code)
    text = run(llvm("llvm-objdump"), "--disassemble", "--no-show-raw-insn", "--no-leading-addr", code)
    bodies = {}
    for block in re.split(r"\n(?=\S+ ?<[^>]+>:\n|<[^>]+>:\n)", text):
        head = re.match(r"(?:\S+ )?<([^>]+)>:\n", block)
        if head:
            lines = (line.split("//")[0].strip() for line in block.split("\n")[1:])
            bodies[head.group(1)] = [re.sub(r"\s+", " ", line) for line in lines if line]
    kernels = []
    for entry in re.split(r"\n  - ", notes)[1:]:
        symbol = re.search(r"\n    \.name: +(\S+)", entry)
        if symbol:
            facts = {key: int(value) for key, value in re.findall(r"^ {4}\.(\w+): +(\d+)$", entry, re.M)}
            kernels.append(Kernel(symbol.group(1).strip("'\""), facts, bodies[symbol.group(1).strip("'\"")]))
    names = run(llvm("llvm-cxxfilt"), *(kernel.name for kernel in kernels)).splitlines() if kernels else []
    for kernel, name in zip(kernels, names, strict=True):
        kernel.name = name
    return kernels


# ---- rules: each returns what is wrong, or nothing ----


def scratch(kernel, architecture, limits):
    for fact in ("private_segment_fixed_size", "vgpr_spill_count"):
        if kernel.facts[fact]:
            return f"{fact} is {kernel.facts[fact]}, not 0"


def size(kernel, architecture, limits):
    if kernel.facts["wavefront_size"] != 64:
        return f"wavefront_size is {kernel.facts['wavefront_size']}, not 64"
    if kernel.facts["vgpr_count"] > limits.vector_registers:
        return f"vgpr_count is {kernel.facts['vgpr_count']}, more than {limits.vector_registers}"
    if kernel.facts["group_segment_fixed_size"] > limits.lds:
        return f"group_segment_fixed_size is {kernel.facts['group_segment_fixed_size']}, more than {limits.lds}"


def atomics(kernel, architecture, limits):
    if architecture == "gfx90a":
        for line in kernel.code:
            if re.match(r"(global|flat|buffer)_atomic_(pk_)?(add|min|max)_(f|bf)", line):
                return f"{line.split()[0]}, which does nothing in fine-grained memory"


def after(code, start, steps, pattern, stop=None):
    """Place of the next instruction that matches, at most `steps` ahead and before one that matches stop."""
    for place in range(start + 1, min(len(code), start + 1 + steps)):
        if re.match(pattern, code[place]):
            return place
        if stop and re.match(stop, code[place]):
            return None
    return None


STORE = r"(global|flat|buffer)_(store|atomic)_"
LOAD = r"(global|flat|buffer)_load_"
ARRIVED = r"s_waitcnt .*vmcnt\(0\)"


def release(kernel, architecture, limits):
    system = " sc0 sc1" if architecture == "gfx942" else ""
    for place, line in enumerate(kernel.code):
        if line == "buffer_wbl2" + system:
            waits = after(kernel.code, place, 8, ARRIVED, STORE)
            stores = waits and after(kernel.code, waits, 60, STORE + r".*" + system)
            if stores:
                return None
    return f"no buffer_wbl2{system}, s_waitcnt vmcnt(0), store{system} in this order"


def acquire(kernel, architecture, limits):
    first = "buffer_inv sc0 sc1" if architecture == "gfx942" else "buffer_invl2"
    for place, line in enumerate(kernel.code):
        if line != first:
            continue
        if architecture == "gfx90a" and not after(kernel.code, place, 1, "buffer_wbinvl1_vol"):
            continue
        before = kernel.code[max(0, place - 12):place]
        flag = " sc0 sc1" if architecture == "gfx942" else " glc"
        loads = [i for i, text in enumerate(before) if re.match(LOAD, text) and text.endswith(flag)]
        if loads and any(re.match(ARRIVED, text) for text in before[loads[-1]:]):
            return None
    return f"no load of a flag, s_waitcnt vmcnt(0), {first} in this order"


def arrival(kernel, architecture, limits):
    for place, line in enumerate(kernel.code):
        # Kokkos' team_barrier asks for the size of the team in between.
        if line == "s_waitcnt vmcnt(0) expcnt(0)" and after(kernel.code, place, 16, "s_barrier", STORE):
            return None
    return "no s_waitcnt vmcnt(0) expcnt(0), s_barrier in this order"


def stores(kernel, architecture, limits):
    if not any(re.match(r"(global|flat|buffer)_store_dwordx4 ", line) for line in kernel.code):
        return "no store of 16 bytes (global_store_dwordx4 or flat_store_dwordx4)"


def matrix(kernel, architecture, limits):
    element = re.search(r"\b\w+<(double|float|KokkosIris::half_t|KokkosIris::bhalf_t)\b", short(kernel.name))
    if not element:
        return "no element type in the name"
    instruction = {"double": r"v_mfma_f64_\d+x\d+x\d+_?f64", "float": r"v_mfma_f32_\d+x\d+x\d+_?f32",
                   "KokkosIris::half_t": r"v_mfma_f32_\d+x\d+x\d+_?f16",
                   "KokkosIris::bhalf_t": r"v_mfma_f32_\d+x\d+x\d+_?bf16(_1k)?"}[element.group(1)]
    if not any(re.match(instruction + " ", line) for line in kernel.code):
        return f"no {instruction}"


RULES = {ANY: [scratch, size, atomics], FUSED: [release, acquire, arrival], MFMA: [stores, matrix]}

# Which kernels are what, by their names in C++. Each has to be there, so that a renamed kernel is noticed.
FUSED_KERNELS = [rf"KokkosIris::Impl::{name}<{kind}, KokkosIris::Impl::\w+TileEngine<"
                 for name in ("ReduceKernel", "GatherMatmulKernel", "MatmulGatherKernel")
                 for kind in ("double", "float", "KokkosIris::half_t", "KokkosIris::bhalf_t")]


def short(name):
    """The functor in the name of a Kokkos kernel."""
    found = re.search(r"KokkosIris::Impl::\w+<.*?>(?=, Kokkos::(Team|Range|MDRange)Policy)", name)
    return found.group(0) if found else name


def findings(kernels, architecture, classes, limits=Limits()):
    """Lines that say which kernel breaks which rule; `classes` tells what a kernel is, by its name."""
    lines = []
    for kernel in kernels:
        for kind, rules in RULES.items():
            if kind != ANY and kind not in classes(kernel.name):
                continue
            for rule in rules:
                wrong = rule(kernel, architecture, limits)
                if wrong:
                    lines.append(f"{architecture}: {short(kernel.name)}\n    {rule.__name__}: {wrong}")
    return lines


def classes_of_library(name):
    classes = {FUSED} if any(re.search(pattern, name) for pattern in FUSED_KERNELS) else set()
    return classes | ({MFMA} if classes and "KokkosIris::Impl::MfmaTileEngine<" in name else set())


def check(architecture, file):
    kernels = kernels_of(file, architecture)
    lines = findings(kernels, architecture, classes_of_library)
    for pattern in FUSED_KERNELS:
        if not any(re.search(pattern, kernel.name) for kernel in kernels):
            lines.append(f"{architecture}: no kernel whose name matches {pattern}")
    print("\n".join(lines), end="\n" if lines else "")
    print(f"{architecture}: {len(kernels)} kernels, {sum(FUSED in classes_of_library(k.name) for k in kernels)} of "
          f"them fused operations: {len(lines)} findings")
    return 1 if lines or not kernels else 0


# ---- self-test ----


def self_test(architecture):
    """Compiles check_isa.hip as it should be, then with each fault, which has to be found and no other."""
    source = pathlib.Path(__file__).with_suffix(".hip")
    faults = [rule for rules in RULES.values() for rule in rules]
    if architecture != "gfx90a":
        faults.remove(atomics)
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        for fault in [None, *faults]:
            label = fault.__name__ if fault else "none"
            code = pathlib.Path(name) / f"{label}.o"
            run("hipcc", "-O3", "-munsafe-fp-atomics", f"--offload-arch={architecture}", f"-DFAULT_{label}=1", "-c",
                source, "-o", code)
            kernels = kernels_of(code, architecture)
            lines = findings(kernels, architecture, lambda _: {FUSED, MFMA}, Limits(vector_registers=128))
            found = {line.split("\n    ")[1].split(":")[0] for line in lines}
            good = len(kernels) == 1 and found == ({label} if fault else set())
            print(f"{architecture}: fault {label}: {'as expected' if good else 'NOT as expected'}: "
                  f"{', '.join(sorted(found)) or 'no finding'}")
            failures += not good
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architecture", choices=["gfx90a", "gfx942"])
    parser.add_argument("file", type=pathlib.Path, nargs="?")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test == bool(arguments.file):
        parser.error("give a file, or --self-test")
    return self_test(arguments.architecture) if arguments.self_test else check(arguments.architecture, arguments.file)


if __name__ == "__main__":
    sys.exit(main())
