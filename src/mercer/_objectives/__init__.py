"""Objectives of kernels on samples: values, and gradients in the log-parameters."""
