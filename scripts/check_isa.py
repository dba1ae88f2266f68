#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the machine code of kernels for AMD GPUs, which nobody can run here.

check_isa.py <architecture> <library, object or program>   prints each kernel that breaks a rule, and which
check_isa.py <architecture> --self-test                    shows that each rule can be broken (hipcc needed)

Each fused operation has to be there in every element type, with the portable engine and with the one for
matrix instructions; the rest of the rules is from LLVM's "User Guide for AMDGPU Backend" (code object
metadata; memory models of gfx90a and gfx942) unless another source is named:
  scratch   no private memory, no spilt vector registers, no instruction that accesses private memory
  size      wavefronts of 64, at most so many vector registers and bytes of fixed LDS (limits_of)
  atomics   no floating-point atomics of the hardware on gfx90a, where they do nothing in fine-grained
            memory, of which heaps are (ROCm documentation, "Hardware atomics operation support")
  release   a release at system scope: buffer_wbl2 (gfx942: sc0 sc1), then s_waitcnt vmcnt(0), then the store
            of the flag (gfx942: sc0 sc1)
  acquire   an acquire at system scope: the load of the flag (gfx942: sc0 sc1), s_waitcnt vmcnt(0), then
            buffer_inv sc0 sc1 (gfx90a: buffer_invl2 and buffer_wbinvl1_vol)
  arrival   each wave waits for its stores before a team's barrier (s_waitcnt vmcnt(0) expcnt(0), s_barrier;
            gpu_finish_stores in src/core/KokkosIris_GpuIntrinsics.hpp: no other code waits for expcnt)
and for kernels with matrix instructions
  loads     16 bytes at a time from global memory (global_load_dwordx4) and from LDS (ds_read_b128)
  stores    16 bytes at a time (global_store_dwordx4 or flat_store_dwordx4)
  matrix    v_mfma of the element type, the kernel's first template argument (AMD's instruction set documents
            of MI200 and MI300)
"""
import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile

ANY, FUSED, MFMA = "any kernel", "fused operations", "fused operations with matrix instructions"
LDS = "group_segment_fixed_size"


@dataclasses.dataclass
class Kernel:
    name: str
    facts: dict  # of the code object's metadata, numbers
    code: list  # instructions, as "mnemonic operands"


@dataclasses.dataclass
class Limits:
    vector_registers: int
    lds: int  # what a kernel declares; the memory of its teams comes with the launch and is not in the code


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
    for line in kernel.code:
        # gfx90a accesses private memory by buffer instructions, which nothing else here uses.
        if re.match(r"scratch_|buffer_(load|store|atomic)_", line):
            return f"{line.split()[0]}, an access to private memory"


def size(kernel, architecture, limits):
    if kernel.facts["wavefront_size"] != 64:
        return f"wavefront_size is {kernel.facts['wavefront_size']}, not 64"
    if kernel.facts["vgpr_count"] > limits.vector_registers:
        return f"vgpr_count is {kernel.facts['vgpr_count']}, more than {limits.vector_registers}"
    if kernel.facts[LDS] > limits.lds:
        return f"{LDS} is {kernel.facts[LDS]}, more than {limits.lds}"


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
    places = [place for place, line in enumerate(kernel.code) if line == "s_waitcnt vmcnt(0) expcnt(0)"]
    if not places:
        return "no s_waitcnt vmcnt(0) expcnt(0)"
    # Kokkos' team_barrier asks for the size of the team in between.
    if not all(after(kernel.code, place, 24, "s_barrier", STORE) for place in places):
        return "no s_barrier, or a store before it, after s_waitcnt vmcnt(0) expcnt(0)"


def loads(kernel, architecture, limits):
    for instruction in ("global_load_dwordx4", "ds_read_b128"):
        if not any(line.startswith(instruction + " ") for line in kernel.code):
            return f"no load of 16 bytes, {instruction}"


def stores(kernel, architecture, limits):
    if not any(re.match(r"(global|flat|buffer)_store_dwordx4 ", line) for line in kernel.code):
        return "no store of 16 bytes (global_store_dwordx4 or flat_store_dwordx4)"


def element_of(name):
    found = re.search(r"\b\w+<(double|float|KokkosIris::half_t|KokkosIris::bhalf_t)\b", short(name))
    return found.group(1) if found else None


def matrix(kernel, architecture, limits):
    element = element_of(kernel.name)
    if not element:
        return "no element type in the name"
    instruction = {"double": r"v_mfma_f64_\d+x\d+x\d+_?f64", "float": r"v_mfma_f32_\d+x\d+x\d+_?f32",
                   "KokkosIris::half_t": r"v_mfma_f32_\d+x\d+x\d+_?f16",
                   "KokkosIris::bhalf_t": r"v_mfma_f32_\d+x\d+x\d+_?bf16(_1k)?"}[element]
    if not any(re.match(instruction + " ", line) for line in kernel.code):
        return f"no {instruction}"


RULES = {ANY: [scratch, size, atomics], FUSED: [release, acquire, arrival], MFMA: [loads, stores, matrix]}

MFMA_ENGINE = "MfmaTileEngine"
# The fused operations as they are called in C++. Each has to be there, so that a missing or renamed kernel
# is noticed.
FUSED_KERNELS = [f"KokkosIris::Impl::{name}<{element}, KokkosIris::Impl::{engine}<{element}>{rest}>"
                 for engine in ("PortableTileEngine", MFMA_ENGINE)
                 for name, rest in (("ReduceKernel", ", true"), ("ReduceKernel", ", false"),
                                    ("GatherMatmulKernel", ""), ("MatmulGatherKernel", ""))
                 for element in ("double", "float", "KokkosIris::half_t", "KokkosIris::bhalf_t")]


def limits_of(name, classes):
    """What a kernel may use: a little more than when it was last looked at. A thread in a team of 256 may have
    512 registers; the sums of an engine with matrix instructions take 64, in double 128."""
    if MFMA not in classes:
        return Limits(128, 8)
    return Limits(304 if element_of(name) == "double" else 256, 8)


def short(name):
    """The functor in the name of a Kokkos kernel."""
    found = re.search(r"KokkosIris::Impl::\w+<.*?>(?=, Kokkos::(Team|Range|MDRange)Policy)", name)
    return found.group(0) if found else name


def findings(kernels, architecture, classes_of):
    """Lines that say which kernel breaks which rule; `classes_of` tells what a kernel is, by its name."""
    lines = []
    for kernel in kernels:
        classes = {ANY} | classes_of(kernel.name)
        limits = limits_of(kernel.name, classes)
        for rule in (rule for kind, rules in RULES.items() if kind in classes for rule in rules):
            wrong = rule(kernel, architecture, limits)
            if wrong:
                lines.append(f"{architecture}: {short(kernel.name)}\n    {rule.__name__}: {wrong}")
    return lines


def missing(names, architecture):
    return [f"{architecture}: no kernel {wanted}" for wanted in FUSED_KERNELS
            if not any(wanted in name for name in names)]


def classes_of_library(name):
    if not any(wanted in name for wanted in FUSED_KERNELS):
        return set()
    return {FUSED, MFMA} if MFMA_ENGINE in name else {FUSED}


def spread(kernels, element, fact):
    values = [kernel.facts[fact] for kernel in kernels if element_of(kernel.name) == element]
    return f"{fact} {min(values)} to {max(values)}"


def check(architecture, file):
    kernels = kernels_of(file, architecture)
    lines = findings(kernels, architecture, classes_of_library)
    lines += missing([kernel.name for kernel in kernels], architecture)
    print("\n".join(lines), end="\n" if lines else "")
    for kind in RULES:
        some = [kernel for kernel in kernels if kind in {ANY} | classes_of_library(kernel.name)]
        print(f"{architecture}: {kind}: {len(some)}")
        for element in sorted({element_of(kernel.name) for kernel in some if kind != ANY} - {None}):
            print(f"    {element}: {spread(some, element, 'vgpr_count')}, {spread(some, element, LDS)}")
    print(f"{architecture}: {len(lines)} findings")
    return 1 if lines or not kernels else 0


# ---- self-test ----

# What the compiler is made to do wrong: name of the macro that asks for it, beginning of what has to be found.
FAULTS = {
    "scratch": "scratch: private_segment_fixed_size",
    "scratch_instruction": "scratch: scratch_load_dword",
    "registers": "size: vgpr_count",
    "lds": "size: group_segment_fixed_size",
    "atomics": "atomics: global_atomic_add_f32",
    "release": "release: no buffer_wbl2",
    "acquire": "acquire: no load of a flag",
    "arrival": "arrival: no s_waitcnt",
    "arrival_store": "arrival: no s_barrier, or a store before it",
    "load": "loads: no load of 16 bytes, global_load_dwordx4",
    "lds_read": "loads: no load of 16 bytes, ds_read_b128",
    "stores": "stores: no store of 16 bytes",
    "matrix": "matrix: no v_mfma_f32",
    "matrix_type": "matrix: no v_mfma_f32",
}


def compiled(architecture, fault):
    """check_isa.hip with a fault, or none."""
    source = pathlib.Path(__file__).with_suffix(".hip")
    with tempfile.TemporaryDirectory() as name:
        code = pathlib.Path(name) / "sample.o"
        run("hipcc", "-O3", "-munsafe-fp-atomics", f"--offload-arch={architecture}", f"-DFAULT_{fault}=1", "-c", source,
            "-o", code)
        kernels = kernels_of(code, architecture)
    if len(kernels) != 1:
        sys.exit(f"check_isa.py: {len(kernels)} kernels in {source}, not 1")
    return kernels[0]


def found_in(kernel, architecture):
    lines = findings([kernel], architecture, lambda _: {FUSED, MFMA})
    return [line.split("\n    ")[1] for line in lines]


def with_facts(kernel, name=None, **facts):
    return dataclasses.replace(kernel, name=name or kernel.name, facts={**kernel.facts, **facts})


def self_test(architecture):
    """Compiles check_isa.hip as it should be, then with each fault, which has to be found and no other. What
    the compiler cannot be made to do is done to its output."""
    good = compiled(architecture, "none")
    results = [("none", found_in(good, architecture), [])]
    for fault, text in FAULTS.items():
        if fault != "atomics" or architecture == "gfx90a":
            results.append((fault, found_in(compiled(architecture, fault), architecture), [text]))
    for fact, value, text in (("wavefront_size", 32, "size: wavefront_size is 32"),
                              ("vgpr_spill_count", 1, "scratch: vgpr_spill_count is 1")):
        results.append((fact, found_in(with_facts(good, **{fact: value}), architecture), [text]))
    for element, limit in (("double", 304), ("float", 256), ("KokkosIris::half_t", 256), ("KokkosIris::bhalf_t", 256)):
        # Such a kernel has not the instruction of its type.
        other = [] if element == "float" else ["matrix: no v_mfma"]
        for count, texts in ((limit, other), (limit + 1, ["size: vgpr_count", *other])):
            kernel = with_facts(good, f"sample<{element}>", vgpr_count=count)
            results.append((f"{count} registers of {element}", found_in(kernel, architecture), texts))
    # Each kernel in turn is the missing one.
    lines = [line for wanted in FUSED_KERNELS
             for line in missing([name for name in FUSED_KERNELS if name != wanted], architecture)]
    expected = [f"{architecture}: no kernel {wanted}" for wanted in FUSED_KERNELS]
    results.append(("missing kernel", lines, expected))
    failures = 0
    for title, found, texts in results:
        as_expected = len(found) == len(texts) and all(map(str.startswith, found, texts))
        print(f"{architecture}: fault {title}: {'as expected' if as_expected else 'NOT as expected'}: "
              f"{'; '.join(found[:2]) or 'no finding'}{' and so on' if len(found) > 2 else ''}")
        failures += not as_expected
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
