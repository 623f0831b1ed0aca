//! What a scheduler tells of itself.

use super::{Request, Scheduler, Stage};
use crate::engine::state::{Admitted, Counts, Pages, Phase, State};

impl Scheduler {
    /// What it is at; how long it took is not its affair.
    pub(crate) fn state(&self) -> State {
        let admitted = self.requests.iter().map(|(&id, request)| Admitted {
            id,
            phase: phase(request),
            prompt: request.prompt.len(),
            cached: request.cached,
            computed: match request.stage {
                Stage::Loading(_) => 0,
                Stage::Prefill { computed } => computed,
                _ => request.prompt.len(),
            },
            given: request.given.len(),
            most: request.most,
        });
        State {
            waiting: self.waiting.len(),
            admitted: admitted.collect(),
            prefill: Pages {
                free: self.prefill.free_pages() + self.prefix.evictable(&self.prefill),
                all: self.prefill.pages(),
            },
            decode: Pages {
                free: self.decode.free_pages(),
                all: self.decode.pages(),
            },
            counts: self.counts,
            ..State::default()
        }
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Whether somebody is there.
    pub(crate) fn has(&self, there: Phase) -> bool {
        self.requests
            .values()
            .any(|request| phase(request) == there)
    }
}

fn phase(request: &Request) -> Phase {
    match request.stage {
        Stage::Loading(_) | Stage::Prefill { .. } => Phase::Prefill,
        Stage::Transfer(_) => Phase::Transfer,
        Stage::Decode => Phase::Decode,
        Stage::Swapped(_) => Phase::Retracted,
    }
}
