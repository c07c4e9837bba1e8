"""Prints the versions of all packages that an extra of mercer needs, as they are installed here.

    .venv/bin/python .ci/tested.py dev > constraints.txt

The versions are pip's constraints: what was tested is installed by
`pip install -c constraints.txt mercer`.
"""

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement


def needed(name: str, extras: frozenset[str], found: dict[str, str]) -> None:
    """Add the versions of what a distribution needs with some of its extras."""
    for line in distribution(name).requires or []:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
            continue
        key = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if key == "mercer":
            needed(name, frozenset(requirement.extras), found)
        elif key not in found or requirement.extras:
            try:
                found[key] = distribution(requirement.name).version
            except PackageNotFoundError:
                sys.stderr.write(f"{requirement.name} is not installed, and is left out\n")
                continue
            needed(requirement.name, frozenset(requirement.extras), found)


versions: dict[str, str] = {}
needed("mercer", frozenset(sys.argv[1:]), versions)
sys.stdout.write("# The tests passed with these versions, ")
sys.stdout.write(f"in Python {'.'.join(map(str, sys.version_info[:3]))}.\n")
sys.stdout.writelines(f"{name}=={versions[name]}\n" for name in sorted(versions))
