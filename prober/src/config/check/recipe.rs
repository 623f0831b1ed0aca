//! What belongs to a kind of scenario: which keys it has, their defaults and ranges.

use super::Check;
use super::scenario::name_of;
use super::value::shown;
use crate::config::document::Field;
use crate::config::mistake::Place;
use crate::config::raw::{List, RawEndpoint, RawScenario};
use crate::scenario::{Load, Recipe};
use canary_gen::document::SMALLEST_STRIDE;
use std::time::Duration;

const MOST_STEPS: usize = 64;
/// Fields that carry a name, at most.
const MOST_ID_FIELDS: usize = 8;
/// Larger than any window.
const MOST_TOKENS: u64 = 16_777_216;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Overflow,
    Crosstalk,
    Cancel,
    Pressure,
    Return,
    Sandwich,
    Boundary,
    Burst,
    Prefix,
    Twin,
    Identity,
}

/// What a kind takes if its keys are not there.
struct Defaults {
    tokens: u64,
    requests: u64,
    waves: u64,
    stride_tokens: u64,
}

impl Kind {
    pub(super) const ALL: [Self; 11] = [
        Self::Overflow,
        Self::Crosstalk,
        Self::Cancel,
        Self::Pressure,
        Self::Return,
        Self::Sandwich,
        Self::Boundary,
        Self::Burst,
        Self::Prefix,
        Self::Twin,
        Self::Identity,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::Crosstalk => "crosstalk",
            Self::Cancel => "cancel",
            Self::Pressure => "pressure",
            Self::Return => "return",
            Self::Sandwich => "sandwich",
            Self::Boundary => "boundary",
            Self::Burst => "burst",
            Self::Prefix => "prefix",
            Self::Twin => "twin",
            Self::Identity => "identity",
        }
    }

    /// The keys that mean something for it.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Overflow => &["ladder", "donor_fraction"],
            Self::Crosstalk | Self::Sandwich | Self::Burst => {
                &["tokens", "requests", "waves", "stride_tokens"]
            }
            Self::Cancel => &[
                "tokens",
                "requests",
                "waves",
                "stride_tokens",
                "cancel_within",
            ],
            Self::Pressure | Self::Return => &["tokens", "requests", "waves"],
            Self::Boundary => &["tokens", "waves", "chunk_tokens"],
            Self::Prefix => &["tokens", "samples"],
            Self::Twin => &["tokens", "waves", "stride_tokens"],
            Self::Identity => &["tokens", "requests", "waves", "stride_tokens", "id_fields"],
        }
    }

    fn defaults(self) -> Defaults {
        let of = |tokens, requests, waves, stride_tokens| Defaults {
            tokens,
            requests,
            waves,
            stride_tokens,
        };
        match self {
            Self::Overflow => of(0, 0, 0, 0),
            Self::Crosstalk => of(1_500, 1, 4, 400),
            Self::Cancel => of(2_000, 1, 4, 400),
            Self::Pressure => of(8_000, 4, 2, 1_024),
            Self::Return => of(4_000, 2, 2, 1_024),
            Self::Sandwich => of(600, 4, 24, 150),
            Self::Boundary => of(8_192, 1, 4, 1_024),
            Self::Burst => of(300, 8, 2, 100),
            Self::Prefix => of(2_000, 1, 1, 1_024),
            Self::Twin => of(800, 1, 3, 200),
            Self::Identity => of(600, 1, 4, 200),
        }
    }

    /// Room for an answer: one canary, or a list of them.
    pub(super) fn answer_tokens(self) -> u64 {
        match self {
            Self::Overflow | Self::Crosstalk | Self::Prefix => 96,
            _ => 512,
        }
    }

    /// Whether lengths scatter around `tokens`, up to a quarter more.
    fn scatters(self) -> bool {
        matches!(
            self,
            Self::Pressure | Self::Sandwich | Self::Burst | Self::Identity
        )
    }

    /// A divergence is told from chance only from so many sets on.
    fn fewest_waves(self) -> u64 {
        if self == Self::Sandwich { 7 } else { 1 }
    }
}

impl Check<'_> {
    pub(super) fn recipe(
        &mut self,
        kind: Kind,
        raw: &RawScenario,
        endpoints: &[&RawEndpoint],
        answer: u64,
    ) -> Option<Recipe> {
        self.refuse_foreign(kind, raw);
        if kind == Kind::Overflow {
            let ladder = self.ladder(&raw.ladder);
            let donor_fraction = self.fraction(&raw.donor_fraction, 0.6, 1.0);
            return Some(Recipe::Overflow {
                ladder: ladder?,
                donor_fraction: donor_fraction?,
            });
        }
        let load = self.load(kind, raw);
        let chunk_tokens = self.whole(&raw.chunk_tokens, 2_048, 16..=1_048_576);
        let within = Duration::from_millis(1)..=Duration::from_secs(600);
        let within = self.duration(&raw.cancel_within, Duration::from_secs(2), within);
        let samples = self.whole(&raw.samples, 16, 8..=64);
        let id_fields = self.id_fields(&raw.id_fields);
        let load = load?;
        self.fits(kind, raw, load.tokens, endpoints, answer);
        Some(match kind {
            Kind::Overflow => return None,
            Kind::Crosstalk => Recipe::Crosstalk(load),
            Kind::Cancel => Recipe::Cancel {
                load,
                within_ms: within?.as_millis() as u32,
            },
            Kind::Pressure => Recipe::Pressure(load),
            Kind::Return => Recipe::Return(load),
            Kind::Sandwich => Recipe::Sandwich(load),
            Kind::Boundary => Recipe::Boundary {
                chunk_tokens: chunk_tokens? as u32,
                tokens: load.tokens,
                waves: load.waves,
            },
            Kind::Burst => Recipe::Burst(load),
            Kind::Prefix => Recipe::Prefix {
                tokens: load.tokens,
                samples: samples? as u32,
            },
            Kind::Twin => Recipe::Twin(load),
            Kind::Identity => Recipe::Identity {
                load,
                id_fields: id_fields?,
            },
        })
    }

    fn load(&mut self, kind: Kind, raw: &RawScenario) -> Option<Load> {
        let Defaults {
            tokens,
            requests,
            waves,
            stride_tokens,
        } = kind.defaults();
        let tokens = self.whole(&raw.tokens, tokens, 200..=MOST_TOKENS);
        let requests = self.whole(&raw.requests, requests, 1..=1_000);
        let waves = self.whole(&raw.waves, waves, kind.fewest_waves()..=1_000);
        let strides = u64::from(SMALLEST_STRIDE)..=MOST_TOKENS;
        let stride = self.whole(&raw.stride_tokens, stride_tokens, strides);
        Some(Load {
            tokens: tokens?,
            requests: requests? as u32,
            waves: waves? as u32,
            stride_tokens: stride? as u32,
        })
    }

    /// Notes windows that the longest prompt does not fit into.
    fn fits(
        &mut self,
        kind: Kind,
        raw: &RawScenario,
        tokens: u64,
        endpoints: &[&RawEndpoint],
        answer: u64,
    ) {
        let longest = if kind.scatters() {
            tokens + tokens / 4
        } else {
            tokens
        };
        for endpoint in endpoints {
            let context = endpoint.context_tokens.given().map(|at| at.value);
            if context.is_some_and(|context| i128::from(longest + answer) > context) {
                let place = raw.tokens.given().map_or(&raw.place, |at| &at.place);
                let name = name_of(endpoint)
                    .map_or_else(String::new, |name| format!(" of `{}`", shown(&name)));
                let message = format!(
                    "{longest} tokens and {answer} of answer do not fit into the window of {}{name} (write a smaller `tokens`)",
                    context.unwrap_or_default()
                );
                self.mistakes.at(place, message);
            }
        }
        let chunk = raw.chunk_tokens.given();
        if let Some(chunk) = chunk.filter(|chunk| chunk.value > i128::from(tokens)) {
            let message = format!("is more than `tokens`, {tokens} (write a larger `tokens`)");
            self.mistakes.at(&chunk.place, message);
        }
    }

    fn ladder(&mut self, field: &Field<List<f64>>) -> Option<Vec<f64>> {
        let list = match field {
            Field::Absent => return Some(vec![0.5, 0.75, 0.9, 0.99, 1.02, 1.25]),
            Field::Wrong => return None,
            Field::Given(list) => list,
        };
        if !(1..=MOST_STEPS).contains(&list.value.len()) {
            let message = format!("has {} steps (write 1 to {MOST_STEPS})", list.value.len());
            self.mistakes.at(&list.place, message);
        }
        let steps: Vec<Option<f64>> = list
            .value
            .iter()
            .map(|step| self.fraction(step, 1.0, 4.0))
            .collect();
        steps.into_iter().collect()
    }

    fn id_fields(&mut self, field: &Field<List<String>>) -> Option<Vec<String>> {
        let list = match field {
            Field::Absent => return Some(Vec::new()),
            Field::Wrong => return None,
            Field::Given(list) => list,
        };
        if list.value.len() > MOST_ID_FIELDS {
            let count = list.value.len();
            let message = format!("has {count} names (write at most {MOST_ID_FIELDS})");
            self.mistakes.at(&list.place, message);
        }
        let names: Option<Vec<String>> = list
            .value
            .iter()
            .map(|name| name.given().map(|at| at.value.clone()))
            .collect();
        names
    }

    /// Notes the keys that mean nothing for this kind.
    fn refuse_foreign(&mut self, kind: Kind, raw: &RawScenario) {
        let given = [
            ("tokens", place(&raw.tokens)),
            ("requests", place(&raw.requests)),
            ("waves", place(&raw.waves)),
            ("stride_tokens", place(&raw.stride_tokens)),
            ("ladder", place(&raw.ladder)),
            ("donor_fraction", place(&raw.donor_fraction)),
            ("chunk_tokens", place(&raw.chunk_tokens)),
            ("cancel_within", place(&raw.cancel_within)),
            ("samples", place(&raw.samples)),
            ("id_fields", place(&raw.id_fields)),
        ];
        for (key, place) in given {
            if let Some(place) = place.filter(|_| !kind.keys().contains(&key)) {
                let kind_name = kind.as_str();
                let keys = kind.keys().join("`, `");
                let message = format!("means nothing for the kind `{kind_name}` (it has `{keys}`)");
                self.mistakes.at(place, message);
            }
        }
    }
}

fn place<T>(field: &Field<T>) -> Option<&Place> {
    field.given().map(|at| &at.place)
}
