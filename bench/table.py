#!/usr/bin/env python3
"""Markdown tables of `infini bench --json` files: one table for each kind of report, a column group for each file.

    infini bench cpu --json cpu.json --peer none
    python3 bench/table.py cpu.json [again.json ...]

Several files of one suite on one machine are runs of the same table: every figure is then the median of the runs, and the
ratio shows the lowest and the highest, too. Files of different machines or suites get tables of their own. A report that
was interrupted is refused: its geometric mean would be of other cases.
"""
import json
import math
import statistics
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    if report.get("command") != "bench" or not report.get("rows"):
        sys.exit(f"{path}: not a report of `infini bench --json`")
    if not report["complete"]:
        sys.exit(f"{path}: the run was interrupted")
    return report


def of_products(rows):
    return "gflops" in rows[0]


def key(report):
    """Reports with the same key are runs of one table."""
    machine = report["machine"]
    return machine["device"], machine["description"], machine["threads"], tuple(row["name"] for row in report["rows"])


def ranged(values, digits=2):
    """The median, and where runs differ the lowest and the highest."""
    text = f"{statistics.median(values):.{digits}f}"
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return text if low == high else f"{text} ({low}–{high})"


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def speed(row):
    return row["gb_per_second"] if "gb_per_second" in row else row["bytes"] / row["seconds"] * 1e-9


def copy_speed(row):
    return row["limit_gb_per_second"] if "limit_gb_per_second" in row else row["bytes"] / row["copy_seconds"] * 1e-9


def copy_lines(runs):
    """Rearrange and everything else that is measured against a copy."""
    yield "| case | MB | GB/s | copy GB/s | ratio | bytes allow | kernel |"
    yield "|---|---|---|---|---|---|---|"
    for row in zip(*(run["rows"] for run in runs)):
        first = row[0]
        allowed = first.get("allowed") or 1
        yield (f"| {first['name']} | {first['bytes'] / 1e6:.2f} | {statistics.median(map(speed, row)):.1f} | "
               f"{statistics.median(map(copy_speed, row)):.1f} | {ranged([r['ratio'] for r in row])} | "
               f"{f'{allowed:.2f}' if allowed < 0.995 else ''} | {first.get('candidate') or first['way']} |")
    means = [geometric_mean([row["ratio"] for row in run["rows"]]) for run in runs]
    yield f"| **geometric mean** | | | | **{ranged(means)}** | | |"


def product_lines(runs):
    peers = sorted({name for run in runs for row in run["rows"] for name in row["peer_seconds"]})
    yield "| case | GFLOP/s | of the limit | kernel |" + "".join(f" × {name} |" for name in peers)
    yield "|---|---|---|---|" + "---|" * len(peers)

    def times(row, name):
        return row["peer_seconds"][name] / row["seconds"]

    for row in zip(*(run["rows"] for run in runs)):
        first = row[0]
        beside = [ranged([times(r, name) for r in row]) if all(name in r["peer_seconds"] for r in row) else "–" for name in peers]
        yield (f"| {first['name']} | {statistics.median(r['gflops'] for r in row):.1f} | "
               f"{ranged([r['of_limit'] for r in row])} | {first['candidate']} |" + "".join(f" {text} |" for text in beside))
    limits = [geometric_mean([row["of_limit"] for row in run["rows"]]) for run in runs]
    means = [ranged([geometric_mean([times(row, name) for row in run["rows"] if name in row["peer_seconds"]]) for run in runs])
             for name in peers]
    yield f"| **geometric mean** | | **{ranged(limits)}** | |" + "".join(f" **{text}** |" for text in means)


def table(runs):
    machine, dates = runs[0]["machine"], sorted({run["date"][:10] for run in runs})
    count = "one run" if len(runs) == 1 else f"{len(runs)} runs, medians (lowest–highest)"
    yield (f"{machine['description']}, {machine['threads']} threads ({machine['device']}), infini {runs[0]['version']}, "
           f"{' to '.join(dict.fromkeys((dates[0], dates[-1])))}, {count}:")
    yield ""
    yield from product_lines(runs) if of_products(runs[0]["rows"]) else copy_lines(runs)


def main(paths):
    if not paths:
        sys.exit(__doc__)
    tables = {}
    for report in map(read, paths):
        tables.setdefault(key(report), []).append(report)
    print("\n\n".join("\n".join(table(runs)) for runs in tables.values()))


if __name__ == "__main__":
    main(sys.argv[1:])
