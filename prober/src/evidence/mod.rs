//! Evidence: the response behind a finding, sealed. Pure but for randomness and the key file
//! (docs/evidence.md has the format).
//!
//! ```text
//! response ──Recorder──▶ Response ──seal──▶ Sealed ──▶ store
//!                            ▲                 │
//!                            └──────open───────┘
//! ```
//!
//! A response may hold real people's data. So nothing here shows text of it: not `Debug`, no error, no log.

mod key;
pub mod key_file;
mod recorder;
mod response;
mod seal;

pub use key::{EvidenceKeyId, EvidenceKeys, NoKeyId};
pub use recorder::{Recorder, Room};
pub use response::Response;
pub use seal::{Binding, FORMAT, OpenError, SealError, Sealed, open, seal};

use std::sync::Arc;

/// All responses under way together are kept in so many bytes; of what has no room left, the beginning is.
const MOST_UNDER_WAY: usize = 64 << 20;

/// What keeps responses until it is known whether they prove something. Cheap to clone: all clones share
/// their room.
#[derive(Clone, Debug)]
pub struct Keeper {
    /// What they are sealed with.
    pub keys: EvidenceKeys,
    /// Of each, so many bytes are kept at most.
    pub max_bytes: usize,
    room: Arc<Room>,
}

impl Keeper {
    /// One that keeps so many bytes of each response at most.
    #[must_use]
    pub fn new(keys: EvidenceKeys, max_bytes: usize) -> Self {
        Self {
            keys,
            max_bytes,
            room: Arc::new(Room::new(MOST_UNDER_WAY)),
        }
    }

    /// Takes down one response.
    #[must_use]
    pub fn recorder(&self) -> Recorder {
        Recorder::new(self.max_bytes, Arc::clone(&self.room))
    }
}
