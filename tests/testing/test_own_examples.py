"""`crash_everywhere` on the workflows that we show to others: the example, and the tutorial's shop."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import blocks
from weft import App
from weft.testing.crashes import crash_everywhere

ROOT = Path(__file__).parents[2]


def loaded(path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"own_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where its dataclasses look for their module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("approved, state", [(True, "completed"), (False, "compensated")])
async def test_the_example_comes_out_the_same_wherever_it_crashes(
    app: App, monkeypatch: pytest.MonkeyPatch, approved: bool, state: str
) -> None:
    module = loaded(ROOT / "examples" / "checkout.py", monkeypatch)
    app.declared = module.app.declared
    found = await crash_everywhere(
        app, module.checkout, "o-1", 500, ["hat", "coat"], signals=[("approval", approved)]
    )
    assert found.came.state == state and found.places > 2


@pytest.mark.parametrize("items, signals, state", [
    (["hat", "coat"], [("approval", True)], "completed"),
    (["hat", "unicorn"], [("approval", True)], "compensated"),
    (["hat"], [], "compensated"),
])  # fmt: skip
async def test_the_tutorials_shop_comes_out_the_same_wherever_it_crashes(
    app: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, items: list[str], signals: list[Any], state: str
) -> None:
    page = blocks.read(ROOT / "docs" / "order-workflow.md")
    (tmp_path / "shop.py").write_text(next(block.text for block in page if block.name == "shop.py"))
    module = loaded(tmp_path / "shop.py", monkeypatch)
    app.declared = module.app.declared
    found = await crash_everywhere(app, module.checkout, module.Order("o-9", 500, items), signals=signals)
    assert found.came.state == state and found.places > 2
