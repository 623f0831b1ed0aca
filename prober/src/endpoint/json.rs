//! A forgiving reader of JSON that loses nothing: duplicate keys, numbers of any length, lone
//! surrogates, bytes that are no UTF-8 and documents that break off are all handed on as far as they
//! go. A strict parser would hide from the scanner what it rejects.

/// Why a document could not be read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// It breaks off.
    Truncated,
    /// A byte that JSON does not allow there.
    Invalid,
    /// Nested deeper than we follow.
    TooDeep,
}

/// A position in the bytes of a document.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next byte that is not white space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    /// Everything not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Steps over the next byte that is not white space if it is `expected`.
    pub(super) fn eat(&mut self, expected: u8) -> bool {
        let found = self.peek() == Some(expected);
        self.at += usize::from(found);
        found
    }

    /// Steps over `expected`.
    pub(super) fn expect(&mut self, expected: u8) -> Result<(), Flaw> {
        if self.eat(expected) {
            Ok(())
        } else {
            Err(self.flaw())
        }
    }

    /// What is wrong with the next byte, if it is wrong.
    pub(super) fn flaw(&mut self) -> Flaw {
        if self.peek().is_none() {
            Flaw::Truncated
        } else {
            Flaw::Invalid
        }
    }

    /// Reads a string, unescaped, to the end of `out`; as far as it goes if it breaks off.
    pub(super) fn string(&mut self, out: &mut Vec<u8>) -> Result<(), Flaw> {
        self.expect(b'"')?;
        loop {
            let rest = self.rest();
            let plain = rest
                .iter()
                .position(|byte| matches!(byte, b'"' | b'\\'))
                .unwrap_or(rest.len());
            out.extend_from_slice(&rest[..plain]);
            self.at += plain;
            match self.next_byte()? {
                b'"' => return Ok(()),
                _ => self.escape(out)?,
            }
        }
    }

    fn next_byte(&mut self) -> Result<u8, Flaw> {
        let byte = *self.bytes.get(self.at).ok_or(Flaw::Truncated)?;
        self.at += 1;
        Ok(byte)
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), Flaw> {
        let byte = self.next_byte()?;
        out.push(match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                let character = self.unicode_escape()?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            // `"`, `\` and `/`, and whatever else somebody thinks needs escaping.
            other => other,
        });
        Ok(())
    }

    /// Reads the digits after `\u`, and the second half of a surrogate pair if there is one.
    fn unicode_escape(&mut self) -> Result<char, Flaw> {
        let first = self.four_hex_digits()?;
        if (0xD800..0xDC00).contains(&first) && self.rest().starts_with(br"\u") {
            let mut ahead = *self;
            ahead.at += 2;
            if let Ok(second @ 0xDC00..0xE000) = ahead.four_hex_digits() {
                *self = ahead;
                let combined = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return Ok(char::from_u32(combined).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four_hex_digits(&mut self) -> Result<u32, Flaw> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = char::from(*self.bytes.get(self.at).ok_or(Flaw::Truncated)?);
            value = value * 16 + digit.to_digit(16).ok_or(Flaw::Invalid)?;
            self.at += 1;
        }
        Ok(value)
    }

    /// Reads a number, or a word such as `null`, as it is written.
    pub(super) fn scalar(&mut self) -> Result<&'a [u8], Flaw> {
        self.peek();
        let rest = self.rest();
        let is_part =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let length = rest
            .iter()
            .position(|byte| !is_part(byte))
            .unwrap_or(rest.len());
        self.at += length;
        let word = &rest[..length];
        match word.first() {
            None => Err(self.flaw()),
            Some(b'-' | b'0'..=b'9') => Ok(word),
            // Python's json module writes the last two.
            Some(_) if matches!(word, b"null" | b"true" | b"false" | b"NaN" | b"Infinity") => {
                Ok(word)
            }
            Some(_) if length == rest.len() => Err(Flaw::Truncated),
            Some(_) => {
                self.at -= length;
                Err(Flaw::Invalid)
            }
        }
    }

    /// Steps over one value of any kind, reading nothing of it.
    pub(super) fn skip(&mut self) -> Result<(), Flaw> {
        let mut depth = 0_usize;
        loop {
            match self.peek().ok_or(Flaw::Truncated)? {
                b'{' | b'[' => {
                    self.at += 1;
                    depth += 1;
                }
                b'}' | b']' if depth > 0 => {
                    self.at += 1;
                    depth -= 1;
                }
                b',' | b':' if depth > 0 => self.at += 1,
                b'"' => self.skip_string()?,
                _ => drop(self.scalar()?),
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn skip_string(&mut self) -> Result<(), Flaw> {
        self.expect(b'"')?;
        loop {
            match self.next_byte()? {
                b'"' => return Ok(()),
                b'\\' => drop(self.next_byte()?),
                _ => {}
            }
        }
    }

    /// The object's own number under `name`, if it has one below 10,000. The cursor stands before the
    /// object and stays there.
    pub(super) fn own_index(mut self, name: &str) -> Option<u16> {
        let mut key = Vec::new();
        if !self.eat(b'{') {
            return None;
        }
        while self.peek() == Some(b'"') {
            key.clear();
            self.string(&mut key).ok()?;
            self.expect(b':').ok()?;
            if key == name.as_bytes() && self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                let digits = std::str::from_utf8(self.scalar().ok()?).ok()?;
                return digits.parse().ok().filter(|&index| index < 10_000);
            }
            self.skip().ok()?;
            self.eat(b',');
        }
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn unescaped(json: &[u8]) -> (Vec<u8>, Result<(), Flaw>) {
        let mut out = Vec::new();
        let result = Cursor::new(json).string(&mut out);
        (out, result)
    }

    #[test]
    fn strings_are_unescaped() {
        for (json, text) in [
            (r#""plain""#, "plain"),
            (r#""a\"b\\c\/d\n\t\r\b\f""#, "a\"b\\c/d\n\t\r\u{8}\u{c}"),
            (r#""\u0041\u00e9\u20AC\ud83d\ude00""#, "Aé€😀"),
            (
                r#""\ud83d alone, \ude00 too, \ud83d\u0041""#,
                "\u{fffd} alone, \u{fffd} too, \u{fffd}A",
            ),
        ] {
            assert_eq!(
                unescaped(json.as_bytes()),
                (text.as_bytes().to_vec(), Ok(())),
                "{json}"
            );
        }
    }

    #[test]
    fn a_broken_string_is_read_as_far_as_it_goes() {
        assert_eq!(
            unescaped(br#""abc"#),
            (b"abc".to_vec(), Err(Flaw::Truncated))
        );
        assert_eq!(
            unescaped(br#""abc\u00"#),
            (b"abc".to_vec(), Err(Flaw::Truncated))
        );
        assert_eq!(
            unescaped(br#""abc\u00zz""#),
            (b"abc".to_vec(), Err(Flaw::Invalid))
        );
        assert_eq!(unescaped(b"\"a\xff\""), (b"a\xff".to_vec(), Ok(())));
    }

    #[test]
    fn an_objects_own_index_is_found_wherever_it_stands_and_never_a_nested_one() {
        let index = |json: &str| Cursor::new(json.as_bytes()).own_index("index");
        assert_eq!(
            index(r#"{"delta":{"index":7,"x":[{"index":8}]},"index":3}"#),
            Some(3)
        );
        assert_eq!(index(r#" { "index" : 12 , "a" : null }"#), Some(12));
        for none in [
            r#"{"index":"3"}"#,
            r#"{"index":-1}"#,
            r#"{"index":70000}"#,
            r#"{"a":1}"#,
            "[]",
            "{",
            "{\"index\"",
        ] {
            assert_eq!(index(none), None, "{none}");
        }
    }

    #[test]
    fn a_value_is_stepped_over_whole() {
        let mut cursor = Cursor::new(br#"{"a":[1,{"b":"}]\""}],"c":-1.5e9} 7"#);
        cursor.skip().unwrap();
        assert_eq!(cursor.scalar(), Ok(&b"7"[..]));
    }
}
