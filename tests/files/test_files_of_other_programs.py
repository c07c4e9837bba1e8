"""Files that other tools write, read by the lines of docs/guide/files.md."""

import datetime
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mercer.preprocessing import kind_of

pd = pytest.importorskip("pandas")

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "files.md"
SECTIONS = dict(
    re.findall(r"^## ([^\n]+)\n\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.M | re.S)
)
"""The lines of the page by its headlines."""


def read(section: str, path: Path, *needed: str) -> dict[str, Any]:
    """Run the lines of a section, if the packages that they need are installed."""
    for package in needed:
        pytest.importorskip(package)
    names: dict[str, Any] = {"path": str(path)}
    exec(SECTIONS[section], names)
    return names


def test_the_page_has_a_row_and_lines_for_each_format() -> None:
    text = PAGE.read_text("utf-8")
    rows = re.findall(r"^\| \[([^\]]+)\]", text, re.M)
    assert [row.casefold() for row in rows] == [name.casefold() for name in SECTIONS]
    assert len(rows) >= 18


def test_arff(tmp_path: Path) -> None:
    arff = pytest.importorskip("arff")
    table = {
        "relation": "t",
        "attributes": [("count", "INTEGER"), ("x", "REAL"), ("color", ["red", "blue"])],
        "data": [[2.7, 1.5, "red"], [None, None, None], [3.0, 0.5, "blue"]],
    }
    text = arff.dumps(table)
    (tmp_path / "t.arff").write_text(text)
    frame = read("ARFF", tmp_path / "t.arff")["frame"]
    assert frame["count"].tolist()[::2] == [2.7, 3.0]
    assert frame.isna().sum(axis=1).tolist() == [0, 3, 0]
    assert frame["color"].tolist()[::2] == ["red", "blue"]
    assert [kind_of(frame[name]) for name in frame] == ["number", "number", "category"]
    assert arff.loads(text)["data"][0][0] == 2  # The trap.
    (tmp_path / "t.arff").write_text(text.replace("blue", "'blue'"))
    with pytest.raises(ValueError, match="value not in"):  # The other trap.
        read("ARFF", tmp_path / "t.arff")
    assert arff.loads(text.replace("blue", "'blue'"))["data"][2][2] == "blue"


def test_svmlight(tmp_path: Path) -> None:
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    X = np.array([[0.0, 1.0, 0.0], [0.0, 3.0, 0.0]])
    dump_svmlight_file(X, [1, 2], str(tmp_path / "t.svm"))
    found = read("svmlight", tmp_path / "t.svm")
    np.testing.assert_array_equal(found["X"].toarray(), X)
    assert load_svmlight_file(str(tmp_path / "t.svm"))[0].shape == (2, 1)  # The trap.


def test_spss(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    day = 12_219_379_200.0 + pd.Timestamp("2024-04-01").timestamp()
    table = pd.DataFrame({"took": [21_600.0, 108_000.0, -3600.0], "quarter": day, "date": day})
    table["sex"], table["word"] = [1.0, 2.0, 9.0], ["a", None, "b"]
    pyreadstat.write_sav(
        table,
        str(tmp_path / "t.sav"),
        variable_format={"took": "DTIME12", "quarter": "QYR8", "date": "DATE11"},
        variable_value_labels={"sex": {1: "male", 2: "female", 9: "refused"}},
        missing_ranges={"sex": [9]},
    )
    frame = read("SPSS", tmp_path / "t.sav")["frame"]
    assert frame["took"].tolist() == [21_600.0, 108_000.0, -3600.0]
    assert frame["quarter"].tolist() == [pd.Timestamp("2024-04-01")] * 3
    assert [str(day)[:10] for day in frame["date"]] == ["2024-04-01"] * 3
    assert frame["sex"].tolist()[:2] == ["male", "female"]
    assert frame.isna().sum().to_dict() == {**dict.fromkeys(frame, 0), "sex": 1, "word": 1}
    kinds = ["number", "date", "date", "category", "category"]
    assert [kind_of(frame[name]) for name in frame] == kinds
    trap = pyreadstat.read_sav(str(tmp_path / "t.sav"))[0]
    assert trap["took"].tolist()[:2] == [datetime.time(6)] * 2


def test_stata(tmp_path: Path) -> None:
    table = pd.DataFrame({"quarter": pd.to_datetime(["2024-04-01", "2024-07-01"])})
    table["sex"] = pd.Categorical(["male", "female"], ["male", "female"])
    table.to_stata(tmp_path / "t.dta", convert_dates={"quarter": "tq"}, write_index=False)
    frame = read("Stata", tmp_path / "t.dta")["frame"]
    assert frame["quarter"].tolist() == table["quarter"].tolist()
    assert not frame["sex"].cat.ordered
    assert pd.read_stata(tmp_path / "t.dta")["sex"].cat.ordered  # The trap.
    pyreadstat = pytest.importorskip("pyreadstat")
    assert pyreadstat.read_dta(str(tmp_path / "t.dta"))[0]["quarter"].tolist() == [257.0, 258.0]


def test_sas(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    table = pd.DataFrame({"day": [datetime.date(2024, 1, 31), None], "word": ["a", None]})
    table["x"] = [0.1, None]
    pyreadstat.write_xport(table, str(tmp_path / "t.xpt"), file_format_version=5)
    frame = read("SAS", tmp_path / "t.xpt")["frame"]
    assert str(frame["day"][0])[:10] == "2024-01-31"
    assert frame["x"][0] == 0.1
    assert frame.isna().sum().tolist() == [1, 1, 1]
    trap = pd.read_sas(tmp_path / "t.xpt", format="xport", encoding="utf-8")
    assert trap["day"][0] == 23_406.0


def test_r(tmp_path: Path) -> None:
    pyreadr = pytest.importorskip("pyreadr")
    ids = np.array([1, 2**40, -(2**63)])
    table = pd.DataFrame({"id": ids.view(float), "x": [1.5, np.nan, np.inf]})
    table["grade"] = pd.Categorical(["low", None, "high"], ["low", "high"], ordered=True)
    pyreadr.write_rds(str(tmp_path / "t.rds"), table)
    frame = read("R", tmp_path / "t.rds")["frame"]
    assert frame["id"].tolist()[:2] == [1, 2**40]
    assert frame.isna().sum().tolist() == [1, 1, 1]
    assert frame["grade"].tolist()[::2] == ["low", "high"]
    assert not frame["grade"].cat.ordered  # The trap.


def test_matlab(tmp_path: Path) -> None:
    from scipy.io import loadmat

    def element(kind: int, content: bytes) -> bytes:
        return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)

    X = np.array([[10.0, 20.0], [30.0, 40.0], [3.0, 5.0]])
    parts = element(6, struct.pack("<II", 6, 0))  # Class double, ...
    parts += element(5, struct.pack("<ii", *X.shape)) + element(1, b"X")
    parts += element(2, X.astype(np.uint8).tobytes("F"))  # ... stored in bytes, as MATLAB does.
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x100) + b"IM"
    (tmp_path / "t.mat").write_bytes(head + struct.pack("<II", 14, len(parts)) + parts)
    found = read("MATLAB", tmp_path / "t.mat")["X"]
    np.testing.assert_array_equal(found @ found.T, X @ X.T)
    trap = loadmat(tmp_path / "t.mat")["X"]
    assert trap.dtype == np.uint8
    assert (trap @ trap.T)[0, 0] == 244


def test_mercer_computes_bytes_as_floating_point() -> None:
    """A guard: arrays of bytes give the predictions of the same numbers as floats."""
    from mercer import TwoStageRegressor, UniformCombination
    from mercer.kernels import Linear, Polynomial

    X = np.random.default_rng(0).integers(0, 256, (40, 3))
    y = X[:, 0] - 0.5 * X[:, 1]
    learner = UniformCombination([Linear(), Polynomial(degree=2)])
    for dtype in (np.uint8, np.int16):
        found = TwoStageRegressor(learner).fit(X.astype(dtype), y).predict(X.astype(dtype))
        expected = TwoStageRegressor(learner).fit(X.astype(float), y).predict(X.astype(float))
        np.testing.assert_allclose(found, expected)


def test_excel(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    rows = [("site", "code", "took", "day"), ("north", "007", 30, 31), (None, "7", 5, 1)]
    for site, code, hours, day in rows[1:]:
        taken, date = datetime.timedelta(hours=hours), datetime.datetime(2024, 1, day)
        sheet.append([site, code, taken, date])
    sheet.insert_rows(1)
    for at, name in enumerate(rows[0], 1):
        sheet.cell(1, at).value = name
    sheet.merge_cells("A2:A3")
    book.save(tmp_path / "t.xlsx")
    frame = read("Excel", tmp_path / "t.xlsx")["frame"]
    assert frame["code"].tolist() == ["007", "7"]
    assert frame["site"].tolist() == ["north", "north"]
    assert frame["took"].tolist() == [pd.Timedelta(hours=30), pd.Timedelta(hours=5)]
    assert frame["day"].tolist() == [pd.Timestamp("2024-01-31"), pd.Timestamp("2024-01-01")]
    for at in (2, 3):
        sheet.cell(at, 3).number_format = "h:mm"
    sheet["E1"], sheet["E2"] = "sum", "=1+1"
    book.save(tmp_path / "t.xlsx")
    trap = pd.read_excel(tmp_path / "t.xlsx")
    assert trap["took"].tolist() == [datetime.datetime(1900, 1, 1, 6), datetime.time(5)]
    assert trap["sum"].isna().all()
    assert trap["code"].tolist() == [7, 7]
    assert trap["site"].isna().tolist() == [False, True]


def test_parquet_of_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"district": pd.Categorical([3, 1, 3]), "x": [1.5, 2.0, np.nan]})
    table.to_parquet(tmp_path / "t.parquet")
    frame = read("Parquet and Feather", tmp_path / "t.parquet")["frame"]
    assert kind_of(frame["district"]) == "category"
    assert kind_of(pd.read_parquet(tmp_path / "t.parquet")["district"]) == "number"  # The trap.
    table.to_feather(tmp_path / "t.feather")
    assert kind_of(pd.read_feather(tmp_path / "t.feather")["district"]) == "category"


def test_parquet_of_polars(tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    levels = pl.Enum(["north", "south"])
    took = [datetime.timedelta(hours=30), None]
    table = {"site": pl.Series(["south", "north"], dtype=levels), "district": [1, 2], "took": took}
    prices = pl.Series(["1.50", None]).cast(pl.Decimal(10, 2))
    pl.DataFrame({**table, "price": prices}).write_parquet(tmp_path / "t.parquet")
    frame = read("Parquet and Feather", tmp_path / "t.parquet")["frame"]
    assert not frame["site"].cat.ordered
    assert pd.read_parquet(tmp_path / "t.parquet")["site"].cat.ordered  # The trap.
    kinds = {"site": "category", "district": "category", "took": "date", "price": "number"}
    assert {name: kind_of(frame[name]) for name in frame} == kinds


def test_parquet_of_duckdb(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "t.parquet"
    values = "1 as district, interval 30 hour as took, 'north'::enum('north', 'south') as site"
    duckdb.sql(f"copy (select {values}, 1.5::decimal(9, 2) as price) to '{path}'")
    frame = read("Parquet and Feather", path)["frame"]
    assert kind_of(frame["took"]) == "other"  # The trap: mercer leaves it out with a warning.
    assert kind_of(frame["site"]) == "category"
    assert kind_of(frame["price"]) == "number"
    pd.DataFrame({"took": pd.to_timedelta([30], "h")}).to_parquet(path)
    assert duckdb.sql(f"select took from '{path}'").types[0] == "BIGINT"  # The trap.


def test_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["site"] = np.array(["north", "köln"], dtype=h5py.string_dtype())
        file["x"] = [1.5, 2.0]
    frame = read("HDF5", tmp_path / "t.h5")["frame"]
    assert frame["site"].tolist() == ["north", "köln"]
    with h5py.File(tmp_path / "t.h5") as file:
        assert kind_of(pd.Series(file["site"][:])) == "other"  # The trap.


def test_netcdf(tmp_path: Path) -> None:
    netcdf = pytest.importorskip("netCDF4")
    with netcdf.Dataset(tmp_path / "t.nc", "w") as file:
        file.createDimension("row", 2)
        file.createVariable("pixel", "u1", ("row",))[:] = np.array([254, 255], np.uint8)
    frame = read("NetCDF", tmp_path / "t.nc", "xarray")["frame"]
    assert frame["pixel"].tolist() == [254, 255]
    with netcdf.Dataset(tmp_path / "t.nc") as file:
        assert np.ma.getmaskarray(file["pixel"][:]).tolist() == [False, True]  # The trap.


def test_fcs(tmp_path: Path) -> None:
    flowio = pytest.importorskip("flowio")
    events = np.array([[1.5, 2.0], [3.0, 4.0]])
    with (tmp_path / "t.fcs").open("wb") as file:
        flowio.create_fcs(file, events.ravel(), ["FL1", "SSC"])
    frame = read("FCS, flow cytometry", tmp_path / "t.fcs")["frame"]
    assert [*frame] == ["FL1", "SSC"]
    np.testing.assert_array_equal(frame.to_numpy(), events)


def test_vcf(tmp_path: Path) -> None:
    allel = pytest.importorskip("allel")
    names = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *"abcd"]
    site = ["1", "10", ".", "A", "C", ".", ".", ".", "GT", "0/0", "0/1", "1|1", "./."]
    genotype = '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">'
    lines = ["##fileformat=VCFv4.2", genotype, "\t".join(names), "\t".join(site)]
    (tmp_path / "t.vcf").write_text("\n".join(lines) + "\n")
    X = read("VCF, genotypes", tmp_path / "t.vcf")["X"]
    np.testing.assert_array_equal(X, [[0.0], [1.0], [2.0], [np.nan]])
    calls = allel.GenotypeArray(allel.read_vcf(str(tmp_path / "t.vcf"))["calldata/GT"])
    assert calls.to_n_alt().tolist() == [[0, 1, 2, 0]]  # The trap.


def test_tdms(tmp_path: Path) -> None:
    nptdms = pytest.importorskip("nptdms")
    start = np.datetime64("2024-01-01T00:00:00")
    with nptdms.TdmsWriter(str(tmp_path / "t.tdms")) as file:
        channels = []
        for name, n, step in (("fast", 4, 0.5), ("slow", 2, 1.0)):
            told = {"wf_start_time": start, "wf_increment": step, "wf_samples": n}
            told["wf_start_offset"] = 0.0
            channels.append(nptdms.ChannelObject("group", name, np.arange(float(n)), told))
        file.write_segment(channels)
    frame = read("TDMS, measurements", tmp_path / "t.tdms")["frame"]
    assert frame["slow"].dropna().to_dict() == {0.0: 0.0, 1.0: 1.0}
    trap = nptdms.TdmsFile.read(str(tmp_path / "t.tdms"))["group"].as_dataframe()
    assert trap["slow"].tolist()[:2] == [0.0, 1.0]


def test_edf(tmp_path: Path) -> None:
    pyedflib = pytest.importorskip("pyedflib")
    told = {"label": "x", "dimension": "uV", "sample_frequency": 100, "transducer": ""}
    told |= {"physical_min": -50.0, "physical_max": 50.0, "prefilter": ""}
    told |= {"digital_min": -32768, "digital_max": 32767}
    kind = pyedflib.FILETYPE_EDF
    with pyedflib.EdfWriter(str(tmp_path / "t.edf"), 1, file_type=kind) as file:
        file.setSignalHeader(0, told)
        file.writeSamples([np.r_[np.linspace(-40.0, 40.0, 120), 99.0]])
    signal = read("EDF, biosignals", tmp_path / "t.edf")["signal"]
    np.testing.assert_allclose(signal[:120], np.linspace(-40.0, 40.0, 120), atol=2e-3)
    assert len(signal) == 200
    assert signal[120] == 50.0
    assert np.ptp(signal[121:]) == 0.0  # The traps.


def test_dbase(tmp_path: Path) -> None:
    dbf = pytest.importorskip("dbf")
    with dbf.Table(str(tmp_path / "t.dbf"), "x N(6,2); word C(5); day D; flag L") as table:
        table.open(dbf.READ_WRITE)
        table.append((1.25, "007", datetime.date(2024, 1, 31), True))
        table.append((None, None, None, None))
    frame = read("dBase", tmp_path / "t.dbf", "dbfread")["frame"]
    assert frame.iloc[0].tolist()[:2] == [1.25, "007"]
    assert frame.isna().sum().tolist() == [1, 1, 1, 1]


def test_jcamp(tmp_path: Path) -> None:
    pytest.importorskip("jcamp")
    head = "##TITLE=x\n##JCAMP-DX=4.24\n##DATA TYPE=INFRARED SPECTRUM\n##XUNITS=1/CM\n"
    head += "##YUNITS=ABSORBANCE\n##XFACTOR=1.0\n##YFACTOR=0.001\n##FIRSTX=400\n##LASTX=403\n"
    lines = "##NPOINTS=4\n##FIRSTY=0.1\n##XYDATA=(X++(Y..Y))\n400 100 200\n402 300 400\n##END=\n"
    (tmp_path / "t.jdx").write_text(head + lines)
    frame = read("JCAMP-DX, spectra", tmp_path / "t.jdx")["frame"]
    assert [*frame] == [400.0, 401.0, 402.0, 403.0]
    np.testing.assert_allclose(frame.to_numpy(), [[0.1, 0.2, 0.3, 0.4]])


def test_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("code,x\n007,1\n7,2\n010,\n")
    frame = read("Text files", tmp_path / "t.csv")["frame"]
    assert frame["code"].tolist() == ["007", "7", "010"]
    assert pd.read_csv(tmp_path / "t.csv")["code"].tolist() == [7, 7, 10]  # The trap.


def test_text_that_lightgbm_reads(tmp_path: Path) -> None:
    lgb = pytest.importorskip("lightgbm")
    options = {"verbose": -1, "min_data_in_bin": 1, "min_data_in_leaf": 1}
    for cells, n_missing in ((["x", "noise"], 1), (["noise", "x"], 0)):
        lines = []
        for row in range(200):
            values = {"x": "" if row % 4 == 0 else str(row % 4), "noise": str(row % 7)}
            lines.append(",".join([str(row % 2), *(values[name] for name in cells)]))
        (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
        data = lgb.Dataset(str(tmp_path / "t.csv"), params=options)
        model = lgb.train({**options, "objective": "regression"}, data, num_boost_round=2)
        info = next(one for one in model.model_to_string().splitlines() if "feature_infos" in one)
        low = info.split("=")[1].split()[cells.index("x")]
        assert low == ("[1:3]" if n_missing else "[0:3]")  # The trap: zeros where cells are empty.
