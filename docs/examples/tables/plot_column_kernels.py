"""
A kernel for each column: hours, grades, categories and gaps
============================================================

Each kind of column has its own kernel: hours repeat every day, grades have an order, categories are
the same or different, and missing values have a learned similarity to known ones. The product of
these kernels is one kernel for the whole table, and the marginal likelihood finds the width of each
column.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from mercer import EvidenceMaximization, TwoStageRegressor
from mercer.kernels import (
    Categorical,
    Gaussian,
    Missing,
    OnColumns,
    Ordinal,
    Periodic,
    Product,
    kernels_for,
)
from mercer.preprocessing import column_encoder, table_encoder

# %%
# The table is generated: bicycles are counted at streets. Counts depend on the hour, the weather,
# the grade of the street and the temperature, which is missing when the sensor is frozen. The color
# of the counter does not matter.
random = np.random.default_rng(0)
n = 500
grades = ["lane", "side street", "street", "avenue"]
table = pd.DataFrame(
    {
        "hour": random.uniform(0.0, 24.0, n),
        "temperature": random.normal(10.0, 8.0, n),
        "street": random.choice(grades, n),
        "weather": random.choice(["sun", "clouds", "rain", "wind"], n),
        "counter": random.choice(["red", "blue"], n),
    }
)
busy = np.exp(np.cos(2.0 * np.pi * (table["hour"] - 23.0) / 24.0))  # At night.
grade = table["street"].map(dict(zip(grades, [0.0, 0.2, 1.5, 1.7], strict=True)))
weather = table["weather"].map({"sun": 1.0, "clouds": 0.9, "rain": 0.3, "wind": 0.5})
count = busy * (1.0 + grade) * weather * (1.0 + 0.03 * table["temperature"].clip(0.0))
y = (count + random.normal(scale=0.3, size=n)).to_numpy()
frozen = random.random(n) < np.where(table["temperature"] < 3.0, 0.8, 0.1)
table.loc[frozen, "temperature"] = np.nan

# %%
# `kernels_for` chooses a kernel for each column by what it holds; only we know that hours repeat
# every day, and the order of streets. `column_encoder` converts each column to one column of
# numbers, and keeps names and gaps; the hour stays as it is.
order = {"street": grades}
print(kernels_for(table, order).describe().replace(") x (", ")\nx ("))
encoder = column_encoder(table, order).set_output(transform="pandas")
encoder[-1].set_params(number__softclippingscaler="passthrough")
kernel = Product(
    [
        OnColumns(Periodic(period=24.0), ["hour"]),
        OnColumns(Missing(Gaussian("median")), ["temperature"]),
        OnColumns(Ordinal(), ["street"]),
        OnColumns(Categorical(ard=True), ["weather", "counter"]),
    ]
)

# %%
X_train, X_test, y_train, y_test = train_test_split(table, y, train_size=120, random_state=0)
models = {
    "hour repeats": TwoStageRegressor(EvidenceMaximization(kernel), encoder=encoder),
    "kernels_for": TwoStageRegressor(
        EvidenceMaximization(kernels_for(table, order)), encoder=column_encoder(table, order)
    ),
    "one-hot": TwoStageRegressor(EvidenceMaximization(), encoder=table_encoder()),
}
left_over = {
    name: 1.0 - model.fit(X_train, y_train).score(X_test, y_test) for name, model in models.items()
}
learned = models["hour repeats"].learner_.kernels_[0]
print(learned.describe().replace(") x (", ")\nx ("))

# %%
# Left: the learned kernel of the hour, between noon and other hours. Middle: the learned kernels of
# the other columns, between pairs of values. Right: the share of the variance of new counts that
# the models do not explain.
hours = np.linspace(0.0, 24.0, 200)[:, None]
periodic, temperature, ordinal, categories = (part.kernel for part in learned.kernels)
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11.0, 3.2))
left.plot(hours, periodic([[12.0]], hours)[0])
left.set(title="Hour", xlabel="Hour", ylabel="Kernel with noon", xticks=[0, 6, 12, 18, 24])
values = {
    "hot, cold": temperature.kernel([[20.0]], [[0.0]]).item(),
    "known, missing": temperature([[20.0]], [[np.nan]]).item(),
    "lane, side street": ordinal([[0.0]], [[1.0]]).item(),
    "lane, avenue": ordinal([[0.0]], [[3.0]]).item(),
    "sun, rain": categories([[0.0, 0.0]], [[1.0, 0.0]]).item(),
    "red, blue": categories([[0.0, 0.0]], [[0.0, 1.0]]).item(),
}
middle.barh(list(values), values.values(), color="C2")
middle.set(title="Pairs of values", xlabel="Learned kernel", xlim=(0.0, 1.0))
middle.invert_yaxis()
right.barh(list(left_over), left_over.values(), color="C4")
right.set(title="New counts", xlabel="Variance not explained")
right.invert_yaxis()
plt.show()
