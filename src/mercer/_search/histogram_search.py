"""Search of the widths of one family on a histogram of distances, alone and jointly."""

from collections.abc import Sequence

import numpy as np

from mercer._gram.distance_histograms import DistanceHistogram, width_mesh
from mercer._gram.samples import Samples
from mercer._kernel_objectives import Sensitivity
from mercer._search.kernel_search import N_WIDTHS, highest_peak, local_maxima
from mercer._search.parameter_search import Candidate, FamilySearch, Maximum, maximize
from mercer._typing import Array
from mercer._weights.alignment_weights import best_nonnegative
from mercer.kernels._kernel import Kernel
from mercer.kernels._radial import RadialFunction


class HistogramSearch(FamilySearch):
    """Global search of one width, and joint search of all widths of a dictionary of one family.

    One histogram of distances serves all steps, however many there are.

    Parameters
    ----------
    family : Kernel
        Radial and not band-limited, with one parameter.
    samples : Samples
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.
    certified : FamilySearch, default=None
        Finds the width of each step instead, with a proven gap, before widths move jointly.
    tol : float, default=1e-7
        Widths have moved enough when an iteration changes the alignment by less than this fraction.
    trial_iterations : int, default=4
        Iterations from each start of the joint search; the best one then goes on.
    split : float, default=0.3
        One start replaces a width by two whose logarithms are this much smaller and larger.
    """

    def __init__(
        self,
        family: Kernel,
        samples: Samples,
        Y: Array,
        *,
        certified: FamilySearch | None = None,
        tol: float = 1e-7,
        trial_iterations: int = 4,
        split: float = 0.3,
    ) -> None:
        self.family, self.samples = family, samples
        structure = family.structure
        assert isinstance(structure, RadialFunction)
        self.radial = structure.function
        self.certified = certified
        self.tol, self.trial_iterations, self.split = tol, trial_iterations, split
        self.log_bounds = family.log_bounds(samples.repeated)[0]
        mesh = width_mesh(samples, structure.distance, self.radial, self.log_bounds)
        self._histogram = DistanceHistogram(samples, structure.distance, mesh, Y)
        self._grid = np.unique(np.linspace(self.log_bounds[0], self.log_bounds[1], N_WIDTHS))
        self._values = self._at(self._grid)
        self._norms = self._centered_norms(self._values)

    def best(self, P: Sensitivity) -> Candidate:
        """The width of the largest <P, K>; see :meth:`FamilySearch.best`.

        Parameters
        ----------
        P : Sensitivity
            A combination of the target that the search was made for and kernels of its family.
        """
        if self.certified is not None:
            return self.certified.best(P)
        weights = self._weights(P)
        values = self._values @ weights
        theta, value = highest_peak(
            lambda thetas: self._at(thetas) @ weights, self._grid, values, local_maxima(values)
        )
        return Candidate(self.family.with_theta(np.array([theta])), value, None)

    def polish(self, kernels: Sequence[Kernel], P: Sensitivity) -> list[Kernel]:
        """Move the widths of all kernels jointly to where their best combination aligns most.

        Parameters
        ----------
        kernels : sequence of Kernel
        P : Sensitivity
            The last kernel is the best for this sensitivity.

        Returns
        -------
        list of Kernel
            Those of positive weight, by increasing width.

        Notes
        -----
        The weights are optimal at all widths that are tried ("variable projection"), and their
        dependence on the widths drops out of the gradient. There are up to three starts: the given
        widths; the last width replaced by that of the largest <P, K> / |K_c|, whose kernel would
        align most with all others fixed; and, without the last width, the one before it split in
        two.
        """
        thetas = np.concatenate([kernel.theta for kernel in kernels])
        gains = self._values @ self._weights(P) / self._norms
        starts = [thetas, np.append(thetas[:-1], self._grid[np.argmax(gains)])]
        if thetas.size > 1:
            split = thetas[-2] + np.array([-self.split, self.split])
            starts.append(np.append(thetas[:-2], split))
        bounds = np.tile(self.log_bounds, (thetas.size, 1))

        def search(start: Array, max_iter: int = 200) -> Maximum:
            return maximize(self._alignment, start, bounds, tol=self.tol, max_iter=max_iter)

        trials = [search(start, self.trial_iterations) for start in starts]
        best = max(trials, key=lambda found: found.value).theta
        best = np.sort(search(best).theta)
        used = best_nonnegative(*self._moments(self._histogram.at(self.radial, best)[0])) > 0.0
        return [self.family.with_theta(theta[None]) for theta in best[used]] or list(kernels)

    def _at(self, thetas: Array) -> Array:
        """The family's values at the nodes for some log-widths, shape (n_thetas, n_nodes)."""
        return np.stack([self.radial.at_theta(self._histogram.nodes, theta) for theta in thetas])

    def _weights(self, P: Sensitivity) -> Array:
        """Weights v with <P, K> = v'k for every kernel k given at the histogram's nodes."""
        histogram = self._histogram
        weights = P.scale * histogram.target_weights()
        if P.kernels:
            thetas = np.concatenate([kernel.theta for kernel in P.kernels])
            combined = P.coefficients @ histogram.at(self.radial, thetas)[0]
            weights += histogram.centered_weights(combined)
        return weights

    def _alignment(self, thetas: Array) -> tuple[float, Array]:
        """|L_c|^2 times the squared alignment of the best combination, and its gradient."""
        values, slopes = self._histogram.at(self.radial, thetas)
        a, M = self._moments(values)
        w = best_nonnegative(a, M)
        slope = self._histogram.target_products(slopes)
        slope -= slopes @ self._histogram.centered_weights(w @ values)
        return float(2.0 * w @ a - w @ M @ w), 2.0 * w * slope

    def _moments(self, values: Array) -> tuple[Array, Array]:
        """A and M of kernels given at the nodes."""
        weighted = self._histogram.centered_weights(values)
        return self._histogram.target_products(values), weighted @ values.T

    def _centered_norms(self, values: Array) -> Array:
        """|K_c| of each kernel given at the nodes; infinite where the kernel is constant."""
        squares = self._histogram.products(values)[1]
        return np.sqrt(np.where(squares > 0.0, squares, np.inf))
