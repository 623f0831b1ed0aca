//! Ids have kinds: a round is no endpoint. Raw integers exist in `store` only.
//!
//! Probes and tenants are named by what their canaries say:
//! [`canary_gen::ProbeNumber`] and [`canary_gen::TenantNumber`].

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub(crate) i64);

        impl $name {
            /// From the bare number, as somebody was told it.
            #[must_use]
            pub fn new(number: i64) -> Self {
                Self(number)
            }

            /// The bare number, for output.
            #[must_use]
            pub fn get(self) -> i64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// A row of `endpoints`.
    EndpointId
}
id! {
    /// A row of `tenants`.
    TenantId
}
id! {
    /// A row of `rounds`.
    RoundId
}
id! {
    /// A row of `incidents`.
    IncidentId
}
id! {
    /// A row of `drills`.
    DrillId
}
