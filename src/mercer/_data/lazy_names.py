"""Names of packages that are imported on first access."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    namespace: dict[str, Any], modules: Mapping[str, str], packages: Sequence[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    namespace : dict
        The globals of the package, with `__name__` and `__all__`.
    modules : mapping from str to str
        The names that each module defines, separated by spaces.
    packages : sequence of str, default=()
        Modules that are available as attributes of the package.
    """
    package = namespace["__name__"]

    def get(name: str) -> object:
        if name in packages:
            return import_module(f"{package}.{name}")
        for module, names in modules.items():
            if name in names.split():
                namespace[name] = getattr(import_module(module), name)
                return namespace[name]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted({*namespace, *namespace["__all__"], *packages})
