//! Event streams by the WHATWG rules, incremental: any chunking gives the same items. Unlike a
//! browser it loses nothing: comments, unknown fields and an unfinished last event come out as well.

/// What a stream is made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item<'a> {
    /// The data of one event, its lines joined by line feeds.
    Event {
        /// The data.
        data: &'a [u8],
        /// Whether the event's name is `error`.
        is_error: bool,
    },
    /// The text of a comment.
    Comment(&'a [u8]),
    /// A line that is neither data nor a comment, whole.
    Field(&'a [u8]),
    /// A line or an event grew beyond the limit; the rest of it is dropped.
    TooLong,
}

/// The state between two chunks. Holds at most one line and one event, each bounded.
pub(super) struct EventStream {
    limit: usize,
    line: Vec<u8>,
    line_is_cut: bool,
    /// The last byte was a carriage return, so that a line feed now belongs to it.
    after_cr: bool,
    /// No line has ended yet, so that a byte order mark may stand in front.
    is_first_line: bool,
    data: Vec<u8>,
    has_data: bool,
    data_is_cut: bool,
    is_error: bool,
}

impl EventStream {
    /// A stream at its beginning, whose lines and events hold at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            line_is_cut: false,
            after_cr: false,
            is_first_line: true,
            data: Vec::new(),
            has_data: false,
            data_is_cut: false,
            is_error: false,
        }
    }

    /// Takes the next bytes and tells what is complete by now.
    pub(super) fn push(&mut self, mut bytes: &[u8], tell: &mut dyn FnMut(Item<'_>)) {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &bytes[..end.unwrap_or(bytes.len())];
            let room = self.limit - self.line.len();
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if part.len() > room && !self.line_is_cut {
                self.line_is_cut = true;
                tell(Item::TooLong);
            }
            let Some(end) = end else { return };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.end_line(tell);
        }
    }

    /// Ends the stream and tells what was left unfinished.
    pub(super) fn finish(mut self, tell: &mut dyn FnMut(Item<'_>)) {
        if !self.line.is_empty() {
            self.end_line(tell);
        }
        self.dispatch(tell);
    }

    fn end_line(&mut self, tell: &mut dyn FnMut(Item<'_>)) {
        let line = std::mem::take(&mut self.line);
        self.line_is_cut = false;
        let mut text = &line[..];
        if std::mem::take(&mut self.is_first_line) {
            text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        }
        match text.iter().position(|&byte| byte == b':') {
            _ if text.is_empty() => self.dispatch(tell),
            Some(0) => tell(Item::Comment(&text[1..])),
            Some(colon) => {
                let value = &text[colon + 1..];
                self.field(
                    text,
                    &text[..colon],
                    value.strip_prefix(b" ").unwrap_or(value),
                    tell,
                );
            }
            None => self.field(text, text, b"", tell),
        }
        // The allocation is kept for the next line, unless it has become large.
        self.line = line;
        self.line.clear();
        self.line.shrink_to(64 << 10);
    }

    fn field(&mut self, line: &[u8], name: &[u8], value: &[u8], tell: &mut dyn FnMut(Item<'_>)) {
        if name != b"data" {
            if name == b"event" {
                self.is_error = value == b"error";
            }
            tell(Item::Field(line));
            return;
        }
        let line_feed: &[u8] = if self.has_data { b"\n" } else { b"" };
        self.has_data = true;
        for part in [line_feed, value] {
            let room = self.limit.saturating_sub(self.data.len());
            self.data.extend_from_slice(&part[..part.len().min(room)]);
            if part.len() > room && !self.data_is_cut {
                self.data_is_cut = true;
                tell(Item::TooLong);
            }
        }
    }

    fn dispatch(&mut self, tell: &mut dyn FnMut(Item<'_>)) {
        let is_error = std::mem::take(&mut self.is_error);
        self.data_is_cut = false;
        if std::mem::take(&mut self.has_data) {
            tell(Item::Event {
                data: &self.data,
                is_error,
            });
        }
        self.data.clear();
        self.data.shrink_to(64 << 10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line an item; chunks of `size` bytes.
    fn items(stream: &[u8], size: usize) -> Vec<String> {
        let mut told = Vec::new();
        let mut tell = |item: Item<'_>| {
            told.push(match item {
                Item::Event { data, is_error } => {
                    format!(
                        "{}{}",
                        if is_error { "error " } else { "" },
                        data.escape_ascii()
                    )
                }
                Item::Comment(text) => format!("comment {}", text.escape_ascii()),
                Item::Field(line) => format!("field {}", line.escape_ascii()),
                Item::TooLong => "too long".to_owned(),
            });
        };
        let mut events = EventStream::new(32);
        for chunk in stream.chunks(size) {
            events.push(chunk, &mut tell);
        }
        events.finish(&mut tell);
        told
    }

    #[test]
    fn every_line_end_and_field_shape_is_understood_whatever_the_chunking() {
        let cases: &[(&[u8], &[&str])] = &[
            (b"data: a\n\ndata: b\n\n", &["a", "b"]),
            (b"data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            (b"data: a\r\rdata: b\r\r", &["a", "b"]),
            (b"\xEF\xBB\xBFdata: a\n\n", &["a"]),
            (b"data:a\ndata:  b\ndata\ndata:\n\n", &["a\\n b\\n\\n"]),
            (
                b":hi\n: ho\ndata: a\n\n",
                &["comment hi", "comment  ho", "a"],
            ),
            (
                b"id: 7\nevent: error\nretry\ndata: a\n\ndata: b\n\n",
                &[
                    "field id: 7",
                    "field event: error",
                    "field retry",
                    "error a",
                    "b",
                ],
            ),
            (b"event: error\n\ndata: a\n\n", &["field event: error", "a"]),
            (b"data: unfinished", &["unfinished"]),
            (b"data: a\n\n\n\n\r\n", &["a"]),
            (b"{\"error\":1}\n", &["field {\\\"error\\\":1}"]),
            (b"", &[]),
        ];
        for (stream, expected) in cases {
            for size in 1..=stream.len().max(1) {
                assert_eq!(
                    items(stream, size),
                    *expected,
                    "{} by {size}",
                    stream.escape_ascii()
                );
            }
        }
    }

    #[test]
    fn a_line_or_event_beyond_the_limit_is_cut_and_the_next_one_is_whole() {
        let long = [b"data: ".as_slice(), &[b'x'; 60], b"\n\ndata: next\n\n"].concat();
        let many =
            b"data: 0123456789\ndata: 0123456789\ndata: 0123456789\ndata: more\n\ndata: next\n\n";
        for size in [1, 7, 200] {
            assert_eq!(items(&long, size), ["too long", &"x".repeat(26), "next"]);
            assert_eq!(
                items(many, size),
                ["too long", "0123456789\\n0123456789\\n0123456789", "next"]
            );
        }
    }
}
