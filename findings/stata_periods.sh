#!/usr/bin/env bash
# Guess: pandas.read_stata and pyreadstat.read_dta, which both convert Stata's days (%td) and times (%tc)
# to dates, also agree on Stata's months, quarters, half-years and weeks (%tm, %tq, %th, %tw).
# Seen, pandas 3.1.1, pyreadstat 1.3.7: pandas returns dates for all of them; pyreadstat returns the numbers
# of periods since 1960, so that April 2024 is 771, the second quarter 257 and the second half 129, without
# a warning.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import pandas as pd
import pyreadstat

print("pandas", pd.__version__, "pyreadstat", pyreadstat.__version__)
starts = {"td": "2024-04-01", "tm": "2024-04-01", "tq": "2024-04-01", "th": "2024-07-01"}
table = pd.DataFrame({name: pd.to_datetime([start] * 2) for name, start in starts.items()})
table["tw"] = pd.to_datetime(["2024-04-01"] * 2)
table.to_stata("t.dta", convert_dates={name: name for name in table}, write_index=False)
by_pandas = pd.read_stata("t.dta")
by_pyreadstat, told = pyreadstat.read_dta("t.dta")
print(by_pandas.to_string(), by_pyreadstat.to_string(), told.original_variable_types, sep="\n")
for name, start in starts.items():
    assert by_pandas[name][0] == pd.Timestamp(start), "the finding no longer holds"
assert str(by_pyreadstat["td"][0])[:10] == "2024-04-01", "the finding no longer holds"
found = by_pyreadstat.loc[0, ["tm", "tq", "th", "tw"]].tolist()
assert found == [771.0, 257.0, 129.0, 3341.0], "the finding no longer holds"
PYTHON
