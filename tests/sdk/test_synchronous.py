"""`app.sync`: the same calls for code that is not async."""

import uuid

import psycopg
import pytest

from weft.app import App
from weft.base import errors


@pytest.fixture
def app(database_url: str) -> App:
    made = App(database_url=database_url)
    made.task(name="mail")(lambda: None)
    return made


def test_every_call_of_the_app_has_a_sync_form(app: App) -> None:
    try:
        made = app.sync.enqueue("mail", {})
        assert app.sync.get(made.id).state == "ready"
        assert len(app.sync.enqueue_many("mail", [{}, {}])) == 2
        assert app.sync.cancel(made.id) == "cancelled"
        with pytest.raises(errors.NotFound):
            app.sync.get(uuid.uuid4())
        with pytest.raises(errors.TaskCancelled):
            app.sync.result(made.id)
    finally:
        app.sync.close()


def test_what_is_no_coroutine_of_the_app_has_none(app: App) -> None:
    for name in ("task", "settings", "_must_be_served", "nothing"):
        with pytest.raises(AttributeError):
            getattr(app.sync, name)


def test_an_async_connection_is_refused_in_sync_code(app: App, database_url: str) -> None:
    with psycopg.connect(database_url) as yours:
        app.sync.enqueue("mail", {}, tx=yours)
        yours.rollback()
        assert yours.execute("select count(*) from weft.tasks").fetchone() == (0,)
