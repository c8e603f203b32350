"""The table of protocols has all of them, and the table of fields every field."""

import msgspec
import pytest
from code_blocks import ROOT

from errands.runs import Protocol, named_protocols

PAGE = (ROOT / "docs" / "reference" / "protocols.md").read_text("utf-8")


@pytest.mark.parametrize("protocol", named_protocols().values(), ids=lambda one: one.title)
def test_a_protocol_is_told_of(protocol: Protocol) -> None:
    begin = f"| `{protocol.id}` | {protocol.version} | `{protocol.data}` |"
    [row] = [line for line in PAGE.splitlines() if line.startswith(begin)]
    assert row.endswith(f"| {protocol.max_steps} | {protocol.title} |")


def test_every_field_is_explained() -> None:
    fields = {field.name for field in msgspec.structs.fields(Protocol)} - {"id"}
    assert {name for name in fields if f"`{name}`" not in PAGE} == set()
