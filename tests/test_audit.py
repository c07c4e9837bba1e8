"""Public names compute what the papers' text says, to the digits that the audit's table states."""

import pytest
from audit_items import ITEMS, Item


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: f"{item.item} {item.public}")
def test_the_papers_text_and_the_public_name_agree(item: Item) -> None:
    assert item.agreement() >= item.digits
