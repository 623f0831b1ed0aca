//! The walk through a JSON document: every string, number and unknown key goes to the sink under a
//! path that stays the same from event to event, so that the deltas of one choice form one text.

use super::api::{self, Api};
use super::facts::Draft;
use super::json::{Cursor, Flaw};
use super::place::{Place, Sink};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Deeper nesting is left to the raw scan.
const MAX_DEPTH: usize = 64;
/// An element's own index is looked for only so deep, to bound the time a hostile nesting costs.
const MAX_INDEXED_DEPTH: usize = 8;
/// At most so many paths are told apart; all others share two.
const MAX_PATHS: usize = 256;
/// At most so many unknown names are told apart.
const MAX_UNKNOWN_NAMES: usize = 64;
/// List positions from here on share one.
const MAX_POSITION: usize = 64;

/// A document read to its end, and the bytes after it.
pub(super) type Walked<'a> = (Draft, &'a [u8]);
/// What is wrong with a document, and its bytes from there on.
pub(super) type Broken<'a> = (Flaw, &'a [u8]);

/// The places of one response's texts. Keeps no text: unknown names only as hashes.
pub(super) struct Walker {
    api: Api,
    /// Whether the body is a 2xx one, so that it may hold an answer.
    success: bool,
    path: String,
    /// What the present document is a part of, if it says so: `[2].`, the second after the first.
    part: String,
    places: HashMap<String, Place>,
    unknown: HashMap<u64, usize>,
    text: Vec<u8>,
    /// The last text that may be repeated from its beginning.
    repeated: Vec<u8>,
    /// Whether any text of an answer was seen.
    pub(super) answer_began: bool,
}

impl Walker {
    pub(super) fn new(api: Api, success: bool) -> Self {
        Self {
            api,
            success,
            path: String::new(),
            part: String::new(),
            places: HashMap::new(),
            unknown: HashMap::new(),
            text: Vec::new(),
            repeated: Vec::new(),
            answer_began: false,
        }
    }

    /// Walks through the first document in `bytes`. Returns what it says and the bytes after it, or
    /// the bytes from its flaw on.
    pub(super) fn walk<'a>(
        &mut self,
        bytes: &'a [u8],
        sink: &mut dyn Sink,
    ) -> Result<Walked<'a>, Broken<'a>> {
        let cursor = Cursor::new(bytes);
        self.path.clear();
        self.part.clear();
        // Parts may come interleaved. The first needs no number: it is often the only one.
        let part = cursor.own_index(self.api.dialect().part_number());
        if let Some(part) = part.filter(|&part| part > 0) {
            self.part = format!("[{part}].");
        }
        let mut visit = Visit {
            draft: Draft::new(self.api.clone()),
            walker: self,
            sink,
            cursor,
        };
        let result = visit.value(0);
        let Visit {
            draft, mut cursor, ..
        } = visit;
        // A buffer once filled by a huge string is not kept.
        self.text.shrink_to(4 << 10);
        match result {
            Ok(()) => {
                cursor.peek();
                Ok((draft, cursor.rest()))
            }
            Err(flaw) => Err((flaw, cursor.rest())),
        }
    }

    fn push_name(&mut self, name: &[u8], sink: &mut dyn Sink) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        match std::str::from_utf8(name) {
            Ok(known) if api::is_known_name(known) || self.api.dialect().knows(known) => {
                self.path.push_str(known)
            }
            _ => {
                sink.piece(&Place::Keys, name);
                sink.piece(&Place::Keys, b"\n");
                let number = self.number_of(name);
                self.path.push_str(&number);
            }
        }
    }

    fn number_of(&mut self, name: &[u8]) -> String {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let next = self.unknown.len() + 1;
        match self.unknown.get(&hasher.finish()) {
            Some(number) => format!("?{number}"),
            None if next <= MAX_UNKNOWN_NAMES => {
                self.unknown.insert(hasher.finish(), next);
                format!("?{next}")
            }
            None => "?".to_owned(),
        }
    }

    /// Hands on a string at the present path. Where a server may repeat the text so far or not, by its
    /// settings, both readings are handed on: what is new at the path, and all of it beside that.
    fn emit_text(&mut self, text: &[u8], sink: &mut dyn Sink) {
        let dialect = self.api.dialect();
        if !dialect.repeats(dialect.unwrapped(&self.path)) {
            return self.emit(text, b"", sink);
        }
        let fresh = text.strip_prefix(&self.repeated[..]).unwrap_or(text);
        self.emit(fresh, b"", sink);
        let length = self.path.len();
        self.path.push_str("[]");
        self.emit(text, b"", sink);
        self.path.truncate(length);
        self.repeated.clear();
        self.repeated.extend_from_slice(text);
    }

    /// Hands on a text at the present path. `end` keeps values apart that do not continue each other.
    fn emit(&mut self, text: &[u8], end: &[u8], sink: &mut dyn Sink) {
        if text.is_empty() {
            return;
        }
        let dialect = self.api.dialect();
        let path = format!("{}{}", self.part, dialect.joined(&self.path));
        let is_answer = || self.success && dialect.is_answer(dialect.unwrapped(&self.path));
        let place = match self.places.get(&path) {
            Some(place) => place,
            None if self.places.len() < MAX_PATHS => {
                let place = Place::Text {
                    path: path.clone(),
                    answer: is_answer(),
                };
                self.places.entry(path).or_insert(place)
            }
            None => {
                let answer = is_answer();
                let place = Place::Text {
                    path: "…".to_owned(),
                    answer,
                };
                self.answer_began |= answer;
                sink.piece(&place, text);
                sink.piece(&place, b"\n");
                return;
            }
        };
        self.answer_began |= place.is_answer();
        sink.piece(place, text);
        if !end.is_empty() {
            sink.piece(place, end);
        }
    }
}

struct Visit<'w, 's, 'a> {
    walker: &'w mut Walker,
    sink: &'s mut dyn Sink,
    draft: Draft,
    cursor: Cursor<'a>,
}

impl Visit<'_, '_, '_> {
    fn value(&mut self, depth: usize) -> Result<(), Flaw> {
        if depth > MAX_DEPTH {
            return Err(Flaw::TooDeep);
        }
        match self.cursor.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string(),
            _ => self.scalar(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), Flaw> {
        self.cursor.expect(b'{')?;
        self.draft.on_object(&self.walker.path);
        if self.cursor.eat(b'}') {
            return Ok(());
        }
        let length = self.walker.path.len();
        loop {
            let mut key = std::mem::take(&mut self.walker.text);
            key.clear();
            let read = self.cursor.string(&mut key);
            self.walker.push_name(&key, self.sink);
            self.walker.text = key;
            read?;
            self.cursor.expect(b':')?;
            self.value(depth + 1)?;
            self.walker.path.truncate(length);
            if !self.cursor.eat(b',') {
                return self.cursor.expect(b'}');
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), Flaw> {
        self.cursor.expect(b'[')?;
        if self.cursor.eat(b']') {
            return Ok(());
        }
        let length = self.walker.path.len();
        for position in 0.. {
            // The elements of a document that is a list count as documents.
            if length > 0 {
                self.push_element(position, depth);
            }
            self.value(depth + 1)?;
            self.walker.path.truncate(length);
            if !self.cursor.eat(b',') {
                break;
            }
        }
        self.cursor.expect(b']')
    }

    fn push_element(&mut self, position: usize, depth: usize) {
        let own = if depth <= MAX_INDEXED_DEPTH {
            self.cursor.own_index("index")
        } else {
            None
        };
        let name = self.walker.path.rsplit('.').next().unwrap_or_default();
        let is_list = depth == 1 || api::is_list_of_things(name);
        let element = match own {
            Some(index) => format!("[{index}]"),
            None if is_list && position >= MAX_POSITION => "[…]".to_owned(),
            None if is_list => format!("[{position}]"),
            None => "[]".to_owned(),
        };
        self.walker.path.push_str(&element);
    }

    fn string(&mut self) -> Result<(), Flaw> {
        let mut text = std::mem::take(&mut self.walker.text);
        text.clear();
        let read = self.cursor.string(&mut text);
        self.walker.emit_text(&text, self.sink);
        if read.is_ok() {
            self.draft.on_string(&self.walker.path, &text);
        }
        self.walker.text = text;
        read
    }

    fn scalar(&mut self) -> Result<(), Flaw> {
        let word = self.cursor.scalar()?;
        if word.first().is_some_and(|byte| !byte.is_ascii_alphabetic()) {
            self.walker.emit(word, b" ", self.sink);
            self.draft.on_number(&self.walker.path, word);
        } else if word == b"true" {
            self.draft.on_true(&self.walker.path);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
