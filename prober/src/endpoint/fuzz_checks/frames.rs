//! Event streams and documents against plain readers that see all bytes at once.

use super::super::documents::{Documents, Piece};
use super::super::sse::{EventStream, Item};
use serde_json::Value;

/// An item of an event stream, or a part of a body of documents, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Event { data: Vec<u8>, is_error: bool },
    Comment(Vec<u8>),
    Field(Vec<u8>),
    Document(Vec<u8>),
    Stray,
    TooLong,
}

/// How many events the bytes hold. Checks that any chunking tells the same, that a strict reading of the
/// WHATWG's rules does, and that a limit is kept.
pub fn event_stream(bytes: &[u8]) -> usize {
    let read = |limit: usize, chunk: usize| {
        let mut told = Vec::new();
        let mut tell = |item: Item<'_>| {
            told.push(match item {
                Item::Event { data, is_error } => Told::Event {
                    data: data.to_vec(),
                    is_error,
                },
                Item::Comment(text) => Told::Comment(text.to_vec()),
                Item::Field(line) => Told::Field(line.to_vec()),
                Item::TooLong => Told::TooLong,
            });
        };
        let mut stream = EventStream::new(limit);
        for chunk in bytes.chunks(chunk) {
            stream.push(chunk, &mut tell);
        }
        stream.finish(&mut tell);
        told
    };
    let whole = read(usize::MAX, usize::MAX);
    assert_eq!(whole, by_the_rules(bytes));
    assert_eq!(whole, read(usize::MAX, 1));
    let cut = read(16, usize::MAX);
    assert_eq!(cut, read(16, 3));
    for item in &cut {
        if let Told::Event { data: text, .. } | Told::Comment(text) | Told::Field(text) = item {
            assert!(text.len() <= 16);
        }
    }
    let is_event = |item: &&Told| matches!(item, Told::Event { .. });
    whole.iter().filter(is_event).count()
}

/// Reads a whole stream line by line.
fn by_the_rules(bytes: &[u8]) -> Vec<Told> {
    let mut told = Vec::new();
    let (mut lines, mut is_error): (Vec<&[u8]>, bool) = (Vec::new(), false);
    let dispatch = |lines: &mut Vec<&[u8]>, is_error: &mut bool, told: &mut Vec<Told>| {
        let is_error = std::mem::take(is_error);
        if !lines.is_empty() {
            let data = lines.join(&b'\n');
            told.push(Told::Event { data, is_error });
        }
        lines.clear();
    };
    let mut rest = bytes;
    let mut is_first = true;
    while !rest.is_empty() {
        let end = rest.iter().position(|&byte| byte == b'\n' || byte == b'\r');
        let mut line = &rest[..end.unwrap_or(rest.len())];
        rest = match end {
            None => b"",
            Some(end) if rest[end..].starts_with(b"\r\n") => &rest[end + 2..],
            Some(end) => &rest[end + 1..],
        };
        if std::mem::take(&mut is_first) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            dispatch(&mut lines, &mut is_error, &mut told);
            continue;
        }
        let (name, value) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let trimmed = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"" => told.push(Told::Comment(value.to_vec())),
            b"data" => lines.push(trimmed),
            _ => {
                if name == b"event" {
                    is_error = trimmed == b"error";
                }
                told.push(Told::Field(line.to_vec()));
            }
        }
    }
    dispatch(&mut lines, &mut is_error, &mut told);
    told
}

/// How many documents a strict parser finds at the beginning of the bytes: these must be cut out as they
/// are, in any chunks.
pub fn documents(bytes: &[u8]) -> usize {
    let read = |limit: usize, chunk: usize| {
        let mut told = Vec::new();
        let mut tell = |piece: Piece<'_>| {
            told.push(match piece {
                Piece::Document(document) => Told::Document(document.to_vec()),
                Piece::Stray => Told::Stray,
                Piece::TooLong => Told::TooLong,
            });
        };
        let mut documents = Documents::new(limit);
        for chunk in bytes.chunks(chunk) {
            documents.push(chunk, &mut tell);
        }
        documents.finish(&mut tell);
        told
    };
    let whole = read(usize::MAX, usize::MAX);
    assert_eq!(whole, read(usize::MAX, 1));
    let cut = read(16, usize::MAX);
    assert_eq!(cut, read(16, 3));
    for piece in &cut {
        assert!(!matches!(piece, Told::Document(document) if document.len() > 16));
    }
    let mut strict = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let mut found = 0;
    loop {
        let start = strict.byte_offset();
        match strict.next() {
            Some(Ok(Value::Object(_) | Value::Array(_))) => {
                let document = bytes[start..strict.byte_offset()].trim_ascii_start();
                assert_eq!(whole.get(found), Some(&Told::Document(document.to_vec())));
                found += 1;
            }
            _ => return found,
        }
    }
}
