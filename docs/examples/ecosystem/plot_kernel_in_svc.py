"""
A learned kernel in other estimators
====================================

A learned kernel is a function of two tables. It works wherever scikit-learn takes a kernel: in
support vector machines and kernel principal components.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.decomposition import KernelPCA
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import ContinuousAlignment, EvidenceMaximization, TwoStageClassifier
from mercer.kernels import Gaussian

# %%
# A support vector machine can use the kernel in three ways: as a callable, in a pipeline of the
# learner and a machine on Gram matrices, and in one estimator that does both.
X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
learner = ContinuousAlignment().fit(X_train, y_train)
machines = {
    "callable": SVC(kernel=learner.kernel_),
    "pipeline": make_pipeline(ContinuousAlignment(), SVC(kernel="precomputed")),
    "two-stage": TwoStageClassifier(ContinuousAlignment()),
}
for name, machine in machines.items():
    print(f"{name}: accuracy {machine.fit(X_train, y_train).score(X_test, y_test):.3f}")

# %%
# The pictures show the first two principal components of three kernels. On this table, all three
# separate the classes, even the Gaussian kernel of the usual width, which is not learned from the
# labels.
relevance = EvidenceMaximization().fit(X_train, y_train).kernel_
kernels = {
    "Gaussian, width of SVC's default": Gaussian(X_train.shape[1] ** 0.5),
    "Learned, one width": learner.kernel_,
    "Learned, one width for each feature": relevance,
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6))
for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
    model = KernelPCA(2, kernel="precomputed").fit(kernel(X_train))
    components = model.transform(kernel(X_test, X_train))
    for label, marker in enumerate("osD"):
        shown = y_test == label
        ax.plot(*components[shown].T, marker, alpha=0.8, label=f"class {label}")
    ax.set(title=name, xlabel="First component", ylabel="Second component")
axes[0].legend()
plt.show()
