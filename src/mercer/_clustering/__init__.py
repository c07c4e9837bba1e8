"""Clustering by the dependence between kernels and the clusters' labels."""

from mercer._clustering.hsic_clustering import HSICClustering
from mercer._clustering.multiple_kernel_clustering import MultipleKernelClustering

__all__ = ["HSICClustering", "MultipleKernelClustering"]
