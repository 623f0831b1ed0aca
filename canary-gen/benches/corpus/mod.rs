//! Texts in bulk to measure the scanner on, the same on every machine: what models write, and
//! what is likeliest to be mistaken for a canary. None of them holds a canary until
//! [`plant::plant`] puts some in.
//!
//! Shared by `benches/scan.rs` and `examples/false_alarms.rs`.

mod code;
mod encoded;
mod lists;
mod markdown;
pub(crate) mod plant;
mod prose;
mod source;

use canary_gen::Seed;
use source::Source;

/// A kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What a language model writes: prose, markdown, code, tables, identifiers.
    ///
    /// Measured over 256 MiB: 6.4 % of the bytes are in the class `[0-9A-HJKMNP-TV-Z]` (upper-case
    /// Crockford base32), and there is one run of 26 or more characters `[A-Za-z0-9-]` for every
    /// 5.6 KB (about 48,000).
    ModelLike,
    /// Sentences and paragraphs only.
    Prose,
    /// Lines of Rust, Python and JSON.
    SourceCode,
    /// Hex dumps, plain hexadecimal lines and checksum lists.
    HexDump,
    /// JSON log lines full of UUIDs and trace identifiers.
    UuidLog,
    /// Base64 in lines, data URLs and web tokens, of random bytes and of text.
    Base64Blobs,
    /// Words of a dictionary and of the list of the form `words`, in lines and in rows.
    WordList,
    /// Tables of numbers, card numbers, long decimal fractions.
    Digits,
    /// Random Crockford base32 in every grouping and case.
    RandomBase32,
    /// Invented two-part names of the syllables of the form `names`.
    RandomNames,
    /// Canaries in every form, sealed by nobody: the right length, alphabet and grouping, and no
    /// key that opens them.
    Strangers,
}

impl Kind {
    /// Every kind.
    pub(crate) const ALL: [Self; 11] = [
        Self::ModelLike,
        Self::Prose,
        Self::SourceCode,
        Self::HexDump,
        Self::UuidLog,
        Self::Base64Blobs,
        Self::WordList,
        Self::Digits,
        Self::RandomBase32,
        Self::RandomNames,
        Self::Strangers,
    ];

    /// The kind's name in tables.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ModelLike => "model-like",
            Self::Prose => "prose",
            Self::SourceCode => "source code",
            Self::HexDump => "hex dumps",
            Self::UuidLog => "uuid logs",
            Self::Base64Blobs => "base64",
            Self::WordList => "word lists",
            Self::Digits => "digits",
            Self::RandomBase32 => "random base32",
            Self::RandomNames => "random names",
            Self::Strangers => "strangers' canaries",
        }
    }

    /// Exactly `bytes` bytes of valid UTF-8 of this kind.
    pub(crate) fn generate(self, seed: &Seed, bytes: usize) -> Vec<u8> {
        let mut source = Source::new(&seed.child(self.as_str()));
        let mut text = String::with_capacity(bytes + LONGEST_BLOCK);
        let write_block = self.writer();
        while text.len() < bytes {
            write_block(&mut source, &mut text);
        }
        let end = text.floor_char_boundary(bytes);
        text.truncate(end);
        // At most three bytes, when a character would have crossed the end.
        text.extend(std::iter::repeat_n('\n', bytes - end));
        text.into_bytes()
    }

    fn writer(self) -> fn(&mut Source, &mut String) {
        match self {
            Self::ModelLike => markdown::block,
            Self::Prose => prose::paragraph,
            Self::SourceCode => code::lines,
            Self::HexDump => encoded::hex_dump,
            Self::UuidLog => encoded::uuid_log_line,
            Self::Base64Blobs => encoded::base64_blob,
            Self::WordList => lists::words,
            Self::Digits => lists::numbers,
            Self::RandomBase32 => encoded::base32_line,
            Self::RandomNames => lists::names,
            Self::Strangers => plant::strangers,
        }
    }
}

/// Room for the block that reaches over the end, so that the text is never moved.
const LONGEST_BLOCK: usize = 1 << 16;
