"""
Which regions of an image a kernel aligns with
==============================================

Each block of pixels gets a kernel, and alignment with the label weights the kernels. The weights
show where in the image the classes differ.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import AlignmentMaximization
from mercer.kernels import Gaussian, OnColumns

# %%
# The digits are images of 8 x 8 pixels. Each block of 2 x 2 pixels has a Gaussian kernel, whose
# width is the median distance of the images in this block.
digits = load_digits()
pixels = np.arange(64).reshape(8, 8)
blocks = [pixels[i : i + 2, j : j + 2].ravel() for i in range(0, 8, 2) for j in range(0, 8, 2)]
varying = [b for b in blocks if np.median(digits.data[:, b].std(axis=0)) > 0.5]


def region_shares(first: int, second: int) -> np.ndarray:
    """The share of each block in the kernel that separates two digits, as an 8 x 8 image."""
    pair = np.isin(digits.target, (first, second))
    kernels = [OnColumns(Gaussian("median", bounds="data"), block) for block in varying]
    learner = AlignmentMaximization(kernels).fit(digits.data[pair], digits.target[pair])
    image = np.zeros(64)
    for block, share in zip(varying, learner.shares_, strict=True):
        image[block] = share
    return image.reshape(8, 8)


# %%
# Above: the mean images of both digits. Below: the blocks that the learned kernel uses.
pairs = [(3, 8), (4, 9), (1, 7)]
figure, axes = plt.subplots(2, 3, figsize=(8, 5))
for column, (first, second) in enumerate(pairs):
    means = [digits.images[digits.target == digit].mean(axis=0) for digit in (first, second)]
    axes[0, column].imshow(np.hstack(means), cmap="gray_r")
    axes[0, column].set_title(f"Mean images of {first} and {second}")
    image = axes[1, column].imshow(region_shares(first, second), vmin=0.0, vmax=0.6)
    axes[1, column].set_title("Share of each block")
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
figure.colorbar(image, ax=axes[1], label="Share in the learned kernel")
plt.show()
