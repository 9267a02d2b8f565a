"""The OpenAPI document and docs/reference/rest.md say what the code does."""

import re
from typing import Any

import msgspec
import pytest
from calling import Caller

import rest_page
from each import each
from weft.access import orgs
from weft.api import openapi, policy, routes
from weft.api import tasks as tasks_api
from weft.api.errors import STATUS
from weft.api.operation import Operation
from weft.base import errors

OPERATIONS = {one.name: one for one in routes.operations()}
WITH_BODY = [name for name, one in OPERATIONS.items() if one.body is not None]


def document() -> dict[str, Any]:
    return openapi.document(list(OPERATIONS.values()))


def test_the_reference_lists_every_operation_as_it_is() -> None:
    written = rest_page.PAGE.read_text()
    assert re.findall(r"^## ((?:GET|POST|PUT|PATCH|DELETE) .*)$", written, re.M) == list(OPERATIONS)
    assert written == rest_page.page(), "run: python tests/rest_page.py"


async def test_the_server_shows_the_document(api: Caller) -> None:
    shown = (await api.get("/v1/openapi.json", role="reader")).json()
    assert shown == msgspec.json.decode(msgspec.json.encode(document()))
    assert shown["openapi"] == "3.1.0"


def test_every_operation_is_in_the_document_with_its_roles_and_errors() -> None:
    paths = document()["paths"]
    for one in OPERATIONS.values():
        written = paths[one.template][one.method.lower()]
        assert written["summary"] and written["operationId"]
        refusals = {status for status, answer in written["responses"].items() if "Error" in str(answer)}
        if one.action == policy.PUBLIC:
            assert "security" not in written
        else:
            assert written["security"] and {"401", "403"} <= refusals, one.name
            assert set(written["x-roles"]) == policy.ACTIONS[one.action]
    ids = [openapi.operation_id(one) for one in OPERATIONS.values()]
    assert len(set(ids)) == len(ids)


def test_the_areas_of_a_route_file_are_those_of_its_paths() -> None:
    for file, areas in routes.FILES.items():
        assert sorted(areas) == sorted({routes.area(one.path) for one in routes.operations([file])}), file
    # a parameter there would be an area of its own for each of its values
    assert not [one for areas in routes.FILES.values() for one in areas if "{" in one]


@each("name", OPERATIONS)
async def test_a_part_of_the_api_has_what_is_near(name: str) -> None:
    near = routes.near(OPERATIONS[name].template.format(**dict.fromkeys(OPERATIONS[name].parameters, "x/y")))
    assert name in {one.name for one in routes.operations(near)}


def test_whoever_asks_for_the_document_has_all_of_it() -> None:
    assert routes.near("/v1/openapi.json") == list(routes.FILES)
    assert routes.near("/v1/nothing") == routes.near("/") == routes.near("") == []


def test_nothing_refers_to_what_is_not_there() -> None:
    written = document()
    names = set(re.findall(r"#/components/schemas/([^\"']+)", str(written)))
    assert names and names <= set(written["components"]["schemas"])


@pytest.mark.parametrize("name", WITH_BODY)
def test_an_operation_with_a_body_has_an_example_that_fits(name: str) -> None:
    one = OPERATIONS[name]
    assert one.example is not None, f"give {name} an example"
    msgspec.convert(one.example, one.body)


@pytest.mark.parametrize("name", [name for name, one in OPERATIONS.items() if one.answer_example is not None])
def test_an_example_of_an_answer_fits(name: str) -> None:
    one = OPERATIONS[name]
    fitting = msgspec.json.decode(msgspec.json.encode(one.answer_example), type=one.answer)
    if isinstance(one.answer_example, dict) and hasattr(one.answer, "__struct_fields__"):
        assert set(one.answer_example) <= set(one.answer.__struct_encode_fields__), name
    assert fitting is not None


def test_every_body_and_query_refuses_what_it_does_not_know() -> None:
    for one in OPERATIONS.values():
        for kind in (one.body, one.query):
            if kind is not None:
                # what an issuer sends back is its own to say
                theirs = one.name == "GET /v1/login/oidc/back"
                assert theirs or kind.__struct_config__.forbid_unknown_fields, f"{one.name}: {kind.__name__}"


def test_what_types_cannot_say_is_in_the_document() -> None:
    schema = document()["components"]["schemas"]["NewTask"]
    assert {name: schema[name] for name in tasks_api.NewTask.schema_extra} == tasks_api.NewTask.schema_extra


def test_every_error_has_a_status() -> None:
    ours = {one.code for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.WeftError)}
    assert len(ours) > 20
    assert set(STATUS) == ours | {"INTERNAL"}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_code_an_operation_names_is_known(name: str) -> None:
    one: Operation = OPERATIONS[name]
    assert set(one.errors) <= set(STATUS)


@pytest.mark.parametrize("slug", ["2fa", "a", "finance-2026"])
def test_a_role_may_be_called_what_its_document_says(slug: str) -> None:
    [parameter] = document()["paths"]["/v1/roles/{slug}"]["get"]["parameters"]
    assert re.fullmatch(parameter["schema"]["pattern"], slug) and orgs.check_slug(slug, what="role") == slug
    assert not re.fullmatch(parameter["schema"]["pattern"], "_private")
