"""Zip the built site. The same pages give the same bytes.

    python docs/archive.py docs/_build/html dist

writes `dist/mercer-<version>-docs.zip`. The archive has no times of files, no caches of Sphinx, and
its pages in the order of their names; `index.html` opens in a browser without a server.
"""

from __future__ import annotations

import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import mercer

LEFT_OUT = {".doctrees", ".buildinfo", ".buildinfo.bak", "objects.inv.bak"}
"""What Sphinx keeps for its next build."""


def write_archive(site: Path, path: Path) -> None:
    """Write all files of a folder into an archive.

    Parameters
    ----------
    site : Path
        The folder of the built site.
    path : Path
        The archive. Its one folder has the same name.
    """
    files = [file for file in site.rglob("*") if file.is_file()]
    kept = [file for file in files if not LEFT_OUT & set(file.relative_to(site).parts)]
    if not any(file.name == "index.html" for file in kept):
        raise FileNotFoundError(f"{site} holds no site: build it with make -C docs html")
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted(kept, key=lambda file: file.relative_to(site).as_posix()):
            name = ZipInfo(f"{path.stem}/{file.relative_to(site).as_posix()}")
            name.compress_type, name.external_attr = ZIP_DEFLATED, 0o644 << 16
            archive.writestr(name, file.read_bytes())


def main() -> None:
    """Zip the folder that the command line names."""
    site, folder = map(Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"mercer-{mercer.__version__}-docs.zip"
    write_archive(site, path)
    sys.stdout.write(f"{path} {path.stat().st_size / 1e6:.1f} MB\n")


if __name__ == "__main__":
    main()
