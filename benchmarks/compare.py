"""Compares figures that a benchmark has written with those of the saved baseline.

    python benchmarks/speed.py --json new.json && python benchmarks/compare.py new.json
    python benchmarks/compare.py new.json --save

Ratios of times within one run are compared, as seconds depend on the machine. One line is printed
for each; the exit status is 1 if a median is larger than the baseline's by more than `--factor`.
`--save` replaces the baseline's figures of these benchmarks by the new ones.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

BASELINE = Path(__file__).with_name("baseline.json")

FACTOR = 1.25
"""Medians of a few repeats on a busy machine differ by up to about this factor."""

LEAST = 0.05
"""Ratios below this are equal for this purpose: they differ by noise."""


def ratios(path: Path) -> dict[str, float]:
    """Return the medians of all ratios in a file, by benchmark and label."""
    records = json.loads(path.read_text(encoding="utf-8"))
    return {
        f"{record['name']}: {label}": figure
        for record in records
        for label, figure in record["figures"].items()
        if "ratio" in label and label.endswith("median")
    }


def save(path: Path) -> None:
    """Replace the baseline's records of the same names, and add others."""
    new = {record["name"]: record for record in json.loads(path.read_text(encoding="utf-8"))}
    old = json.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else []
    records = {record["name"]: record for record in old} | new
    BASELINE.write_text(json.dumps(list(records.values()), indent=2) + "\n", encoding="utf-8")


def main() -> None:
    """Print the comparison, or save the baseline."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="what a benchmark wrote with --json")
    parser.add_argument("--factor", type=float, default=FACTOR, help="largest rise allowed")
    parser.add_argument("--save", action="store_true", help="make it the baseline")
    options = parser.parse_args()
    if options.save:
        save(options.file)
        return
    known, slower = ratios(BASELINE), 0
    for name, new in ratios(options.file).items():
        if name not in known:
            print(f"{name}: {new:.3g}, not in the baseline")
            continue
        rise = max(new, LEAST) / max(known[name], LEAST)
        slower += rise > options.factor
        verdict = "SLOWER" if rise > options.factor else "as before or faster"
        print(f"{name}: {new:.3g}, baseline {known[name]:.3g}, {verdict}")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
