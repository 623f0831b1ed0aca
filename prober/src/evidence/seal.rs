//! Sealing: AES-256-GCM under a key of each record's own, bound to what it is evidence of.

use super::key::SALT_BYTES;
use super::{EvidenceKeyId, EvidenceKeys, Response};
use crate::ids::RoundId;
use canary_gen::ProbeNumber;
use ring::aead::{Aad, NONCE_LEN, Nonce};
use ring::rand::SecureRandom;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The version of the format.
pub const FORMAT: u8 = 1;

const LABEL: &[u8] = b"prober/evidence/v1";
const TAG_BYTES: usize = 16;
/// Version, key id, salt.
const HEAD_BYTES: usize = 1 + 8 + SALT_BYTES;

/// What a sealed response is evidence of: it opens for nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The probe that got it.
    pub probe: ProbeNumber,
    /// The round of that probe.
    pub round: RoundId,
}

/// A sealed response.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// What it is evidence of.
    pub of: Binding,
    /// The key it is sealed with.
    pub key: EvidenceKeyId,
    /// How many bytes of the response are in it.
    pub plain_bytes: u64,
    /// Whether the response had more.
    pub is_cut: bool,
    /// All of it, its version and key included.
    #[serde(with = "base64_text")]
    pub bytes: Vec<u8>,
}

/// Sealed bytes where only text can stand.
mod base64_text {
    use base64::prelude::{BASE64_STANDARD, Engine as _};
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&BASE64_STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        // What is wrong with it is not told with any of it.
        let wrong = |_| D::Error::custom("sealed bytes are no base64");
        BASE64_STANDARD.decode(text).map_err(wrong)
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed")
            .field("of", &self.of)
            .field("key", &self.key)
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

/// Why nothing could be sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// No randomness.
    #[error("draw a random salt from the operating system")]
    Random,
    /// More than an AEAD takes.
    #[error("seal a response (it is too long)")]
    TooLong,
}

/// Why a sealed response does not open. Never holds any of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// It is of another version, or damaged.
    #[error("evidence of format {0} is not known here (known: {FORMAT})")]
    Format(u8),
    /// Its key is not in the ring.
    #[error(
        "it is sealed with evidence key `{0}`, which is not among the configured ones (add it below the first one)"
    )]
    UnknownKey(EvidenceKeyId),
    /// It was changed, or is not evidence of this probe.
    #[error("it does not open: it was changed since it was sealed, or belongs to another probe")]
    Refused,
}

/// Seals a response with the first of the keys.
///
/// # Errors
/// When there is no randomness.
pub fn seal(
    keys: &EvidenceKeys,
    of: Binding,
    response: &Response,
    random: &dyn SecureRandom,
) -> Result<Sealed, SealError> {
    let key = keys.first();
    let mut salt = [0; SALT_BYTES];
    random.fill(&mut salt).map_err(|_| SealError::Random)?;
    let mut sealed = Sealed {
        of,
        key: key.id,
        plain_bytes: response.len() as u64,
        is_cut: response.is_cut,
        bytes: Vec::new(),
    };
    let mut text = response.encode(TAG_BYTES);
    key.of_record(&salt)
        .seal_in_place_append_tag(only_nonce(), Aad::from(sealed.associated()), &mut text)
        .map_err(|_| SealError::TooLong)?;
    sealed.bytes = [&[FORMAT][..], &key.id.0, &salt, &text].concat();
    Ok(sealed)
}

/// Opens a sealed response with whichever of the keys it is sealed with.
///
/// # Errors
/// When that key is not among them, or anything about it was changed since.
pub fn open(keys: &EvidenceKeys, sealed: &Sealed) -> Result<Response, OpenError> {
    let refused = || OpenError::Refused;
    let (&format, rest) = sealed.bytes.split_first().ok_or_else(refused)?;
    if format != FORMAT {
        return Err(OpenError::Format(format));
    }
    if sealed.bytes.len() < HEAD_BYTES + TAG_BYTES {
        return Err(OpenError::Refused);
    }
    let (&id, rest) = rest.split_first_chunk().ok_or_else(refused)?;
    let (salt, text) = rest.split_first_chunk().ok_or_else(refused)?;
    let id = EvidenceKeyId(id);
    if id != sealed.key {
        return Err(OpenError::Refused);
    }
    let key = keys.get(id).ok_or(OpenError::UnknownKey(id))?;
    let mut text = text.to_vec();
    let opened = key
        .of_record(salt)
        .open_in_place(only_nonce(), Aad::from(sealed.associated()), &mut text)
        .map_err(|_| OpenError::Refused)?;
    Response::decode(opened, sealed.is_cut).ok_or_else(refused)
}

impl Sealed {
    /// What is not secret and must not be changed: label, key, probe, round, length, whether it is cut; numbers
    /// as 64 bits, big-endian.
    fn associated(&self) -> Vec<u8> {
        let mut bytes = LABEL.to_vec();
        bytes.extend_from_slice(&self.key.0);
        bytes.extend_from_slice(&self.of.probe.get().to_be_bytes());
        bytes.extend_from_slice(&self.of.round.get().to_be_bytes());
        bytes.extend_from_slice(&self.plain_bytes.to_be_bytes());
        bytes.push(u8::from(self.is_cut));
        bytes
    }
}

/// A key is used once, so it needs no second nonce.
fn only_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

#[cfg(test)]
mod tests;
