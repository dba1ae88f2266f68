#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws one picture (PNG) of each fused operation on GPUs from records of kokkosiris_bench.

usage: scripts/plot_fused.py [--type bfloat16] [--folder docs] <results.json> [<results.json> ...]

Time over the rows of a rank's product, a panel for each N and K: the fused operation, the ideal,
cuBLAS' GEMM alone, and the fastest of cuBLAS and NCCL one after the other. Says which records are
drawn and which are not. Needs Matplotlib (Debian:
python3-matplotlib).
"""

import argparse
import collections
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend has to be chosen first)
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: E402

OPERATIONS = ("gemm", "matmul_all_reduce", "matmul_reduce_scatter", "all_gather_matmul",
              "matmul_all_gather")


def gemm_of(record):
    """cuBLAS' time: a part of a fused operation, the baseline of a GEMM."""
    if record["op"] == "gemm":
        return record["baseline_us"] if record["baseline"] == "cuBLAS" else None
    return record.get("others_us", {}).get("cuBLAS")


# label, style, what it is of a record
CURVES = (
    ("cuBLAS and NCCL, one after the other", {"color": "tab:red", "marker": "s", "markersize": 4},
     lambda r: r["baseline_us"] if r["op"] != "gemm" else None),
    ("GEMM alone (cuBLAS)", {"color": "tab:grey", "marker": "x", "markersize": 5}, gemm_of),
    ("ideal", {"color": "black", "linestyle": "--"}, lambda r: r["ideal_us"]),
    ("KokkosIris", {"color": "tab:blue", "marker": "o", "markersize": 4}, lambda r: r["time_us"]),
)


def shape_of(record):
    return f'{record["m"]}x{record["n"]}x{record["k"]}'


def reason_to_leave_out(record, element):
    """Why the record is not drawn, or nothing."""
    if record.get("op") not in OPERATIONS:
        return "another operation"
    if record.get("form") != "fused" or record.get("backend") not in ("Cuda", "HIP"):
        return "not a fused operation on a GPU"
    if record.get("type") != element:
        return f'type {record.get("type")}'
    return None


def read_records(paths, element):
    """The records to draw by operation; of several of one shape the last counts."""
    chosen = {}
    left_out = collections.Counter()
    for path in paths:
        for record in json.loads(path.read_text(encoding="utf-8")):
            reason = reason_to_leave_out(record, element)
            if reason:
                left_out[reason] += 1
                continue
            key = record["op"], shape_of(record)
            if key in chosen:
                left_out["an older record of the shape"] += 1
            chosen[key] = record
    for reason, count in sorted(left_out.items()):
        print(f"not drawn: {count} records, {reason}")
    by_operation = {}
    for (operation, _), record in chosen.items():
        by_operation.setdefault(operation, []).append(record)
    return by_operation


def panels_of(records):
    """Title and records of each panel: shapes that differ in M alone, and squares."""
    by_sides = collections.defaultdict(list)
    for record in records:
        by_sides[record["n"], record["k"]].append(record)
    panels = [(f"N = {n}, K = {k}", of_sides) for (n, k), of_sides in sorted(by_sides.items())
              if len(of_sides) > 1]
    squares = [r for r in records if r["m"] == r["n"] == r["k"]]
    if squares:
        panels.append(("M = N = K", squares))
    return panels


def draw_panel(axes, title, records):
    records = sorted(records, key=lambda r: r["m"])
    for label, style, value in CURVES:
        points = [(r["m"], value(r)) for r in records if value(r)]
        axes.plot([x for x, _ in points], [y for _, y in points], label=label, **style)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(which="major", alpha=0.3)
    axes.set_xlabel("M", fontsize=9)
    axes.set_title(title, fontsize=10)
    axes.tick_params(labelsize=8)


def draw(operation, panels, element, picture):
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    figure, grid = plt.subplots(rows, columns, squeeze=False, layout="constrained",
                                figsize=(max(3.6 * columns, 7), 3.1 * rows + 1))
    for axes, (title, records) in zip(grid.flat, panels):
        draw_panel(axes, title, records)
    for axes in list(grid.flat)[len(panels):]:
        axes.set_axis_off()
    # A curve may be missing in a panel.
    handles = {line.get_label(): line for axes in grid.flat for line in axes.get_lines()
               if len(line.get_xdata())}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=9)
    figure.supylabel("time of a call, us", fontsize=10)
    one = panels[0][1][0]
    gpu = one["machine"].get("gpu", "GPU")
    figure.suptitle(f"{operation}, {element}, {one['ranks']} x {gpu}; "
                    "M, N, K of one rank's product", fontsize=12)
    figure.savefig(picture, dpi=110)
    plt.close(figure)


def tell(picture, records, panels):
    print(f"{picture}:")
    for title, of_panel in panels:
        print(f"  {title}: M = {' '.join(str(m) for m in sorted(r['m'] for r in of_panel))}")
    drawn = {shape_of(r) for _, of_panel in panels for r in of_panel}
    for what, shapes in (
            ("not drawn, the only ones of their N and K", {shape_of(r) for r in records} - drawn),
            ("without baseline", {shape_of(r) for r in records if not r["baseline_us"]}),
            ("without GEMM alone", {shape_of(r) for r in records if not gemm_of(r)})):
        if shapes:
            print(f"  {what}: {' '.join(sorted(shapes))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="results.json")
    parser.add_argument("--type", default="bfloat16", help="element type (default bfloat16)")
    parser.add_argument("--folder", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent / "docs")
    options = parser.parse_args()
    by_operation = read_records(options.files, options.type)
    if not by_operation:
        sys.exit(f"no record of a fused operation on a GPU, type {options.type}")
    options.folder.mkdir(parents=True, exist_ok=True)
    for operation in OPERATIONS:
        records = by_operation.get(operation, [])
        panels = panels_of(records)
        if not panels:
            print(f"{operation}: {len(records)} records, no picture")
            continue
        picture = options.folder / f"fused-{operation}-{options.type}.png"
        draw(operation, panels, options.type, picture)
        tell(picture, records, panels)


if __name__ == "__main__":
    main()
