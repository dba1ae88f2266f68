#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws one picture (PNG) an operation from the records of kokkosiris_bench.

usage: scripts/plot_results.py <results.json> [<folder>]

Block transfers are drawn as bandwidth over size, everything else as bars of the speedup over the
baseline. Needs Matplotlib (Debian: python3-matplotlib). The folder is the file's unless given.
"""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend has to be chosen first)


def draw_bandwidth(axes, records):
    """GB/s over bytes: a line for each form of ours and for each baseline."""
    lines = {}
    for record in records:
        rate = record["bytes"] * 1e-3
        lines.setdefault((record["form"], "-o"), {})[record["bytes"]] = rate / record["time_us"]
        if record["baseline"]:
            key = (record["baseline"], "--")
            lines.setdefault(key, {})[record["bytes"]] = rate / record["baseline_us"]
    for (name, style), points in lines.items():
        sizes = sorted(points)
        axes.plot(sizes, [points[size] for size in sizes], style, label=name)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("bytes")
    axes.set_ylabel("GB/s")


def label_of(record):
    parts = [record.get("type", ""), record["form"] if record["form"] != "fused" else ""]
    if "m" in record:
        parts.append(f'{record["m"]}x{record["n"]}x{record["k"]}')
    parts.append(f'{record["ranks"]} ranks')
    return " ".join(part for part in parts if part)


def draw_speedups(axes, records):
    """Bars of the speedup over the baseline; records without one are left out."""
    rows = [record for record in records if record["speedup"]]
    places = range(len(rows))
    axes.barh(places, [record["speedup"] for record in rows])
    axes.set_yticks(places)
    axes.set_yticklabels([f'{label_of(record)} / {record["baseline"]}' for record in rows], fontsize=7)
    axes.axvline(1.0, color="black", linewidth=0.8)
    for place, record in zip(places, rows):
        if record.get("target_kind") == "speedup_at_least":
            axes.plot([record["target"]] * 2, [place - 0.4, place + 0.4], color="red")
    axes.invert_yaxis()
    axes.set_xlabel("speedup over the baseline (red: to reach)")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    source = pathlib.Path(sys.argv[1])
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else source.parent
    folder.mkdir(parents=True, exist_ok=True)
    by_op = {}
    for record in json.loads(source.read_text()):
        by_op.setdefault(record["op"], []).append(record)
    for op, records in by_op.items():
        is_transfer = op in ("handoff", "put", "get")
        height = 4.5 if is_transfer else 1.5 + 0.25 * len(records)
        figure, axes = plt.subplots(figsize=(9, height))
        (draw_bandwidth if is_transfer else draw_speedups)(axes, records)
        axes.set_title(f'{op}, {records[0]["machine"]["cpu"]}', fontsize=9)
        if is_transfer:
            axes.legend(fontsize=7)
        figure.tight_layout()
        picture = folder / f"{source.stem}-{op}.png"
        figure.savefig(picture, dpi=120)
        plt.close(figure)
        print(picture)


if __name__ == "__main__":
    main()
