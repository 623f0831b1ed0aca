//! Cuts bytes into JSON documents, one after the other, whatever stands between them: a plain answer,
//! one document a line, a pretty-printed one. Any chunking gives the same documents.

/// What was cut out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// An object or a list, to its last bracket, or as far as it came before the end or the limit.
    Document(&'a [u8]),
    /// Something that is neither white space nor a document stands here.
    Stray,
    /// A document grew beyond the limit; what goes beyond it is dropped.
    TooLong,
}

/// The state between two chunks. Holds at most one document, bounded.
pub(super) struct Documents {
    limit: usize,
    document: Vec<u8>,
    is_cut: bool,
    depth: usize,
    in_string: bool,
    after_backslash: bool,
    /// Nothing has come yet but a part of a byte order mark, so many bytes of it.
    mark: usize,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl Documents {
    /// At the beginning; documents hold at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            document: Vec::new(),
            is_cut: false,
            depth: 0,
            in_string: false,
            after_backslash: false,
            mark: 0,
        }
    }

    /// Takes the next bytes and tells what is complete by now.
    pub(super) fn push(&mut self, mut bytes: &[u8], tell: &mut dyn FnMut(Piece<'_>)) {
        while !bytes.is_empty() {
            if self.depth == 0 {
                bytes = self.find_start(bytes, tell);
                continue;
            }
            let length = self.inside(bytes);
            let (taken, rest) = bytes.split_at(length);
            let room = self.limit.saturating_sub(self.document.len());
            self.document.extend_from_slice(&taken[..length.min(room)]);
            if length > room && !self.is_cut {
                self.is_cut = true;
                tell(Piece::TooLong);
            }
            if self.depth == 0 {
                self.end_document(tell);
            }
            bytes = rest;
        }
    }

    /// Ends the bytes and tells what was left unfinished.
    pub(super) fn finish(mut self, tell: &mut dyn FnMut(Piece<'_>)) {
        if self.depth > 0 {
            self.end_document(tell);
        }
    }

    fn end_document(&mut self, tell: &mut dyn FnMut(Piece<'_>)) {
        tell(Piece::Document(&self.document));
        self.document.clear();
        self.document.shrink_to(64 << 10);
        self.is_cut = false;
    }

    /// Skips what stands before a document; returns the bytes from its bracket on, or none.
    fn find_start<'a>(&mut self, bytes: &'a [u8], tell: &mut dyn FnMut(Piece<'_>)) -> &'a [u8] {
        for (at, &byte) in bytes.iter().enumerate() {
            match byte {
                b'{' | b'[' => {
                    self.mark = BYTE_ORDER_MARK.len();
                    self.depth = 1;
                    self.document.push(byte);
                    return &bytes[at + 1..];
                }
                b' ' | b'\t' | b'\n' | b'\r' => {}
                _ if BYTE_ORDER_MARK.get(self.mark) == Some(&byte) => self.mark += 1,
                _ => {
                    self.mark = BYTE_ORDER_MARK.len();
                    tell(Piece::Stray);
                }
            }
        }
        &[]
    }

    /// How many of the bytes belong to the document; moves on behind them.
    fn inside(&mut self, bytes: &[u8]) -> usize {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.after_backslash => self.after_backslash = false,
                    b'\\' => self.after_backslash = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return at + 1;
                    }
                }
                _ => {}
            }
        }
        bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces(bytes: &[u8], limit: usize, chunk: usize) -> Vec<String> {
        let mut told = Vec::new();
        let mut tell = |piece: Piece<'_>| {
            let line = match piece {
                Piece::Document(document) => String::from_utf8_lossy(document).into_owned(),
                other => format!("{other:?}"),
            };
            if told.last() != Some(&line) || line != "Stray" {
                told.push(line);
            }
        };
        let mut documents = Documents::new(limit);
        for chunk in bytes.chunks(chunk) {
            documents.push(chunk, &mut tell);
        }
        documents.finish(&mut tell);
        told
    }

    #[test]
    fn documents_are_cut_at_their_last_bracket_whatever_stands_between_them() {
        for (bytes, expected) in [
            (
                "{\"a\":1}\n{\"b\":\"}\\\"{\"}\r\n",
                vec!["{\"a\":1}", "{\"b\":\"}\\\"{\"}"],
            ),
            (
                "\u{feff} {\n \"a\": [1, {}]\n}",
                vec!["{\n \"a\": [1, {}]\n}"],
            ),
            ("[{}][]", vec!["[{}]", "[]"]),
            ("{\"a\": [1", vec!["{\"a\": [1"]),
            ("{} trailing {}", vec!["{}", "Stray", "{}"]),
            ("no json", vec!["Stray"]),
            ("", vec![]),
        ] {
            assert_eq!(pieces(bytes.as_bytes(), 100, 100), expected, "{bytes}");
        }
    }

    #[test]
    fn a_document_beyond_the_limit_is_told_as_far_as_the_limit_and_the_next_one_is_found() {
        assert_eq!(
            pieces(b"{\"a\":\"0123456789\"} {}", 10, 3),
            ["TooLong", "{\"a\":\"0123", "{}"]
        );
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_documents(
            parts in proptest::collection::vec(prop_oneof!["[{}\\[\\]\"\\\\ax:, \n]{0,6}", Just("\u{feff}".to_owned())], 0..20),
            chunk in 1usize..9, limit in 1usize..30,
        ) {
            let bytes = parts.concat().into_bytes();
            prop_assert_eq!(pieces(&bytes, limit, chunk), pieces(&bytes, limit, bytes.len().max(1)));
        }
    }
}
