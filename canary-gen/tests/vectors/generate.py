#!/usr/bin/env python3
"""A second implementation of docs/canary-format.md, from Python's standard library alone.

It wrote v1.json, which the Rust implementation must agree with (tests/vectors.rs):
    python3 canary-gen/tests/vectors/generate.py > canary-gen/tests/vectors/v1.json
"""

import hashlib
import hmac
import json
import pathlib
import random

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def mac(key, message):
    return hmac.new(key, message, hashlib.sha256).digest()


def hkdf(root, label):
    return mac(mac(bytes(32), root), label + b"\x01")


def seal(root, tenant, probe, slot, tweak):
    payload = (tenant << 52 | probe << 18 | slot << 4 | tweak).to_bytes(8, "big")
    tag = mac(hkdf(root, b"canary-gen/v1/auth"), payload)[:8]
    mask = mac(hkdf(root, b"canary-gen/v1/mask"), tag)[:8]
    return tag + bytes(a ^ b for a, b in zip(payload, mask))


def code(canary):
    number = int.from_bytes(canary, "big")
    text = "".join(ALPHABET[number >> 5 * place & 31] for place in reversed(range(26)))
    return "-".join([text[:5], text[5:10], text[10:15], text[15:20], text[20:]])


def uuid(canary):
    text = canary.hex()
    return "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])


def digits(canary):
    value = int.from_bytes(canary, "big")
    text = f"{value % 29 * 2**128 + value:040d}"
    return "-".join(text[at : at + 4] for at in range(0, 40, 4))


WORDS = (pathlib.Path(__file__).parents[2] / "src" / "form" / "words.txt").read_text().split()


def words(canary):
    value = int.from_bytes(canary, "big")
    number = value << 4 | value % 11
    return " ".join(WORDS[number >> 12 * place & 0xFFF] for place in reversed(range(11)))


def names(canary):
    parts = []
    for at in range(0, 16, 2):
        bits = int.from_bytes(canary[at : at + 2], "big")
        letters = "bcdfhklmnprstvwy"[bits >> 12], "aiou"[bits >> 10 & 3], "bcdfhklmnprstvwy"[bits >> 6 & 15]
        letters += "aiou"[bits >> 4 & 3], "bcdfhklmnprstvwy"[bits & 15]
        parts.append("".join(letters).capitalize())
    return ", ".join(" ".join(parts[at : at + 2]) for at in range(0, 8, 2))


FORMS = {"code": code, "uuid": uuid, "digits": digits, "words": words, "names": names}


def symbols(form, text):
    """What repetitions are counted in: words, or characters without separators and case."""
    return text.split() if form is words else [letter for letter in text.lower() if letter.isalnum()]


def repetitions(symbols):
    pairs = [symbols[at : at + 2] for at in range(len(symbols) - 1)]
    doubled = sum(pair[0] == pair[1] for pair in pairs)
    repeated = sum(pairs[at] in pairs[:at] for at in range(len(pairs)))
    return doubled, repeated


def minted_tweak(root, tenant, probe, slot, form):
    def cost(tweak):
        return repetitions(symbols(form, form(seal(root, tenant, probe, slot, tweak)))), tweak

    return min(range(16), key=cost)


def accept(root, tenant, probe, slot, tweak):
    canary = seal(root, tenant, probe, slot, tweak)
    return {
        "root": root.hex(),
        "key_id": hkdf(root, b"canary-gen/v1/key-id")[:8].hex(),
        "tenant": tenant,
        "probe": probe,
        "slot": slot,
        "tweak": tweak,
        "canary": canary.hex(),
        **{name: form(canary) for name, form in FORMS.items()},
        "minted_tweak": {name: minted_tweak(root, tenant, probe, slot, form) for name, form in FORMS.items()},
    }


def main():
    draw = random.Random("canary-gen v1")
    roots = [bytes(32), bytes(range(32)), draw.randbytes(32)]
    corners = [(0, 0, 0, 0), (4095, 2**34 - 1, 2**14 - 1, 15), (1, 1, 1, 1), (7, 42, 3, 0)]
    accepts = [accept(root, *corner) for root in roots for corner in corners]
    for _ in range(12):
        fields = draw.randrange(2**12), draw.randrange(2**34), draw.randrange(2**14), draw.randrange(16)
        accepts.append(accept(draw.choice(roots), *fields))
    good = code(seal(roots[1], 7, 42, 3, 0))
    other = code(seal(roots[2], 7, 42, 3, 0))
    rejects = [
        {"why": "sealed by another key", "text": other},
        {"why": "two groups exchanged", "text": "-".join([good[6:11], good[:5], good[12:]])},
        {"why": "three characters missing", "text": good[:-3]},
        {"why": "above 128 bits", "text": "8" + "Z" * 4 + "-ZZZZZ" * 3 + "-ZZZZZZ"},
        {"why": "digits with another checksum", "text": "0000-0000-0000-0000-0000-0000-0000-0000-0000-0001"},
        {"why": "words with another checksum", "text": " ".join([WORDS[0]] * 10 + [WORDS[1]])},
        {"why": "words sealed by another key", "text": words(seal(roots[2], 7, 42, 3, 0))},
        {"why": "names sealed by another key", "text": names(seal(roots[2], 7, 42, 3, 0))},
        {"why": "two names exchanged", "text": ", ".join(names(seal(roots[1], 7, 42, 3, 0)).split(", ")[i] for i in (1, 0, 2, 3))},
        {"why": "digits sealed by another key", "text": digits(seal(roots[2], 7, 42, 3, 0))},
        {"why": "all zero", "text": "00000000-0000-0000-0000-000000000000"},
    ]
    print(json.dumps({"version": 1, "accept": accepts, "reject": {"root": roots[1].hex(), "texts": rejects}}, indent=1))


main()
