"""Prints pip's constraints for the oldest release of each package that pyproject.toml allows."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
listed = [*project["dependencies"], *(each for name in extras for each in extras[name])]
oldest = {}
for requirement in listed:
    if found := re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", requirement):
        # The extra `docs` needs a newer scikit-learn than the package does.
        oldest.setdefault(found[1], found[2])
for name, version in oldest.items():
    print(f"{name}=={version}.*")  # noqa: T201
