"""Finding the app a command names."""

from pathlib import Path

import pytest

from weft.base import errors
from weft.sdk import loading


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_module_and_a_name_lead_to_the_object(here: Path) -> None:
    (here / "loading_shop.py").write_text("app = 'the app'\nclass inner:\n    other = 'another'\n")
    assert loading.load("loading_shop:app") == "the app"
    assert loading.load("loading_shop") == "the app"
    assert loading.load("loading_shop:inner.other") == "another"


def test_a_module_that_is_not_there_is_named(here: Path) -> None:
    with pytest.raises(errors.ConfigError, match="there is no module 'loading_nowhere' here; name the file"):
        loading.load("loading_nowhere:app")


def test_a_name_that_is_not_there_is_named(here: Path) -> None:
    (here / "loading_empty.py").write_text("")
    with pytest.raises(errors.ConfigError, match="loading_empty has no 'app'; write module:name_of_your_App"):
        loading.load("loading_empty")


def test_a_module_that_lacks_one_of_its_own_says_which(here: Path) -> None:
    (here / "loading_broken.py").write_text("import loading_missing_dependency\n")
    with pytest.raises(ModuleNotFoundError, match="loading_missing_dependency"):
        loading.load("loading_broken")
