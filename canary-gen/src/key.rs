//! Keys: what makes a canary ours. One root key seals; any number of older ones still read.

use crate::canary::{Canary, Identity, Payload, TWEAKS};
use crate::form::Form;
use hmac::{Hmac, KeyInit, Mac};
use ring::{hkdf, rand::SecureRandom};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::{fmt, sync::Arc};
use zeroize::Zeroizing;

const LABEL_AUTH: &[u8] = b"canary-gen/v1/auth";
const LABEL_MASK: &[u8] = b"canary-gen/v1/mask";
const LABEL_ID: &[u8] = b"canary-gen/v1/key-id";

/// The bytes a key is derived from. Wiped when dropped; never printed.
pub type RootKey = Zeroizing<[u8; 32]>;

/// The operating system's random number generator failed.
#[derive(Debug, thiserror::Error)]
#[error("draw a random key from the operating system")]
pub struct RandomError;

/// Draws a new root key.
///
/// # Errors
/// When the operating system has no randomness to give.
pub fn random_root() -> Result<RootKey, RandomError> {
    let mut root = Zeroizing::new([0; 32]);
    ring::rand::SystemRandom::new()
        .fill(root.as_mut())
        .map_err(|_| RandomError)?;
    Ok(root)
}

/// The public name of a key, derived from it one-way: may be logged and stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct KeyId([u8; 8]);

/// Not 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a key has 16 hexadecimal digits")]
pub struct NoKeyId;

impl From<KeyId> for String {
    fn from(id: KeyId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for KeyId {
    type Error = NoKeyId;

    fn try_from(text: String) -> Result<Self, NoKeyId> {
        let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u64::from_str_radix(&text, 16).ok().filter(|_| is_hex);
        Ok(Self(number.ok_or(NoKeyId)?.to_be_bytes()))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

/// Seals and opens canaries.
pub struct Key {
    id: KeyId,
    auth: Hmac<Sha256>,
    mask: Hmac<Sha256>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

impl Key {
    /// Derives the working keys from a root key by HKDF-SHA256 (no salt, one label each).
    #[must_use]
    pub fn from_root(root: &[u8; 32]) -> Self {
        let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(root);
        let mut id = [0; 8];
        id.copy_from_slice(&expand(&extracted, LABEL_ID)[..8]);
        Self {
            id: KeyId(id),
            auth: mac_key(&expand(&extracted, LABEL_AUTH)),
            mask: mac_key(&expand(&extracted, LABEL_MASK)),
        }
    }

    /// The public name of this key.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Seals an identity, choosing the tweak whose writing in `form` a model copies most surely:
    /// first no doubled characters, then the fewest repeated pairs, then the lowest tweak.
    /// (Models lose their place at repetitions.)
    #[must_use]
    pub fn mint(&self, identity: Identity, form: Form) -> Canary {
        let mut best = None;
        for tweak in 0..TWEAKS {
            let canary = self.seal(identity, tweak);
            let cost = form.repetitions(&canary);
            if best.as_ref().is_none_or(|(lowest, _)| cost < *lowest) {
                best = Some((cost, canary));
            }
            if cost == (0, 0) {
                break;
            }
        }
        // There are sixteen tweaks, so there is always a best one.
        best.map_or_else(|| self.seal(identity, 0), |(_, canary)| canary)
    }

    /// Seals an identity with a given tweak (`0..16`; higher bits are ignored).
    #[must_use]
    pub fn seal(&self, identity: Identity, tweak: u8) -> Canary {
        let payload = Payload::new(identity, tweak % TWEAKS);
        let tag = first_eight(&self.auth, &payload.0.to_be_bytes());
        let body = payload.0 ^ u64::from_be_bytes(first_eight(&self.mask, &tag));
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&tag);
        bytes[8..].copy_from_slice(&body.to_be_bytes());
        Canary(bytes)
    }

    /// Tells whose canary these 16 bytes are; `None` if they are none of this key's.
    /// A random 16 bytes pass with a chance of 2⁻⁶⁴.
    #[must_use]
    pub fn open(&self, canary: &Canary) -> Option<Identity> {
        let (tag, body) = canary.0.split_at(8);
        let tag: [u8; 8] = tag.try_into().ok()?;
        let body = u64::from_be_bytes(body.try_into().ok()?);
        let payload = Payload(body ^ u64::from_be_bytes(first_eight(&self.mask, &tag)));
        (first_eight(&self.auth, &payload.0.to_be_bytes()) == tag).then(|| payload.identity())
    }
}

/// One key that mints and any number of older ones that only read. Cheap to clone.
#[derive(Clone, Debug)]
pub struct KeyRing {
    keys: Arc<[Key]>,
}

impl KeyRing {
    /// A ring of one key.
    #[must_use]
    pub fn from_root(root: &[u8; 32]) -> Self {
        Self {
            keys: Arc::new([Key::from_root(root)]),
        }
    }

    /// A ring whose first key mints; `None` when there is no key at all.
    #[must_use]
    pub fn from_roots(roots: &[RootKey]) -> Option<Self> {
        (!roots.is_empty()).then(|| Self {
            keys: roots.iter().map(|root| Key::from_root(root)).collect(),
        })
    }

    /// The key that mints.
    #[must_use]
    pub fn minting(&self) -> &Key {
        // Both constructors put at least one key in.
        &self.keys[0]
    }

    /// Every key that reads, the minting one first.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Tells whose canary these 16 bytes are and which key sealed it.
    #[must_use]
    pub fn open(&self, canary: &Canary) -> Option<(KeyId, Identity)> {
        self.keys
            .iter()
            .find_map(|key| key.open(canary).map(|identity| (key.id, identity)))
    }
}

fn expand(extracted: &hkdf::Prk, label: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut bytes = Zeroizing::new([0; 32]);
    extracted
        .expand(&[label], hkdf::HKDF_SHA256)
        .and_then(|okm| okm.fill(bytes.as_mut()))
        .expect("32 bytes are within HKDF's limit of 255 blocks");
    bytes
}

/// A key that has its padded blocks hashed already. Opening a candidate is what a scan spends most of
/// its time on, and half of `ring::hmac` is copying of its contexts.
fn mac_key(bytes: &[u8; 32]) -> Hmac<Sha256> {
    Hmac::new_from_slice(bytes).expect("HMAC takes keys of any length")
}

fn first_eight(key: &Hmac<Sha256>, message: &[u8; 8]) -> [u8; 8] {
    let mut mac = key.clone();
    mac.update(message);
    let tag = mac.finalize().into_bytes();
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&tag[..8]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canary::strategies;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_a_key_seals_it_opens(identity in strategies::identity(), root: [u8; 32], tweak in 0u8..16) {
            let key = Key::from_root(&root);
            prop_assert_eq!(key.open(&key.seal(identity, tweak)), Some(identity));
        }

        #[test]
        fn one_changed_bit_is_enough_to_be_no_canary(identity in strategies::identity(), bit in 0usize..128) {
            let key = Key::from_root(&[3; 32]);
            let mut canary = key.seal(identity, 0);
            canary.0[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(key.open(&canary), None);
        }

        #[test]
        fn a_minted_canary_repeats_no_more_than_any_other_tweak(identity in strategies::identity()) {
            let key = Key::from_root(&[3; 32]);
            for form in Form::ALL {
                let minted = form.repetitions(&key.mint(identity, form));
                for tweak in 0..TWEAKS {
                    prop_assert!(minted <= form.repetitions(&key.seal(identity, tweak)));
                }
            }
        }
    }

    #[test]
    fn an_older_key_still_reads_and_the_first_one_mints() {
        let (new, old) = (Zeroizing::new([1; 32]), Zeroizing::new([2; 32]));
        let ring = KeyRing::from_roots(&[new, old.clone()]).expect("two keys");
        let identity = Payload(77).identity();
        let from_old = Key::from_root(&old).seal(identity, 0);
        assert_eq!(
            ring.open(&from_old),
            Some((Key::from_root(&old).id(), identity))
        );
        assert_ne!(ring.minting().id(), Key::from_root(&old).id());
        assert!(KeyRing::from_roots(&[]).is_none());
    }

    #[test]
    fn debug_output_shows_the_key_id_only() {
        let key = Key::from_root(&[9; 32]);
        assert_eq!(format!("{key:?}"), format!("Key({})", key.id()));
    }
}
