//! The wanted fields of a JSON line, without making anything of the rest: it is only checked.

use super::row::{Cell, Kind, Path};
use memchr::memchr2;

/// Deeper values are refused, as strict readers do.
const DEEPEST: u32 = 127;

/// Why a line is no JSON object. Says nothing of what stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum NotJson {
    /// It ends in the middle.
    #[error("it ends in the middle of a value")]
    Cut,
    /// Something else was expected.
    #[error("a character does not belong there")]
    Unexpected,
    /// Values in values without end.
    #[error("it is nested too deep")]
    Deep,
    /// More than one value.
    #[error("something follows the value")]
    Trailing,
    /// Another value than an object.
    #[error("it is no object")]
    NoObject,
}

/// All wanted paths, as a tree. Nodes are numbered; the root is 0.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// Where the value that stands here goes to.
    slot: Option<usize>,
    keys: Vec<(Box<[u8]>, usize)>,
}

impl Wanted {
    pub(super) fn new(paths: &[Path]) -> Self {
        let mut nodes = vec![Node::default()];
        for (slot, path) in paths.iter().enumerate() {
            let mut at = 0;
            for key in path {
                let known = nodes[at]
                    .keys
                    .iter()
                    .find(|(name, _)| **name == *key.as_bytes());
                at = match known {
                    Some((_, node)) => *node,
                    None => {
                        nodes.push(Node::default());
                        let new = nodes.len() - 1;
                        nodes[at].keys.push((key.as_bytes().into(), new));
                        new
                    }
                };
            }
            nodes[at].slot = Some(slot);
        }
        Self { nodes }
    }

    /// Reads a line of UTF-8 into `cells`, one for each path. Of a key that comes twice, the last one counts.
    pub(super) fn read(&self, line: &[u8], cells: &mut [Cell]) -> Result<(), NotJson> {
        cells.fill(Cell::default());
        let mut walk = Walk {
            bytes: line,
            at: 0,
            wanted: self,
            cells,
        };
        walk.space();
        if walk.peek()? != b'{' {
            // Whether it is JSON at all is told before.
            walk.skip(0)?;
            walk.end()?;
            return Err(NotJson::NoObject);
        }
        walk.value(Some(0), 0)?;
        walk.end()
    }

    fn child(&self, node: usize, key: &[u8]) -> Option<usize> {
        let keys = &self.nodes[node].keys;
        keys.iter()
            .find(|(name, _)| **name == *key)
            .map(|(_, node)| *node)
    }
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    wanted: &'a Wanted,
    cells: &'a mut [Cell],
}

impl<'a> Walk<'a> {
    #[inline]
    fn peek(&self) -> Result<u8, NotJson> {
        self.bytes.get(self.at).copied().ok_or(NotJson::Cut)
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn end(&mut self) -> Result<(), NotJson> {
        self.space();
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(NotJson::Trailing)
        }
    }

    /// A value that is wanted, or in which something is. Goes no deeper than the tree does.
    fn value(&mut self, node: Option<usize>, depth: u32) -> Result<(), NotJson> {
        let Some(node) = node else {
            return self.skip(depth);
        };
        let has_keys = !self.wanted.nodes[node].keys.is_empty();
        let start = self.at;
        let kind = match self.peek()? {
            b'{' if has_keys => {
                self.object(node, depth + 1)?;
                Kind::Other
            }
            b'"' => {
                let escaped = self.string()?;
                let kind = if escaped { Kind::Escaped } else { Kind::Text };
                self.keep(node, kind, start + 1, self.at - 1);
                return Ok(());
            }
            first => {
                self.skip(depth)?;
                match first {
                    b'n' => Kind::Null,
                    b'-' | b'0'..=b'9' => Kind::Number,
                    _ => Kind::Other,
                }
            }
        };
        self.keep(node, kind, start, self.at);
        Ok(())
    }

    fn keep(&mut self, node: usize, kind: Kind, start: usize, end: usize) {
        if let Some(slot) = self.wanted.nodes[node].slot {
            self.cells[slot] = Cell { kind, start, end };
        }
    }

    fn object(&mut self, node: usize, depth: u32) -> Result<(), NotJson> {
        if depth > DEEPEST {
            return Err(NotJson::Deep);
        }
        self.at += 1;
        self.space();
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            let start = self.at;
            if self.peek()? != b'"' {
                return Err(NotJson::Unexpected);
            }
            let escaped = self.string()?;
            let child = if escaped {
                let key: Option<String> = serde_json::from_slice(&self.bytes[start..self.at]).ok();
                key.and_then(|key| self.wanted.child(node, key.as_bytes()))
            } else {
                self.wanted.child(node, &self.bytes[start + 1..self.at - 1])
            };
            self.colon()?;
            self.value(child, depth)?;
            self.space();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(NotJson::Unexpected),
            }
            self.space();
        }
    }

    #[inline]
    fn colon(&mut self) -> Result<(), NotJson> {
        self.space();
        if self.peek()? != b':' {
            return Err(NotJson::Unexpected);
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    fn key(&mut self) -> Result<(), NotJson> {
        self.space();
        if self.peek()? != b'"' {
            return Err(NotJson::Unexpected);
        }
        self.string()?;
        self.colon()
    }

    /// Any value, checked only. Which containers are open is a bit each: an object is 1.
    fn skip(&mut self, outside: u32) -> Result<(), NotJson> {
        let mut open: u128 = 0;
        let mut depth = 0;
        loop {
            self.space();
            match self.peek()? {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' if outside + depth >= DEEPEST => return Err(NotJson::Deep),
                b'{' => {
                    self.at += 1;
                    self.space();
                    if self.peek()? == b'}' {
                        self.at += 1;
                    } else {
                        open = open << 1 | 1;
                        depth += 1;
                        self.key()?;
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    self.space();
                    if self.peek()? == b']' {
                        self.at += 1;
                    } else {
                        open <<= 1;
                        depth += 1;
                        continue;
                    }
                }
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                b'-' | b'0'..=b'9' => self.number()?,
                _ => return Err(NotJson::Unexpected),
            }
            loop {
                if depth == 0 {
                    return Ok(());
                }
                self.space();
                let is_object = open & 1 == 1;
                match (self.peek()?, is_object) {
                    (b',', true) => {
                        self.at += 1;
                        self.key()?;
                        break;
                    }
                    (b',', false) => {
                        self.at += 1;
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        self.at += 1;
                        open >>= 1;
                        depth -= 1;
                    }
                    _ => return Err(NotJson::Unexpected),
                }
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), NotJson> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        let is_cut = rest.len() < word.len() && word.starts_with(rest);
        Err(if is_cut {
            NotJson::Cut
        } else {
            NotJson::Unexpected
        })
    }

    fn number(&mut self) -> Result<(), NotJson> {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        match self.peek()? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits(),
            _ => return Err(NotJson::Unexpected),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(())
    }

    fn some_digits(&mut self) -> Result<(), NotJson> {
        if !self.peek()?.is_ascii_digit() {
            return Err(NotJson::Unexpected);
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// A string; tells whether it has escapes.
    #[inline]
    fn string(&mut self) -> Result<bool, NotJson> {
        self.at += 1;
        let mut escaped = false;
        loop {
            // Most are short: a few bytes are looked at before a search is set up.
            let rest = &self.bytes[self.at..];
            let near = rest
                .iter()
                .take(16)
                .position(|&byte| matches!(byte, b'"' | b'\\' | 0..0x20));
            let stop = match near {
                Some(near) => near,
                None => {
                    let far = memchr2(b'"', b'\\', rest).ok_or(NotJson::Cut)?;
                    if has_control(&rest[..far]) {
                        return Err(NotJson::Unexpected);
                    }
                    far
                }
            };
            self.at += stop + 1;
            match rest[stop] {
                b'"' => return Ok(escaped),
                b'\\' => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return Err(NotJson::Unexpected),
            }
        }
    }

    fn escape(&mut self) -> Result<(), NotJson> {
        let name = self.peek()?;
        self.at += 1;
        match name {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => {
                let digits = self.bytes.get(self.at..self.at + 4).ok_or(NotJson::Cut)?;
                self.at += 4;
                if digits.iter().all(u8::is_ascii_hexdigit) {
                    Ok(())
                } else {
                    Err(NotJson::Unexpected)
                }
            }
            _ => Err(NotJson::Unexpected),
        }
    }
}

/// Whether there is a control character. Without a way out in the middle many bytes are compared at once.
fn has_control(bytes: &[u8]) -> bool {
    bytes.iter().fold(false, |any, &byte| any | (byte < 0x20))
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
