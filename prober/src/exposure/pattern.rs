//! Patterns of names: `*` stands for anything, upper and lower case are the same.

use serde::Deserialize;

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct Pattern(String);

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Pattern {
    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the pattern of this name.
    #[must_use]
    pub fn is_match(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut p, mut n) = (0, 0);
        // Where to go on if what follows the last `*` does not fit: it takes one more character.
        let mut again: Option<(usize, usize)> = None;
        while n < name.len() {
            match pattern.get(p) {
                Some(b'*') => {
                    p += 1;
                    again = Some((p, n));
                }
                Some(byte) if byte.eq_ignore_ascii_case(&name[n]) => {
                    p += 1;
                    n += 1;
                }
                _ => {
                    let Some((after, from)) = again else {
                        return false;
                    };
                    again = Some((after, from + 1));
                    (p, n) = (after, from + 1);
                }
            }
        }
        pattern[p..].iter().all(|&byte| byte == b'*')
    }
}

/// The first of the patterns that fits.
pub(super) fn first<'p>(patterns: &'p [Pattern], name: &str) -> Option<&'p Pattern> {
    patterns.iter().find(|pattern| pattern.is_match(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fits(pattern: &str, name: &str) -> bool {
        Pattern::from(pattern.to_owned()).is_match(name)
    }

    #[test]
    fn a_star_stands_for_anything_and_nothing_else_does() {
        for (pattern, name, expected) in [
            ("glm-5.3", "GLM-5.3", true),
            ("glm-5.3", "glm-5.3-flash", false),
            ("*/glm-5.3", "@cf/zai-org/glm-5.3", true),
            ("*/glm-5.3", "@cf/zai-org/glm-5.3-flash", false),
            ("*glm*3", "xglm-5.3.3", true),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*", "a", true),
            ("a.c", "abc", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    /// The same by recursion, slow and plain.
    fn naive(pattern: &[u8], name: &[u8]) -> bool {
        match pattern {
            [] => name.is_empty(),
            [b'*', rest @ ..] => (0..=name.len()).any(|from| naive(rest, &name[from..])),
            [byte, rest @ ..] => name.first() == Some(byte) && naive(rest, &name[1..]),
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_plain_definition(pattern in "[ab*]{0,8}", name in "[ab]{0,10}") {
            prop_assert_eq!(fits(&pattern, &name), naive(pattern.as_bytes(), name.as_bytes()));
        }
    }
}
