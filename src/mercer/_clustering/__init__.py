"""Clustering by the dependence between kernels and the clusters' labels."""

from mercer._clustering.clusterers import HSICClustering, MultipleKernelClustering

__all__ = ["HSICClustering", "MultipleKernelClustering"]
