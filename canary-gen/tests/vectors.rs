//! The published vectors (written by an independent implementation) hold for this one.
#![allow(clippy::unwrap_used)]

use canary_gen::scan::scan;
use canary_gen::{Canary, Form, Identity, KeyRing, ProbeNumber, Slot, TenantNumber};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Vectors {
    version: u32,
    accept: Vec<Accept>,
    reject: Rejects,
}

#[derive(Deserialize)]
struct Accept {
    root: String,
    key_id: String,
    tenant: u64,
    probe: u64,
    slot: u64,
    tweak: u8,
    canary: String,
    code: String,
    uuid: String,
    digits: String,
    words: String,
    names: String,
    minted_tweak: BTreeMap<String, u8>,
}

#[derive(Deserialize)]
struct Rejects {
    root: String,
    texts: Vec<Reject>,
}

#[derive(Deserialize)]
struct Reject {
    why: String,
    text: String,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("vectors/v1.json")).unwrap()
}

fn bytes<const N: usize>(hex: &str) -> [u8; N] {
    let bytes: Vec<u8> = (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect();
    bytes.try_into().unwrap()
}

fn identity(vector: &Accept) -> Identity {
    Identity {
        tenant: TenantNumber::new(vector.tenant).unwrap(),
        probe: ProbeNumber::new(vector.probe).unwrap(),
        slot: Slot::new(vector.slot).unwrap(),
    }
}

#[test]
fn every_accepted_vector_is_sealed_written_read_and_opened_alike() {
    let vectors = vectors();
    assert_eq!(vectors.version, 1);
    assert!(vectors.accept.len() >= 20);
    for vector in &vectors.accept {
        let ring = KeyRing::from_root(&bytes(&vector.root));
        let key = ring.minting();
        let identity = identity(vector);
        let canary = Canary(bytes(&vector.canary));
        assert_eq!(key.id().to_string(), vector.key_id);
        assert!(
            key.seal(identity, vector.tweak) == canary,
            "{}",
            vector.canary
        );
        let texts = [
            &vector.code,
            &vector.uuid,
            &vector.digits,
            &vector.words,
            &vector.names,
        ];
        for (form, text) in Form::ALL.into_iter().zip(texts) {
            assert_eq!(&form.write(&canary), text);
            assert_eq!(form.parse(text), Some(canary));
            let found = scan(&ring, text.as_bytes());
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!((found[0].identity, found[0].form), (identity, form));
            let minted = key.seal(identity, vector.minted_tweak[form.as_str()]);
            assert_eq!(key.mint(identity, form), minted, "{form} of {text}");
        }
    }
}

#[test]
fn every_rejected_vector_is_no_canary() {
    let Rejects { root, texts } = vectors().reject;
    let ring = KeyRing::from_root(&bytes(&root));
    assert!(texts.len() >= 9);
    for Reject { why, text } in texts {
        assert_eq!(scan(&ring, text.as_bytes()), vec![], "{why}");
    }
}
