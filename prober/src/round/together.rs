//! The probes of a step begin together: each is woven and checked first, which takes its time, and waits
//! until the last of them is ready.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio_util::sync::CancellationToken;

/// Of more, weaving takes longer than what they are to coincide with; these begin as they are ready.
const MOST: usize = 128;

struct Together {
    weaving: AtomicUsize,
    go: CancellationToken,
}

/// A probe's place in its step. Whoever drops it is not waited for.
pub(super) struct Place(Arc<Together>);

/// Places for a step of so many probes.
pub(super) fn places(probes: usize) -> Vec<Place> {
    let together = Arc::new(Together {
        weaving: AtomicUsize::new(probes),
        go: CancellationToken::new(),
    });
    if probes > MOST {
        together.go.cancel();
    }
    (0..probes).map(|_| Place(Arc::clone(&together))).collect()
}

impl Place {
    /// Ready: waits for the others.
    pub(super) async fn begin(self) {
        let go = self.0.go.clone();
        drop(self);
        go.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.0.weaving.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.go.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[test]
    fn nobody_begins_before_the_last_is_ready_or_gone() {
        let mut places = places(3);
        let gone = places.pop();
        let mut waiting: Vec<_> = places
            .into_iter()
            .map(|place| Box::pin(place.begin()))
            .collect();
        for place in &mut waiting {
            assert!(place.as_mut().now_or_never().is_none());
        }
        drop(gone);
        for place in &mut waiting {
            assert!(place.as_mut().now_or_never().is_some());
        }
    }

    #[test]
    fn a_step_of_very_many_begins_as_they_are_ready() {
        let first = places(MOST + 1).swap_remove(0);
        assert!(first.begin().now_or_never().is_some());
    }
}
