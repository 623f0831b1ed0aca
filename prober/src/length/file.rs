//! A tokenizer file, as models on the Hugging Face hub carry it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A loaded `tokenizer.json`. Cheap to clone.
#[derive(Clone)]
pub struct FileTokenizer {
    path: PathBuf,
    tokenizer: Arc<tokenizers::Tokenizer>,
}

/// Why a file is no tokenizer. Holds nothing of what stands in it: it may be a secret, named by mistake.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("{0}")]
    Read(#[from] std::io::Error),
    /// It is something else.
    #[error("it holds something else")]
    Other,
}

impl FileTokenizer {
    /// Loads `tokenizer.json`.
    ///
    /// # Errors
    /// When the file cannot be read or is no tokenizer.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let mut tokenizer = tokenizers::Tokenizer::from_bytes(std::fs::read(path)?)
            .map_err(|_| FileError::Other)?;
        // A file may say that texts are cut or filled up to a length; a server does not count so.
        if tokenizer.with_truncation(None).is_err() {
            return Err(FileError::Other);
        }
        tokenizer.with_padding(None);
        Ok(Self {
            path: path.to_owned(),
            tokenizer: Arc::new(tokenizer),
        })
    }

    /// How many tokens each word has: the first without a space before it, the others with one. `None`
    /// if it has no token for one of them: it is of some other kind of model then.
    pub(super) fn count(&self, words: &[String]) -> Option<Vec<u32>> {
        // What comes before a word shows how the word continues it.
        const BEFORE: &str = "a";
        let before = self.tokens(BEFORE)?;
        let with_space = |word: &String| {
            let both = self.tokens(&format!("{BEFORE} {word}"))?;
            both.checked_sub(before).filter(|&count| count > 0)
        };
        let mut words = words.iter();
        let first = words.next().map(|word| self.tokens(word));
        first.into_iter().chain(words.map(with_space)).collect()
    }

    fn tokens(&self, text: &str) -> Option<u32> {
        let encoded = self.tokenizer.encode_fast(text, false).ok()?;
        u32::try_from(encoded.len()).ok().filter(|&count| count > 0)
    }
}

impl fmt::Debug for FileTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FileTokenizer").field(&self.path).finish()
    }
}
