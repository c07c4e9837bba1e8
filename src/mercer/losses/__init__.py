"""Losses that kernel machines minimize, for multiple kernel learning."""

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
