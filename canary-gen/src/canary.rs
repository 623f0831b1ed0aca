//! The canary: 128 bits that say who planted them, in which probe, at which slot, and that
//! nobody without the key can make, read or link.
//!
//! ```text
//! payload = tenant (12 bits) · probe (34) · slot (14) · tweak (4), big-endian
//! tag     = HMAC-SHA256(k_auth, payload)[0..8]
//! body    = payload XOR HMAC-SHA256(k_mask, tag)[0..8]
//! canary  = tag ‖ body
//! ```

use serde::{Deserialize, Serialize};
use std::fmt;

/// How many values the tweak has: the minter chooses among so many writings of one identity.
pub const TWEAKS: u8 = 16;

const PROBE_BITS: u32 = 34;
const SLOT_BITS: u32 = 14;
const TWEAK_BITS: u32 = 4;

/// A number that does not fit into its bits of a canary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the number is out of range (0 to {most})")]
pub struct NumberOutOfRange {
    /// The largest that fits.
    pub most: u64,
}

macro_rules! bounded_number {
    ($(#[$doc:meta])* $name:ident, $repr:ty, $bits:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(into = "u64", try_from = "u64")]
        pub struct $name($repr);

        impl $name {
            /// The largest value.
            pub const MAX: Self = Self(((1u64 << $bits) - 1) as $repr);

            /// The number as a typed value; `None` when it is out of range.
            #[must_use]
            pub fn new(number: u64) -> Option<Self> {
                (number <= Self::MAX.get()).then_some(Self(number as $repr))
            }

            /// The bare number.
            #[must_use]
            pub fn get(self) -> u64 {
                u64::from(self.0)
            }
        }

        impl From<$name> for u64 {
            fn from(number: $name) -> Self {
                number.get()
            }
        }

        impl TryFrom<u64> for $name {
            type Error = NumberOutOfRange;

            fn try_from(number: u64) -> Result<Self, NumberOutOfRange> {
                Self::new(number).ok_or(NumberOutOfRange { most: Self::MAX.get() })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

bounded_number! {
    /// A synthetic tenant, `0..=4,095`.
    TenantNumber, u16, 12
}
bounded_number! {
    /// A probe, `0..=17,179,869,183`; unique under one key ring.
    ProbeNumber, u64, PROBE_BITS
}
bounded_number! {
    /// A place in the context, `0..=16,383`: one for each 64-token page of a million tokens.
    Slot, u16, SLOT_BITS
}

/// What a canary says: who planted it, in which probe, at which slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identity {
    /// Who planted it.
    pub tenant: TenantNumber,
    /// In which request.
    pub probe: ProbeNumber,
    /// Where in that request's context.
    pub slot: Slot,
}

/// The 64 bits that are sealed: an identity and the tweak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Payload(pub(crate) u64);

impl Payload {
    pub(crate) fn new(identity: Identity, tweak: u8) -> Self {
        debug_assert!(tweak < TWEAKS);
        let mut bits = identity.tenant.get();
        bits = bits << PROBE_BITS | identity.probe.get();
        bits = bits << SLOT_BITS | identity.slot.get();
        Self(bits << TWEAK_BITS | u64::from(tweak))
    }

    pub(crate) fn identity(self) -> Identity {
        let slot = self.0 >> TWEAK_BITS;
        let probe = slot >> SLOT_BITS;
        let tenant = probe >> PROBE_BITS;
        Identity {
            tenant: TenantNumber(tenant as u16),
            probe: ProbeNumber(probe & ProbeNumber::MAX.get()),
            slot: Slot((slot & Slot::MAX.get()) as u16),
        }
    }
}

/// A sealed identity. It looks random; only a holder of the key can tell that it is a canary.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Canary(pub [u8; 16]);

impl fmt::Debug for Canary {
    // A planted canary in a log would be found by a scan of the log: show that there is one, no more.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Canary(…)")
    }
}

#[cfg(test)]
pub(crate) mod strategies {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn identity() -> impl Strategy<Value = Identity> {
        (0u64..1 << 12, 0u64..1 << 34, 0u64..1 << 14).prop_map(|(tenant, probe, slot)| Identity {
            tenant: TenantNumber::new(tenant).expect("in range"),
            probe: ProbeNumber::new(probe).expect("in range"),
            slot: Slot::new(slot).expect("in range"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_payload_keeps_every_field(identity in strategies::identity(), tweak in 0u8..16) {
            let payload = Payload::new(identity, tweak);
            prop_assert_eq!(payload.identity(), identity);
            prop_assert_eq!(payload.0 & 15, u64::from(tweak));
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert!(TenantNumber::new(4_095).is_some() && TenantNumber::new(4_096).is_none());
        assert!(ProbeNumber::new((1 << 34) - 1).is_some() && ProbeNumber::new(1 << 34).is_none());
        assert!(Slot::new(16_383).is_some() && Slot::new(16_384).is_none());
    }

    #[test]
    fn debug_output_does_not_show_the_canary() {
        assert_eq!(format!("{:?}", Canary([7; 16])), "Canary(…)");
    }
}
