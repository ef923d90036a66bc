"""ECDSA on P-256 with SHA-256, as clients of the line protocol sign a challenge: for tests, slow, and in no way safe."""
import hashlib, secrets

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296, 0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)


def add(a, b):
    """Points of the curve; None is that at infinity."""
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % P == 0:
        return None
    slope = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, P) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def times(n, point):
    out = None
    while n:
        if n & 1:
            out = add(out, point)
        point, n = add(point, point), n >> 1
    return out


def sign(key, message):
    """64 bytes: r and s."""
    digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
    k = 1 + secrets.randbelow(N - 1)
    r = times(k, G)[0] % N
    return r.to_bytes(32, "big") + (pow(k, -1, N) * (digest + r * key) % N).to_bytes(32, "big")
