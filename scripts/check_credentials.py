#!/usr/bin/env python3
"""Meets a real server (BuildGrid) that asks who is there: TLS with certificates of both sides, tokens, and rights to read and to write. What is
refused costs time only, is told once, and shows no token.

usage: scripts/check_credentials.py CORTEX FOLDER    Run by the python of a venv that has buildgrid; needs openssl. FOLDER: for what it makes.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import jwt

HERE = Path(__file__).resolve().parent
SECRET = "a secret of the server alone, of more than 32 bytes"
READS = ["GetCapabilities", "GetActionResult", "FindMissingBlobs", "BatchReadBlobs", "Read"]


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def authority(folder: Path, name: str) -> None:
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(folder, "req", "-x509", *curve, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2")


def certificate(folder: Path, name: str, by: str, days: int = 2) -> None:
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(folder, "req", *curve, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    issued = ("-CA", f"{by}.pem", "-CAkey", f"{by}.key", "-CAcreateserial", "-days", str(days), "-extfile", "names")
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", *issued)


class Grid:
    """A server that shows a certificate, wants one, and knows who may do what."""

    def __init__(self, folder: Path, certificate: str):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        (folder / "acl.yml").write_text(json.dumps({"main": {"allow": [{"subject": "writer"}, {"subject": "reader", "requests": READS}]}}))
        (folder / "secret").write_text(SECRET)
        config = folder / f"{certificate}.yml"
        config.write_text(f"""
server:
  - !channel
    address: 127.0.0.1:{self.port}
    insecure-mode: false
    credentials:
      tls-server-key: {folder}/{certificate}.key
      tls-server-cert: {folder}/{certificate}.pem
      tls-client-certs: {folder}/ca.pem
authorization:
  method: jwt
  secret: {folder}/secret
  algorithm: hs256
  acl-config: {folder}/acl.yml
description: a cache with rights
instances:
  - name: main
    storages:
      - !lru-storage &storage
        size: 512M
    caches:
      - !lru-action-cache &results
        storage: *storage
        max-cached-refs: 10000
        allow-updates: true
        cache-failed-actions: false
    services:
      - !cas
        storage: *storage
      - !bytestream
        storage: *storage
      - !action-cache
        cache: *results
thread-pool-size: 20
""")
        self.log = open(folder / f"{certificate}.log", "w")
        server = Path(sys.executable).parent / "bgd"
        self.process = subprocess.Popen([server, "server", "start", str(config)], stdout=self.log, stderr=self.log)
        for _ in range(1500):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                time.sleep(0.2)
        sys.exit(f"check_credentials.py: BuildGrid does not listen: {Path(self.log.name).read_text()[-2000:]}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Checkout:
    """A checkout with a store of its own."""

    def __init__(self, cortex: str, folder: Path, name: str, port: int):
        self.cortex, self.folder, self.port = cortex, folder, port
        self.root, self.store = folder / name, folder / f"{name}-store"
        for place in (self.root, self.store):
            shutil.rmtree(place, ignore_errors=True)
        self.root.mkdir()
        for number in range(20):
            (self.root / f"T{number}.cs").write_text(f"namespace N;\n/// <summary>Type {number}.</summary>\npublic class T{number} {{ public int F(int a) => a; }}\n")

    def run(self, token: str, *words: str, tls: str = "ca,me", endpoint: str = "grpcs") -> tuple[int, dict, str]:
        """A command with a token: its exit code, its report, what it told."""
        files = {"ca": f'ca = "{self.folder}/ca.pem"', "other": f'ca = "{self.folder}/other.pem"'}
        for name in ("me", "late", "stranger"):
            files[name] = f'cert = "{self.folder}/{name}.pem", key = "{self.folder}/{name}.key"'
        tables = ", ".join(files[name] for name in tls.split(",") if name)
        tables = f"tls = {{ {tables} }}\n" if endpoint == "grpcs" else ""
        (self.root / "cortex.toml").write_text(
            '[workspace]\nname = "x"\nrulesets = ["csharp"]\n'
            f'[remote]\nendpoint = "{endpoint}://127.0.0.1:{self.port}"\ninstance = "main"\nwrite = "always"\nprefer = "fetch"\ntoken_env = "TOKEN"\n{tables}'
        )
        environment = {**os.environ, "CORTEX_STORE": str(self.store), "CORTEX_TRUST": "all", "TOKEN": token}
        ran = subprocess.run([self.cortex, "-C", str(self.root), "--json", *words], env=environment, capture_output=True, text=True)
        assert token not in ran.stdout + ran.stderr, "a token is shown"
        return ran.returncode, json.loads(ran.stdout) if ran.stdout.strip() else {}, ran.stderr


def codes(told: str) -> list[str]:
    return [json.loads(line)["code"] for line in told.splitlines() if line.startswith("{")]


def main() -> None:
    cortex, folder = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]) / "credentials"
    folder.mkdir()
    authority(folder, "ca")
    authority(folder, "other")
    certificate(folder, "server", "ca")
    certificate(folder, "me", "ca")
    certificate(folder, "stranger", "other")
    certificate(folder, "late", "ca", days=0)
    certificate(folder, "old", "ca", days=0)
    now = int(time.time())
    token = lambda subject, until=now + 3600, secret=SECRET: jwt.encode({"sub": subject, "exp": until}, secret, algorithm="HS256")

    with Grid(folder, "server") as grid:
        one, two = Checkout(cortex, folder, "one", grid.port), Checkout(cortex, folder, "two", grid.port)
        code, pinged, told = one.run(token("writer"), "remote", "ping")
        assert code == 0, told
        code, warmed, told = one.run(token("writer"), "warm", "//...")
        assert code == 0 and warmed["bundle"]["stored"] and not codes(told), (warmed, told)
        print(f"a writer with a certificate: {warmed['bundle']['results']} results filed")

        reader = token("reader")
        code, built, told = two.run(reader, "build", "//...")
        assert code == 0 and built["tally"]["ran"] == 0 and built["remote"]["hits"] > 0 and not codes(told), (built, told)
        for number in range(20):
            (two.root / f"T{number}.cs").write_text(f"namespace N;\npublic class T{number} {{ public int G(int a) => a; }}\n")
        code, refused, told = two.run(reader, "warm", "//...")
        assert code == 7 and codes(told) == ["W_REMOTE_WRITE", "E_REMOTE"] and refused["tally"]["failed"] == 0, (code, told)
        assert refused["remote"]["writes_off"] and not refused["remote"]["reads_off"], refused["remote"]
        print(f"a reader who offers: nothing ran before, then {refused['remote']['writes_off']!r}, told once")

        # Whoever is not let in does without.
        plain = Checkout(cortex, folder, "plain", grid.port)
        for what, words in {
            "a token that has expired": (token("writer", now - 60), "ca,me", "grpcs"),
            "a token of another secret": (token("writer", secret="another secret of more than thirty-two bytes"), "ca,me", "grpcs"),
            "a token that is none": ("nothing-of-the-kind", "ca,me", "grpcs"),
            "an authority that did not sign the server": (token("writer"), "other,me", "grpcs"),
            "no certificate": (token("writer"), "ca", "grpcs"),
            "a certificate that has expired": (token("writer"), "ca,late", "grpcs"),
            "a certificate of another authority": (token("writer"), "ca,stranger", "grpcs"),
            "no TLS": (token("writer"), "", "grpc"),
        }.items():
            bearer, tls, endpoint = words
            code, _, told = plain.run(bearer, "remote", "ping", tls=tls, endpoint=endpoint)
            assert code == 7 and codes(told) == ["E_REMOTE"], (what, code, told)
            why = json.loads(told.splitlines()[-1])["found"]
            fresh = Checkout(cortex, folder, "plain", grid.port)
            code, built, told = fresh.run(bearer, "build", "//...", tls=tls, endpoint=endpoint)
            assert code == 0 and built["tally"]["ran"] > 0 and built["tally"]["failed"] == 0, (what, built, told)
            assert codes(told) == ["W_REMOTE"], (what, told)
            print(f"{what}: {why}")

    with Grid(folder, "old") as grid:
        late = Checkout(cortex, folder, "late", grid.port)
        code, _, told = late.run(token("writer"), "remote", "ping")
        assert code == 7 and codes(told) == ["E_REMOTE"] and "xpired" in told, (code, told)
        print(f"a server whose certificate has expired: {json.loads(told.splitlines()[-1])['found']}")


if __name__ == "__main__":
    main()
