"""Databases whose server asks for a password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import psycopg
from sqlalchemy import make_url

from tests.contract.sites import MysqlSite, PostgresSite, Site
from tests.faults.servers import OwnPostgres

PASSWORD: Final = "p@ss %40:/w\u00f6rd?#[]"  # noqa: S105 of users that live as long as the tests
SHOWN: Final = ("p@ss", "w\u00f6rd", "w%C3%B6rd", "p%40ss", "%2540", "w\\xf6rd", "w\\udc")
"""What a leaked password would have in it, in whatever way it was written."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A database, and the URL of a user of it who has PASSWORD, which the URL lacks."""

    site: Site
    bare: str

    @property
    def whole(self) -> str:
        """The URL with the password, percent-encoded."""
        return self.with_password(PASSWORD)

    def with_password(self, password: str) -> str:
        """The URL with some password."""
        user, at, place = self.bare.rpartition("@")
        return f"{user}:{quote(password, safe='')}{at}{place}"


class AskingPostgres(OwnPostgres):
    """A PostgreSQL server that lets nobody in without a password."""

    @property
    def site(self) -> Site:
        return PostgresSite(self.asking.whole)

    @property
    def asking(self) -> Asking:
        """Its database, as the tests have it."""
        bare = super().site
        return Asking(PostgresSite(Asking(bare, bare.url).whole), bare.url)

    def prepare(self) -> None:
        secret = self.folder / "secret"
        secret.write_text(PASSWORD, encoding="utf-8")
        data = str(self.folder / "data")
        asking = ("-A", "scram-sha-256", f"--pwfile={secret}")
        self.run(self._program("initdb"), "-D", data, "-U", "postgres", "-E", "UTF8", "--no-sync", *asking)

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.site.url, dbname="postgres", autocommit=True)


@contextmanager
def asking_mysql(site: MysqlSite) -> Iterator[Asking]:
    """A MariaDB database with a user who has a password; the user goes at the end."""
    database = make_url(site.url).database
    user = f"{database}_p"
    site.execute(f"CREATE USER `{user}` IDENTIFIED BY ?", PASSWORD)
    try:
        site.execute(f"GRANT ALL ON `{database}`.* TO `{user}`")
        bare = make_url(site.url)._replace(username=user, password=None)
        yield Asking(site, bare.render_as_string(hide_password=False))
    finally:
        site.execute(f"DROP USER `{user}`")
