#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the machine code of kernels for AMD GPUs, which nobody can run here.

check_isa.py <architecture> <library, object or program>...

Prints each kernel that breaks a rule, and which; check_isa_test.py shows that each rule can be broken.
The files together have to hold each fused operation in every element type, with the portable engine and with the
one for matrix instructions, and the kernels of check_isa_kernels.cpp, which are parts of the library by themselves.
The rules are from LLVM's "User Guide for AMDGPU Backend" (code object metadata; memory models of gfx90a and gfx942)
unless another source is named.
  scratch   no private memory, no stack, no spilt vector registers, no instruction that accesses private memory, no call
  size      wavefronts of 64, at most so many vector registers, spilt scalar registers and bytes of fixed LDS
            (limits_of)
  atomics   no floating-point atomics of the hardware on gfx90a, where they do nothing in fine-grained
            memory, of which heaps are (ROCm documentation, "Hardware atomics operation support")
  write_back  after every write-back of the L2 cache (buffer_wbl2) s_waitcnt vmcnt(0), before any other access to
            memory, barrier or end (compilers have dropped it: llvm/llvm-project, pull request 178316)
In fused operations, as many of each as when they were last compared with the source (COUNTS):
  release   releases at system scope: buffer_wbl2 (gfx942: sc0 sc1), the wait, and then, as the next access to memory,
            the store of the flag: 8 bytes (gfx942: sc0 sc1)
  count     additions to the counters of teams: s_waitcnt vmcnt(0) (gfx942: after buffer_wbl2 sc1), as the next
            store an atomic addition of 8 bytes, and then s_waitcnt vmcnt(0) and buffer_wbinvl1_vol (gfx942:
            buffer_inv sc1)
  acquire   acquires at system scope: the load of the flag (gfx942: sc0 sc1; gfx90a: glc), s_waitcnt vmcnt(0), then
            buffer_inv sc0 sc1 (gfx90a: buffer_invl2 and buffer_wbinvl1_vol)
  arrival   each wave waits for its stores before a team's barrier (s_waitcnt vmcnt(0) expcnt(0), s_barrier;
            gpu_finish_stores in src/core/KokkosIris_GpuIntrinsics.hpp: no other code waits for expcnt); and all
            barriers of teams
and in those with matrix instructions
  loads     16 bytes at a time from global memory (global_load_dwordx4) and from LDS (ds_read_b128), at least as many as
            the stages of a lane take
  stores    16 bytes at a time (global_store_dwordx4), at least as many as the sums of a lane fill
  matrix    v_mfma of the element type, the kernel's first template argument, and no other (AMD's instruction set
            documents of MI200 and MI300)
In the parts:
  wide      tiles, shards and operands of whole extents are moved 16 bytes at a time and in no other way, but for the
            sums of columns, which lie apart
  ordered   remote atomics and signals: the write-back of their scope, the wait, then the access of that scope and no
            other atomic one; after one of acquire order the wait and the invalidation of its scope
"""
import argparse
import dataclasses
import pathlib
import re
import sys

from isa_code import kernels_of

ANY, FUSED, MFMA = "any kernel", "fused operations", "fused operations with matrix instructions"
WIDE, ORDERED = "parts that move data", "remote atomics and signals"
LDS = "group_segment_fixed_size"
PRINTED = ("vgpr_count", "sgpr_spill_count", LDS)


@dataclasses.dataclass
class Limits:
    vector_registers: int
    scalar_spills: int  # to vector registers, which costs a move each way
    lds: int  # what a kernel declares; the memory of its teams comes with the launch and is not in the code


@dataclasses.dataclass
class Counts:
    release: int
    count: int
    acquire: int
    arrival: int
    barriers: int  # of teams


# Rules: each returns what is wrong, or nothing.


def scratch(kernel, architecture, limits):
    for fact in ("private_segment_fixed_size", "uses_dynamic_stack", "vgpr_spill_count"):
        if kernel.facts[fact]:
            return f"{fact} is {kernel.facts[fact]}, not 0"
    for line in kernel.code:
        # gfx90a accesses private memory by buffer instructions, which nothing else here uses.
        if re.match(r"scratch_|buffer_(load|store|atomic)_", line):
            return f"{line.split()[0]}, an access to private memory"
        if re.match("s_swappc|s_call|s_setpc", line):
            return f"{line.split()[0]}, a call, for which registers go to private memory"


def size(kernel, architecture, limits):
    if kernel.facts["wavefront_size"] != 64:
        return f"wavefront_size is {kernel.facts['wavefront_size']}, not 64"
    if kernel.facts["vgpr_count"] > limits.vector_registers:
        return f"vgpr_count is {kernel.facts['vgpr_count']}, more than {limits.vector_registers}"
    if kernel.facts["sgpr_spill_count"] > limits.scalar_spills:
        return f"sgpr_spill_count is {kernel.facts['sgpr_spill_count']}, more than {limits.scalar_spills}"
    if kernel.facts[LDS] > limits.lds:
        return f"{LDS} is {kernel.facts[LDS]}, more than {limits.lds}"


def atomics(kernel, architecture, limits):
    if architecture == "gfx90a":
        for line in kernel.code:
            if re.match(r"(global|flat|buffer)_atomic_(pk_)?(add|min|max)_(f|bf)", line):
                return f"{line.split()[0]}, which does nothing in fine-grained memory"


def after(code, start, steps, pattern, stop=None, branches=True):
    """Place of the next instruction that matches, at most `steps` ahead and before one that matches stop. Follows
    branches without a condition, unless not wanted: what several places do next is there once, behind such ones."""
    place = start
    for _ in range(steps):
        branch = branches and re.match("s_branch (.*)", code[place])
        place = code.index(branch.group(1) + ":") if branch and branch.group(1) + ":" in code else place + 1
        if place >= len(code):
            return None
        if re.match(pattern, code[place]):
            return place
        if stop and re.match(stop, code[place]):
            return None
    return None


STORE = r"(global|flat|buffer)_(store|atomic)_"
LOAD = r"(global|flat|buffer)_load_"
# What does not come between a write-back and the store that it belongs to.
ELSEWHERE = rf"{LOAD}|ds_|s_load|s_endpgm|s_barrier|s_setpc|buffer_(wbl2|inv|wbinv)"
ARRIVED = r"s_waitcnt .*vmcnt\(0\)"
# The instructions of releases and acquires at system scope, and of acquires at that of the device.
SYSTEM_WRITE_BACK = {"gfx90a": "buffer_wbl2", "gfx942": "buffer_wbl2 sc0 sc1"}
SYSTEM_INVALIDATIONS = {"gfx90a": ["buffer_invl2", "buffer_wbinvl1_vol"], "gfx942": ["buffer_inv sc0 sc1"]}
DEVICE_INVALIDATIONS = {"gfx90a": ["buffer_wbinvl1_vol"], "gfx942": ["buffer_inv sc1"]}
OWN_ARRIVED = "s_waitcnt vmcnt(0) expcnt(0)"


def write_backs(code):
    return [place for place, line in enumerate(code) if line.startswith("buffer_wbl2")]


def write_back(kernel, architecture, limits):
    others = rf"{STORE}|{LOAD}|ds_|s_load|buffer_(inv|wb)|s_barrier|s_endpgm|s_cbranch|s_setpc|s_swappc"
    for place in write_backs(kernel.code):
        if after(kernel.code, place, 40, ARRIVED, others) is None:
            return f"no s_waitcnt vmcnt(0) right after {kernel.code[place]}"


# The scope of a write-back or store: on gfx90a their instructions are the same for all, but only system scope
# needs a write-back.
def at_system(line, architecture):
    return architecture == "gfx90a" or line.endswith(" sc0 sc1")


def release(kernel, architecture, limits):
    found = 0
    for place in write_backs(kernel.code):
        if not at_system(kernel.code[place], architecture):
            continue
        flag = after(kernel.code, place, 100, STORE, ELSEWHERE)
        if flag is None:
            return f"no store right after {kernel.code[place]}"
        line = kernel.code[flag]
        if not re.match(r"(global|flat)_store_dwordx2 ", line) or not at_system(line, architecture):
            return f"{line} after {kernel.code[place]}, not a store of 8 bytes at system scope"
        # On gfx90a a store of data looks like a flag: the flag has no other store right behind it.
        more = after(kernel.code, flag, 12, STORE, rf"s_c?branch|.*:$|{ELSEWHERE}", branches=False)
        if more is not None:
            return f"{kernel.code[more]} right after {line}"
        found += 1
    if found != counts_of(kernel.name).release:
        return f"{found} buffer_wbl2 at system scope, not {counts_of(kernel.name).release}"


def count(kernel, architecture, limits):
    found = 0
    for place, line in enumerate(kernel.code):
        if not re.match(r"(global|flat)_atomic_add_x2 ", line):
            continue
        before = kernel.code[max(0, place - 60):place]
        while any(re.match(STORE, text) for text in before):
            before.pop(0)
        if architecture == "gfx942":
            backs = [i for i, text in enumerate(before) if re.match(r"buffer_wbl2 (sc0 )?sc1$", text)]
            before = before[backs[-1]:] if backs else []
        if not any(re.match(ARRIVED, text) for text in before):
            return f"no wait{' after buffer_wbl2 sc1' if architecture == 'gfx942' else ''} before {line}"
        wrong = no_acquire_after(kernel.code, place, DEVICE_INVALIDATIONS[architecture])
        if wrong:
            return wrong
        found += 1
    if found != counts_of(kernel.name).count:
        return f"{found} additions to counters, not {counts_of(kernel.name).count}"


def no_acquire_after(code, place, invalidations):
    """What an atomic access lacks to acquire; nothing if it lacks nothing."""
    for step in [ARRIVED, *(line + "$" for line in invalidations)]:
        next_place = after(code, place, 24, step, f"{STORE}|{LOAD}|ds_|s_barrier")
        if next_place is None:
            return f"no s_waitcnt vmcnt(0), {', '.join(invalidations)} after {code[place]}"
        place = next_place


def acquire(kernel, architecture, limits):
    first, *others = SYSTEM_INVALIDATIONS[architecture]
    flag = " sc0 sc1" if architecture == "gfx942" else " glc"
    found = 0
    for place, line in enumerate(kernel.code):
        if line != first:
            continue
        if kernel.code[place + 1:place + 1 + len(others)] != others:
            return f"no {', '.join(others)} after {first}"
        before = kernel.code[max(0, place - 12):place]
        loads = [i for i, text in enumerate(before) if re.match(LOAD, text) and text.endswith(flag)]
        if not loads or not any(re.match(ARRIVED, text) for text in before[loads[-1]:]):
            return f"no load of a flag{flag}, s_waitcnt vmcnt(0), {first} in this order"
        if not re.match(r"(global|flat)_load_dwordx2 ", before[loads[-1]]):
            return f"{before[loads[-1]]} ahead of {first}, not a load of 8 bytes"
        between = [text for text in before[loads[-1] + 1:] if re.match(rf"{STORE}|{LOAD}|ds_", text)]
        if between:
            return f"{between[0]} between the load of a flag and {first}"
        found += 1
    if found != counts_of(kernel.name).acquire:
        return f"{found} {first}, not {counts_of(kernel.name).acquire}"


def arrival(kernel, architecture, limits):
    places = [place for place, line in enumerate(kernel.code) if line == OWN_ARRIVED]
    if len(places) != counts_of(kernel.name).arrival:
        return f"{len(places)} {OWN_ARRIVED}, not {counts_of(kernel.name).arrival}"
    # Kokkos' team_barrier asks for the size of the team in between: a team of one wave goes on by a branch, which
    # the text or the way of control may have first.
    if not all(after(kernel.code, place, 24, "s_barrier", STORE) or
               after(kernel.code, place, 24, "s_barrier", STORE, branches=False) for place in places):
        return f"no s_barrier, or a store before it, after {OWN_ARRIVED}"
    barriers = kernel.code.count("s_barrier")
    if barriers != counts_of(kernel.name).barriers:
        return f"{barriers} s_barrier, not {counts_of(kernel.name).barriers}"


def too_few(kernel, instruction, least):
    found = sum(line.startswith(instruction + " ") for line in kernel.code)
    return f"{found} {instruction}, fewer than {least}" if found < least else None


def loads(kernel, architecture, limits):
    """A lane brings two chunks of each operand of a stage (128 rows of 64 bytes a team) and reads four (64 rows a wave), at
    two places: in the loop of whole stages and in that of others, and brings the first stage of each ahead of them."""
    least = 1 if part_of(kernel.name) == "sample" else 16
    return too_few(kernel, "global_load_dwordx4", least) or too_few(kernel, "ds_read_b128", least)


def stores(kernel, architecture, limits):
    """A lane has 64 sums of the tile, four or, of double, two in a chunk; and stores a chunk of sums of all ranks."""
    tile = 0 if part_of(kernel.name) == "sample" else 32 if element_of(kernel.name) == "double" else 16
    return too_few(kernel, "global_store_dwordx4", tile + 1)


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
    found = [line.split()[0] for line in kernel.code if re.match("v_s?mfma", line)]
    if not found:
        return f"no {instruction}"
    for name in found:
        if not re.fullmatch(instruction, name):
            return f"{name}, not {instruction}"


def wide(kernel, architecture, limits):
    # Operands that are adjacent along their rows are transposed on the way to LDS, a pair of elements at a time.
    pair = {"double": 128, "float": 64}.get(element_of(kernel.name), 32)
    one = "dwordx2" if element_of(kernel.name) == "double" else "dword"  # of the accumulators' type
    wanted = {"WideSum": ["global_load_dwordx4", "global_store_dwordx4"],
              "WideSumToColumns": [f"global_load_{one}", "global_store_dwordx4"],
              "WideCopy": ["global_load_dwordx4", "global_store_dwordx4"],
              "WideStageAlongK": ["global_load_dwordx4", "ds_write_b128"],
              "WideStageAlongRows": ["global_load_dwordx4", f"ds_write_b{pair}"]}[part_of(kernel.name)]
    found = [line.split()[0] for line in kernel.code if re.match(rf"{STORE}|{LOAD}|ds_", line)]
    for instruction in wanted:
        if instruction not in found:
            return f"no {instruction}"
    for instruction in found:
        if instruction not in wanted:
            return f"{instruction} beside {' and '.join(wanted)}"


# What the parts consist of, and whether it acquires.
ACCESSES = {"AtomicAdd": ("add", True), "AtomicSubRelease": ("add", False), "AtomicMin": ("cmpswap", True),
            "AtomicExchange": ("swap", False), "AtomicCompare": ("cmpswap", True), "AtomicOnDevice": ("add", True),
            "SignalAdding": ("add", False), "SignalSetting": (None, False), "FenceBetween": (None, True)}


def sequence_of(part, architecture):
    """All accesses of the parts in which the order of data and flag is at stake, as patterns; none of other parts."""
    store, load, back = "(global|flat)_store_", "(global|flat)_load_", "buffer_wbl2"
    return {"SignalSetting": [store, back, store],
            "SignalAdding": [store, back, "(global|flat)_atomic_"],
            "FenceBetween": [store, back, *SYSTEM_INVALIDATIONS[architecture], load, store]}.get(part)


def access_of(name, architecture):
    """The instruction of a part, as a pattern."""
    part, type_name = part_of(name), re.search("<(.*?)>", short(name)).group(1)
    on942, floating = architecture == "gfx942", type_name in ("double", "float")
    if part == "FenceBetween":
        return SYSTEM_INVALIDATIONS[architecture][0] + "$"
    if part == "SignalSetting":
        return r"(global|flat)_store_dwordx2 .*" + (" sc0 sc1$" if on942 else "")
    operation = ACCESSES[part][0]
    width = "_x2" if type_name in ("double", "long") or part == "SignalAdding" else ""
    if operation == "add" and floating and part != "SignalAdding":
        if not on942:
            operation = "cmpswap"  # see the rule `atomics`
        else:
            width = "_f64" if type_name == "double" else "_f32"
    scope = "" if not on942 else r"(?!.* sc1)" if part == "AtomicOnDevice" else r"(?=.* sc1$)"
    return rf"(global|flat)_atomic_{operation}{width} {scope}"


def ordered(kernel, architecture, limits):
    part, access = part_of(kernel.name), access_of(kernel.name, architecture)
    on_device, on942 = part == "AtomicOnDevice", architecture == "gfx942"
    back = "buffer_wbl2 sc1" if on_device and on942 else SYSTEM_WRITE_BACK[architecture]
    places = [place for place, line in enumerate(kernel.code) if line == back]
    if on_device and not on942:
        places = [0]  # the second cache is this device's own
    waits = [after(kernel.code, place, 40, ARRIVED, STORE) for place in places]
    found = [wait is not None and after(kernel.code, wait, 60, access, STORE) for wait in waits]
    if not found or None in found or False in found:
        return f"no {back}, s_waitcnt vmcnt(0), {access} in this order"
    for place, line in enumerate(kernel.code):
        if re.match(r"(global|flat)_atomic_", line) and place not in found:
            return f"{line} beside {access}"
    wanted = sequence_of(part, architecture)
    if wanted:
        accesses = [line for line in kernel.code if re.match(rf"{STORE}|{LOAD}|ds_|buffer_", line)]
        if len(accesses) != len(wanted) or not all(map(re.match, wanted, accesses)):
            return f"{'; '.join(accesses)}, not {'; '.join(wanted)}"
        if part == "SignalSetting" and on942 and accesses[0].endswith(" sc1"):
            return f"{accesses[0]} ahead of the write-back"
    if part != "FenceBetween" and ACCESSES[part][1]:
        invalidations = DEVICE_INVALIDATIONS if on_device else SYSTEM_INVALIDATIONS
        return no_acquire_after(kernel.code, found[-1], invalidations[architecture])


RULES = {ANY: [scratch, size, atomics, write_back], FUSED: [release, count, acquire, arrival],
         MFMA: [loads, stores, matrix], WIDE: [wide], ORDERED: [ordered]}

MFMA_ENGINE = "MfmaTileEngine"
SIXTEEN_BITS = ("KokkosIris::half_t", "KokkosIris::bhalf_t")
# What they are called in C++. Each has to be there, so that a missing or renamed kernel is noticed.
FUSED_KERNELS = [f"KokkosIris::Impl::{name}<{element}, KokkosIris::Impl::{engine}<{element}>{rest}>"
                 for engine in ("PortableTileEngine", MFMA_ENGINE)
                 for name, rest in (("ReduceKernel", ", true"), ("ReduceKernel", ", false"),
                                    ("GatherMatmulKernel", ""), ("MatmulGatherKernel", ""))
                 for element in ("double", "float", *SIXTEEN_BITS)]
WIDE_KERNELS = [f"KokkosIris::Impl::{name}<{element}>("
                for name in ("WideSum", "WideSumToColumns", "WideCopy", "WideStageAlongK", "WideStageAlongRows")
                for element in ("double", "float", *SIXTEEN_BITS)]
ORDERED_KERNELS = [f"KokkosIris::Impl::{name}<{element}>("
                   for names, elements in (
                       (("AtomicAdd", "AtomicSubRelease", "AtomicMin", "AtomicExchange", "AtomicCompare",
                         "AtomicOnDevice"), ("double", "float", "long", "unsigned int")),
                       (("SignalSetting", "SignalAdding", "FenceBetween"), ("double",)))
                   for name in names for element in elements]

# Kokkos' own atomics, as users call them: rules for any kernel, `atomics` above all.
PLAIN_KERNELS = [f"KokkosIris::Impl::PlainAtomicAdd<{element}>(" for element in ("double", "float")]

# How many there are in the kernels of each operation, with both engines, in all types and on both architectures:
# one less is missing, one more has not been looked at. In the source, compared on 2026-12-01:
# - a wait polls, and so acquires, at three places, and releases its report at one. Waits are in league_barrier and
#   leave, for slots, partial tiles and, to all ranks, entries (ReduceKernel), for entries by load_panels and
#   hold_panel (GatherMatmulKernel), for entries (MatmulGatherKernel); begin has one that does not poll;
# - each other release is a store: in enter, publish, release_slot, twice in leave.
# That is 10, 11 (to all ranks), 8 and 7 releases. The compiler has some of them twice.
COUNTS = {"ReduceKernel": Counts(release=13, count=2, acquire=12, arrival=5, barriers=23),
          "GatherMatmulKernel": Counts(release=10, count=2, acquire=12, arrival=2, barriers=21),
          "MatmulGatherKernel": Counts(release=9, count=2, acquire=9, arrival=2, barriers=17),
          "sample": Counts(release=2, count=1, acquire=1, arrival=3, barriers=5)}


ALL_KERNELS = FUSED_KERNELS + WIDE_KERNELS + ORDERED_KERNELS + PLAIN_KERNELS


def part_of(name):
    return re.search(r"(\w+)<", short(name)).group(1)


def counts_of(name):
    counts = COUNTS[part_of(name)]
    # Who stores its result on all ranks waits for their entries. The engine for matrix cores has a barrier more.
    if "true>" in short(name):
        counts = dataclasses.replace(counts, release=14, acquire=15, barriers=counts.barriers + 2)
    return dataclasses.replace(counts, barriers=counts.barriers + 1) if MFMA_ENGINE in name else counts


def limits_of(name, classes):
    """What a kernel may use: a little more than when it was last looked at. Teams of fused operations have 256
    threads, of which each may have 512 registers. With matrix instructions a team takes more than half of the LDS
    of a compute unit, so that no second one is there to share the registers with; the sums take 64, in double
    128."""
    if MFMA in classes:
        return Limits(336 if element_of(name) == "double" else 288, 400, 8)
    return Limits(160, 400, 8) if FUSED in classes else Limits(128, 0, 8)


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
    return [f"{architecture}: no kernel {wanted}" for wanted in ALL_KERNELS
            if not any(wanted in name for name in names)]


def unknown(names, architecture):
    """A new fused operation, or one that is called otherwise, has to be added to the lists."""
    return [f"{architecture}: {short(name)}\n    of no kind that is known here" for name in names
            if "TileEngine<" in name and not classes_of_library(name)]


def classes_of_library(name):
    def is_one_of(kernels):
        return any(wanted in name for wanted in kernels)
    if is_one_of(FUSED_KERNELS):
        return {FUSED, MFMA} if MFMA_ENGINE in name else {FUSED}
    return {WIDE} if is_one_of(WIDE_KERNELS) else {ORDERED} if is_one_of(ORDERED_KERNELS) else set()


def spread(kernels, element, fact):
    values = [kernel.facts[fact] for kernel in kernels if element_of(kernel.name) == element]
    return f"{fact} {min(values)} to {max(values)}"


def check(architecture, files):
    kernels = [kernel for file in files for kernel in kernels_of(file, architecture)]
    lines = findings(kernels, architecture, classes_of_library)
    names = [kernel.name for kernel in kernels]
    lines += missing(names, architecture) + unknown(names, architecture)
    print("\n".join(lines), end="\n" if lines else "")
    for kind in RULES:
        some = [kernel for kernel in kernels if kind in {ANY} | classes_of_library(kernel.name)]
        print(f"{architecture}: {kind}: {len(some)}")
        for element in sorted({element_of(kernel.name) for kernel in some if kind in (FUSED, MFMA)} - {None}):
            print(f"    {element}: {', '.join(spread(some, element, fact) for fact in PRINTED)}")
    print(f"{architecture}: {len(lines)} findings")
    return 1 if lines else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architecture", choices=["gfx90a", "gfx942"])
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    return check(arguments.architecture, arguments.files)


if __name__ == "__main__":
    sys.exit(main())
