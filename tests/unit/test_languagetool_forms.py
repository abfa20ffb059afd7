"""What clients of LanguageTool send, rightly or not, and how they are refused."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from api.languagetool.form import parse_form
from tests.went_mailbox import WentMailbox, check, client_of_mailbox


@pytest.fixture
def client() -> FlaskClient:
    return client_of_mailbox(WentMailbox())


FORM = b"language=en-US&text=He+goed+home."


@pytest.mark.parametrize(
    "kind",
    ["application/json", "text/json", "text/plain", "multipart/form-data", "multipart/form-data; boundary=x", "", "?"],
)
def test_a_form_is_read_whatever_its_media_type_says(client: FlaskClient, kind: str) -> None:
    response = client.post("/v2/check", data=FORM, content_type=kind)

    assert [match["offset"] for match in response.get_json()["matches"]] == [3]


@pytest.mark.parametrize("text", ["He goed & she, 50%25 + 1 = 2%.", "Caf\u00e9s+in&out", "\u00c9he&text=goed&data=x"])
@pytest.mark.parametrize(
    "body",
    [
        "text={}&language=en-US",  # LibreOffice 7.4
        "text=It said &language=en-GB, and {}&language=en-US&level=picky",
        "username=a&apiKey=b&text={}&language=en-US",
        "language=en-US&text={}",
    ],
)
def test_a_form_that_is_not_encoded_is_read_as_it_is(body: str, text: str) -> None:
    form = parse_form(b"", body.format(text).encode())

    assert form.text is not None and form.text.endswith(text)
    assert form.language == "en-US" and (form.api_key == "b") == ("apiKey" in body)


@pytest.mark.parametrize("text", ["He goed home", "Tom & she goed, 2% & 1+1&x=1", "Caf\u00e9 &mode=a b"])
@pytest.mark.parametrize(
    "body",
    [
        "language=en-US&text={}&disabledRules=irregular_past&apiKey=k",
        "text={}&apiKey=k&level=picky&language=en-US&disabledRules=irregular_past",
        "text={}&disabledRules=irregular_past&apiKey=k&language=en-US",
    ],
)
def test_a_raw_text_ends_before_the_fields_behind_it(body: str, text: str) -> None:
    form = parse_form(b"", body.format(text).encode())

    assert form.text == text
    assert (form.language, form.disabled_rules, form.api_key) == ("en-US", "irregular_past", "k")


def test_an_encoded_form_without_a_blank_is_no_raw_one() -> None:
    assert parse_form(b"", b"text=caf%C3%A9+goed%2Bx&language=en").text == "caf\u00e9 goed+x"


def test_the_query_goes_before_the_body_and_is_enough_by_itself(client: FlaskClient) -> None:
    query = "/v2/check?text=She+goed.&language=en-GB"

    found = [client.get(query), client.post(query), client.post(query, data=FORM, content_type="application/json")]
    mixed = client.post("/v2/check?language=en-AU", data={"text": "They goed."}).get_json()

    assert [one.get_json()["matches"][0]["sentence"] for one in found] == ["She goed."] * 3
    assert mixed["matches"][0]["sentence"] == "They goed." and mixed["language"]["code"] == "en-AU"


@pytest.mark.parametrize("base", ["/v2/", "//v2", "//v2//"])
def test_a_base_url_may_end_with_a_slash(client: FlaskClient, base: str) -> None:
    statuses = [
        client.get("/", environ_overrides={"PATH_INFO": f"{base}{path}", "QUERY_STRING": FORM.decode()}).status_code
        for path in ("/languages", "/check")
    ]

    assert statuses == [200, 200]


@pytest.mark.parametrize("body", [b"language=en&text=%ff", b"language=en&text=\xff", b"language=en&text=a \xff"])
def test_what_is_no_utf_8_is_refused(client: FlaskClient, body: bytes) -> None:
    response = client.post("/v2/check", data=body)

    assert (response.status_code, response.get_data(as_text=True)) == (400, "Error: The form is not UTF-8.")


HTTPS = {"X-Forwarded-Proto": "https"}  # of the proxy in front of us


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v2/v2/check", 404),
        ("POST", "/v2/checks", 404),
        ("POST", "/v2/languages", 405),
        ("PUT", "/v2/check", 405),
    ],
)
def test_an_error_below_v2_is_a_line_that_names_the_base_url(
    client: FlaskClient, method: str, path: str, status: int
) -> None:
    response = client.open(
        path, method=method, base_url="http://lt.example:8443", data={"text": "He goed"}, headers=HTTPS
    )

    line = response.get_data(as_text=True)
    assert (response.status_code, response.content_type) == (status, "text/plain; charset=utf-8")
    assert line.startswith("Error: ") and "base URL of this API is https://lt.example:8443/v2;" in line
    assert ("Allow" in response.headers) == (status == 405) and "/correct" not in line
    strange = client.open(path, method=method, headers={"Host": "<script>"}).get_data(as_text=True)
    assert "is /v2;" in strange and "<" not in strange


def test_other_errors_below_v2_are_lines_of_text_too(client: FlaskClient) -> None:
    too_large = check(client, "x" * 300_000)
    header = client.get("/v2/languages", headers={"X-Request-ID": "x" * 200})
    elsewhere = client.get("/v3/check")

    assert [one.status_code for one in (too_large, header, elsewhere)] == [413, 400, 404]
    assert [one.mimetype for one in (too_large, header, elsewhere)] == [
        "text/plain", "text/plain", "application/problem+json",
    ]  # fmt: skip
