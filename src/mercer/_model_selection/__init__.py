"""Settings chosen by the losses of kernels on held-out samples."""
