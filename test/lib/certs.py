"""Certificates for tests of TLS, made with openssl: an authority and, of each kind of key, a certificate of it for 127.0.0.1 and localhost."""
import pathlib, subprocess, tempfile

KINDS = {"rsa": ["-newkey", "rsa:2048"], "ec": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"], "ed25519": ["-newkey", "ed25519"]}


class Certs:
    """KIND.pem and KIND.key for each kind, ca.pem that signed them, own.pem and own.key signed by itself. The folder `home` is the caller's to remove."""

    def __init__(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="almanac-tls-"))
        self.openssl("req", "-x509", "-days", "2", "-nodes", *KINDS["rsa"], "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test authority")
        (self.home / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        for kind, key in KINDS.items():
            self.openssl("req", "-nodes", *key, "-keyout", f"{kind}.key", "-out", f"{kind}.csr", "-subj", "/CN=localhost")
            self.openssl("x509", "-req", "-days", "2", "-in", f"{kind}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out",
                         f"{kind}.pem", "-extfile", "names")
        self.openssl("req", "-x509", "-days", "2", "-nodes", *KINDS["ed25519"], "-keyout", "own.key", "-out", "own.pem", "-subj", "/CN=localhost")

    def openssl(self, *args):
        subprocess.run(["openssl", *args], cwd=self.home, check=True, capture_output=True)

    def path(self, name):
        return str(self.home / name)

    def env(self, kind="rsa", **more):
        """Settings of a server that has TLS with the certificate of this kind."""
        return {"ALMANAC_PG_TLS_ENABLED": "true", "ALMANAC_PG_TLS_CERT_PATH": self.path(kind + ".pem"),
                "ALMANAC_PG_TLS_PRIVATE_KEY_PATH": self.path(kind + ".key"), **more}
