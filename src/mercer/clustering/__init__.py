"""Clustering by the dependence between kernels and the clusters' labels."""

from mercer.clustering.multiple import MultipleKernelClustering
from mercer.clustering.single import HSICClustering

__all__ = ["HSICClustering", "MultipleKernelClustering"]
