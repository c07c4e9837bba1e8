"""Losses of kernel machines: values, conjugates, and the machine for a Gram matrix."""

from mercer.losses._loss import Boxes, Loss, Machine, QuadraticModel
from mercer.losses._smooth import Logistic, Squared
from mercer.losses._support_vector import EpsilonInsensitive, Hinge

__all__ = [
    "Boxes",
    "EpsilonInsensitive",
    "Hinge",
    "Logistic",
    "Loss",
    "Machine",
    "QuadraticModel",
    "Squared",
]
