"""
Molecules: fingerprints, and a kernel on objects of any kind
============================================================

Chemists describe a molecule by a fingerprint, the counts of its small substructures, and compare
two of them by the Tanimoto kernel. Any other function of two molecules is a kernel as well, if its
matrix is positive semi-definite; a column then holds the number of each molecule. In this example,
alignment weights both kernels and a kernel on the temperature of the measurement.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from mercer import AlignmentMaximization, TwoStageRegressor
from mercer.kernels import Gaussian, Lookup, OnColumns, Tanimoto

# %%
# The molecules are made up: trees of 6 to 14 atoms of carbon, nitrogen, oxygen and sulfur, with at
# most three bonds per atom. A molecule consists of the elements of its atoms and, for each atom,
# the atoms that it is bound to.
random = np.random.default_rng(0)


def drawn_molecule():
    """A random tree of atoms: their elements, and their neighbors."""
    n_atoms = random.integers(6, 15)
    elements = random.choice(list("CNOS"), n_atoms, p=[0.65, 0.15, 0.15, 0.05])
    neighbors = [[] for _ in range(n_atoms)]
    for atom in range(1, n_atoms):
        free = [other for other in range(atom) if len(neighbors[other]) < 3]
        other = random.choice(free)
        neighbors[atom].append(other)
        neighbors[other].append(atom)
    return elements, neighbors


def environments(molecule, radius):
    """Counts of the atoms' surroundings up to a number of bonds, as in circular fingerprints."""
    elements, neighbors = molecule
    names = list(elements)
    found = Counter(names)
    for _ in range(radius):
        names = [
            f"{name}({','.join(sorted(names[other] for other in neighbors[atom]))})"
            for atom, name in enumerate(names)
        ]
        found.update(names)
    return found


molecules = [drawn_molecule() for _ in range(400)]

# %%
# A fingerprint counts surroundings up to one bond. The made-up activity comes from carbon between
# nitrogen and oxygen, and falls with the share of carbon; it also depends on the temperature of the
# measurement.
counts = [environments(molecule, 1) for molecule in molecules]
names = sorted({name for count in counts for name in count})
fingerprints = np.array([[count[name] for name in names] for count in counts], dtype=float)
active = [
    i for i, name in enumerate(names) if name.startswith("C(") and "N" in name and "O" in name
]
temperature = random.uniform(0.0, 1.0, len(molecules))
share = np.array([np.mean(elements == "C") for elements, _ in molecules])
y = np.minimum(fingerprints[:, active].sum(axis=1), 2) - 2.0 * share + np.sin(3.0 * temperature)
y += random.normal(scale=0.2, size=len(y))

# %%
# A second kernel compares two molecules as objects. It is the share of pairs of atoms, one from
# each molecule, that have the same element and the same number of bonds. It is computed once for
# all molecules, and `Lookup` finds its values by the molecules' numbers.


def same_atoms(one, other):
    """Share of pairs of atoms that have the same element and the same number of bonds."""
    kinds = [
        Counter((element, len(bonds)) for element, bonds in zip(*molecule, strict=True))
        for molecule in (one, other)
    ]
    pairs = sum(kinds[0][kind] * kinds[1][kind] for kind in kinds[0])
    return pairs / (len(one[0]) * len(other[0]))


gram = np.array([[same_atoms(one, other) for other in molecules] for one in molecules])
X = np.column_stack([np.arange(len(molecules)), temperature, fingerprints])
bits = slice(2, X.shape[1])
sources = {
    "fingerprints": OnColumns(Tanimoto(), bits),
    "atoms, as objects": OnColumns(Lookup(gram), [0]),
    "temperature": OnColumns(Gaussian("median"), [1]),
}

# %%
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=250, random_state=0)
choices = {
    "all three": list(sources.values()),
    "without objects": [sources["fingerprints"], sources["temperature"]],
    "fingerprints alone": [sources["fingerprints"]],
    "fingerprints, Gaussian": [OnColumns(Gaussian("median"), bits)],
}
scores, models = {}, {}
for name, kernels in choices.items():
    models[name] = TwoStageRegressor(AlignmentMaximization(kernels)).fit(X_train, y_train)
    scores[name] = r2_score(y_test, models[name].predict(X_test))

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.2))
left.barh(list(sources), models["all three"].learner_.shares_, color="C0")
left.set(title="What was learned", xlabel="Share in the learned kernel")
left.invert_yaxis()
right.barh(list(scores), scores.values(), color="C4")
right.set(title="New molecules", xlabel="Explained variance (R²)")
right.invert_yaxis()
plt.show()
