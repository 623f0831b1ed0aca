#![allow(clippy::unwrap_used)]

use super::*;
use crate::evidence::key_file;
use ring::rand::SystemRandom;
use serde_json::Value;

const TEXT: &[u8] = b"the access code of acme is hunter2";

fn keys(texts: &[u8]) -> EvidenceKeys {
    let lines: Vec<String> = texts
        .iter()
        .map(|byte| format!("evidence-key-v1:{}", format!("{byte:02x}").repeat(32)))
        .collect();
    key_file::parse(&lines.join("\n")).unwrap()
}

fn binding(probe: u64, round: i64) -> Binding {
    Binding {
        probe: ProbeNumber::new(probe).unwrap(),
        round: RoundId(round),
    }
}

fn response() -> Response {
    Response {
        head: b"HTTP 200\r\ncontent-type: text/plain\r\n".to_vec(),
        body: TEXT.to_vec(),
        trailers: b"x-sum: 7\r\n".to_vec(),
        is_cut: false,
    }
}

fn sealed() -> Sealed {
    seal(
        &keys(&[1]),
        binding(26, 7),
        &response(),
        &SystemRandom::new(),
    )
    .unwrap()
}

#[test]
fn what_is_sealed_opens_again_and_shows_nothing_until_then() {
    let sealed = sealed();
    assert_eq!(open(&keys(&[1]), &sealed), Ok(response()));
    let shown = format!("{:?} {:?}", sealed, response());
    for text in [&sealed.bytes[..], shown.as_bytes()] {
        assert!(!text.windows(4).any(|part| part == b"code"));
    }
}

#[test]
fn every_changed_byte_and_every_missing_one_is_refused() {
    let whole = sealed();
    for place in 0..whole.bytes.len() {
        for bit in [1, 0x80] {
            let mut changed = whole.clone();
            changed.bytes[place] ^= bit;
            let error = open(&keys(&[1]), &changed).unwrap_err();
            assert!(!error.to_string().contains("code"), "{error}");
        }
        let mut cut = whole.clone();
        cut.bytes.truncate(place);
        assert!(open(&keys(&[1]), &cut).is_err(), "{place} bytes");
    }
    let mut longer = whole.clone();
    longer.bytes.push(0);
    assert_eq!(open(&keys(&[1]), &longer), Err(OpenError::Refused));
}

#[test]
fn it_opens_as_nothing_else_than_what_it_was_sealed_as() {
    let good = sealed();
    let changed = [
        Sealed {
            of: binding(27, 7),
            ..good.clone()
        },
        Sealed {
            of: binding(26, 8),
            ..good.clone()
        },
        Sealed {
            plain_bytes: good.plain_bytes + 1,
            ..good.clone()
        },
        Sealed {
            is_cut: true,
            ..good.clone()
        },
        Sealed {
            key: keys(&[2]).sealing(),
            ..good.clone()
        },
    ];
    for sealed in changed {
        assert_eq!(
            open(&keys(&[1, 2]), &sealed),
            Err(OpenError::Refused),
            "{sealed:?}"
        );
    }
}

#[test]
fn older_keys_open_and_a_key_that_is_missing_is_named() {
    let sealed = sealed();
    assert_eq!(open(&keys(&[2, 3, 1]), &sealed), Ok(response()));
    let missing = open(&keys(&[2, 3]), &sealed).unwrap_err();
    assert_eq!(missing, OpenError::UnknownKey(keys(&[1]).sealing()));
    assert!(missing.to_string().contains(&sealed.key.to_string()));
}

#[test]
fn no_two_records_are_sealed_alike() {
    assert_ne!(sealed().bytes, sealed().bytes);
}

/// A vector is opened, and its text is what it says.
#[test]
fn the_published_vectors_open_or_are_refused_as_they_say() {
    let vectors = include_str!("../../../tests/data/evidence/vectors.json");
    let vectors: Vec<Value> = serde_json::from_str(vectors).unwrap();
    assert!(vectors.len() >= 4);
    for vector in vectors {
        let text = |name: &str| vector[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| vector[name].as_u64().unwrap();
        let keys = key_file::parse(&text("key")).unwrap();
        assert_eq!(keys.sealing().to_string(), text("key_id"));
        let sealed = Sealed {
            of: binding(number("probe"), number("round") as i64),
            key: keys.sealing(),
            plain_bytes: number("plain_bytes"),
            is_cut: vector["is_cut"].as_bool().unwrap(),
            bytes: unhex(&text("sealed")),
        };
        let opened = open(&keys, &sealed);
        match vector["opens"].as_bool().unwrap() {
            false => assert_eq!(opened, Err(OpenError::Refused), "{}", text("what")),
            true => {
                let response = opened.unwrap_or_else(|error| panic!("{}: {error}", text("what")));
                assert_eq!(response.head, unhex(&text("head")));
                assert_eq!(response.body, unhex(&text("body")));
                assert_eq!(response.trailers, unhex(&text("trailers")));
            }
        }
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}
