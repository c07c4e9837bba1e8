"""Arithmetic of Gram matrices that are never held all at once."""
