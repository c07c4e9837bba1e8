"""What a kernel of one's own implements."""

import numpy as np

from mercer._typing import Array, Features


class OwnFormula:
    """The methods by which a subclass of `Kernel` says its formula."""

    @property
    def theta(self) -> Array:
        """Natural logarithms of the kernel's parameters, shape (n_theta,)."""
        return np.empty(0)

    def values(self, X: Features, Z: Features) -> Array:
        """The formula of a kernel of one's own; others are evaluated by calling them.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples_x, n_features)
            Validated samples.
        Z : ndarray or sparse matrix of shape (n_samples_z, n_features)

        Returns
        -------
        ndarray of shape (n_samples_x, n_samples_z)
        """
        raise NotImplementedError(f"{type(self).__name__} must implement values.")

    def diagonal(self, X: Features) -> Array:
        """The values of each sample with itself, for a kernel of one's own.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            Validated samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            By default, from the formula, sample by sample.
        """
        return np.array([self.values(X[i : i + 1], X[i : i + 1]).item() for i in range(X.shape[0])])

    def contract(self, X: Features, P: Array, Z: Features) -> tuple[float, Array]:
        """<P, K> and its gradient in `theta`, for a kernel of one's own that has parameters.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_samples_x, n_features)
            Validated samples.
        P : ndarray of shape (n_samples_x, n_samples_z)
        Z : ndarray or sparse matrix of shape (n_samples_z, n_features)

        Returns
        -------
        value : float
        gradient : ndarray of shape (n_theta,)
        """
        raise NotImplementedError(f"{type(self).__name__} must implement contract.")
