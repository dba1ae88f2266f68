# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the kernels for AMD GPUs in a library, object or program: names, metadata, instructions."""
import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile

BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"


@dataclasses.dataclass
class Kernel:
    name: str
    facts: dict  # of the code object's metadata: numbers, and 0 or 1 for false and true
    code: list  # instructions, as "mnemonic operands"; "s_branch <place>" goes on at "<place>:"


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
    names = run(llvm("llvm-ar"), "t", file).splitlines()
    if len(set(names)) != len(names):
        sys.exit(f"check_isa.py: two members of {file} have the same name, of which one would be lost")
    run(llvm("llvm-ar"), "x", "--output", folder, file)
    return [folder / name for name in names]


def bundles_of(section):
    """The bundles in a section .hip_fatbin: a program has one of each of its objects."""
    places = [found.start() for found in re.finditer(re.escape(BUNDLE), section)]
    if b"CCOB" in section:
        sys.exit("check_isa.py: a bundle in .hip_fatbin is compressed (build with --no-offload-compress)")
    if section.strip(b"\0") and (not places or section[:places[0]].strip(b"\0")):
        sys.exit("check_isa.py: .hip_fatbin does not begin with a bundle that is not compressed")
    return [section[begin:end] for begin, end in zip(places, places[1:] + [len(section)], strict=True)]


def kernels_of(file, architecture):
    """All kernels for the architecture in a library, object or program."""
    kernels = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        section, bundle, code = folder / "section", folder / "bundle", folder / "code"
        for item in objects_of(file.resolve(), folder):
            if not has_device_code(item):
                continue
            run(llvm("llvm-objcopy"), f"--dump-section=.hip_fatbin={section}", item, "/dev/null")
            for content in bundles_of(section.read_bytes()):
                bundle.write_bytes(content)
                run(llvm("clang-offload-bundler"), "--unbundle", "--type=o", f"--input={bundle}",
                    f"--targets=hipv4-amdgcn-amd-amdhsa--{architecture}", f"--output={code}")
                kernels += kernels_of_code(code)
    return kernels


def has_device_code(item):
    return ".hip_fatbin" in run(llvm("llvm-readelf"), "--section-headers", item)


def instructions_of(lines):
    """The instructions of a function, with labels where branches without a condition go."""
    found = {}  # by address
    for line in lines:
        parts = re.match(r"\s*(\S.*?)\s*// ([0-9A-F]+):", line)
        if parts:
            found[int(parts.group(2), 16)] = re.sub(r"\s+", " ", parts.group(1))
    targets = set()
    for place, text in found.items():
        if text.startswith("s_branch "):
            words = int(text.split()[1])  # from the next instruction on, 16 bits with a sign
            target = place + 4 + 4 * (words - 65536 if words >= 32768 else words)
            targets.add(target)
            found[place] = f"s_branch {target:x}"
    code = []
    for place, text in found.items():
        code += [f"{place:x}:"] if place in targets else []
        code.append(text)
    return code


def kernels_of_code(code):
    notes = run(llvm("llvm-readelf"), "--notes", code)
    text = run(llvm("llvm-objdump"), "--disassemble", "--no-show-raw-insn", "--no-leading-addr", code)
    bodies = {}
    for block in re.split(r"\n(?=\S+ ?<[^>]+>:\n|<[^>]+>:\n)", text):
        head = re.match(r"(?:\S+ )?<([^>]+)>:\n", block)
        if head:
            bodies[head.group(1)] = instructions_of(block.split("\n")[1:])
    kernels = []
    for entry in re.split(r"\n  - ", notes)[1:]:
        symbol = re.search(r"\n    \.name: +(\S+)", entry)
        if symbol:
            found = re.findall(r"^ {4}\.(\w+): +(\d+|true|false)$", entry, re.M)
            facts = {key: int({"true": 1, "false": 0}.get(value, value)) for key, value in found}
            kernels.append(Kernel(symbol.group(1).strip("'\""), facts, bodies[symbol.group(1).strip("'\"")]))
    names = run(llvm("llvm-cxxfilt"), *(kernel.name for kernel in kernels)).splitlines() if kernels else []
    for kernel, name in zip(kernels, names, strict=True):
        kernel.name = name
    return kernels
