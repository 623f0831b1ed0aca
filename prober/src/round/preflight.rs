//! The pre-flight scan of an outgoing body.

use crate::metrics::Scanned;
use canary_gen::scan::{Effort, Search};
use canary_gen::{Form, KeyRing, ProbeNumber, Scanner, Sighting, TenantNumber};
use std::fmt;
use std::time::Instant;

/// What the scan of an outgoing body must show: exactly the canaries that were woven in. Then a
/// foreign canary in a response was not sent by us, and the scanner is known to see what we plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preflight {
    /// Canaries woven into the document.
    pub planted: u64,
    /// Of those, how many the scanner found in the body.
    pub own: u64,
    /// Canaries of anybody else in the body.
    pub foreign: u64,
}

impl Preflight {
    pub(super) fn is_good(&self) -> bool {
        self.foreign == 0 && self.own == self.planted
    }
}

impl fmt::Display for Preflight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the outgoing body held {} of {} planted canaries and {} foreign ones",
            self.own, self.planted, self.foreign
        )
    }
}

/// Counts own and foreign canaries in an outgoing body.
pub(super) struct Check {
    scanner: Scanner,
    tally: Tally,
    scanned: Scanned,
}

struct Tally {
    tenant: TenantNumber,
    probe: ProbeNumber,
    own: u64,
    foreign: u64,
}

impl Check {
    /// For a document whose canaries are written so. Nothing in it is harmed or disguised but by JSON,
    /// which leaves canaries as they are; so the search for unharmed ones sees them all, many times faster
    /// than the one that responses go through.
    pub(super) fn new(ring: KeyRing, form: Form, tenant: TenantNumber, probe: ProbeNumber) -> Self {
        let search = match form {
            Form::Code | Form::Uuid | Form::Digits => Search::exact(ring),
            Form::Words | Form::Names => Search::new(ring).with_effort(Effort::NONE),
        };
        Self {
            scanner: search.scanner(),
            tally: Tally {
                tenant,
                probe,
                own: 0,
                foreign: 0,
            },
            scanned: Scanned::default(),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let begun = Instant::now();
        let mut found = Vec::new();
        self.scanner.push(bytes, &mut found);
        self.tally.count(&found);
        self.scanned.bytes += bytes.len() as u64;
        self.scanned.took += begun.elapsed();
    }

    /// What it showed, and what that took.
    pub(super) fn finish(self, planted: u64) -> (Preflight, Scanned) {
        let Self {
            scanner,
            mut tally,
            mut scanned,
        } = self;
        let begun = Instant::now();
        let mut found = Vec::new();
        scanner.finish(&mut found);
        tally.count(&found);
        scanned.took += begun.elapsed();
        let preflight = Preflight {
            planted,
            own: tally.own,
            foreign: tally.foreign,
        };
        (preflight, scanned)
    }
}

impl Tally {
    fn count(&mut self, found: &[Sighting]) {
        for sighting in found {
            let identity = sighting.identity;
            let own = identity.tenant == self.tenant && identity.probe == self.probe;
            self.own += u64::from(own);
            self.foreign += u64::from(!own);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use canary_gen::{Form, Identity, Slot};

    const ROOT: [u8; 32] = [4; 32];

    fn canary(tenant: u64, probe: u64, slot: u64) -> String {
        let identity = Identity {
            tenant: TenantNumber::new(tenant).unwrap(),
            probe: ProbeNumber::new(probe).unwrap(),
            slot: Slot::new(slot).unwrap(),
        };
        let ring = KeyRing::from_root(&ROOT);
        Form::Code.write(&ring.minting().mint(identity, Form::Code))
    }

    /// The check of a body of probe 7 of tenant 1 with two planted canaries.
    fn check(body: &[&str]) -> Preflight {
        let ring = KeyRing::from_root(&ROOT);
        let mut check = Check::new(
            ring,
            Form::Code,
            TenantNumber::new(1).unwrap(),
            ProbeNumber::new(7).unwrap(),
        );
        body.iter().for_each(|piece| check.push(piece.as_bytes()));
        check.finish(2).0
    }

    #[test]
    fn exactly_the_planted_canaries_pass_however_the_body_is_cut() {
        let text = format!("{} and {}", canary(1, 7, 0), canary(1, 7, 1));
        for cut in 0..text.len() {
            assert!(check(&[&text[..cut], &text[cut..]]).is_good());
        }
    }

    #[test]
    fn a_missing_canary_and_a_foreign_one_do_not() {
        let own = [canary(1, 7, 0), canary(1, 7, 1)];
        assert!(!check(&[&own[0]]).is_good());
        for foreign in [canary(2, 7, 0), canary(1, 6, 0)] {
            let result = check(&[&own[0], " ", &own[1], " ", &foreign]);
            assert_eq!(
                (result.own, result.foreign, result.is_good()),
                (2, 1, false)
            );
        }
    }
}
