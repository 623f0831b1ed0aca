"""Writes vectors.json: sealed evidence by another implementation (Python's `cryptography`), from docs/evidence.md.

    python3 -m venv venv && venv/bin/pip install cryptography==48.0.0
    venv/bin/python vectors.py > vectors.json
"""
import hashlib
import hmac
import json
import struct

from cryptography.hazmat.primitives.ciphers.aead import AESGCM


def hkdf(key, salt, label, length):
    extracted = hmac.new(salt, key, hashlib.sha256).digest()
    assert length <= 32
    return hmac.new(extracted, label + b"\x01", hashlib.sha256).digest()[:length]


def seal(root, salt, probe, round_, head, body, trailers, is_cut):
    key_id = hkdf(root, b"\x00" * 32, b"prober/evidence/v1/key-id", 8)
    key = hkdf(root, salt, b"prober/evidence/v1/record", 32)
    plain = struct.pack(">I", len(head)) + head + struct.pack(">I", len(trailers)) + trailers + body
    length = len(head) + len(body) + len(trailers)
    associated = b"prober/evidence/v1" + key_id + struct.pack(">QQQB", probe, round_, length, is_cut)
    text = AESGCM(key).encrypt(b"\x00" * 12, plain, associated)
    return key_id, length, b"\x01" + key_id + salt + text


def vector(what, root, salt, probe, round_, head, body, trailers=b"", is_cut=False, opens=True):
    key_id, length, sealed = seal(root, salt, probe, round_, head, body, trailers, is_cut)
    return {
        "what": what,
        "key": "evidence-key-v1:" + root.hex(),
        "key_id": key_id.hex(),
        "salt": salt.hex(),
        "probe": probe,
        "round": round_,
        "head": head.hex(),
        "body": body.hex(),
        "trailers": trailers.hex(),
        "plain_bytes": length,
        "is_cut": is_cut,
        "sealed": sealed.hex(),
        "opens": opens,
    }


ROOT, SALT = bytes(range(32)), bytes(range(100, 132))
HEAD = b"HTTP 200\r\ncontent-type: text/plain\r\n"
vectors = [
    vector("an answer", ROOT, SALT, 26, 7, HEAD, b"the code is 7"),
    vector("with trailers", ROOT, SALT, 2**34 - 1, 2**40, HEAD, b"\x00\xff", b"x-sum: 7\r\n"),
    vector("cut", b"\xff" * 32, b"\x00" * 32, 1, 1, HEAD, b"the co", is_cut=True),
    vector("no body", ROOT, b"\x01" * 32, 26, 7, b"HTTP 204\r\n", b""),
    vector("of another probe", ROOT, SALT, 26, 7, HEAD, b"the code is 7", opens=False) | {"probe": 27},
    vector("of another round", ROOT, SALT, 26, 7, HEAD, b"the code is 7", opens=False) | {"round": 8},
    vector("said to be cut", ROOT, SALT, 26, 7, HEAD, b"the code is 7", opens=False) | {"is_cut": True},
    vector("said to be longer", ROOT, SALT, 26, 7, HEAD, b"the code is 7", opens=False) | {"plain_bytes": 51},
]
print("[\n" + ",\n".join(json.dumps(vector) for vector in vectors) + "\n]")
