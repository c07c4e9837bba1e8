#!/usr/bin/env bash
# Guess: DatetimeEncoder(periodic_encoding="circular") of skrub puts the days of a month on a circle on which
# no two days coincide, and does the same with all parts of a time that repeat.
# Seen, skrub 0.11.0: the circle of days has 30 steps. The 31st of a month and the 1st have the same two
# numbers, and the 30th lies between the 29th and both. Minutes and seconds are not put on a circle: they
# are the numbers 0 to 59.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q skrub==0.11.0 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import numpy as np
import pandas as pd
import skrub
from skrub import DatetimeEncoder

print("skrub", skrub.__version__)
times = pd.to_datetime(["2024-01-01 00:00:00", "2024-01-30 12:30:30", "2024-01-31 23:59:59"])
encoder = DatetimeEncoder(periodic_encoding="circular", resolution="second")
found = encoder.fit_transform(pd.Series(times, name="t"))
days = found[[name for name in found if "day_circular" in name]].to_numpy()
print(found.T.to_string())
assert np.allclose(days[0], days[2]) and not np.allclose(days[0], days[1]), "no longer holds"
assert found["t_minute"].tolist() == [0, 30, 59] and "t_hour_circular_0" in found, "no longer holds"
PYTHON
