//! What a report may show of a key or the name of an application: enough to know it again, never a secret.

use ring::digest::{SHA256, digest};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters of a name that are shown; a longer one is cut.
const LONGEST_NAME: usize = 96;
/// From so many characters on a word of mixed characters is taken for a secret.
const SECRET_LENGTH: usize = 24;
/// How keys of services begin.
const PREFIXES: [&str; 22] = [
    "sk-",
    "sk_",
    "pk-",
    "pk_",
    "rk_",
    "gsk_",
    "xai-",
    "hf_",
    "r8_",
    "nvapi-",
    "pplx-",
    "fw_",
    "csk-",
    "aiza",
    "akia",
    "ghp_",
    "gho_",
    "github_pat_",
    "xoxb-",
    "eyj",
    "whsec_",
    "cf-",
];
/// A word with such a beginning is a secret from this length on.
const PREFIXED_LENGTH: usize = 12;

/// A name as it may be shown: words in it that look like secrets are their last four characters and a fingerprint,
/// control characters are gone, and it has an end.
pub(super) fn shown(name: &str) -> Cow<'_, str> {
    let is_word =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '/' | '=');
    let is_plain = name.len() <= LONGEST_NAME && !name.chars().any(char::is_control);
    if is_plain && !name.split(|c| !is_word(c)).any(is_secret) {
        return Cow::Borrowed(name);
    }
    let mut text = String::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let end = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, tail) = rest.split_at(end);
        rest = tail;
        if is_secret(word) {
            text.push_str(&shortened(word));
        } else if first.is_control() {
            text.push('\u{fffd}');
        } else {
            text.push_str(word);
        }
        if text.len() > LONGEST_NAME {
            break;
        }
    }
    if text.len() > LONGEST_NAME {
        let mut end = LONGEST_NAME;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        let _ = write!(text, "… ({})", fingerprint(name));
    }
    Cow::Owned(text)
}

/// Whether a word looks like a whole key. Ids that services give keys (UUIDs, hashes in hex) are none.
fn is_secret(word: &str) -> bool {
    let has_prefix = || {
        PREFIXES.iter().any(|prefix| {
            let start = word.get(..prefix.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        })
    };
    if word.len() >= PREFIXED_LENGTH && has_prefix() {
        return true;
    }
    // A name of words, like `billing-Service-2026-08`, has few digits or few capitals; a random one has many of both.
    let count = |of: fn(&u8) -> bool| word.bytes().filter(of).count();
    word.len() >= SECRET_LENGTH
        && count(u8::is_ascii_digit) >= 3
        && count(u8::is_ascii_uppercase) >= 3
        && count(u8::is_ascii_lowercase) >= 3
}

/// The last four characters of a secret and its fingerprint.
fn shortened(secret: &str) -> String {
    let tail = &secret[secret.len().saturating_sub(4)..];
    format!("…{tail} ({})", fingerprint(secret))
}

/// The first twelve digits of the SHA-256: tells two keys apart, and is the same in every report.
fn fingerprint(text: &str) -> String {
    let hash = digest(&SHA256, text.as_bytes());
    hash.as_ref()[..6]
        .iter()
        .fold(String::from("#"), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whatever_looks_like_a_key_is_its_tail_and_a_fingerprint() {
        for secret in [
            "sk-proj-0123456789abcdef0123",
            "sk-ant-api03-AbCdEf",
            "gsk_aaaaaaaaaaaaaaaaaaaa",
            "AIzaSyA1234567890abcdefg",
            "AKIAIOSFODNN7EXAMPLE",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
            "Zk3v9Qw1XcTb7RmY2LpA8sHd",
        ] {
            for text in [
                secret.to_owned(),
                format!("Bearer {secret}"),
                format!("app ({secret})"),
            ] {
                let shown = shown(&text);
                assert!(!shown.contains(secret), "{shown}");
                assert!(
                    shown.contains(&format!("…{} (#", &secret[secret.len() - 4..])),
                    "{shown}"
                );
            }
        }
        assert_eq!(
            shown("sk-proj-0123456789abcdef0123"),
            shown("sk-proj-0123456789abcdef0123")
        );
        assert_ne!(
            shown("sk-proj-0000000000000000000a"),
            shown("sk-proj-1111111111111111111a")
        );
    }

    #[test]
    fn names_and_ids_of_keys_are_shown_as_they_are() {
        for name in [
            "billing-service",
            "key_7f3d",
            "88dc28d0f030c55ed4ab77ed8faf098196cb1c05df778539800c9f1243fe6b4b",
            "550e8400-e29b-41d4-a716-446655440000",
            "sk-…4f1c",
            "Team Größe",
            "proj_abc123",
        ] {
            assert_eq!(shown(name), name);
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_has_an_end_and_no_control_characters(name in "\\PC{0,200}|[\\x00-\\x7f]{0,200}") {
            let shown = shown(&name);
            prop_assert!(shown.len() <= LONGEST_NAME + 32, "{}", shown.len());
            prop_assert!(!shown.chars().any(char::is_control));
        }

        #[test]
        fn a_key_never_stays_whole(start in "[ -~]{0,60}", key in "sk-[a-zA-Z0-9]{20,40}", end in "[ ,;)]?[ -~]{0,60}") {
            let text = format!("{start} {key}{end}");
            prop_assert!(!shown(&text).contains(&key));
        }
    }
}
