"""The OpenAPI document and a page made from it: no script, no other host, works offline."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from typing import Any

import msgspec
from fastapi import APIRouter, Response

from api.openapi import Document
from api.problems import PROBLEMS

_STYLE = """
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{max-width:60rem;margin:0 auto;padding:1rem}
h2{margin-top:2.5rem}
h3{margin:2rem 0 .3rem;font-size:1rem}
code,pre{font:.875rem/1.45 ui-monospace,monospace}
pre{overflow-x:auto;padding:.6rem;border:1px solid #8886;border-radius:.3rem}
table{border-collapse:collapse;width:100%;margin:.5rem 0}
th,td{text-align:left;vertical-align:top;padding:.2rem .6rem .2rem 0;border-bottom:1px solid #8884}
summary{cursor:pointer}
""".strip()
_POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-"
    + base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    + "'"
)
_SCHEMA_PREFIX = "#/components/schemas/"


def documentation_routes(document: Document) -> APIRouter:
    """Return ``/openapi.json`` and ``/docs``."""
    routes = APIRouter()

    @routes.get("/openapi.json")
    async def openapi_json() -> Response:
        """Return the OpenAPI document."""
        return Response(document.encoded(), media_type="application/json")

    @routes.get("/docs")
    async def documentation_page() -> Response:
        """Return the document as a page for people."""
        page = render(msgspec.json.decode(document.encoded()))
        return Response(page, media_type="text/html", headers={"Content-Security-Policy": _POLICY})

    return routes


def render(document: dict[str, Any]) -> str:
    """Return an OpenAPI document as one page of HTML."""
    info = document["info"]
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style></head><body><main>",
            f"<h1>{escape(info['title'])} {escape(info['version'])}: API</h1>",
            f"<p>{escape(info['description'])}</p>",
            '<p>Machines read <a href="/openapi.json"><code>/openapi.json</code></a>.</p>',
            "<h2>Routes</h2>",
            *_routes(document["paths"]),
            "<h2>Problems</h2>",
            "<p>Every error is <code>application/problem+json</code> (RFC 9457).</p>",
            *_problems(),
            "<h2>Schemas</h2>",
            *_schemas(document["components"]["schemas"]),
            "</main></body></html>",
        ]
    )


def _routes(paths: dict[str, Any]) -> Iterator[str]:
    for path, methods in paths.items():
        for method, route in methods.items():
            yield f'<h3 id="{escape(route["operationId"])}"><code>{method.upper()} {escape(path)}</code></h3>'
            yield f"<p>{escape(route.get('description', ''))}</p>"
            parameters = route.get("parameters", [])
            if parameters:
                rows = [
                    (part["name"], _kind(part["schema"]), part.get("description", "")) for part in parameters
                ]
                yield _table(("parameter", "value", "meaning"), rows)
            if "requestBody" in route:
                content = route["requestBody"]["content"]["application/json"]
                example = msgspec.json.format(msgspec.json.encode(content["example"]), indent=1).decode()
                needed = "needed" if route["requestBody"]["required"] else "optional"
                yield f"<p>Body ({needed}): {_kind(content['schema'])}</p><pre>{escape(example)}</pre>"
            yield _table(
                ("answer", "body", "meaning"),
                [
                    (status, _body(answer), answer["description"])
                    for status, answer in route["responses"].items()
                ],
            )


def _problems() -> Iterator[str]:
    for name, (status, title, meaning) in PROBLEMS.items():
        yield f'<h3 id="{name}">{status} {escape(title)}</h3><p>{escape(meaning)}</p>'


def _schemas(schemas: dict[str, Any]) -> Iterator[str]:
    for name, schema in schemas.items():
        yield f'<details id="schema-{escape(name)}"><summary><code>{escape(name)}</code></summary>'
        yield f"<p>{escape(schema.get('description', ''))}</p>"
        needed = set(schema.get("required", []))
        rows = [
            (field + ("" if field in needed else " (optional)"), _kind(part), part.get("description", ""))
            for field, part in schema.get("properties", {}).items()
        ]
        if rows:
            yield _table(("field", "value", "meaning"), rows)
        if "enum" in schema:
            yield f"<p>One of {escape(', '.join(map(str, schema['enum'])))}.</p>"
        yield "</details>"


def _table(head: tuple[str, ...], rows: list[tuple[str, str, str]]) -> str:
    """Return a table; the middle column is HTML already."""
    lines = [
        f"<tr><td><code>{escape(first)}</code></td><td>{middle}</td><td>{escape(last)}</td></tr>"
        for first, middle, last in rows
    ]
    heading = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    return f"<table><thead><tr>{heading}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _body(answer: dict[str, Any]) -> str:
    return ", ".join(
        f"<code>{escape(media_type)}</code> {_kind(content.get('schema', {}))}"
        for media_type, content in answer.get("content", {}).items()
    )


def _kind(schema: dict[str, Any]) -> str:
    """Return what a value may be, as HTML."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_SCHEMA_PREFIX)
        return f'<a href="#schema-{escape(name)}">{escape(name)}</a>'
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(_kind(part) for part in schema[key])
    if "enum" in schema:
        return escape(" or ".join(map(str, schema["enum"])))
    kind = escape(str(schema.get("type", "")))
    if "items" in schema and isinstance(schema["items"], dict):
        kind += f" of {_kind(schema['items'])}"
    for key, sign in (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤")):
        if key in schema:
            kind += f" {sign} {schema[key]}"
    if "default" in schema:
        default = msgspec.json.encode(schema["default"]).decode()
        kind += f", default <code>{escape(default)}</code>"
    return kind
