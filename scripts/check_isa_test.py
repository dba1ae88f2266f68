#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows that every rule of check_isa.py can be broken; needs hipcc.

check_isa_test.py <architecture> [<library, object or program>...]

Compiles check_isa_test.hip as it should be, then with each fault that a compiler can be made to commit; each has to be
found, and no other. All other faults, one for each condition of each rule, are committed in the instructions and
metadata that were read: of check_isa_test.hip, and of the kernels in the files, which are those for check_isa.py: there
each release, acquire, arrival, barrier and counter of the fused operations of two types is broken in turn.
"""
import argparse
import dataclasses
import pathlib
import re
import sys
import tempfile

import check_isa
from check_isa import ANY, FUSED, MFMA
from isa_code import BUNDLE, bundles_of, kernels_of, run

# What the compiler is made to do wrong: name of the macro that asks for it, beginning of what has to be found.
COMPILED = {
    "scratch": "scratch: private_segment_fixed_size",
    "scratch_instruction": "scratch: scratch_load_dword",
    "registers": "size: vgpr_count",
    "lds": "size: group_segment_fixed_size",
    "atomics": "atomics: global_atomic_add_f32",
    "release": "release: 0 buffer_wbl2 at system scope",
    "acquire": "acquire: ",
    "arrival": "arrival: 2 s_waitcnt vmcnt(0) expcnt(0)",
    "arrival_store": "arrival: no s_barrier, or a store before it",
    "load": "loads: 0 global_load_dwordx4",
    "lds_read": "loads: 0 ds_read_b128",
    "stores": "stores: 0 global_store_dwordx4",
    "matrix": "matrix: no v_mfma_f32",
    "matrix_type": "matrix: v_mfma_f32_16x16x16",
}


def compiled(architecture, fault):
    """check_isa_test.hip with a fault, or none."""
    source = pathlib.Path(__file__).with_name("check_isa_test.hip")
    with tempfile.TemporaryDirectory() as name:
        code = pathlib.Path(name) / "sample.o"
        run("hipcc", "-O3", "-munsafe-fp-atomics", f"--offload-arch={architecture}", f"-DFAULT_{fault}=1", "-c", source,
            "-o", code)
        kernels = kernels_of(code, architecture)
    if len(kernels) != 1:
        sys.exit(f"check_isa_test.py: {len(kernels)} kernels in {source}, not 1")
    return kernels[0]


def found_in(kernel, architecture, classes=None):
    lines = check_isa.findings([kernel], architecture, lambda _: classes or {FUSED, MFMA})
    return [line.split("\n    ")[1] for line in lines]


def with_facts(kernel, name=None, **facts):
    return dataclasses.replace(kernel, name=name or kernel.name, facts={**kernel.facts, **facts})


def edited(kernel, pattern, replacement, first=0, count=1):
    """The kernel with `count` instructions that match, from number `first` on, replaced; none if it is None. With
    first=-1 the last one. At least one has to be there."""
    places = [place for place, line in enumerate(kernel.code) if re.match(pattern, line)]
    chosen = places[first:first + count] if first >= 0 else places[first:]
    if not chosen:
        sys.exit(f"check_isa_test.py: no {pattern} to edit in {kernel.name}")
    code = [re.sub(pattern, replacement or "", line) if place in chosen else line
            for place, line in enumerate(kernel.code) if replacement is not None or place not in chosen]
    return dataclasses.replace(kernel, code=code)


def inserted(kernel, pattern, line, first=0, offset=1):
    """The kernel with a further instruction behind number `first` of those that match; offset=0: ahead of it."""
    places = [place for place, text in enumerate(kernel.code) if re.match(pattern, text)]
    place = places[first] + offset
    return dataclasses.replace(kernel, code=kernel.code[:place] + [line] + kernel.code[place:])


def next_store(kernel, pattern, first=0):
    """The places of number `first` of the instructions that match and of the next store in the text."""
    begin = [place for place, line in enumerate(kernel.code) if re.match(pattern, line)][first]
    return begin, next(place for place in range(begin + 1, len(kernel.code))
                       if re.match(check_isa.STORE, kernel.code[place]))


def without_waits(kernel, pattern, first=0):
    """The kernel without the waits between an instruction that matches and the next store."""
    begin, end = next_store(kernel, pattern, first)
    code = [line for place, line in enumerate(kernel.code)
            if not (begin < place < end and re.match(check_isa.ARRIVED, line))]
    return dataclasses.replace(kernel, code=code)


def flag_after(kernel, pattern, replacement, first=0):
    """The kernel with the first store after an instruction that matches `pattern` replaced."""
    _, place = next_store(kernel, pattern, first)
    return replaced(kernel, place, replacement(kernel.code[place]))


def behind_flag(kernel, pattern, line):
    """The kernel with a further instruction behind the first store after one that matches."""
    _, place = next_store(kernel, pattern)
    return dataclasses.replace(kernel, code=[*kernel.code[:place + 1], line, *kernel.code[place + 1:]])


def fault_list(good, architecture):
    """(title, kernel, beginnings of what has to be found) for each condition of the rules for fused operations."""
    on942 = architecture == "gfx942"
    back = check_isa.SYSTEM_WRITE_BACK[architecture]
    first, counted = check_isa.SYSTEM_INVALIDATIONS[architecture][0], check_isa.DEVICE_INVALIDATIONS[architecture][0]
    last_back = 1  # the place of the second flag among them
    faults = [
        ("wave of 32", with_facts(good, wavefront_size=32), ["size: wavefront_size is 32"]),
        ("spilt vector", with_facts(good, vgpr_spill_count=1), ["scratch: vgpr_spill_count is 1"]),
        ("private memory", with_facts(good, private_segment_fixed_size=4), ["scratch: private_segment_fixed_size"]),
        ("buffer load", inserted(good, "s_barrier", "buffer_load_dword v1, off, s[0:3], 0"), ["scratch: buffer_load"]),
        ("stack", with_facts(good, uses_dynamic_stack=1), ["scratch: uses_dynamic_stack is 1"]),
        ("tail call", inserted(good, "s_barrier", "s_setpc_b64 s[30:31]"), ["scratch: s_setpc_b64, a call"]),
        ("near call", inserted(good, "s_barrier", "s_call_b64 s[30:31], 4"), ["scratch: s_call_b64, a call"]),
        ("call", inserted(good, "s_barrier", "s_swappc_b64 s[30:31], s[4:5]"), ["scratch: s_swappc_b64, a call"]),
        ("spilt scalars", with_facts(good, sgpr_spill_count=401), ["size: sgpr_spill_count is 401"]),
        ("LDS", with_facts(good, group_segment_fixed_size=9), ["size: group_segment_fixed_size is 9"]),
        # The write-back and what comes after it.
        ("no wait after the first write-back", without_waits(good, back),
         ["write_back: no s_waitcnt vmcnt(0) right after " + back]),
        ("flag of 4 bytes behind a branch", flag_behind_branch(good, back), ["release: global_store_dword "]),
        ("no wait after the second", without_waits(good, back, last_back), ["write_back: no s_waitcnt vmcnt(0)"]),
        ("a store ahead of the wait",
         inserted(good, back, "global_store_dwordx2 v0, v[2:3], s[0:1]" + (" sc0 sc1" if on942 else "")),
         ["write_back: no s_waitcnt", "release: global_store_dwordx2"]),
        ("a load ahead of the wait", inserted(good, back, "global_load_dword v0, v1, s[0:1]"),
         ["write_back: no s_waitcnt", "release: no store right after"]),
        ("a wait for loads only", edited_waits(good, back, "s_waitcnt vmcnt(1)"), ["write_back: no s_waitcnt"]),
        ("flag of 4 bytes", flag_after(good, back, lambda line: line.replace("_dwordx2", "_dword")),
         ["release: global_store_dword "]),
        ("second flag of 4 bytes", flag_after(good, back, lambda line: line.replace("_dwordx2", "_dword"), last_back),
         ["release: global_store_dword "]),
        ("relaxed flag beside a good release", edited(good, back, None, last_back),
         ["release: 1 buffer_wbl2 at system scope, not 2"]),
        # Counters of teams.
        ("no addition", edited(good, "global_atomic_add_x2", "v_nop"), ["count: 0 additions"]),
        ("cache kept after the addition", edited(good, counted, None, -1),
         ["count: no s_waitcnt vmcnt(0), buffer_"]),
        ("acquire at agent scope", edited(good, first,
                                          "buffer_inv sc1" if on942 else None), ["acquire: 0 "]),
        ("no wait for the flag", edited_before(good, first),
         ["acquire: no load of a flag"]),
        ("flag out of a cache", edited(good, r"(global_load_dwordx2 .*)( sc0 sc1| glc)$", r"\1"),
         ["acquire: no load of a flag"]),
        ("one arrival missing", edited(good, re.escape(check_isa.OWN_ARRIVED), None, 1), ["arrival: 2 s_waitcnt"]),
        ("one barrier missing", edited(good, "s_barrier", None, 1), ["arrival: 4 s_barrier, not 5"]),
        ("a store right after the flag", behind_flag(good, back, "global_store_dwordx2 v0, v[2:3], s[0:1]"),
         ["release: global_store_dwordx2 v0, v[2:3], s[0:1] right after"]),
        ("LDS ahead of the flag", inserted(good, back, "ds_read_b32 v0, v1", 0, 2), ["release: no store right after"]),
        ("a load ahead of the invalidation", inserted(good, first,
                                                      "ds_read_b32 v0, v1", 0, 0), ["acquire: ds_read_b32 v0, v1 between"]),
        ("flag of 4 bytes loaded", edited(good, r"global_load_dwordx2( .*( sc0 sc1| glc))$", r"global_load_dword\1"),
         ["acquire: global_load_dword "]),
        ("no barrier after the last arrival", edited(good, "s_barrier", None, -1), ["arrival: no s_barrier"]),
        ("a store ahead of a barrier", inserted(good, "s_barrier", "global_store_dword v0, v1, s[0:1]", -1, 0),
         ["arrival: no s_barrier"]),
        ("global loads of 8", edited(good, "global_load_dwordx4", "global_load_dwordx2", 0, 99),
         ["loads: 0 global_load_dwordx4"]),
        ("LDS reads of 8", edited(good, "ds_read_b128", "ds_read_b64", 0, 99),
         ["loads: 0 ds_read_b128"]),
        ("stores of 8", edited(good, "global_store_dwordx4", "global_store_dwordx3", 0, 99),
         ["stores: 0 global_store_dwordx4"]),
        ("no element type", with_facts(good, "void sample<int>()"), ["matrix: no element type"]),
    ]
    if on942:
        faults += [
            ("write-back of agent scope", edited(good, back, "buffer_wbl2 sc1", last_back), ["release: 1 buffer_wbl2"]),
            ("flag without its scope", flag_after(good, back, lambda line: line.replace(" sc0 sc1", "")),
             ["release: global_store_dwordx2"]),
            ("no write-back ahead of the addition", edited(good, "buffer_wbl2 sc1", None),
             ["count: no wait after buffer_wbl2 sc1"]),
            ("no wait ahead of the addition", without_waits(good, "buffer_wbl2 sc1"),
             ["write_back: no s_waitcnt", "count: no wait after buffer_wbl2 sc1"]),
        ]
    else:
        faults += [
            ("L1 cache kept", edited(good, "buffer_wbinvl1_vol", None), ["acquire: no buffer_wbinvl1_vol"]),
            # Nor by the wave for its own stores, which would do on gfx90a.
            ("no wait ahead of the addition", before_addition(good), ["count: no wait before", "arrival: 2 "]),
        ]
        faults += [(f"floating-point {name}", inserted(good, "s_barrier", f"{name} v0, v1, s[0:1]"),
                    [f"atomics: {name}"])
                   for name in ("global_atomic_add_f64", "flat_atomic_min_f64", "global_atomic_max_f64",
                                "global_atomic_pk_add_f16", "flat_atomic_pk_add_bf16")]
    return faults


def flag_behind_branch(kernel, pattern):
    """The kernel with a branch ahead of the first flag, to one of 4 bytes at the end."""
    kernel = inserted(kernel, pattern, "s_branch far")
    begin = next(place for place, line in enumerate(kernel.code) if re.match(pattern, line))
    moved = ["s_waitcnt vmcnt(0)", "global_store_dword v0, v1, s[0:1] sc0 sc1", "s_branch near"]
    return dataclasses.replace(kernel, code=[*kernel.code[:begin + 2], "near:", *kernel.code[begin + 2:], "far:", *moved])


def edited_waits(kernel, pattern, wait):
    """The kernel with another wait for those between an instruction that matches and the next store."""
    begin, end = next_store(kernel, pattern)
    code = [wait if begin < place < end and re.match(check_isa.ARRIVED, line) else line
            for place, line in enumerate(kernel.code)]
    return dataclasses.replace(kernel, code=code)


def edited_before(kernel, line, steps=6):
    """The kernel without the waits right ahead of an instruction."""
    place = kernel.code.index(line)
    code = [text for at, text in enumerate(kernel.code)
            if not (place - steps <= at < place and re.match(check_isa.ARRIVED, text))]
    return dataclasses.replace(kernel, code=code)


def before_addition(kernel):
    """The kernel without the waits between the last store and the addition to a counter."""
    place = next(at for at, text in enumerate(kernel.code) if re.match("global_atomic_add_x2", text))
    code = list(kernel.code)
    for at in range(place - 1, -1, -1):
        if re.match(check_isa.STORE, code[at]):
            break
        if re.match(check_isa.ARRIVED, code[at]):
            code[at] = "s_nop 0"
    return dataclasses.replace(kernel, code=code)


def limits(good, architecture):
    """Limits that are kept and exceeded by one, by element type."""
    for element, limit in (("double", 336), ("float", 288), ("KokkosIris::half_t", 288), ("KokkosIris::bhalf_t", 288)):
        # Such a kernel has not the instruction of its type.
        other = [] if element == "float" else ["matrix: v_mfma"]
        for count, texts in ((limit, other), (limit + 1, ["size: vgpr_count", *other])):
            kernel = with_facts(good, f"void sample<{element}>()", vgpr_count=count)
            yield f"{count} registers of {element}", found_in(kernel, architecture), texts
        # With it, and then with that of another type.
        names = {"double": "v_mfma_f64_16x16x4_f64", "float": "v_mfma_f32_32x32x2_f32",
                 "KokkosIris::half_t": "v_mfma_f32_32x32x8_f16", "KokkosIris::bhalf_t": "v_mfma_f32_32x32x8_bf16"}
        for kind, name in names.items():
            kernel = edited(with_facts(good, f"void sample<{element}>()"), "v_mfma_[a-z0-9_]+", name, 0, 99)
            yield (f"{name} for {element}", found_in(kernel, architecture),
                   [] if kind == element else ["matrix: v_mfma"])
        other = names["float" if element == "double" else "double"]
        kernel = edited(with_facts(good, f"void sample<{element}>()"), "v_mfma_[a-z0-9_]+", names[element], 0, 99)
        kernel = inserted(kernel, "v_mfma", other)
        yield f"another instruction beside that for {element}", found_in(kernel, architecture), ["matrix: v_mfma"]


def limits_without_matrix(good, architecture):
    """The limits of portable fused operations, and of all other kernels."""
    for title, classes, registers, spills in (("a portable fused operation", {FUSED}, 160, 400),
                                              ("another kernel", {ANY}, 128, 0)):
        for fact, limit in (("vgpr_count", registers), ("sgpr_spill_count", spills)):
            kept, exceeded = (with_facts(good, **{"vgpr_count": 1, fact: value}) for value in (limit, limit + 1))
            yield f"{fact} {limit} of {title}", found_in(kept, architecture, classes), []
            yield f"{fact} {limit + 1} of {title}", found_in(exceeded, architecture, classes), [f"size: {fact}"]


def parts(kernels, architecture):
    """Faults in the parts of the library that are kernels of their own (check_isa_kernels.cpp)."""
    for kernel in kernels:
        classes = check_isa.classes_of_library(kernel.name)
        if check_isa.WIDE in classes:
            for instruction in sorted({line.split()[0] for line in kernel.code
                                       if re.match(r"global_(load|store)|ds_write", line)}):
                narrow = instruction.replace("x4", "x2").replace("_b", "_u")
                if narrow == instruction:
                    narrow = "global_load_ubyte"
                for count, text in ((1, "wide: "), (99, f"wide: no {instruction}")):
                    yield (f"{narrow} in {check_isa.part_of(kernel.name)}",
                           found_in(edited(kernel, instruction, narrow, 0, count), architecture, classes), [text])
        if check_isa.ORDERED in classes:
            waits = without_waits_at_all(kernel)
            found = [line for line in found_in(waits, architecture, classes) if not line.startswith("write_back")]
            yield f"no wait in {check_isa.part_of(kernel.name)}", found, ["ordered: "]
            if any(line.startswith("buffer_wbl2") for line in kernel.code):
                found = found_in(edited(kernel, "buffer_wbl2", None, 0, 99), architecture, classes)
                yield f"no write-back in {check_isa.part_of(kernel.name)}", found, ["ordered: "]
            yield from faults_of_access(kernel, architecture, classes)


def faults_of_access(kernel, architecture, classes):
    """Another scope, another instruction, no invalidation of caches."""
    part = check_isa.part_of(kernel.name)
    if check_isa.sequence_of(part, architecture):
        yield from faults_of_sequence(kernel, architecture, classes)
    if part == "FenceBetween":
        return
    access = r"(global|flat)_atomic_" if part != "SignalSetting" else r"(global|flat)_store_dwordx2"
    if architecture == "gfx942":
        scope, other = (r"$", " sc1") if part == "AtomicOnDevice" else (r" sc1$", "")
        wrong = edited(kernel, access + ".*", lambda line: re.sub(scope, other, line.group(0), count=1), -1)
        yield f"other scope in {part}", found_in(wrong, architecture, classes), ["ordered: "]
    if part == "SignalSetting":
        return
    wrong = edited(kernel, r"(global|flat)_atomic_\w+", "global_atomic_inc_x2", -1)
    yield f"another access in {part}", found_in(wrong, architecture, classes), ["ordered: "]
    wrong = inserted(kernel, access, "global_atomic_inc_x2 v0, v1, v[2:3], s[0:1]")
    yield f"a second access in {part}", found_in(wrong, architecture, classes), ["ordered: "]
    if check_isa.ACCESSES[part][1]:
        wrong = edited(kernel, "buffer_inv|buffer_wbinvl1", None, 0, 99)
        yield f"caches kept in {part}", found_in(wrong, architecture, classes), ["ordered: "]


def faults_of_sequence(kernel, architecture, classes):
    """Each access missing, and in the place of the next one."""
    places = [place for place, line in enumerate(kernel.code)
              if re.match(f"{check_isa.STORE}|{check_isa.LOAD}|buffer_", line)]
    faults = [replaced(kernel, place) for place in places]
    for one, two in zip(places, places[1:]):
        faults.append(replaced(replaced(kernel, one, kernel.code[two]), two, kernel.code[one]))
    for wrong in faults:
        found = [line for line in found_in(wrong, architecture, classes) if line.startswith("ordered: ")]
        yield f"accesses of {check_isa.part_of(kernel.name)}", found, ["ordered: "]


def replaced(kernel, place, line="v_nop"):
    return dataclasses.replace(kernel, code=[*kernel.code[:place], line, *kernel.code[place + 1:]])


def with_flag_first(kernel, place):
    """The kernel with the flag stored ahead of its write-back."""
    flag = check_isa.after(kernel.code, place, 100, check_isa.STORE, check_isa.ELSEWHERE)
    code = replaced(kernel, flag).code
    return dataclasses.replace(kernel, code=[*code[:place], kernel.code[flag], *code[place:]])


def library(kernels, architecture):
    """Faults in the fused operations themselves, at each place in turn; of two types of the four, with both engines.
    Only what the rule at stake finds counts: some faults break another one as well."""
    first, back = check_isa.SYSTEM_INVALIDATIONS[architecture][0], check_isa.SYSTEM_WRITE_BACK[architecture]
    counted = check_isa.DEVICE_INVALIDATIONS[architecture][0]
    for kernel in kernels:
        classes = check_isa.classes_of_library(kernel.name)
        if FUSED not in classes or check_isa.element_of(kernel.name) not in ("double", "KokkosIris::half_t"):
            continue
        faults = []
        for place, line in enumerate(kernel.code):
            if line == back:
                faults += [("release", replaced(kernel, place)), ("release", with_flag_first(kernel, place))]
            elif line == first:
                faults.append(("acquire", replaced(kernel, place)))
            elif line in (check_isa.OWN_ARRIVED, "s_barrier"):
                faults.append(("arrival", replaced(kernel, place)))
            elif "_atomic_add_x2 " in line:
                kept = kernel.code.index(counted, place)
                faults += [("count", replaced(kernel, place)), ("count", replaced(kernel, kept))]
        for rule, wrong in faults:
            found = [line for line in found_in(wrong, architecture, classes) if line.startswith(rule)]
            yield f"{rule} in {check_isa.short(kernel.name)}", found, [f"{rule}: "]


def without_waits_at_all(kernel):
    return dataclasses.replace(kernel, code=[line for line in kernel.code if not re.match(check_isa.ARRIVED, line)])


def bundles():
    """A section with two bundles, as a program of two objects has it."""
    section = BUNDLE + b"one" + b"\0" * 29 + BUNDLE + b"two"
    found = [str(len(bundles_of(section))), str(len(bundles_of(section[:30])))]
    return "bundles of a program", found, ["2", "1"]


def self_test(architecture, files):
    good = compiled(architecture, "none")
    results = [("none", found_in(good, architecture), []), bundles()]
    for fault, text in COMPILED.items():
        if fault != "atomics" or architecture == "gfx90a":
            results.append((f"{fault}, compiled", found_in(compiled(architecture, fault), architecture), [text]))
    results += [(title, found_in(kernel, architecture), texts)
                for title, kernel, texts in fault_list(good, architecture)]
    results += limits(good, architecture)
    results += limits_without_matrix(good, architecture)
    kernels = [kernel for file in files for kernel in kernels_of(file, architecture)]
    results += parts(kernels, architecture)
    in_library = list(library(kernels, architecture))
    print(f"{architecture}: {len(in_library)} faults in the fused operations of the library")
    results += in_library
    # Each kernel in turn is the missing one.
    wanted = check_isa.ALL_KERNELS
    lines = [line for one in wanted for line in check_isa.missing([name for name in wanted if name != one], architecture)]
    results.append(("missing kernel", lines, [f"{architecture}: no kernel {one}" for one in wanted]))
    new = "KokkosIris::Impl::ScatterKernel<float, KokkosIris::Impl::MfmaTileEngine<float>>"
    results.append(("unknown kernel", check_isa.unknown([new], architecture), [f"{architecture}: {new}"]))
    failures = 0
    for title, found, texts in results:
        as_expected = len(found) == len(texts) and all(map(str.startswith, found, texts))
        failures += not as_expected
        # Faults of which there are many are told if they are not found.
        if not as_expected or not re.match("no w|(release|acquire|arrival|count) in", title):
            print(f"{architecture}: fault {title}: {'as expected' if as_expected else 'NOT as expected'}: "
                  f"{'; '.join(found[:2]) or 'no finding'}{' and so on' if len(found) > 2 else ''}")
    print(f"{architecture}: {len(results)} faults, {failures} not as expected")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architecture", choices=["gfx90a", "gfx942"])
    parser.add_argument("files", type=pathlib.Path, nargs="*")
    arguments = parser.parse_args()
    return self_test(arguments.architecture, arguments.files)


if __name__ == "__main__":
    sys.exit(main())
