#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records of the peers, with the fields of kokkosiris_bench's.

As a program it turns what peers_nvshmem printed into a JSON array:
    to_json.py --command "<the command line>" <output of peers_nvshmem> <file.json>
Lines that start with @machine, @versions, @environment or @record hold key=value fields between
tabs; all others are passed over.
"""

import argparse
import datetime
import json
import os
import pathlib

PREFIXES = ("NCCL_", "NVSHMEM_", "TORCH_SYMM", "CUDA_VISIBLE_DEVICES", "OMPI_MCA_btl_vader")


def processor():
    """As kokkosiris_bench names it: virtual machines hide the name, but not the numbers."""
    fields = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            break
        fields[key.strip()] = value.strip()
    keys = ("cpu family", "model", "stepping")
    numbers = [f"{key} {fields[key]}" for key in keys if key in fields]
    return ", ".join([fields.get("model name", "unknown processor"), *numbers])


def kernel_module_version():
    """The NVIDIA kernel module's version, or "" where it does not tell."""
    try:
        words = pathlib.Path("/proc/driver/nvidia/version").read_text().split()
    except OSError:
        return ""
    return next((w for w in words if "." in w and w.replace(".", "").isdigit()), "")


def driver_text(cuda):
    """Kernel module and the CUDA version that it supports, e.g. 580.82.07 (CUDA 13.0)."""
    module = kernel_module_version()
    return f"{module} (CUDA {cuda})" if module else f"CUDA {cuda}"


def environment():
    """The variables that decide what the peers do."""
    return {name: os.environ[name] for name in sorted(os.environ) if name.startswith(PREFIXES)}


def surroundings(gpu, gpus, versions, command):
    """What all records of a run share."""
    return {
        "machine": {"cpu": processor(), "cores": os.cpu_count(), "gpu": gpu, "gpus": gpus},
        "versions": versions,
        "environment": environment(),
        "command": command,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def record(op, form, engine, dtype, size, time_us, samples, shared):
    """One record; size in bytes, 0 where an operation moves none."""
    fields = {"op": op, "form": form, "backend": "Cuda", "ranks": 2}
    if dtype:
        fields["type"] = dtype
    if size:
        fields["bytes"] = size
    fields["time_us"] = time_us
    fields.update(ideal_us=None, baseline=None, baseline_us=None, speedup=None)
    fields.update(engine=engine, samples=samples)
    return {**fields, **shared}


def write(path, records):
    """Replaces the file as a whole, so that a run which breaks off leaves what it has."""
    scratch = f"{path}.new"
    pathlib.Path(scratch).write_text(json.dumps(records, indent=1) + "\n")
    os.replace(scratch, path)


def fields_of(line):
    return dict(part.split("=", 1) for part in line.split("\t")[1:])


def convert(lines, command):
    """The records that lines of peers_nvshmem's output describe."""
    tagged = [(line.split("\t", 1)[0], fields_of(line)) for line in lines if line.startswith("@")]
    by_tag = dict(tagged)
    machine, versions = by_tag["@machine"], by_tag["@versions"]
    versions["driver"] = driver_text(versions["driver"])
    shared = surroundings(machine["gpu"], int(machine["gpus"]), versions, command)
    shared["environment"].update(by_tag["@environment"])
    engine = "NVSHMEM " + versions["NVSHMEM"]
    return [
        record(f["op"], f["form"], engine, f["type"], int(f["bytes"]), float(f["time_us"]),
               int(f["samples"]), shared)
        for tag, f in tagged if tag == "@record"
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", default="", help="what was run, for the records")
    parser.add_argument("output", help="what peers_nvshmem printed")
    parser.add_argument("json", help="the file to write")
    options = parser.parse_args()
    records = convert(pathlib.Path(options.output).read_text().splitlines(), options.command)
    if not records:
        raise SystemExit(f"{options.output} holds no record")
    write(options.json, records)


if __name__ == "__main__":
    main()
