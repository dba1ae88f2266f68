#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Carries tests and benchmarks to a machine with GPUs that need not be able to build them.

pack <build folder> <new folder>   programs without symbols, and how ctest runs them
run                                called from that folder: runs them, leaves JSON and a log

`run` prints one line a test, exits with 1 if one failed, and writes to --results:
  gpu-tests.json   date, machine, command, tool of --sanitizer (null: none), and for each test its
                   ranks, result and seconds
  gpu-tests.log    what the tests printed
  gpu-bench.json   records of kokkosiris_bench, if that is packed and there are two GPUs
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = "packed:"  # in commands, before the names of packed programs


def read_ctest(build):
    """The tests that start a program of the build under mpiexec, as ctest has them."""
    listing = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, check=True,
                             capture_output=True, text=True).stdout
    for test in json.loads(listing)["tests"]:
        command = test.get("command", [])
        properties = {p["name"]: p["value"] for p in test["properties"]}
        labels = properties.get("LABELS", [])
        if not command or "mpiexec" not in command[0] or {"perf", "example"} & set(labels):
            continue
        # The applications of the install test are built by tests, not by the build.
        if "FIXTURES_REQUIRED" in properties:
            continue
        # Several parts, each with ranks of its own, are set apart by colons.
        ranks = sum(int(command[i + 1]) for i, word in enumerate(command) if word == "-n")
        yield {"name": test["name"], "ranks": ranks, "command": ["mpiexec", *command[1:]],
               "labels": labels, "timeout": properties["TIMEOUT"],
               "environment": dict(e.split("=", 1) for e in properties["ENVIRONMENT"])}


def programs_of(test, build):
    """The words of a command that are programs of the build."""
    return {word for word in test["command"] if word.startswith(f"{build}/")}


def pack(build, folder):
    folder.mkdir(parents=True)
    programs = folder / "programs"
    programs.mkdir()
    tests = list(read_ctest(build))
    bench = build / "perf_tests" / "kokkosiris_bench"
    sources = {pathlib.Path(word) for t in tests for word in programs_of(t, build)} | {bench}
    missing = {source for source in sources if not source.exists()}
    for source in sorted(sources - missing):
        subprocess.run(["strip", "-o", programs / source.name, source], check=True)
    tests = [t for t in tests if not {str(m) for m in missing} & programs_of(t, build)]
    for test in tests:
        inside = programs_of(test, build)
        test["command"] = [PROGRAM + pathlib.Path(word).name if word in inside else word
                           for word in test["command"]]
    (folder / "tests.json").write_text(json.dumps(tests, indent=1))
    shutil.copy(__file__, folder)
    print(f"{len(tests)} tests of {len(list(programs.iterdir()))} programs")
    for source in sorted(missing):
        print(f"not built: {source}")
    return 1 if missing - {bench} else 0


def machine():
    """What nvidia-smi tells of the GPUs; nothing where there is none."""
    result = {"cores": os.cpu_count(), "gpus": [], "driver": ""}
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    if shutil.which(query[0]):
        rows = subprocess.run(query, capture_output=True, text=True).stdout.splitlines()
        result["gpus"] = [row.split(",")[0] for row in rows]
        result["driver"] = rows[0].split(",")[1].strip() if rows else ""
    return result


def run_bounded(command, environment, seconds):
    """Exit status (None after the time limit) and output. Ends what it started, nothing else."""
    process = subprocess.Popen(command, env={**os.environ, **environment}, text=True,
                               errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)  # mpiexec ends its ranks
        try:
            output, _ = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        return None, output


def run_test(test, options):
    if time.monotonic() > options.end:
        return {"result": "not run"}, ""
    tool = ["compute-sanitizer", "--tool", options.sanitizer, "--error-exitcode", "9",
            "--target-processes", "all"] if options.sanitizer else []
    command = []
    for word in test["command"]:
        is_program = word.startswith(PROGRAM)
        command += [*tool, str(HERE / "programs" / word[len(PROGRAM):])] if is_program else [word]
    begin = time.monotonic()
    environment = dict(test["environment"])
    if options.sanitizer:
        environment["KOKKOSIRIS_TIMEOUT"] = "300"
    status, output = run_bounded(command, environment,
                                 test["timeout"] * (10 if options.sanitizer else 1))
    result = "passed" if status == 0 else "timeout" if status is None else "failed"
    counts = re.findall(r"\[  PASSED  \]\D*(\d+) test", output)
    return {"result": result, "seconds": round(time.monotonic() - begin, 1), "status": status,
            "passed_cases": int(counts[-1]) if counts else None}, output


def run_tests(tests, options):
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, \
         open(options.results / "gpu-tests.log", "w", encoding="utf-8") as log:
        futures = [(t, pool.submit(run_test, t, options)) for t in tests]
        for test, future in futures:
            outcome, output = future.result()
            results.append({"name": test["name"], "ranks": test["ranks"], **outcome})
            print(f"{outcome['result']:8s} {outcome.get('seconds', 0):6.1f} s  {test['name']}",
                  flush=True)
            log.write(f"==== {test['name']}: {outcome}\n{output}\n")
    return results


def run(options):
    options.results.mkdir(parents=True, exist_ok=True)
    options.end = time.monotonic() + 60 * options.minutes
    wanted = re.compile(options.only)
    tests = [t for t in json.loads((HERE / "tests.json").read_text()) if wanted.search(t["name"])]
    if not tests:
        sys.exit(f"no test has a name that matches '{options.only}'")
    begin = datetime.datetime.now(datetime.timezone.utc)
    results = run_tests(tests, options)
    report = {"date": begin.isoformat(timespec="seconds"), "machine": machine(),
              "command": " ".join(sys.argv), "sanitizer": options.sanitizer or None,
              "environment": {k: v for k, v in os.environ.items()
                              if k.startswith(("CUDA_VISIBLE", "HIP_VISIBLE", "KOKKOSIRIS_"))},
              "tests": results}
    (options.results / "gpu-tests.json").write_text(json.dumps(report, indent=1) + "\n")
    good = sum(r["result"] == "passed" for r in results)
    print(f"{good} of {len(results)} tests passed")
    bench = HERE / "programs" / "kokkosiris_bench"
    failed = good != len(results)
    wants_bench = not (options.no_bench or options.sanitizer)
    if wants_bench and bench.exists() and len(report["machine"]["gpus"]) > 1:
        status, output = run_bounded(
            # A proxy thread of the copy engine wants a core beside its rank's. The fused operations
            # take longer than all the rest, and want cuBLAS and NCCL.
            ["mpiexec", "--bind-to", "none", "-n", "2", str(bench), "--filter", "^gpu/(?!fused/)",
             "--json", str(options.results / "gpu-bench.json")], tests[0]["environment"], 300)
        (options.results / "gpu-bench.log").write_text(output)
        print(output)
        failed = failed or status != 0
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("build", type=pathlib.Path)
    packing.add_argument("folder", type=pathlib.Path)
    running = commands.add_parser("run")
    running.add_argument("--only", default="", help="regular expression for the names of tests")
    running.add_argument("--jobs", type=int, default=1, help="tests at a time")
    running.add_argument("--minutes", type=float, default=60, help="no test starts later")
    running.add_argument("--no-bench", action="store_true")
    running.add_argument("--sanitizer", choices=["memcheck", "synccheck", "initcheck"], default="",
                         help="under compute-sanitizer, with ten times the time limits")
    running.add_argument("--results", type=pathlib.Path, default=HERE / "results")
    options = parser.parse_args()
    if options.what == "pack":
        return pack(options.build.resolve(), options.folder)
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
