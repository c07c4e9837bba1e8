"""
A table of mixed types
======================

Real tables hold numbers, categories, dates and gaps. The estimator converts all of them to numbers
itself, so it takes the data frame as it is.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from mercer import KernelStackingRegressor
from mercer.inspection import shapley_values

# %%
# The table is generated: the rent of a flat depends on its area, its district and the date of the
# contract. The floor and the color of the door have no influence. Some areas are missing.
random = np.random.default_rng(0)
n = 400
table = pd.DataFrame(
    {
        "area": random.uniform(20, 140, n),
        "district": random.choice(["north", "south", "harbor"], n),
        "contract": pd.Timestamp("2015-01-01") + pd.to_timedelta(random.integers(0, 3650, n), "D"),
        "floor": random.integers(0, 8, n),
        "door": random.choice(["red", "green"], n),
    }
)
level = table["district"].map({"north": 9.0, "south": 12.0, "harbor": 16.0}).to_numpy(float)
years = (table["contract"] - pd.Timestamp("2015-01-01")).dt.days / 365.25
rent = level * table["area"] ** 0.9 * (1.0 + 0.03 * years) + random.normal(0.0, 40.0, n)
table.loc[random.random(n) < 0.1, "area"] = np.nan
print(table.head())

# %%
X_train, X_test, y_train, y_test = train_test_split(table, rent, random_state=0)
model = KernelStackingRegressor().fit(X_train, y_train)
print(f"R² of the test set {model.score(X_test, y_test):.2f}, estimated {model.loo_score_:.2f}")

# %%
# A category becomes one column for each of its values, the date several, and a further column marks
# where the area is missing. Contributions refer to the columns of the table: all columns that
# encode a column count as that column.
found = shapley_values(model, X_test)
for name, importance in zip(found.feature_names, found.importances, strict=True):
    print(f"{name:10} {importance:6.1f}")
figure, ax = plt.subplots(layout="constrained")
ax.barh(found.feature_names, found.importances)
ax.set(title="What the rent depends on", xlabel="Mean absolute contribution to the rent")
plt.show()
