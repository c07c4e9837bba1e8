#!/usr/bin/env bash
# Guess: netCDF4 and xarray return the same numbers from a NetCDF file, and numbers are missing only where
# the variable says so (_FillValue, missing_value).
# Seen, netCDF4 1.7.5.1.post1: numbers that equal a default fill value are masked in variables that declare
# no fill value: 255 in unsigned bytes, so that the brightest pixels of an image are missing; -127 in signed
# bytes, 65535 and -32767 in 16 bits. Numbers outside of valid_range are masked, too.
# xarray 2026.9.0 returns all of them as numbers. set_auto_mask(False) makes netCDF4 do so.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q netCDF4==1.7.5.1.post1 xarray==2026.9.0 numpy==2.4.6 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import netCDF4
import numpy as np
import xarray as xr

print("netCDF4", netCDF4.__version__, "xarray", xr.__version__)
NUMBERS = {"u1": [254, 255, 0], "i1": [-128, -127, 0], "u2": [65534, 65535, 0], "i2": [-32768, -32767, 0]}
with netCDF4.Dataset("t.nc", "w") as file:
    file.createDimension("row", 3)
    for kind, numbers in NUMBERS.items():
        file.createVariable(kind, kind, ("row",))[:] = np.array(numbers, kind)
    bounded = file.createVariable("bounded", "f8", ("row",))
    bounded.valid_range = [0.0, 10.0]
    bounded[:] = [1.0, 11.0, 2.0]
holds = True
with netCDF4.Dataset("t.nc") as file, xr.open_dataset("t.nc", engine="netcdf4") as other:
    for kind in file.variables:
        by_netcdf, by_xarray = file[kind][:], other[kind].to_numpy()
        print(f"{kind:8} netCDF4 {by_netcdf}  xarray {by_xarray}  attributes {file[kind].ncattrs()}")
        holds &= np.ma.getmaskarray(by_netcdf).tolist() == [False, True, False]
        holds &= "_FillValue" not in file[kind].ncattrs()
        holds &= not np.isnan(by_xarray.astype(float)).any()
        if kind in NUMBERS:
            holds &= by_xarray.tolist() == NUMBERS[kind]
    file.set_auto_mask(False)
    holds &= file["u1"][:].tolist() == NUMBERS["u1"]
assert holds, "the finding no longer holds"
PYTHON
