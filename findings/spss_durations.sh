#!/usr/bin/env bash
# Guess: a variable of SPSS that holds a duration (format DTIME or TIME, in seconds) arrives as a duration,
# or as its seconds, and a variable of months or quarters (MOYR, QYR) arrives as dates, as the formats
# DATE and ADATE do.
# Seen, pyreadstat 1.3.7, and pandas 3.1.1, which uses it: durations arrive as times of day, modulo 24
# hours, without a warning: 30 hours are 06:00, as 6 hours are, and -1 hour is 23:00. Months, quarters
# and weeks of years arrive as seconds since 14 October 1582, numbers such as 13926038400.
# disable_datetime_conversion=True returns the seconds of all of them.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
from datetime import time

import pandas as pd
import pyreadstat

print("pyreadstat", pyreadstat.__version__, "pandas", pd.__version__)
hours = pd.Series([6.0, 30.0, -1.0])
day = (pd.Timestamp("2024-01-31") - pd.Timestamp("1582-10-14")).total_seconds()
table = pd.DataFrame({"took": 3600.0 * hours, "shown": 3600.0 * hours})
formats = {"took": "DTIME12", "shown": "TIME8"}
for name in ("DATE11", "ADATE10", "MOYR8", "QYR8", "WKYR10"):
    table[name], formats[name] = day, name
pyreadstat.write_sav(table, "t.sav", variable_format=formats)
read, told = pyreadstat.read_sav("t.sav")
print(read.to_string(), told.original_variable_types, sep="\n")
for frame in (read, pd.read_spss("t.sav")):
    for name in ("took", "shown"):
        assert frame[name].tolist() == [time(6), time(6), time(23)], "the finding no longer holds"
    for name in ("DATE11", "ADATE10"):
        assert str(frame[name][0])[:10] == "2024-01-31", "the finding no longer holds"
    for name in ("MOYR8", "QYR8", "WKYR10"):
        assert frame[name][0] == day, "the finding no longer holds"
seconds, _ = pyreadstat.read_sav("t.sav", disable_datetime_conversion=True)
print(seconds["took"].tolist())
assert seconds["took"].tolist() == [21600.0, 108000.0, -3600.0], "the finding no longer holds"
PYTHON
