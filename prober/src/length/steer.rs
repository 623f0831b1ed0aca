//! The search for the document whose counted length is the wanted one.

use super::words::{Costs, Count, Known, count};
use super::{CountError, Counter};
use canary_gen::document::CLOSINGS;
use canary_gen::{Document, DocumentSpec, KeyRing};
use std::collections::HashSet;

/// The counter is asked at most so often for one document.
const MOST_REQUESTS: usize = 3;
/// So many neighbouring lengths are tried, to either side and with each closing sentence: most words are
/// one token, but not for every tokenizer.
const NEIGHBOURS: i32 = 10;
/// How often a document is corrected by what it is off.
const APPROACHES: usize = 4;
/// After so many neighbours with words that are not known, these are asked for, while that is possible.
const MOST_UNKNOWN: u32 = 2 * CLOSINGS as u32;
/// With words that are not known, those of a document longer by so much are asked for: a correction may make
/// room for a few canaries more, and whoever asked for these one by one would run out of requests.
const AHEAD_TOKENS: f64 = 256.0;
/// All tries for one document are of so many tokens at most, to bound the time of long ones.
const MOST_TRIED: u64 = 12_000_000;

/// A document of a counted length.
#[derive(Clone, Debug)]
pub struct Steered {
    /// What determines it.
    pub spec: DocumentSpec,
    /// Its tokens, the chat template left out.
    pub tokens: u64,
    /// What was learnt on the way.
    pub known: Known,
}

/// Makes a document of `spec.tokens`, of which `template` are the chat template's, exactly where some
/// neighbour has that length, else as near as there is. Only the text after the last canary changes.
/// Where the template is not known yet, the document is only counted.
///
/// # Errors
/// When words cannot be counted.
pub async fn steer(
    counter: &Counter,
    shared: Costs,
    ring: &KeyRing,
    spec: DocumentSpec,
    template: Option<i64>,
) -> Result<Steered, CountError> {
    let mut known = Known::new(shared);
    let mut found = None;
    for requests in 0..=MOST_REQUESTS {
        let (known_now, ring) = (known.clone(), ring.clone());
        let most_unknown = if requests < MOST_REQUESTS {
            MOST_UNKNOWN
        } else {
            u32::MAX
        };
        let result = tokio::task::spawn_blocking(move || {
            search(&known_now, &ring, spec, template, most_unknown)
        });
        let (nearest, missing) = result.await.map_err(|_| CountError::Counter)?;
        found = nearest.or(found);
        let Some((first, others)) = missing.filter(|_| requests < MOST_REQUESTS) else {
            break;
        };
        let words = Known::request(&first, &others);
        let costs = counter.count(words.clone()).await?;
        known.learn(words, costs);
    }
    // Only if every answer left words unknown, which none does.
    let (spec, tokens) = found.ok_or(CountError::Counter)?;
    Ok(Steered {
        spec,
        tokens,
        known,
    })
}

type Nearest = Option<(DocumentSpec, u64)>;
type Missing = Option<(String, HashSet<String>)>;

/// Tries the document and its neighbours. Tells the nearest of those that could be counted, and the
/// words that were missing for others, if none has the wanted length.
fn search(
    known: &Known,
    ring: &KeyRing,
    spec: DocumentSpec,
    template: Option<i64>,
    most_unknown: u32,
) -> (Nearest, Missing) {
    let mut tries = Tries {
        known,
        ring,
        wanted: spec.tokens as f64 - template.unwrap_or(0) as f64,
        nearest: None,
        missing: None,
        count: 0,
        unknown: 0,
    };
    if template.is_none() {
        tries.off_by(spec);
        return (tries.nearest, tries.missing);
    }
    let mut near = spec;
    for _ in 0..APPROACHES {
        match tries.off_by(near) {
            Some(off) if off != 0.0 => near.measure.overhead += off,
            _ => break,
        }
    }
    if let Some((spec, _)) = tries.nearest {
        near = spec;
        near.measure.overhead += tries.off_by(spec).unwrap_or(0.0);
    }
    let steps = (1..=NEIGHBOURS).flat_map(|step| [step, -step]);
    let lengths = [0].into_iter().chain(steps).map(f64::from);
    let neighbours = lengths.flat_map(|step| (0..=CLOSINGS).map(move |closing| (step, closing)));
    for (step, closing) in neighbours {
        let enough =
            tries.unknown >= most_unknown || u64::from(tries.count) * spec.tokens > MOST_TRIED;
        if tries.is_exact() || tries.nearest.is_none() || enough {
            break;
        }
        let mut spec = near;
        spec.measure.overhead += step * spec.measure.per_unit;
        spec.closing = closing;
        tries.off_by(spec);
    }
    if tries.missing.is_some() && !tries.is_exact() {
        near.measure.overhead -= AHEAD_TOKENS;
        tries.off_by(near);
    }
    let missing = tries.missing.take().filter(|_| !tries.is_exact());
    (tries.nearest, missing)
}

/// What was tried so far.
struct Tries<'a> {
    known: &'a Known,
    ring: &'a KeyRing,
    /// Tokens of the text.
    wanted: f64,
    nearest: Nearest,
    missing: Missing,
    count: u32,
    /// Of these, how many had words that are not known.
    unknown: u32,
}

impl Tries<'_> {
    /// Tries one; tells how many tokens too long it is, if all its words are known.
    fn off_by(&mut self, spec: DocumentSpec) -> Option<f64> {
        self.count += 1;
        match count(&Document::new(spec, self.ring.clone()), self.known) {
            Count::Tokens(tokens) => {
                let off = tokens as f64 - self.wanted;
                if self.error().is_none_or(|error| off.abs() < error) {
                    self.nearest = Some((spec, tokens));
                }
                Some(off)
            }
            Count::Unknown { first, others } => {
                self.unknown += 1;
                let (_, all) = self.missing.get_or_insert_with(|| (first, HashSet::new()));
                all.extend(others);
                None
            }
        }
    }

    fn error(&self) -> Option<f64> {
        let (_, tokens) = self.nearest?;
        Some((tokens as f64 - self.wanted).abs())
    }

    fn is_exact(&self) -> bool {
        self.error().is_some_and(|error| error < 0.5)
    }
}
