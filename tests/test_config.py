"""`config.toml`: what may be in it, and how it says what may not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lockwatch.config import COLOURS, Config, ConfigError, load, without_password
from lockwatch.core.errors import LockwatchError

WHOLE = """
default = "prod"
interval = 1.5
theme = "lockwatch-light"
read_only = false

[databases.prod]
url = "postgresql://app:s3cret@db1/orders"
label = "PROD"
colour = "red"
read_only = true
password_file = "~/.secrets/prod"
interval = 2

[databases.test]
url = "sqlite:////srv/locks.db"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a `config.toml` of the test's own is to be."""
    return tmp_path / "config.toml"


def _load(path: Path, text: str) -> Config:
    path.write_text(text)
    return load(path)


def _complaint(path: Path, text: str | bytes) -> str:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as refused:
        load(path)
    assert (refused.value.exit_code, isinstance(refused.value, LockwatchError)) == (2, True)
    return str(refused.value)


def test_all_that_can_be_said_is_understood(path: Path) -> None:
    config = _load(path, WHOLE)
    assert (config.default, config.interval, config.theme, config.read_only) == ("prod", 1.5, "lockwatch-light", False)
    prod, test = config.databases.values()
    assert (prod.name, prod.url, prod.label, prod.colour) == (
        "prod",
        "postgresql://app:s3cret@db1/orders",
        "PROD",
        "red",
    )
    assert (prod.read_only, prod.interval) == (True, 2.0)
    assert prod.password_file == Path.home() / ".secrets" / "prod"
    assert (test.label, test.colour, test.read_only, test.interval, test.password_file) == ("", "", None, None, None)


def test_nothing_said_is_nothing_decided(path: Path) -> None:
    assert _load(path, "") == Config(path=path)


def test_a_password_file_is_looked_for_beside_the_config(path: Path) -> None:
    config = _load(path, '[databases.x]\nurl = "postgresql://db/x"\npassword_file = "secrets/x"')
    assert config.databases["x"].password_file == path.parent / "secrets" / "x"


def test_no_password_is_in_what_a_traceback_shows(path: Path) -> None:
    assert "s3cret" not in repr(_load(path, WHOLE))


@pytest.mark.parametrize("text", ["\ufeffinterval = 2", "# é\ninterval = 2\r\n"])
def test_files_of_any_editor_are_read(path: Path, text: str) -> None:
    path.write_bytes(text.encode())
    assert load(path).interval == 2.0


@pytest.mark.parametrize("colour", COLOURS)
def test_every_colour_is_known(path: Path, colour: str) -> None:
    assert _load(path, f'[databases.x]\nurl = "sqlite:///x"\ncolour = "{colour}"').databases["x"].colour == colour


@pytest.mark.parametrize("label", ["PRODUCTION 1", "本番環境です", "a[/]b", "é"])
def test_a_label_of_up_to_twelve_cells_is_taken_as_it_is(path: Path, label: str) -> None:
    assert _load(path, f'[databases.x]\nurl = "sqlite:///x"\nlabel = "{label}"').databases["x"].label == label


TOP = [
    ("intervall = 1", "intervall", "there is no such key; those that there are: default, interval, theme"),
    ("interval = 0.09", "interval", "must be a number of seconds from 0.1 to 3600; got 0.09"),
    ("interval = 3600.1", "interval", "got 3600.1"),
    ("interval = nan", "interval", "got nan"),
    ("interval = inf", "interval", "got inf"),
    ("interval = -1", "interval", "got -1"),
    ("interval = 0x" + "f" * 5000, "interval", "got a huge number"),
    ("interval = true", "interval", "got true"),
    ('interval = "1"', "interval", "got '1'"),
    ("interval = [1]", "interval", "got an array"),
    ("interval = 2026-12-01", "interval", "got a date or a time"),
    ("read_only = 1", "read_only", "must be true or false; got 1"),
    ('read_only = "no"', "read_only", "must be true or false; got 'no'"),
    ("theme = 1", "theme", "must be a name"),
    ('theme = ""', "theme", "got ''"),
    ('theme = "a b"', "theme", "got 'a b'"),
    ('theme = "\\u001b[2J"', "theme", "must be a name"),
    ("default = 1", "default", "must be a name"),
    ('default = "prod"', "default", "must be one of the databases that the file names: there is none; got 'prod'"),
    ("databases = 1", "databases", "must be a table, like [databases.prod]; got a whole number"),
    ("[[databases]]", "databases", "must be a table, like [databases.prod]; got an array"),
    ("databases.prod = 1", "databases.prod", "must be a table, like [databases.prod]; got a whole number"),
    ("[databases.prod]", "databases.prod.url", "is missing"),
    ('[databases."a b"]\nurl = "x://"', "databases.a b", "must be a name"),
    ('[databases.""]\nurl = "x://"', "databases.", "must be a name"),
    ('[databases.-x]\nurl = "x://"', "databases.-x", "must be a name"),
]
OF_DATABASE = [
    ('color = "red"', "color", "there is no such key; those that there are: url, label, colour, read_only"),
    ('colour = "pink"', "colour", "must be one of red, orange, yellow, green, blue, purple, grey; got 'pink'"),
    ("colour = 1", "colour", "got 1"),
    ('label = "thirteen cell"', "label", "must be text of at most 12 cells"),
    ('label = "本番環境ですよ"', "label", "got '本番環境ですよ'"),
    ('label = ""', "label", "got ''"),
    ('label = " P"', "label", "got ' P'"),
    ('label = "\\u202eP"', "label", "must be text"),
    ('label = "a\\nb"', "label", "must be text"),
    ("label = 1", "label", "got 1"),
    ("read_only = 0", "read_only", "must be true or false"),
    ("interval = 0", "interval", "must be a number of seconds from 0.1 to 3600"),
    ("password_file = 1", "password_file", "must be the path of a file; got a whole number"),
    ('password_file = ""', "password_file", "must be the path of a file"),
    ('password_file = "~nobody-is-called-so/x"', "password_file", "nobody here has that home folder"),
    ('default = "x"', "default", "there is no such key"),
]


@pytest.mark.parametrize(("text", "key", "rule"), TOP, ids=[text[:40] for text, *_ in TOP])
def test_an_error_names_the_file_the_key_what_was_given_and_the_rule(
    path: Path, text: str, key: str, rule: str
) -> None:
    complaint = _complaint(path, text)
    assert complaint.startswith(f"{path}: {key}: ")
    assert rule in complaint
    assert complaint.isprintable()


@pytest.mark.parametrize(("text", "key", "rule"), OF_DATABASE, ids=[text for text, *_ in OF_DATABASE])
def test_an_error_in_a_database_names_it(path: Path, text: str, key: str, rule: str) -> None:
    complaint = _complaint(path, f'[databases.prod]\nurl = "postgresql://app:s3cret@db/x"\n{text}')
    assert complaint.startswith(f"{path}: databases.prod.{key}: ")
    assert rule in complaint
    assert "s3cret" not in complaint
    assert complaint.isprintable()


@pytest.mark.parametrize(
    "line",
    [
        'url = "postgresql//app:s3cret@db/x"',
        'url = "app:s3cret@db"',
        'url = "password=s3cret"',
        'url = ["postgresql://app:s3cret@db/x"]',
        'url = {password = "s3cret"}',
        'url = "postgresql://app:s3cret@db/x\\n"',
        'url = "x://y"\npassword = "s3cret"',
        'url = "x://y"\npassword_file = ["s3cret"]',
        'url = "x://app:s3cret@y"\nurl = "x://app:s3cret@y"',
        "url = postgresql://app:s3cret@db/x",
        'url = "postgresql://app:s3cret@db/x',
    ],
)
def test_no_password_is_in_an_error(path: Path, line: str) -> None:
    complaint = _complaint(path, f"[databases.prod]\n{line}")
    assert complaint.startswith(f"{path}: ")
    assert "s3cret" not in complaint


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("x", "is not TOML: "),
        (b"\xff\xfe", "is not UTF-8"),
        (b"a = '\x00'", "is not TOML: "),
        ("a = " + "[" * 100_000, "is not TOML: "),
        ("interval = " + "9" * 5000, "is not TOML: "),
        ("#" * 2_000_000, "is longer than 1048576 bytes"),
    ],
    ids=["x", "bytes", "nul", "deep", "huge", "long"],
)
def test_what_is_no_such_file_is_one_short_line(path: Path, text: str | bytes, rule: str) -> None:
    complaint = _complaint(path, text)
    assert complaint.startswith(f"{path}: {rule}")
    assert len(complaint) < len(str(path)) + 160


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read \(No such file or directory\)"):
        load(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory\)"):
        load(tmp_path)


def test_what_has_no_end_is_not_read_to_its_end() -> None:
    with pytest.raises(ConfigError, match="is longer than"):
        load(Path("/dev/zero"))


def test_an_empty_device_is_an_empty_file() -> None:
    assert load(Path(os.devnull)).databases == {}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://db1/orders", "postgresql://db1/orders"),
        ("postgresql://app@db1:5432/orders", "postgresql://app@db1:5432/orders"),
        ("postgresql://app:s3cret@db1/orders", "postgresql://app@db1/orders"),
        ("postgresql://app:s3cret@db1/orders?sslmode=require", "postgresql://app@db1/orders?…"),
        ("postgresql://db1/orders?password=s3cret", "postgresql://db1/orders?…"),
        ("postgresql://app:s3@cret@db1/orders", "postgresql://app@db1/orders"),
        ("postgresql://app:s3/cret@db1/orders", "postgresql://app@db1/orders"),
        ("postgresql://app:s3?cret@db1/orders", "postgresql://…"),
        ("postgresql://db1/orders?password=s3@cret", "postgresql://…"),
        ("postgresql://:s3cret@db1/orders", "postgresql://@db1/orders"),
        ("sqlite:////srv/a:b@c/locks.db", "sqlite:////srv/a:b@c/locks.db"),
        ("sqlite://app:s3cret@db/x.db", "sqlite://app@db/x.db"),
        ("app:s3cret@db1", "…"),
        ("password=s3cret", "…"),
        ("locks.db", "locks.db"),
        ("x://\x1b[2J", "x://␛[2J"),
    ],
)
def test_a_url_is_shown_without_what_may_be_a_password(url: str, shown: str) -> None:
    assert without_password(url) == shown
