"""polars: frames go in as they are, and predict as those of pandas."""

import polars


def test_frames_are_those_of_pandas(patients, largest_gap, found):
    gap = largest_gap(polars.from_pandas(patients[0]))
    found(f"differs from pandas by {gap:.0e} of the standard deviation")
    assert gap < 1e-9
