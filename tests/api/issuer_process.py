"""A small OIDC issuer: `python issuer_process.py` prints its port, makes its keys itself, and signs what it is told to.

GET /.well-known/openid-configuration, GET /jwks: as any issuer. For tests: POST /token signs `claims` (with `how`: with its
current key, a retired one, one it never shows, as HS256 with its public key for a secret, or not at all), POST /rotate
makes a new key and hides the old, POST /grant says for which code POST /exchange gives which token, GET /authorize lets
"ada" in at once and sends the browser back, POST /break answers nonsense from then on, GET /asked says how often keys were
asked for.
"""

import base64
import hashlib
import hmac
import http.server
import json
import sys
import threading
import time
import urllib.parse
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature


def text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def number(value: int) -> str:
    return text(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class Key:
    """One key, of the kind an algorithm needs."""

    made = 0

    def __init__(self, algorithm: str, *, bits: int = 2048) -> None:
        Key.made += 1
        self.kid = f"{algorithm}-{bits}-{Key.made}"
        self.algorithm = algorithm
        self.private: Any
        if algorithm in ("RS256", "PS256"):
            self.private = rsa.generate_private_key(public_exponent=65537, key_size=bits)
        elif algorithm == "ES256":
            self.private = ec.generate_private_key(ec.SECP256R1())
        else:
            self.private = ed25519.Ed25519PrivateKey.generate()

    def sign(self, data: bytes) -> bytes:
        match self.algorithm:
            case "RS256":
                return bytes(self.private.sign(data, padding.PKCS1v15(), hashes.SHA256()))
            case "PS256":
                salted = padding.PSS(padding.MGF1(hashes.SHA256()), 32)
                return bytes(self.private.sign(data, salted, hashes.SHA256()))
            case "ES256":
                r, s = decode_dss_signature(self.private.sign(data, ec.ECDSA(hashes.SHA256())))
                return r.to_bytes(32, "big") + s.to_bytes(32, "big")
            case _:
                return bytes(self.private.sign(data))

    @property
    def pem(self) -> bytes:
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return bytes(self.private.public_key().public_bytes(serialization.Encoding.PEM, form))

    @property
    def jwk(self) -> dict[str, str]:
        shown = {"kid": self.kid, "use": "sig", "alg": self.algorithm}
        public = self.private.public_key()
        if isinstance(self.private, rsa.RSAPrivateKey):
            numbers = public.public_numbers()
            return {**shown, "kty": "RSA", "n": number(numbers.n), "e": number(numbers.e)}
        if isinstance(self.private, ec.EllipticCurvePrivateKey):
            numbers = public.public_numbers()
            x, y = numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")
            return {**shown, "kty": "EC", "crv": "P-256", "x": text(x), "y": text(y)}
        raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        return {**shown, "kty": "OKP", "crv": "Ed25519", "x": text(raw)}


class Issuer:
    """What the process knows."""

    def __init__(self) -> None:
        self.keys = {name: Key(name) for name in ("RS256", "PS256", "ES256", "EdDSA")}
        self.hidden = Key("RS256")
        self.weak = Key("RS256", bits=1024)
        self.retired = self.keys["RS256"]
        self.asked = 0
        self.broken = False
        self.granted: dict[str, dict[str, Any]] = {}

    def rotate(self) -> None:
        self.retired = self.keys["RS256"]
        self.keys["RS256"] = Key("RS256")

    def jwks(self) -> dict[str, Any]:
        secret = {"kty": "oct", "kid": "secret", "alg": "HS256", "k": text(b"x" * 32)}
        odd = {"kty": "Martian", "kid": 7}
        return {"keys": [odd, secret, self.weak.jwk, *(key.jwk for key in self.keys.values())]}

    def token(self, told: dict[str, Any]) -> str:
        how, algorithm = told.get("how", "current"), told.get("algorithm", "RS256")
        key = {"current": self.keys[algorithm], "retired": self.retired, "hidden": self.hidden, "weak": self.weak}.get(
            how, self.keys[algorithm]
        )
        named = {"none": "none", "hs256": "HS256"}.get(how, algorithm)
        kid = self.keys[algorithm].kid if told.get("posing") else key.kid
        head = {"alg": named, "typ": "JWT", "kid": kid, **told.get("head", {})}
        head = {name: value for name, value in head.items() if value is not None}
        signed = f"{text(json.dumps(head).encode())}.{text(json.dumps(told['claims']).encode())}"
        if how == "none":
            return f"{signed}."
        if how == "hs256":
            return f"{signed}.{text(hmac.digest(key.pem, signed.encode(), hashlib.sha256))}"
        return f"{signed}.{text(key.sign(signed.encode()))}"


class Handler(http.server.BaseHTTPRequestHandler):
    issuer = Issuer()

    def do_GET(self) -> None:
        if self.path == "/.well-known/openid-configuration":
            port = self.server.server_address[1]
            here = f"http://127.0.0.1:{port}"
            self.answer({
                "issuer": here, "jwks_uri": f"{here}/jwks", "authorization_endpoint": f"{here}/authorize",
                "token_endpoint": f"{here}/exchange",
            })  # fmt: skip
        elif self.path == "/jwks":
            self.issuer.asked += 1
            self.answer({"nothing": 1} if self.issuer.broken else self.issuer.jwks())
        elif self.path.startswith("/authorize?"):
            self.authorize(dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query)))
        elif self.path == "/asked":
            self.answer(self.issuer.asked)
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        if self.path == "/exchange":
            form = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            self.exchange({name: value[0] for name, value in urllib.parse.parse_qs(form).items()})
            return
        told = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if self.path == "/token":
            self.answer(self.issuer.token(told))
        elif self.path == "/grant":
            self.issuer.granted[told["code"]] = told
            self.answer(None)
        elif self.path == "/rotate":
            self.issuer.rotate()
            self.answer(None)
        elif self.path == "/break":
            self.issuer.broken = bool(told)
            self.answer(None)

    def authorize(self, asked: dict[str, str]) -> None:
        """As if ada had typed her password here."""
        now, code = time.time(), f"code-{asked['state']}"
        claims = {
            "iss": f"http://127.0.0.1:{self.server.server_address[1]}", "aud": asked["client_id"], "sub": "ada",
            "exp": now + 300, "iat": now, "nonce": asked["nonce"],
        }  # fmt: skip
        back = asked["redirect_uri"]
        self.issuer.granted[code] = {"challenge": asked["code_challenge"], "back": back, "claims": claims}
        self.send_response(302)
        self.send_header("location", f"{back}?{urllib.parse.urlencode({'code': code, 'state': asked['state']})}")
        self.send_header("content-length", "0")
        self.end_headers()

    def exchange(self, form: dict[str, str]) -> None:
        """A token for a code, once, if whoever comes knows the verifier of its challenge."""
        granted = self.issuer.granted.pop(form.get("code", ""), None)
        proof = text(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        right = granted is not None and granted["challenge"] == proof and granted["back"] == form.get("redirect_uri")
        basic = granted and granted.get("basic")
        if granted is None or not right or (basic and self.headers.get("authorization") != basic):
            self.answer({"error": "invalid_grant"}, status=400)
        else:
            self.answer({"id_token": self.issuer.token(granted), "token_type": "Bearer"})

    def answer(self, value: object, *, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None: ...


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    # whoever started it is gone when its standard input ends
    threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown()), daemon=True).start()
    server.serve_forever()
