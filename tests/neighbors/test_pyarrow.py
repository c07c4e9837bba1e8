"""pyarrow: data frames of pandas whose columns are Arrow arrays."""


def test_frames_are_those_of_numpy(patients, largest_gap, found):
    frame = patients[0].convert_dtypes(dtype_backend="pyarrow")
    assert "pyarrow" in str(frame.dtypes["sex"])
    gap = largest_gap(frame)
    found(f"differs from NumPy's columns by {gap:.0e} of the standard deviation")
    assert gap < 1e-9
