"""Computations with Gram matrices, tile by tile, so that they need not all be in memory."""
