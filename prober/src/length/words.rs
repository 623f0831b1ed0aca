//! Words and what they cost.

use super::{CountError, Counter};
use canary_gen::Document;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A session keeps the costs of so many words; filler has about a thousand.
const MOST_KEPT: usize = 8_192;

/// What words cost, in tokens, that many documents have in common. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    words: Arc<HashMap<Box<str>, u32>>,
}

impl Costs {
    /// These, and those of `known` that will come again: words without a digit.
    #[must_use]
    pub fn with(&self, known: &Known) -> Self {
        let room = MOST_KEPT - self.words.len().min(MOST_KEPT);
        let comes_again = |word: &str| !word.bytes().any(|byte| byte.is_ascii_digit());
        let fresh: Vec<(Box<str>, u32)> = known
            .own
            .iter()
            .filter(|(word, _)| comes_again(word) && !self.words.contains_key(*word))
            .map(|(word, &cost)| (word.clone(), cost))
            .take(room)
            .collect();
        if fresh.is_empty() {
            return self.clone();
        }
        let mut words = (*self.words).clone();
        words.extend(fresh);
        Self {
            words: Arc::new(words),
        }
    }
}

/// What is known of the words of one document.
#[derive(Clone, Debug, Default)]
pub struct Known {
    shared: Costs,
    /// The word without a space before it.
    first: Option<(Box<str>, u32)>,
    own: HashMap<Box<str>, u32>,
}

impl Known {
    pub(super) fn new(shared: Costs) -> Self {
        Self {
            shared,
            ..Self::default()
        }
    }

    /// The words to ask for: the first of the document, and those that are unknown.
    pub(super) fn request(first: &str, unknown: &HashSet<String>) -> Vec<String> {
        let mut words: Vec<String> = unknown.iter().cloned().collect();
        words.sort_unstable();
        words.insert(0, first.to_owned());
        words
    }

    pub(super) fn learn(&mut self, words: Vec<String>, costs: Vec<u32>) {
        let mut costs = words.into_iter().map(String::into_boxed_str).zip(costs);
        self.first = costs.next();
        self.own.extend(costs);
    }

    fn cost(&self, word: &str) -> Option<u32> {
        let shared = self.shared.words.get(word);
        shared.or_else(|| self.own.get(word)).copied()
    }
}

/// What came of counting a text.
pub(super) enum Count {
    Tokens(u64),
    /// These words are not known, and the text's first one, if that is not.
    Unknown {
        first: String,
        others: HashSet<String>,
    },
}

/// Counts a document, chat template left out.
pub(super) fn count(document: &Document, known: &Known) -> Count {
    let mut words = Words {
        known,
        tokens: 0,
        first: String::new(),
        is_first: true,
        is_first_known: false,
        unknown: HashSet::new(),
    };
    let mut partial = String::new();
    for chunk in document.weave() {
        let mut pieces = chunk.split(' ');
        partial.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            words.take(&partial);
            partial.clear();
            partial.push_str(piece);
        }
    }
    words.take(&partial);
    if words.is_first_known && words.unknown.is_empty() {
        Count::Tokens(words.tokens)
    } else {
        Count::Unknown {
            first: words.first,
            others: words.unknown,
        }
    }
}

/// Counts documents that begin with the same word, in one question to the counter.
///
/// # Errors
/// When words cannot be counted.
pub(super) async fn count_together(
    counter: &Counter,
    shared: Costs,
    documents: &[Document],
) -> Result<(Known, Vec<u64>), CountError> {
    let mut known = Known::new(shared);
    let mut first_word = None;
    let mut unknown = HashSet::new();
    for document in documents {
        if let Count::Unknown { first, others } = count(document, &known) {
            first_word = Some(first);
            unknown.extend(others);
        }
    }
    if let Some(first) = first_word {
        let words = Known::request(&first, &unknown);
        let costs = counter.count(words.clone()).await?;
        known.learn(words, costs);
    }
    let counts = documents
        .iter()
        .map(|document| match count(document, &known) {
            Count::Tokens(tokens) => Ok(tokens),
            Count::Unknown { .. } => Err(CountError::Counter),
        });
    let counts = counts.collect::<Result<_, _>>()?;
    Ok((known, counts))
}

struct Words<'a> {
    known: &'a Known,
    tokens: u64,
    first: String,
    is_first: bool,
    is_first_known: bool,
    unknown: HashSet<String>,
}

impl Words<'_> {
    fn take(&mut self, word: &str) {
        if self.is_first {
            self.is_first = false;
            word.clone_into(&mut self.first);
            if let Some((known, cost)) = &self.known.first
                && **known == *word
            {
                self.is_first_known = true;
                self.tokens += u64::from(*cost);
            }
            return;
        }
        match self.known.cost(word) {
            Some(cost) => self.tokens += u64::from(cost),
            None if self.unknown.contains(word) => {}
            None => drop(self.unknown.insert(word.to_owned())),
        }
    }
}
