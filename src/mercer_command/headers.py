"""Names of the columns of text files, by their first line."""

from collections import Counter
from itertools import count

from mercer_command.messages import listing


def names_of(rows: list[list[str]]) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns' names, and notes on those that are invented, repeated or look like data.

    Parameters
    ----------
    rows : list of list of str
        The first ones of the file; the first of all holds the names.
    """
    names, notes = [name.strip() for name in rows[0]], list[str]()
    sizes = Counter(len(row) for row in rows[1:-1] or rows[1:])
    if sizes and sizes.most_common(1)[0][0] == len(names) + 1:
        names = ["row name", *names]
        notes.append("the first column has no name and is called 'row name'")
    if _are_data(names, rows[1:]):
        notes.append(
            f"the first line is taken for names although it looks like data: {listing(names)}; if "
            "the table has no names of columns, say --no-header"
        )
    unnamed = [position for position, name in enumerate(names) if not name]
    for position in unnamed:
        names[position] = f"Unnamed: {position}"
    if unnamed:
        notes.append(f"columns without a name are called {listing(names[p] for p in unnamed)}")
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if repeated:
        notes.append(f"names occur twice and get a number: {listing(repeated)}")
    return tuple(_numbered(names)), notes


def _are_data(names: list[str], rows: list[list[str]]) -> bool:
    """Whether half of the names could be cells of their columns, by what these hold."""
    columns = list(zip(*(row for row in rows if len(row) == len(names)), strict=True))
    alike = 0
    for name, cells in zip(names, columns, strict=False):
        known = [cell.strip() for cell in cells if cell.strip()]
        if name and known:
            numbers = sum(map(_is_number, known)) >= 0.9 * len(known)
            alike += _is_number(name) if numbers else name in known
    return 2 * alike >= max(2, len(names))


def numbered_names(n_columns: int) -> tuple[str, ...]:
    """Return the names of columns of a table without a header.

    Parameters
    ----------
    n_columns : int
    """
    return tuple(f"column {k}" for k in range(1, n_columns + 1))


def _numbered(names: list[str]) -> list[str]:
    """Append .1, .2, ... to names that occurred before."""
    counters, taken, out = {name: count(1) for name in names}, set(names), dict[str, None]()
    for name in names:
        new = name
        if name in out:
            numbered = (f"{name}.{number}" for number in counters[name])
            new = next(one for one in numbered if one not in taken)
            taken.add(new)
        out[new] = None
    return list(out)


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
