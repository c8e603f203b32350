"""The tutorial notebook, run from top to bottom in a kernel of its own."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "first-episode.ipynb"


# The kernel's own libraries warn of what they will change.
@pytest.mark.filterwarnings("default")
def test_every_cell_runs_and_shows_something(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in cells), "what cells show is not kept in the repository"
    NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    assert all(cell.outputs for cell in cells)
    parts = [part for cell in cells for part in cell.outputs]
    page = "\n".join(part.get("text") or part.data.get("text/html", "") for part in parts)
    assert "5,000 products" in page
    assert "snug golf polo in xx-large" in page
    assert "Success Rate (%)" in page
