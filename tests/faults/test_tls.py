"""TLS, as the URL asks the driver for it: servers of the tests' own with a certificate for 127.0.0.1 alone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Final

import pytest

import lockwatch
from tests.contract.sites import Site, do_without
from tests.faults.servers import OwnMariadb, OwnPostgres, OwnServer, running

VERIFIED: Final = {
    "postgres": "sslmode=verify-full&sslrootcert={}",
    "mysql": "ssl_ca={}&ssl_verify_cert=true&ssl_verify_identity=true",
}
CIPHER: Final = {
    "postgres": "SELECT cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
    "mysql": "SELECT variable_value FROM information_schema.session_status WHERE variable_name = 'Ssl_cipher'",
}


def _certify(server: OwnServer) -> None:
    """Two certificates that vouch for themselves: the server has the first one."""
    new = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    for name in ("server", "other"):
        files = ("-keyout", f"{name}.key", "-out", f"{name}.pem")
        server.run("openssl", *new, *files, "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1")


class EncryptedPostgres(OwnPostgres):
    """A PostgreSQL server that knows TLS."""

    def prepare(self) -> None:
        super().prepare()
        _certify(self)

    def _command(self) -> list[str]:
        files = (f"ssl_cert_file={self.folder}/server.pem", f"ssl_key_file={self.folder}/server.key")
        return [*super()._command(), "-c", "ssl=on", *(part for file in files for part in ("-c", file))]


class EncryptedMariadb(OwnMariadb):
    """A MariaDB server that knows TLS."""

    def prepare(self) -> None:
        super().prepare()
        _certify(self)

    def _command(self) -> list[str]:
        return [*super()._command(), f"--ssl-cert={self.folder}/server.pem", f"--ssl-key={self.folder}/server.key"]


@pytest.fixture(scope="module", params=[EncryptedPostgres, EncryptedMariadb], ids=["postgres", "mysql"])
def encrypted(request: pytest.FixtureRequest) -> Iterator[OwnServer]:
    missing = None if shutil.which("openssl") else "needs openssl to make certificates, and it is not installed"
    reason = request.param.why_missing() or missing
    if reason:
        do_without(reason)
    with running(request.param) as server:
        yield server


def _url(site: Site, certificate: str, host: str = "127.0.0.1") -> str:
    return f"{site.url.replace('127.0.0.1', host)}?{VERIFIED[site.kind].format(certificate)}"


def test_all_goes_encrypted_where_the_url_asks_for_it(encrypted: OwnServer) -> None:
    url = _url(encrypted.site, f"{encrypted.folder}/server.pem")
    lockwatch.upgrade(url)
    with lockwatch.connect(url) as service, service.hold("plan", "p1", "a"), service._tables.look() as table:
        assert [cipher for (cipher,) in table.connection.rows(CIPHER[encrypted.kind]) if cipher]


@pytest.mark.parametrize(("certificate", "host"), [("other", "127.0.0.1"), ("server", "localhost")])
def test_a_server_that_cannot_prove_who_it_is_gets_nothing(encrypted: OwnServer, certificate: str, host: str) -> None:
    url = _url(encrypted.site, f"{encrypted.folder}/{certificate}.pem", host)
    refusing = pytest.raises(lockwatch.DatabaseError, match=r"(?i)certificate")
    with lockwatch.connect(url) as service, refusing as refused:
        service.acquire("plan", "p1", "a")
    assert len(str(refused.value).splitlines()) == 1
