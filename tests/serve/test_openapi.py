"""The OpenAPI document: complete, and true of what a real service answers to anything at all."""

from __future__ import annotations

import pytest

schemathesis = pytest.importorskip("schemathesis", reason="needs the package schemathesis")
from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402
from schemathesis.checks import CHECKS  # noqa: E402

from prism_audio.serve.app import create_app  # noqa: E402
from prism_audio.serve.settings import ServiceSettings  # noqa: E402
from tests.helpers.bands import LABELS, BandEncoder  # noqa: E402

# A random body is no recording, so most requests that fit the document are rightly refused.
FIT = [check for check in CHECKS.get_all() if check.__name__ != "positive_data_acceptance"]
SCHEMA = schemathesis.openapi.from_dict(
    create_app(ServiceSettings(encoder=BandEncoder(), labels=LABELS)).openapi()
)
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations()]
# Every text is a name, so a request with nothing but a name in its path cannot be wrong.
REQUESTS = [(operation, schemathesis.GenerationMode.POSITIVE) for operation in OPERATIONS]
REQUESTS += [
    (operation, schemathesis.GenerationMode.NEGATIVE)
    for operation in OPERATIONS
    if operation.query or (operation.body and operation.method != "put")
]


@pytest.mark.parametrize(
    ("operation", "mode"), REQUESTS, ids=lambda given: getattr(given, "label", None) or given.value
)
def test_whatever_is_asked_is_answered_as_the_document_says(served, operation, mode):
    @settings(
        max_examples=12,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case):
        case.call_and_validate(base_url=served.url, checks=FIT)

    ask()


def operations(client):
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


def test_every_operation_is_described_with_an_example(client):
    document = client.get("/openapi.json").json()
    found = dict(operations(client))
    assert len({operation["operationId"] for operation in found.values()}) == len(found) == 26
    for name, operation in found.items():
        assert operation["summary"], name
        assert len(operation["description"]) > 20, name
        for parameter in operation.get("parameters", []):
            assert parameter["description"], (name, parameter["name"])
        good = [answer for code, answer in operation["responses"].items() if code[0] == "2"]
        assert len(good) == 1, name
        for kind, content in good[0].get("content", {}).items():
            if kind == "application/json":
                schema = document["components"]["schemas"][content["schema"]["$ref"].split("/")[-1]]
                assert schema["example"], name
            else:
                assert "example" in content or kind == "application/octet-stream", name


def test_every_refusal_has_the_same_shape(client):
    for name, operation in operations(client):
        for code, answer in operation["responses"].items():
            if int(code) >= 400 and not name.endswith("z"):  # the state, not an error
                reference = answer["content"]["application/problem+json"]["schema"]["$ref"]
                assert reference.endswith("/Problem"), (name, code)


def test_no_interactive_page_loads_scripts_from_elsewhere(client):
    assert client.get("/docs").status_code == client.get("/redoc").status_code == 404
