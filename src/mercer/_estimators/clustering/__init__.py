"""Clustering by the dependence between kernels and cluster labels."""

from mercer._estimators.clustering.hsic_clustering import HSICClustering
from mercer._estimators.clustering.multiple_kernel_clustering import MultipleKernelClustering

__all__ = ["HSICClustering", "MultipleKernelClustering"]
