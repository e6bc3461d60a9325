"""Secrets are taken out, their neighbors stay, and ordinary text is not touched."""

from __future__ import annotations

import base64
import hashlib
import json
import time
import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_core.errors import ConfigurationError
from hindsight_core.safety.redact import Redactor
from hindsight_core.steps import Step, ToolCall
from hindsight_core.trajectory import Outcome, Trajectory

redactor = Redactor()

# Made-up values in the shape of the real ones, joined from parts so that no scanner minds them.
AWS_KEY = "AKIA" + "IOSFODNN7EXAMPLE"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"
GITHUB = "ghp_" + "a1B2c3D4e5" * 4
GITHUB_PAT = "github_pat_" + "11ABCDEFG0" * 4
GITLAB = "glpat-" + "a1B2c3D4e5F6g7H8i9J0"
SLACK = "xoxb-" + "123456789012-abcdefABCDEF"
OPENAI = "sk-proj-" + "a1B2c3D4e5" * 4
OPENAI_OLD = "sk-" + "a1B2c3D4e5" * 4
ANTHROPIC = "sk-ant-api03-" + "a1B2c3D4e5" * 4
GOOGLE = "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6q"
STRIPE = "sk_live_" + "a1B2c3D4e5F6g7H8"
JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0" + ".c2lnbmF0dXJl"
PEM = "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----".format(
    "\n".join(["MIIEowIBAAKCAQEAx0b1" * 3] * 4 + ["c2hvcnQ="])
)

SECRETS = [
    ("aws_key", AWS_KEY, AWS_KEY),
    ("aws_secret", f"aws_secret_access_key = {AWS_SECRET}", AWS_SECRET),
    ("aws_secret", f'"SecretAccessKey": "{AWS_SECRET}"', AWS_SECRET),
    ("github_token", GITHUB, GITHUB),
    ("github_token", GITHUB_PAT, GITHUB_PAT),
    ("gitlab_token", GITLAB, GITLAB),
    ("slack_token", SLACK, SLACK),
    ("slack_webhook", "https://hooks.slack.com/services/T0/B0/a1b2c3d4e5f6g7h8", "a1b2c3d4"),
    ("openai_key", OPENAI, OPENAI),
    ("openai_key", OPENAI_OLD, OPENAI_OLD),
    ("anthropic_key", ANTHROPIC, ANTHROPIC),
    ("google_key", GOOGLE, GOOGLE),
    ("stripe_key", STRIPE, STRIPE),
    ("api_token", "hf_" + "a1B2c3D4e5" * 3, "a1B2c3D4e5"),
    ("jwt", JWT, JWT),
    ("authorization", "Authorization: Bearer abc123def456", "abc123def456"),
    ("authorization", '{"Authorization": "token abc123def456"}', "abc123def456"),
    ("authorization", "Proxy-Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("authorization", "sent bearer abcdef0123456789xyz", "abcdef0123456789xyz"),
    ("authorization", "sent Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"),
    ("authorization", "authorization: " + "a1" * 5_000, "a1a1"),
    ("private_key", PEM, "MIIE"),
    ("private_key", PEM.replace("\n", "\\n"), "MIIE"),
    ("private_key", PEM.replace("\n", "\\\\n"), "MIIE"),
    ("private_key", PEM.replace("\n", "\\r\\n"), "MIIE"),
    ("private_key", PEM.replace("\n", " "), "MIIE"),
    ("private_key", PEM.replace("RSA PRIVATE", "OPENSSH PRIVATE"), "MIIE"),
    ("private_key", PEM.replace("RSA ", ""), "MIIE"),
    ("private_key", PEM.replace("KEY-", "KEY BLOCK-"), "MIIE"),
    ("private_key", PEM[:150], "MIIE"),
    ("private_key", PEM[:150].replace("\n", "\\n"), "MIIE"),
    ("private_key", PEM[40:], "b1MIIE"),
    ("private_key", PEM[40:].replace("\n", "\\n"), "b1MIIE"),
    (
        "private_key",
        PEM[:150].replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB\n\n"),
        "MIIE",
    ),
    ("url_password", "postgres://bob:hunter2@db.example.org:5432/x", "hunter2"),
    ("url_password", "redis://:hunter2@localhost", "hunter2"),
    ("url_password", "https://bob:p@ss:w0rd@example.org/", "p@ss:w0rd"),
    ("password", '{"password": "hunter2", "user": "bob"}', "hunter2"),
    ("password", '{"db": {"passwd":"h"}, "pwd": "hunter2"}', "hunter2"),
    ("password", json.dumps(json.dumps({"password": "hunter2"})), "hunter2"),
    ("password", json.dumps({"password": 'hun"ter2'}), "ter2"),
    ("password", "DB_PASSWORD=correcthorse", "correcthorse"),
    ("password", "DB_PASS=correcthorse2", "correcthorse2"),
    ("password", "db:\n  password: hunter\n  user: bob", "hunter"),
    ("password", "password: hunter2", "hunter2"),
    ("password", "connect(host='h', password='p@ss')", "p@ss"),
    ("password", 'File "a.py", line 3\n    login(user, password="hunter2")', "hunter2"),
    ("password", '{"password": "supersecret"}', "supersecret"),
    ("password", '{"password": "correct horse battery 9"}', "horse"),
    ("password", "psql 'host=x password=hunter user=y'", "hunter"),
    ("password", "mysql --password hunter2 --user bob", "hunter2"),
    ("password", "mysql --db-password=hunter", "hunter"),
    ("password", "curl -u bob:hunter2 https://example.org", "hunter2"),
    ("password", "my password is hunter2!", "hunter2"),
    ("password", "密码：abc123", "abc123"),
    ("password", "密码是 abc123，请保密", "abc123"),
    ("password", "password='" + "a1b2" * 500 + "'", "a1b2"),
    ("password", "password=" + "a1b2" * 500, "a1b2"),
    ("api_key", "X-Api-Key: abcd1234efgh", "abcd1234efgh"),
    ("api_key", "https://example.org/?api_key=abcd1234efgh&b=1", "abcd1234efgh"),
    ("api_key", "os.environ['API_KEY'] = 'abcd1234efgh'", "abcd1234efgh"),
    ("api_key", "run --api-key abcdefgh", "abcdefgh"),
    ("api_key", "AccountKey=abcdefghijk123==;EndpointSuffix=x", "abcdefghijk123=="),
    ("secret", "client_secret=abcd1234efgh", "abcd1234efgh"),
    ("secret", "SECRET_KEY = 'django-insecure-a1b2c3'", "django-insecure-a1b2c3"),
    ("token", "token: abcd1234efgh5678", "abcd1234efgh5678"),
    ("token", 'accessToken: str = "abcd1234efgh"', "abcd1234efgh"),
    ("token", "export API_TOKEN=abcdefgh1234", "abcdefgh1234"),
]


@pytest.mark.parametrize(("kind", "text", "secret"), SECRETS)
@pytest.mark.parametrize(("before", "after"), [("", ""), ("see: ", " and go on"), ("(", ")\n")])
def test_a_secret_is_taken_out_and_its_neighbors_stay(
    kind: str, text: str, secret: str, before: str, after: str
) -> None:
    clean = redactor.redact(before + text + after)
    assert clean.counts.get(kind) == 1, clean
    assert secret not in clean.text
    assert f"[redacted:{kind}]" in clean.text
    assert clean.text.startswith(before)
    assert clean.text.endswith(after)
    again = redactor.redact(clean.text)
    assert (again.text, again.counts) == (clean.text, {})


def test_a_word_is_a_password_in_settings_and_a_variable_in_code() -> None:
    assert redactor.redact("password=hunter").text == "password=[redacted:password]"
    assert redactor.redact("f(password=hunter)").text == "f(password=hunter)"
    assert redactor.redact("f(password=hunter, x=1)").text == "f(password=hunter, x=1)"


def test_names_users_and_hosts_around_a_secret_are_kept() -> None:
    text = f"postgres://bob:hunter2@db:5432/x key={AWS_KEY}, then\n" + '{"password": "pw9", "a": 1}'
    clean = redactor.redact(text)
    assert clean.text == (
        "postgres://bob:[redacted:url_password]@db:5432/x key=[redacted:aws_key], then\n"
        '{"password": "[redacted:password]", "a": 1}'
    )
    assert clean.counts == {"url_password": 1, "aws_key": 1, "password": 1}


def test_a_key_in_json_leaves_valid_json() -> None:
    text = json.dumps({"key": PEM, "user": "bob"})
    assert json.loads(redactor.redact(text).text) == {
        "key": "[redacted:private_key]",
        "user": "bob",
    }


def test_two_keys_cut_off_one_after_the_other_both_go() -> None:
    text = f"{PEM[:150]}\n{PEM}\nrest of the page"
    clean = redactor.redact(text)
    assert clean.text.endswith("\nrest of the page")
    assert "MIIE" not in clean.text
    assert clean.counts == {"private_key": 2}


def test_a_cut_key_does_not_take_the_page_with_it() -> None:
    text = (
        f"It begins:\n{PEM[:93]}\n\nThen follows an ordinary sentence about internationalization."
    )
    clean = redactor.redact(text).text
    assert clean.startswith("It begins:\n[redacted:private_key]\n")
    assert clean.endswith("Then follows an ordinary sentence about internationalization.")


def test_an_end_far_from_its_beginning_is_another_key() -> None:
    text = PEM[:150] + "\n" + "plain words here. " * 3_000 + "\n" + PEM[40:]
    clean = redactor.redact(text)
    assert clean.counts == {"private_key": 2}
    assert clean.text.count("plain words here.") == 3_000


BENIGN = [
    "",
    "The quick brown fox",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    hashlib.sha256(b"x").hexdigest(),
    "sha256:" + hashlib.sha256(b"y").hexdigest(),
    str(uuid.UUID(int=2**100 + 12345)),
    "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 8).decode(),
    "https://example.org/a/b?page=2&sort=asc#top",
    "https://example.org:8080/@user/post",
    "https://medium.com/@someone/a-story-1a2b3c4d5e6f",
    "git@github.com:owner/repo.git",
    "mailto:someone@example.org",
    "docker run -u 1000:1000 image",
    "def get_password(user, password=None):",
    "password = getpass.getpass()",
    "password = os.environ['DB_PASSWORD']",
    "self.password = password",
    "login(user, password=password)",
    "login(user, password=user_password, token=token)",
    "token = get_token()",
    "token = tokens[i]",
    "if token == other.token:",
    'if token == "(":',
    "token_count = 512; max_tokens=1024",
    "tokens: 128",
    "token: 50256",
    '{"token": "the", "pos": "DET"}',
    '{"next_page_token": "CAEQAA1234567890"}',
    "pad_token: 128001xx",
    '{"password": null, "token": "", "secret": "<hidden>"}',
    '{"password": "Enter your password", "label": "Password"}',
    '{"password": "密码"}',
    '{"password": "This field is required."}',
    '{"password": "user_password"}',
    "token=my_access_token",
    "Password: Hunter",
    "the password: hunter",
    '{"type": "string", "name": "password"}',
    '{"password": "********"}',
    "password: required",
    "Password: must be at least 8 characters",
    "The secret: never give up",
    "The secret is patience.",
    "password=${DB_PASSWORD}",
    "password=<your password>",
    "API_KEY=your-api-key",
    "api_key: YOUR_API_KEY_HERE",
    "Authorization: Bearer ${TOKEN}",
    "Authorization: Bearer <token>",
    "Bearer authentication is required",
    "bearer authentication-and-authorization",
    "basic understanding of algebra",
    "Basic authentication",
    "postgres://user:${PASSWORD}@host/db",
    "postgres://user:<password>@host/db",
    "postgres://user@host/db",
    "ERROR 1045: Access denied for user 'x'@'localhost' (using password: YES)",
    "sk-fading-circle-container",
    "class='sk-spinner sk-spinner-three-bounce'",
    "xoxb-your-slack-token-goes-here",
    "eyJ is how such a token starts",
    "ASIA is a continent; AKIA is a prefix",
    "-----BEGIN CERTIFICATE-----\n" + "MIIB" * 16 + "\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\n" + "MIIB" * 16 + "\n-----END PUBLIC KEY-----",
    "It starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
    "look for -----END RSA PRIVATE KEY----- at the end",
    "-----BEGIN RSA PRIVATE KEY-----",
    "bypass: 3 ways; compass=north; pass: 1200 tests",
    "the user forgot his password and asked for a new one",
    "密码学是研究编写密码的科学",
    "请输入密码：",
    "令牌环网络",
    "secretary: Jane Doe, 2nd floor",
    "tokenizer = AutoTokenizer.from_pretrained('bert-base-uncased')",
    "key: value, primary_key=id, foreign_key=user_id2",
    "for key in keys: print(key, access[key])",
    "[redacted:aws_key] [redacted:password]",
    "password=[redacted:password]",
    "a\0b \ud800 é 中文 😀",
]


@pytest.mark.parametrize("text", BENIGN)
def test_ordinary_text_is_not_touched(text: str) -> None:
    clean = redactor.redact(text)
    assert (clean.text, clean.counts) == (text, {})


@given(st.binary(max_size=2_000))
def test_base64_is_not_touched(data: bytes) -> None:
    text = "data:image/png;base64," + base64.b64encode(data).decode()
    assert redactor.redact(text).text == text


@given(st.uuids(), st.binary(min_size=1, max_size=20))
def test_ids_and_hashes_are_not_touched(key: uuid.UUID, data: bytes) -> None:
    text = f"run {key} at {hashlib.sha1(data).hexdigest()} of {hashlib.sha256(data).hexdigest()}"
    assert redactor.redact(text).text == text


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=80))
def test_chinese_text_is_not_touched(text: str) -> None:
    assert redactor.redact(text).text == text


FRAGMENTS = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from([text for _, text, _ in SECRETS if len(text) < 500]),
        st.sampled_from(
            [" ", "\n", "=", ": ", '"', "'", "\\", "password", "token=", "Bearer ", "@", "://"]
        ),
        st.sampled_from(["[redacted:jwt]", "[redacted:", "]", "-----BEGIN PRIVATE KEY-----"]),
    ),
    max_size=8,
).map("".join)


@settings(max_examples=400)
@given(FRAGMENTS)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    clean = redactor.redact(text)
    again = redactor.redact(clean.text)
    assert (again.text, again.counts) == (clean.text, {})
    assert bool(clean.counts) == (clean.text != text)


HOSTILE = [
    *("a", " ", "\\", '\\"', '"', "=", "-", "password", "password=", "password: ", "--token "),
    *("token=my_", "token==", "eyJ", "eyJaaaaa.", "sk-", "sk-a-", "AKIA", "://", "://a:", "://a:b"),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "A" * 64 + "\n", "Bearer "),
    *(
        "Authorization: ",
        "authorization:my-",
        "[redacted:",
        "密码：",
        "xoxb-",
        "ghp_",
        "password='",
    ),
    "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n",
    "A" * 64 + "\\n",
    'password="\\"',
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_grows_with_the_length_and_nothing_else(unit: str) -> None:
    def cost(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        redactor.redact(text)
        return time.process_time() - start

    small, large = cost(20_000), cost(200_000)
    assert large < max(small, 0.02) * 40


# Data


def test_data_is_redacted_by_its_keys_and_by_its_texts() -> None:
    value = {
        "password": "hunter",
        "PIN_password": 123456,
        "login": {"user": "bob", "api_key": "abcdefgh1234", "is_set": True, "token": None},
        "list": [f"key {AWS_KEY}", 5, ("x",)],
        "passwords": ["hunter2"],
        "secret": ["abcdefgh1234", "none"],
        "next_token": "abcdefgh1234",
        "pass": "hunter",
        GITHUB: 1,
        7: "seven",
    }
    clean, counts = redactor.redact_value(value)
    assert clean == {
        "password": "[redacted:password]",
        "PIN_password": "[redacted:password]",
        "login": {"user": "bob", "api_key": "[redacted:api_key]", "is_set": True, "token": None},
        "list": ["key [redacted:aws_key]", 5, ["x"]],
        "passwords": ["hunter2"],
        "secret": ["[redacted:secret]", "none"],
        "next_token": "abcdefgh1234",
        "pass": "[redacted:password]",
        "[redacted:github_token]": 1,
        7: "seven",
    }
    assert counts == {"password": 3, "api_key": 1, "aws_key": 1, "secret": 1, "github_token": 1}
    assert redactor.redact_value(clean) == (clean, {})


def test_data_nested_without_end_is_cut_not_crashed_on() -> None:
    value: Any = "hunter2"
    for _ in range(5_000):
        value = [value]
    clean, counts = redactor.redact_value(value)
    assert "[redacted:too_deep]" in json.dumps(clean)
    assert counts == {"too_deep": 1}


def test_a_run_is_redacted_everywhere_and_counted() -> None:
    run = Trajectory(
        run_id="r",
        steps=(
            Step("user", "log in with password hunter2; my password is hunter2"),
            Step(
                "assistant",
                f"using {AWS_KEY}",
                tool_calls=(ToolCall("c", "login", {"auth": {"password": "hunter2"}, "n": 1}),),
            ),
            Step("tool_result", f"Traceback:\n  url=postgres://b:hunter2@h\n{PEM}", (), "c"),
        ),
        outcome=Outcome("failure", "exception", "token=abcd1234efgh is wrong"),
        metadata={"env": {"OPENAI_API_KEY": OPENAI}, "tries": 2},
    )
    clean, counts = redactor.redact_trajectory(run)
    assert "[redacted:password]" in clean.steps[0].text
    assert clean.steps[1].tool_calls[0] == ToolCall(
        "c", "login", {"auth": {"password": "[redacted:password]"}, "n": 1}
    )
    assert clean.outcome.reason == "token=[redacted:token] is wrong"
    assert clean.metadata == {"env": {"OPENAI_API_KEY": "[redacted:openai_key]"}, "tries": 2}
    assert clean.task == clean.steps[0].text
    assert "MIIE" not in repr(clean)
    assert counts == {
        "password": 3,
        "aws_key": 1,
        "url_password": 1,
        "private_key": 1,
        "token": 1,
        "openai_key": 1,
    }
    assert redactor.redact_trajectory(clean) == (clean, {})


def test_a_run_without_secrets_is_the_same() -> None:
    run = Trajectory("r", (Step("user", "hi"),), metadata={"a": [1, {"b": None}]})
    assert redactor.redact_trajectory(run) == (run, {})


# Own patterns


def test_own_patterns_are_applied_and_counted() -> None:
    own = Redactor({"badge": r"EMP-\d{6}", "room": r"room (?P<secret>\w+)"})
    clean = own.redact(f"EMP-123456 in room 12 with {AWS_KEY}")
    assert clean.text == "[redacted:badge] in room [redacted:room] with [redacted:aws_key]"
    assert clean.counts == {"badge": 1, "room": 1, "aws_key": 1}
    assert own.redact(clean.text).counts == {}


def test_own_patterns_do_not_look_into_marks() -> None:
    own = Redactor({"word": r"[a-z]+"})
    clean = own.redact("see password=hunter2")
    assert clean.text == "[redacted:word] [redacted:word]=[redacted:password]"
    assert own.redact(clean.text).text == clean.text


def test_an_own_pattern_knows_where_the_text_begins() -> None:
    own = Redactor({"first": r"^\w"})
    clean = own.redact("xyz")
    assert clean.text == "[redacted:first]yz"
    assert own.redact(clean.text).counts == {}


def test_an_own_pattern_that_feeds_on_marks_comes_to_an_end() -> None:
    own = Redactor({"next": r"(?<=\])x"})
    assert own.redact("]" + "x" * 1_000).counts == {"next": 8}


def test_an_own_pattern_that_matches_nothing_in_between_is_harmless() -> None:
    own = Redactor({"edge": r"\b(?=x)"})
    assert own.redact("a x b").text == "a x b"


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        ({"badge": "("}, "'badge'.*'\\('"),
        ({"badge": 5}, "'badge'.*5"),
        ({"badge": "a*"}, "'badge'.*matches nothing"),
        ({"a b": "x"}, "'a b'"),
        ({"": "x"}, "''"),
        ({"a]": "x"}, r"'a\]'"),
        ({7: "x"}, "7"),
    ],
)
def test_a_pattern_that_can_not_work_is_refused_by_name(patterns: dict, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Redactor(patterns)
