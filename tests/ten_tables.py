"""Ten tables as people have them: each written in bytes, with a target that its columns explain."""

import gzip
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np

N_ROWS = 240

LONG_NAME = "x" * 10_000
"""A name of 10,000 characters."""

ODD_NAMES = {
    "cost": "cost $ in_$x_1$",
    "script": "<script>alert(1)</script>",
    "emoji": "\N{BANANA} price",
    "lines": "two\nlines",
    "long": LONG_NAME,
}
"""Names of columns that are no names for a typesetter, a browser or a spreadsheet."""


@dataclass(frozen=True)
class BadTable:
    """A table's file.

    Attributes
    ----------
    name : str
        The file's name.
    content : bytes
    target : str
    """

    name: str
    content: bytes
    target: str


def _german(number: float, digits: int = 2) -> str:
    """Write a number with a decimal comma and points between thousands."""
    return f"{number:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def _lines(rows: Iterable[Sequence[str]], separator: str) -> str:
    return "".join(separator.join(row) + "\r\n" for row in rows)


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def decimal_comma() -> BadTable:
    """Flats: decimal commas, points between thousands, semicolons, UTF-8 without a mark."""
    rng = np.random.default_rng(0)
    area, rooms = rng.uniform(20, 150, N_ROWS), rng.integers(1, 6, N_ROWS)
    price = 2500 * area + 9000 * rooms + rng.normal(0, 4000, N_ROWS)
    rows = [(_german(a), str(r), _german(p)) for a, r, p in zip(area, rooms, price, strict=True)]
    text = _lines([("Fläche", "Zimmer", "Preis"), *rows], ";")
    return BadTable("decimal_comma.csv", text.encode(), "Preis")


def utf16() -> BadTable:
    """Excel's "Unicode text": UTF-16 with a mark, tabs, names that are not ASCII."""
    rng = np.random.default_rng(1)
    size, city = rng.normal(size=N_ROWS), rng.choice(["Kraków", "Łódź", "Gdańsk"], N_ROWS)
    label = np.where(size + (city == "Łódź") + rng.normal(0, 0.3, N_ROWS) > 0.3, "así", "não")
    rows = [(f"{s:.3f}", c, t) for s, c, t in zip(size, city, label, strict=True)]
    text = _lines([("größe", "miasto", "étiquette"), *rows], "\t")
    return BadTable("unicode.txt", text.encode("utf-16"), "étiquette")


def latin1() -> BadTable:
    """Reviews: Latin-1, free text that differs in most rows, and decimal commas in quotes."""
    rng = np.random.default_rng(2)
    good = rng.random(N_ROWS) < 0.5
    words = {True: ["köstlich", "wunderbar", "frisch"], False: ["fade", "übersalzen", "kalt"]}
    openings = ["Das Essen war", "Die Suppe war", "Unser Menü war"]
    rows = []
    for row, is_good in enumerate(good):
        said = f"{rng.choice(openings)} {rng.choice(words[bool(is_good)])}, Tisch {row}"
        rows.append(
            (_quoted(said), _quoted(_german(rng.uniform(5, 40))), "gut" if is_good else "schlecht")
        )
    text = _lines([("Urteil über uns", "Rechnung", "Fazit"), *rows], ",")
    return BadTable("latin1.csv", text.encode("latin-1"), "Fazit")


def thousands() -> BadTable:
    """Towns: commas between thousands in quotes, percents, currency, numbers that are missing."""
    rng = np.random.default_rng(3)
    people, rate = rng.integers(1_000, 900_000, N_ROWS), rng.uniform(0, 40, N_ROWS)
    budget = 1200.0 * people * (1 + rate / 20) / 1000 + rng.normal(0, 2e4, N_ROWS)
    rows = []
    for row in range(N_ROWS):
        counted = "n/a" if row % 24 == 5 else f"{people[row]:,}"
        rows.append((_quoted(counted), f"{rate[row]:.1f}%", _quoted(f"${budget[row]:,.2f}")))
    text = _lines([("people", "rate", "budget"), *rows], ",")
    return BadTable("thousands.csv", text.encode("utf-8-sig"), "budget")


def dates() -> BadTable:
    """Hires of bicycles: days written day first, times of day, a season and a weekly rhythm."""
    rng = np.random.default_rng(4)
    start = datetime(2023, 1, 1, 6)
    times = [start + timedelta(hours=int(h)) for h in rng.choice(17_000, N_ROWS, replace=False)]
    rows = []
    for time in times:
        season = np.cos(2 * np.pi * (time.timetuple().tm_yday - 200) / 365)
        hires = 60 + 30 * season + 25 * (time.weekday() >= 5) + rng.normal(0, 4)
        rows.append((time.strftime("%d/%m/%Y"), time.strftime("%H:%M"), f"{hires:.1f}"))
    text = _lines([("day", "time", "hires"), *rows], ",")
    return BadTable("dates.csv", text.encode(), "hires")


def date_target() -> BadTable:
    """Deliveries: the target is a date."""
    rng = np.random.default_rng(5)
    rows = []
    for _ in range(N_ROWS):
        ordered = date(2024, 1, 1) + timedelta(days=int(rng.integers(0, 300)))
        distance = rng.uniform(10, 2000)
        arrived = ordered + timedelta(days=int(2 + distance / 100 + rng.normal(0, 1)))
        rows.append((ordered.isoformat(), f"{distance:.0f}.5", arrived.isoformat()))
    text = _lines([("ordered", "km", "arrived"), *rows], ",")
    return BadTable("date_target.csv", text.encode(), "arrived")


def odd_names() -> BadTable:
    """Labels with dollar signs and formulas, and names that are markup, emoji or very long."""
    rng = np.random.default_rng(6)
    values = rng.normal(size=(N_ROWS, len(ODD_NAMES)))
    labels = np.array(["$x_1^$", "=1+1", "<b>&"])
    kind = np.digitize(values[:, 0] + values[:, 1] + rng.normal(0, 0.2, N_ROWS), [-0.6, 0.6])
    rows = [
        [*(f"{value:.3f}" for value in row), _quoted(labels[k])]
        for row, k in zip(values, kind, strict=True)
    ]
    header = [*map(_quoted, ODD_NAMES.values()), "$_label_$"]
    return BadTable("odd_names.csv", _lines([header, *rows], ",").encode(), "$_label_$")


def lonely_class() -> BadTable:
    """A class of one row, spaces around labels, identifiers, a constant, an empty column."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=N_ROWS)
    label = np.where(x + rng.normal(0, 0.4, N_ROWS) > 0, "yes", "no").astype(object)
    rows = []
    for row in range(N_ROWS):
        spaces = " " * int(rng.integers(0, 3))
        answer = "perhaps" if row == 17 else f"{spaces}{label[row]}{spaces}"
        name = f"{rng.integers(16**8):08x}-{row:04x}"
        rows.append((str(row + 1), name, f" {x[row]:.3f} ", "EU", "", answer))
    text = _lines([("nr", "uuid", "x", "region", "remark", "answer"), *rows], ",")
    return BadTable("lonely_class.csv", text.encode(), "answer")


def leak() -> BadTable:
    """A bank's customers: a column that is filled in only after the answer is known."""
    rng = np.random.default_rng(8)
    income, age = rng.lognormal(10, 0.5, N_ROWS), rng.integers(18, 90, N_ROWS)
    left = (rng.normal(size=N_ROWS) + (age < 35)) > 0.5
    rows = [
        (
            f"{i:.0f}",
            str(a),
            f"{rng.uniform(10, 99):.1f}" if gone else "0",
            "left" if gone else "stays",
        )
        for i, a, gone in zip(income, age, left, strict=True)
    ]
    text = _lines([("income", "age", "closing fee", "status"), *rows], ",")
    return BadTable("leak.csv", text.encode(), "status")


def excel() -> BadTable:
    """Excel's CSV, compressed: the line sep=;, spaces between thousands, shops of many names."""
    rng = np.random.default_rng(9)
    shops = [
        f"{a}{b}"
        for a in ("Nor", "Sud", "Ost", "Wes")
        for b in ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
    ]
    effect = dict(zip(shops, rng.normal(0, 500, len(shops)), strict=True))
    shop, sold = rng.choice(shops, N_ROWS), rng.uniform(500, 9000, N_ROWS)
    rows = []
    for s, units in zip(shop, sold, strict=True):
        takings = 1000 + 0.5 * units + effect[s] + rng.normal(0, 60)
        rows.append(
            (
                f"{s} ",
                f"{units:,.0f}".replace(",", "\N{NO-BREAK SPACE}"),
                f" {takings:.1f} ".replace(".", ","),
            )
        )
    text = "sep=;\r\n" + _lines([("shop", "units", "takings"), *rows], ";")
    content = gzip.compress(text.encode("utf-8-sig"), mtime=0)
    return BadTable("excel.csv.gz", content, "takings")


BAD_TABLES: tuple[Callable[[], BadTable], ...] = (
    decimal_comma,
    utf16,
    latin1,
    thousands,
    dates,
    date_target,
    odd_names,
    lonely_class,
    leak,
    excel,
)
"""The ten tables."""
