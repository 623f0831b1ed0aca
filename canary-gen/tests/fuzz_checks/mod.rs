//! What must hold for any bytes: shared by the fuzz targets (`canary-gen/fuzz`) and the test that runs
//! them over the seed corpus and over what they once found.

mod scanning;
mod text;

pub(crate) use scanning::{scanner, scanner_planted};

use canary_gen::scan::View;
use canary_gen::{Canary, Form, key_file};
use std::path::PathBuf;

/// The key under which the corpus' canaries were made.
pub(crate) const ROOT: [u8; 32] = [5; 32];
/// More hexadecimal digits in a row than any word of a message has: so many come from a key.
const DIGITS_OF_A_KEY: usize = 8;
/// Bytes that a view makes at most of each byte that it reads.
const VIEW_GROWTH: usize = 4;

/// Whether the bytes were a key ring.
pub(crate) fn key_file(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    match key_file::parse(text) {
        Ok(roots) => {
            let lines: Vec<_> = roots.iter().map(key_file::line).collect();
            let written: String = lines.iter().map(|line| line.as_str()).collect();
            let again = key_file::parse(&written).expect("what is written is read");
            // Not assert_eq: it would print the keys.
            assert!(again == roots, "other keys are read than were written");
            !roots.is_empty()
        }
        Err((line, fault)) => {
            let error = key_file::KeyFileError::Line {
                path: PathBuf::from("keys"),
                line,
                fault,
            };
            // Digits of a key in an error would end in a log.
            for message in [error.to_string(), format!("{error:?}")] {
                let in_a_row = message
                    .split(|letter: char| !letter.is_ascii_hexdigit())
                    .map(str::len)
                    .max();
                assert!(in_a_row < Some(DIGITS_OF_A_KEY), "{message}");
            }
            assert!((1..=text.lines().count()).contains(&line));
            false
        }
    }
}

/// Whether the bytes were a writing of the form.
pub(crate) fn form(form: Form, bytes: &[u8]) -> bool {
    if let Some(bytes) = bytes.first_chunk::<16>() {
        let canary = Canary(*bytes);
        assert_eq!(form.parse(&form.write(&canary)), Some(canary));
        let (doubled, repeated) = form.repetitions(&canary);
        assert!(doubled + repeated < 80);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let Some(canary) = form.parse(text) else {
        return false;
    };
    let written = form.write(&canary);
    assert_eq!(form.parse(&written), Some(canary));
    assert_eq!(plainly(form, text), plainly(form, &written));
    true
}

/// A text without what the documentation lets differ between writings of one canary.
fn plainly(form: Form, text: &str) -> String {
    match form {
        Form::Code => text
            .to_ascii_uppercase()
            .replace('-', "")
            .replace('O', "0")
            .replace(['I', 'L'], "1"),
        Form::Uuid | Form::Digits => text.to_ascii_lowercase().replace('-', ""),
        Form::Words => text.to_ascii_lowercase().replace('-', " "),
        Form::Names => text.to_ascii_lowercase().replace([' ', ','], ""),
    }
}

/// How many bytes a view read.
pub(crate) fn view(view: View, bytes: &[u8]) -> usize {
    let bytes = &bytes[..bytes.len().min(1 << 16)];
    let read: usize = view.texts(bytes).iter().map(Vec::len).sum();
    assert!(
        read <= VIEW_GROWTH * bytes.len(),
        "{read} of {}",
        bytes.len()
    );
    read
}
