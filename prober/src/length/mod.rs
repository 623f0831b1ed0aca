//! How long a document is in the endpoint's own tokens, and how one is made of the wanted length.
//!
//! Either estimated ([`Calibration`], from the `usage` of its answers), or counted word by word
//! ([`Counter`]) with the endpoint's `/tokenize` or a tokenizer file. Tokens do not reach across the
//! space before a word in any tokenizer that models of today use, so that the words' own counts add up
//! to the text's; what the chat template adds is learnt from one answer. Whether that came true is
//! checked against each answer's `usage` and reported.

mod calibration;
mod file;
mod sample;
mod steer;
mod words;

pub use calibration::Calibration;
pub use file::{FileError, FileTokenizer};
pub use sample::{Sample, sample};
pub use steer::{Steered, steer};
pub use words::{Costs, Known};

use crate::endpoint::{TokenizeError, Tokenizing};
#[cfg(test)]
use words::Count;

/// How lengths are measured: `tokenizer` in the configuration.
#[derive(Clone, Debug, Default)]
pub enum Tokenizer {
    /// With the endpoint's `/tokenize` where it has one, else from `usage`.
    #[default]
    Auto,
    /// Estimated from the `usage` of answers.
    Usage,
    /// With the endpoint's `/tokenize`.
    Endpoint,
    /// With a file of Hugging Face's `tokenizers`.
    File(FileTokenizer),
}

/// Whoever counts words.
#[derive(Clone)]
pub enum Counter {
    /// A tokenizer in this process.
    File(FileTokenizer),
    /// The endpoint's own.
    Endpoint(Tokenizing),
}

impl Counter {
    /// How many tokens each word has: the first without a space before it, the others with one.
    async fn count(&self, words: Vec<String>) -> Result<Vec<u32>, CountError> {
        match self {
            Self::File(file) => {
                let file = file.clone();
                tokio::task::spawn_blocking(move || file.count(&words))
                    .await
                    .map_err(|_| CountError::Counter)?
                    .ok_or(CountError::File)
            }
            Self::Endpoint(endpoint) => Ok(endpoint.count(&words).await?),
        }
    }
}

/// Why words could not be counted.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// The endpoint's `/tokenize` did not do it.
    #[error(transparent)]
    Endpoint(#[from] TokenizeError),
    /// The tokenizer file has no tokens for some words.
    #[error("the tokenizer file has no tokens for some words: it is of another kind of model")]
    File,
    /// The counting thread panicked; the panic is in the log.
    #[error("the tokenizer failed")]
    Counter,
}

#[cfg(test)]
mod tests;
