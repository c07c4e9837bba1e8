"""Made tables, each of one situation that the first screen of `mercer fit` is honest about."""

from typing import Any

import numpy as np
from command_cases import pd

Frame = Any


def smooth(n: int = 240, noise: float = 0.2, seed: int = 0) -> Frame:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + noise * rng.normal(size=n)
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)


def linear(n: int = 240) -> Frame:
    frame = smooth(n)
    y = 2.0 * frame["a"] - frame["b"] + np.random.default_rng(1).normal(size=n)
    return frame.assign(y=y)


def steps() -> Frame:
    frame = smooth()
    return frame.assign(y=4.0 * (frame["a"] > 0.5) * (frame["b"] > 0.0) + 0.1 * frame["c"])


def noise(n: int = 240) -> Frame:
    return smooth(n).assign(y=np.random.default_rng(1).normal(size=n))


def coins() -> Frame:
    return noise().assign(y=np.where(np.random.default_rng(0).random(240) < 0.5, "yes", "no"))


def classes() -> Frame:
    frame = smooth()
    return frame.assign(y=np.where(frame["y"] > frame["y"].median(), "yes", "no"))


def leak() -> Frame:
    """The outcome is the target, but for one percent of the rows."""
    frame, rng = classes(), np.random.default_rng(0)
    return frame.assign(outcome=np.where(rng.random(240) < 0.01, "other", frame["y"]))


def walk(n: int = 240) -> Frame:
    days = pd.date_range("2023-01-02", periods=n).strftime("%Y-%m-%d")
    level = np.cumsum(np.random.default_rng(0).normal(size=n))
    return smooth(n).assign(day=days, y=100.0 + 5.0 * level)


def counter(n: int = 160) -> Frame:
    """A counter of the rows orders them in time."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"instant": np.arange(1, n + 1), "temp": rng.normal(size=n)})
    level = np.cumsum(np.random.default_rng(0).normal(size=n))
    return frame.assign(y=(100.0 + 10.0 * level + 5.0 * frame["temp"]).round(2))


def shops(n_each: int = 8, effect: float = 3.0) -> Frame:
    """The level of a shop is a part of its sales, and no other column shows it."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(40), n_each)
    names = np.array([f"shop {k:02}" for k in rng.permutation(40)])[codes]
    frame = smooth(len(codes))
    return frame.assign(shop=names, y=frame["y"] + effect * rng.normal(size=40)[codes])


def recordings(n_subjects: int = 24, n_each: int = 8) -> Frame:
    """Recordings of patients, whose voices mark them; the target is a patient's own."""
    rng = np.random.default_rng(0)
    subjects = np.repeat(np.arange(1, n_subjects + 1), n_each)
    voice, score = rng.normal(size=(n_subjects, 2)), rng.normal(20.0, 5.0, n_subjects)
    frame = pd.DataFrame({"subject#": subjects})
    frame["jitter"], frame["shimmer"] = (
        voice[subjects - 1] + 0.05 * rng.normal(size=(len(subjects), 2))
    ).T
    return frame.assign(y=score[subjects - 1] + 0.3 * rng.normal(size=len(subjects)))


def mice() -> Frame:
    """Codes of recordings begin with the code of the mouse."""
    frame = recordings().rename(columns={"subject#": "MouseID"})
    return frame.assign(MouseID=[f"{300 + k}_{i % 8 + 1}" for i, k in enumerate(frame["MouseID"])])


def panel(n_shops: int = 24, n_weeks: int = 16) -> Frame:
    """Shops have levels, and weeks follow each other."""
    rng = np.random.default_rng(0)
    shop, week = np.repeat(np.arange(n_shops), n_weeks), np.tile(np.arange(n_weeks), n_shops)
    X = rng.normal(size=(len(shop), 2))
    level = 4.0 * np.cumsum(rng.normal(size=n_weeks))[week]
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + level + 4.0 * rng.normal(size=n_shops)[shop]
    days = pd.date_range("2023-01-02", periods=n_weeks, freq="W").strftime("%Y-%m-%d")
    frame = pd.DataFrame({"shop": [f"shop {k:02}" for k in shop], "week": np.array(days)[week]})
    return frame.assign(a=X[:, 0], b=X[:, 1], y=y)


def copies() -> Frame:
    """Every row stands four times in the table."""
    return pd.concat([smooth(60, 1.0).round(3)] * 4, ignore_index=True)


def outlier() -> Frame:
    """The response of a held-out row is many times as large as all others."""
    frame = smooth(noise=0.05)
    frame.loc[7, "y"] = 900.0
    return frame


def sentinel() -> Frame:
    frame = smooth().assign(y=lambda table: table["y"] + 20.0)
    frame.loc[::20, "y"] = -200.0
    return frame


def totals() -> Frame:
    frame = smooth().assign(sales=lambda table: (10.0 + table["a"]).round(2))
    frame = frame.assign(costs=(5.0 + frame["b"]).round(2), town=[f"town {k}" for k in range(240)])
    last = {"town": "Total", **{name: frame[name].sum().round(2) for name in ("sales", "costs")}}
    return pd.concat([frame, pd.DataFrame([last]).assign(y=frame["y"].sum())], ignore_index=True)


def spellings() -> Frame:
    frame = classes()
    frame.loc[::7, "y"] = frame.loc[::7, "y"].str.upper()
    return frame


def zip_codes() -> Frame:
    rng = np.random.default_rng(0)
    codes = np.array(["01002", "01013", "02139", "90210", "10001"])[rng.integers(0, 5, 240)]
    return smooth().assign(zip=codes)


def grades() -> Frame:
    frame = smooth()
    codes = np.digitize(frame["y"], np.quantile(frame["y"], [0.25, 0.5, 0.75]))
    return frame.assign(y=np.array(["poor", "fair", "good", "very good"])[codes])


def counts() -> Frame:
    frame = smooth()
    return frame.assign(y=np.random.default_rng(0).poisson(np.exp(0.8 * frame["a"])))


def heavy_tail() -> Frame:
    frame = smooth()
    return frame.assign(y=np.exp(8.0 + 1.2 * frame["a"] + 0.3 * frame["b"]).round(2))


def rare_class(n: int = 900) -> Frame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    fraud = rng.random(n) < 1.0 / (1.0 + np.exp(-3.0 * (x - 2.0)))
    return pd.DataFrame({"x": x, "noise": rng.normal(size=n), "y": np.where(fraud, "yes", "no")})


def many_columns() -> Frame:
    """One column of forty has half of the variance, and stands last."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 40))
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(39)] + ["quality"])
    return frame.assign(y=2.0 * X[:, 39] + X[:, 0] + 0.5 * rng.normal(size=400))


def missing_cells() -> Frame:
    """Whether a cell is missing tells more than its value."""
    rng, frame = np.random.default_rng(0), smooth()
    is_missing = rng.random(240) < 0.3
    y = frame["y"] + 4.0 * is_missing
    return frame.assign(c=frame["c"].where(~is_missing), y=y)


def stores() -> Frame:
    rng = np.random.default_rng(0)
    store = rng.integers(1, 8, 160)
    return smooth(160).assign(StoreID=store, y=lambda f: f["y"] + rng.normal(size=9)[store])


def repeated_quantities() -> Frame:
    """Horsepower and the year repeat, and neighbors among their values are alike."""
    rng = np.random.default_rng(0)
    power, year = rng.integers(10, 50, 240) * 5, rng.integers(1970, 2000, 240)
    y = 0.1 * power + 0.3 * (year - 1970) + rng.normal(size=240)
    return pd.DataFrame({"horsepower": power, "year": year, "y": y})


def many_group_columns() -> Frame:
    """Five columns name the same groups."""
    frame = shops()
    names = frame.pop("shop").str.removeprefix("shop ")
    return frame.assign(**{f"name{k}": f"{k} of " + names for k in range(5)})


def thirds() -> Frame:
    return smooth().assign(third=np.arange(240) % 3)


def dates() -> Frame:
    frame = smooth()
    days = pd.Timestamp("2023-01-01") + pd.to_timedelta((50.0 * frame["y"]).round(), unit="D")
    return frame.assign(y=days.dt.strftime("%Y-%m-%d"))


def broken_trend(n: int = 240) -> Frame:
    """A trend that has ended, on a lower level, at the last quarter of the days."""
    days = pd.date_range("2023-01-02", periods=n).strftime("%Y-%m-%d")
    frame, t = smooth(n), np.arange(n) / n
    noise = 0.3 * np.random.default_rng(1).normal(size=n)
    level = np.where(t < 0.75, 20.0 * t, 12.5)
    return frame.assign(day=days, y=level + 0.3 * frame["a"] + noise)


def heavier_tail(n: int = 240, seed: int = 1) -> Frame:
    """Few responses have nearly all of the variance, and are hard to predict."""
    frame, rng = smooth(n), np.random.default_rng(seed)
    return frame.assign(y=np.exp(2.0 * frame["a"] + 2.0 * rng.standard_normal(n)))
