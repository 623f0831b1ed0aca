//! The tokenizer: deterministic, of the simulator's own, with the habits of a modern BPE: a space joins
//! the word after it, short words are one token, digits stand alone, unusual capitals cost more.

use std::fmt;

const MOST_BYTES: usize = 15;
/// Letters in one token at most.
const MOST_LETTERS: usize = 8;

/// A token: its own bytes, whole characters, inline. This is what a KV entry holds.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Token {
    length: u8,
    bytes: [u8; MOST_BYTES],
}

impl fmt::Debug for Token {
    // Tokens are prompts and answers: never in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// What a page holds that was never written.
    pub(crate) const EMPTY: Self = Self {
        length: 0,
        bytes: [0; MOST_BYTES],
    };

    fn new(text: &[u8]) -> Self {
        let mut bytes = [0; MOST_BYTES];
        bytes[..text.len()].copy_from_slice(text);
        Self {
            length: text.len() as u8,
            bytes,
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// A stable number for the token (FNV-1a), for `/tokenize`.
    pub(crate) fn id(&self) -> u32 {
        self.as_bytes().iter().fold(0x811c_9dc5, |hash, &byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        })
    }
}

/// The tokens of a text; put together again, they are the text.
pub(crate) fn tokenize(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::with_capacity(bytes.len() / 4 + 1);
    let mut at = 0;
    while at < bytes.len() {
        let length = token_length(&bytes[at..]);
        tokens.push(Token::new(&bytes[at..at + length]));
        at += length;
    }
    tokens
}

/// The length in bytes of the token at the start of `rest`, which is not empty and starts a character.
fn token_length(rest: &[u8]) -> usize {
    match rest[0] {
        b' ' if rest.get(1).is_some_and(u8::is_ascii_alphabetic) => 1 + word_length(&rest[1..]),
        b'\n' => 1 + usize::from(rest.get(1) == Some(&b'\n')),
        byte if byte.is_ascii_alphabetic() => word_length(rest),
        byte if byte.is_ascii() => 1,
        // A whole UTF-8 character: its first byte and the continuation bytes after it.
        _ => {
            1 + rest[1..]
                .iter()
                .take_while(|&&byte| byte & 0xc0 == 0x80)
                .count()
        }
    }
}

/// The length of a word's first token: capitals go in pairs, a capital may lead small letters.
fn word_length(word: &[u8]) -> usize {
    let small = |from: usize| {
        word[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_lowercase())
            .count()
    };
    let capitals = word
        .iter()
        .take(2)
        .take_while(|byte| byte.is_ascii_uppercase())
        .count();
    match capitals {
        2 => 2,
        leading => (leading + small(leading)).clamp(1, MOST_LETTERS),
    }
}

/// Appends the text of `tokens`. Tokens hold whole characters, so any sequence of them is valid UTF-8.
pub(crate) fn append_text(tokens: &[Token], text: &mut Vec<u8>) {
    for token in tokens {
        text.extend_from_slice(token.as_bytes());
    }
}

/// The text of one token.
pub(crate) fn text_of(tokens: &[Token]) -> String {
    let mut text = Vec::new();
    append_text(tokens, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_tokens_of_a_text_are_the_text(text in "(\\PC|[ \n]|[A-Za-z0-9-]){0,200}") {
            let tokens = tokenize(&text);
            prop_assert_eq!(text_of(&tokens), text);
            prop_assert!(tokens.iter().all(|token| std::str::from_utf8(token.as_bytes()).is_ok() && token.length > 0));
        }
    }

    #[test]
    fn words_are_short_tokens_and_codes_are_long_ones() {
        let pieces = |text| {
            tokenize(text)
                .iter()
                .map(|token| text_of(&[*token]))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            pieces("The board agreed."),
            ["The", " board", " agreed", "."]
        );
        assert_eq!(pieces("a\n\n\nb  c"), ["a", "\n\n", "\n", "b", " ", " c"]);
        assert_eq!(pieces(" 42, K7QX"), [" ", "4", "2", ",", " K", "7", "QX"]);
        assert_eq!(pieces("unbelievably é"), ["unbeliev", "ably", " ", "é"]);
        assert!((22..=30).contains(&tokenize("0K7Q2-M9XVR-T4HBN-C8WJD-E5GFPS").len()));
    }
}
