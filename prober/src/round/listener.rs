//! The listener: scans every text of a response as it arrives, and keeps nothing but sightings; and, where evidence
//! is kept, the response until it has been judged.

use crate::endpoint::{Digest, Hasher, Place, Sink};
use crate::evidence::Recorder;
use crate::judge::Seen;
use crate::metrics::Scanned;
use canary_gen::scan::Effort;
use canary_gen::{Identity, KeyId, KeyRing, Scanner, Sighting};
use reqwest::header::HeaderMap;
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// A response full of canaries must not fill our memory; this many different ones prove enough.
const MOST_SEEN: usize = 20_000;

/// One scanner for each text of a response. The endpoint station bounds how many texts there are.
pub(super) struct Listener {
    ring: KeyRing,
    scanners: HashMap<Place, Scanner>,
    /// What was spent on undoing damages in texts other than the model's own words. Identifiers and
    /// numbers of a response look like damaged canaries by the dozen; all of them together get the effort
    /// of one text, so that many small responses cost little.
    spent_beside: u64,
    seen: BTreeMap<(Identity, KeyId), Seen>,
    /// Different canaries beyond [`MOST_SEEN`].
    overflowed: u64,
    /// The model's own words, by where they stood.
    answers: BTreeMap<String, Hasher>,
    /// How many pieces of them came.
    pieces: u32,
    /// Who is told when so many have come.
    waiting: Option<(u32, CancellationToken)>,
    /// Takes down the response, where evidence is kept.
    recorder: Option<Recorder>,
    scanned: Scanned,
    body_bytes: u64,
}

/// What was heard of a response.
pub(super) struct Heard {
    /// Every different canary.
    pub(super) seen: Vec<Seen>,
    /// The model's own words, if it said any.
    pub(super) answer: Option<Digest>,
    /// The response, where evidence is kept.
    pub(super) recorder: Option<Recorder>,
    /// What scanning took.
    pub(super) scanned: Scanned,
    /// How long its body was, unpacked.
    pub(super) body_bytes: u64,
}

impl Listener {
    pub(super) fn new(ring: KeyRing, recorder: Option<Recorder>) -> Self {
        Self {
            ring,
            scanners: HashMap::new(),
            spent_beside: 0,
            seen: BTreeMap::new(),
            overflowed: 0,
            answers: BTreeMap::new(),
            pieces: 0,
            waiting: None,
            recorder,
            scanned: Scanned::default(),
            body_bytes: 0,
        }
    }

    /// Is cancelled once so many pieces of the model's own words have come.
    pub(super) fn after_pieces(&mut self, pieces: u32) -> CancellationToken {
        let token = CancellationToken::new();
        self.waiting = Some((pieces, token.clone()));
        token
    }

    /// Ends every text and hands out what was seen.
    pub(super) fn finish(mut self) -> Heard {
        let begun = Instant::now();
        let mut found = Vec::new();
        for (place, scanner) in std::mem::take(&mut self.scanners) {
            scanner.finish(&mut found);
            self.note(&place, &mut found);
        }
        self.scanned.took += begun.elapsed();
        if self.overflowed > 0 {
            tracing::warn!(
                sightings.dropped = self.overflowed,
                "a response held more canaries than are kept"
            );
        }
        let mut words = Hasher::default();
        let has_words = !self.answers.is_empty();
        for (place, hasher) in self.answers {
            words.push(place.as_bytes());
            words.push(hasher.finish().as_bytes());
        }
        Heard {
            seen: self.seen.into_values().collect(),
            answer: has_words.then(|| words.finish()),
            recorder: self.recorder,
            scanned: self.scanned,
            body_bytes: self.body_bytes,
        }
    }

    fn hear(&mut self, place: &Place, bytes: &[u8]) {
        let Place::Text { path, answer: true } = place else {
            return;
        };
        match self.answers.get_mut(path) {
            Some(hasher) => hasher.push(bytes),
            None => self.answers.entry(path.clone()).or_default().push(bytes),
        }
        self.pieces += 1;
        if let Some((pieces, token)) = &self.waiting
            && self.pieces >= *pieces
        {
            token.cancel();
        }
    }

    fn note(&mut self, place: &Place, found: &mut Vec<Sighting>) {
        for sighting in found.drain(..) {
            let key = (sighting.identity, sighting.key);
            let full = self.seen.len() >= MOST_SEEN;
            match self.seen.get_mut(&key) {
                Some(seen) => {
                    seen.occurrences = seen.occurrences.saturating_add(1);
                    // The place among the model's words says more than the raw bytes that carried it.
                    if place.is_answer() && !seen.in_answer {
                        seen.in_answer = true;
                        seen.place = place.to_string();
                        seen.sighting = sighting;
                    }
                }
                None if full => self.overflowed += 1,
                None => {
                    let seen = Seen {
                        sighting,
                        place: place.to_string(),
                        in_answer: place.is_answer(),
                        occurrences: 1,
                    };
                    self.seen.insert(key, seen);
                }
            }
        }
    }
}

impl Sink for Listener {
    fn head(&mut self, status: u16, headers: &HeaderMap) {
        if let Some(recorder) = &mut self.recorder {
            recorder.head(status, headers);
        }
    }

    fn trailers(&mut self, trailers: &HeaderMap) {
        if let Some(recorder) = &mut self.recorder {
            recorder.trailers(trailers);
        }
    }

    fn piece(&mut self, place: &Place, bytes: &[u8]) {
        if *place == Place::RawBody {
            self.body_bytes += bytes.len() as u64;
            if let Some(recorder) = &mut self.recorder {
                recorder.body(bytes);
            }
        }
        self.hear(place, bytes);
        let begun = Instant::now();
        let mut found = Vec::new();
        if !self.scanners.contains_key(place) {
            let scanner = Scanner::new(self.ring.clone());
            self.scanners.insert(place.clone(), scanner);
        }
        if let Some(scanner) = self.scanners.get_mut(place) {
            let before = scanner.work().repair_openings;
            if !place.is_answer() {
                let left = Effort::QUICK.openings.saturating_sub(self.spent_beside);
                scanner.set_effort(Effort {
                    openings: before + left,
                    ..Effort::QUICK
                });
            }
            scanner.push(bytes, &mut found);
            if !place.is_answer() {
                self.spent_beside += scanner.work().repair_openings - before;
            }
        }
        if !found.is_empty() {
            self.note(place, &mut found);
        }
        self.scanned.bytes += bytes.len() as u64;
        self.scanned.took += begun.elapsed();
    }
}
