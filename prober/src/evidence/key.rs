//! Evidence keys: whoever holds one can read the responses behind findings.

use canary_gen::key::RootKey;
use ring::aead::{AES_256_GCM, LessSafeKey, UnboundKey};
use ring::hkdf;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

const LABEL_ID: &[u8] = b"prober/evidence/v1/key-id";
const LABEL_RECORD: &[u8] = b"prober/evidence/v1/record";

/// A record's salt, in bytes.
pub(super) const SALT_BYTES: usize = 32;

/// The public name of an evidence key, derived from it one-way: may be logged and stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct EvidenceKeyId(pub(super) [u8; 8]);

impl fmt::Display for EvidenceKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for EvidenceKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EvidenceKeyId({self})")
    }
}

/// Not 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of an evidence key has 16 hexadecimal digits")]
pub struct NoKeyId;

impl From<EvidenceKeyId> for String {
    fn from(id: EvidenceKeyId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for EvidenceKeyId {
    type Error = NoKeyId;

    fn try_from(text: String) -> Result<Self, NoKeyId> {
        text.parse()
    }
}

impl FromStr for EvidenceKeyId {
    type Err = NoKeyId;

    fn from_str(text: &str) -> Result<Self, NoKeyId> {
        let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u64::from_str_radix(text, 16).ok().filter(|_| is_hex);
        Ok(Self(number.ok_or(NoKeyId)?.to_be_bytes()))
    }
}

pub(super) struct Key {
    pub(super) id: EvidenceKeyId,
    root: RootKey,
}

impl Key {
    fn new(root: &RootKey) -> Self {
        let mut id = [0; 8];
        hkdf::Salt::new(hkdf::HKDF_SHA256, &[])
            .extract(root.as_ref())
            .expand(&[LABEL_ID], Bytes(8))
            .and_then(|okm| okm.fill(&mut id))
            .expect("8 bytes are within HKDF's limit of 255 blocks");
        Self {
            id: EvidenceKeyId(id),
            root: root.clone(),
        }
    }

    /// The key of one record: each salt makes a new one, so that its only nonce is never used twice.
    pub(super) fn of_record(&self, salt: &[u8; SALT_BYTES]) -> LessSafeKey {
        let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(self.root.as_ref());
        let okm = extracted
            .expand(&[LABEL_RECORD], &AES_256_GCM)
            .expect("32 bytes are within HKDF's limit of 255 blocks");
        LessSafeKey::new(UnboundKey::from(okm))
    }
}

/// One key that seals and any number of older ones that only open. Cheap to clone.
#[derive(Clone)]
pub struct EvidenceKeys(Arc<[Key]>);

impl EvidenceKeys {
    /// Keys of which the first seals; `None` if there is none at all.
    #[must_use]
    pub fn from_roots(roots: &[RootKey]) -> Option<Self> {
        (!roots.is_empty()).then(|| Self(roots.iter().map(Key::new).collect()))
    }

    /// The public name of the key that seals.
    #[must_use]
    pub fn sealing(&self) -> EvidenceKeyId {
        self.first().id
    }

    pub(super) fn first(&self) -> &Key {
        // The constructor puts at least one key in.
        &self.0[0]
    }

    pub(super) fn get(&self, id: EvidenceKeyId) -> Option<&Key> {
        self.0.iter().find(|key| key.id == id)
    }
}

impl fmt::Debug for EvidenceKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|key| key.id))
            .finish()
    }
}

/// A length, as `ring` wants it.
struct Bytes(usize);

impl hkdf::KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}
