//! What is kept of responses: sealed, until the end of a round shows whether probes prove something together.

use super::Executor;
use crate::errors;
use crate::evidence::{self, Binding, Recorder, Sealed};
use canary_gen::ProbeNumber;
use ring::rand::SystemRandom;

/// So many bytes of a round are kept; what comes later is not.
const MOST_BYTES: usize = 64 << 20;

/// Sealed responses of a round's probes.
#[derive(Default)]
pub(super) struct Kept {
    sealed: Vec<Sealed>,
    bytes: usize,
}

impl Kept {
    /// Keeps a response, if there is room for it.
    pub(super) fn put(&mut self, sealed: Option<Sealed>) {
        if let Some(sealed) = sealed.filter(|sealed| self.bytes + sealed.bytes.len() <= MOST_BYTES)
        {
            self.bytes += sealed.bytes.len();
            self.sealed.push(sealed);
        }
    }

    /// Hands out the response of a probe, once.
    pub(super) fn take(&mut self, probe: ProbeNumber) -> Option<Sealed> {
        let place = self
            .sealed
            .iter()
            .position(|sealed| sealed.of.probe == probe)?;
        Some(self.sealed.swap_remove(place))
    }
}

/// Seals a response that may prove something.
pub(super) fn seal(executor: &Executor, of: Binding, recorder: &Recorder) -> Option<Sealed> {
    let keeper = executor.evidence.as_ref()?;
    let response = recorder.response()?;
    // A finding without evidence is a finding all the same.
    evidence::seal(&keeper.keys, of, response, &SystemRandom::new())
        .inspect_err(|error| {
            tracing::error!(
                probe.id = of.probe.get(),
                error = errors::chain(error),
                "a response could not be sealed; it is not kept"
            );
        })
        .ok()
}
