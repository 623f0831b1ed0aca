//! The `/tokenize` that vLLM, SGLang and llama.cpp have beside their APIs: how many tokens each of many
//! words has, in one request. Of the answer nothing is kept but counts.

use super::client::TenantClient;
use super::{Extras, Target};
use reqwest::header::HeaderMap;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A request's text is at most so long, in bytes: all words with digits of a million tokens of canaries.
const LONGEST_TEXT: usize = 2 << 20;
/// Of an answer so many bytes are read for each byte of the question: a token's number and text …
const ANSWER_SHARE: usize = 64;
/// … and so many beside.
const ANSWER_BYTES: usize = 64 << 10;
/// Nothing is generated, so nothing takes longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// What comes before a word that is asked for alone shows how the word continues it.
const BEFORE: &str = "a";

/// An endpoint's `/tokenize`, asked as one tenant. Cheap to clone.
#[derive(Clone)]
pub struct Tokenizing {
    http: reqwest::Client,
    headers: HeaderMap,
    url: String,
    model: String,
    patience: Duration,
}

/// Why words could not be counted by the endpoint.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum TokenizeError {
    /// It answers, but not with tokens.
    #[error("its /tokenize answered {0}")]
    Status(u16),
    /// There was no answer in time.
    #[error("its /tokenize could not be reached, or broke off")]
    Unreachable,
    /// The answer is of another shape, or its tokens reach across words.
    #[error("its /tokenize gave no tokens that fit the words")]
    Unfit,
    /// More was to be asked than one request holds.
    #[error("the document has too many different words to ask its /tokenize")]
    TooLong,
}

impl Tokenizing {
    /// The `/tokenize` beside `target`, for whoever `client` is. `extras` are what the tenant adds to
    /// its requests: of these, the headers.
    #[must_use]
    pub fn new(client: &TenantClient, target: &Target, extras: &Extras, round: &str) -> Self {
        let mut headers = client.headers(&target.api);
        extras.add_headers(round, &mut headers);
        let base = target.base_url.trim_end_matches('/');
        let root = base.strip_suffix("/v1").unwrap_or(base);
        Self {
            http: client.http.clone(),
            headers,
            url: format!("{root}/tokenize"),
            model: target.model.clone(),
            patience: PATIENCE
                .min(target.limits.first_byte_timeout)
                .min(target.limits.total_timeout),
        }
    }

    /// How many tokens each word has: the first without a space before it, the others with one.
    ///
    /// # Errors
    /// When the endpoint has no such thing, or its tokens do not fit the words.
    pub async fn count(&self, words: &[String]) -> Result<Vec<u32>, TokenizeError> {
        let text = words.join(" ");
        if text.len() > LONGEST_TEXT {
            return Err(TokenizeError::TooLong);
        }
        let answer = self
            .ask(&Question::of(&self.model, Prompt::Text(&text)))
            .await?;
        if let Some(counts) = answer.by_word() {
            return fitting(counts, words.len());
        }
        if answer.tokens.is_empty() {
            return Err(TokenizeError::Unfit);
        }
        // Numbers of tokens without their texts: a server that takes a list counts each of it.
        let (first, others) = words.split_first().ok_or(TokenizeError::Unfit)?;
        let mut prompts = vec![BEFORE.to_owned(), first.clone()];
        prompts.extend(others.iter().map(|word| format!("{BEFORE} {word}")));
        let answer = self
            .ask(&Question::of(&self.model, Prompt::List(&prompts)))
            .await?;
        let lengths = answer.lengths().ok_or(TokenizeError::Unfit)?;
        let (&before, lengths) = lengths.split_first().ok_or(TokenizeError::Unfit)?;
        let counts = lengths.iter().enumerate();
        let counts = counts.map(|(index, &length)| match index {
            0 => length,
            _ => length.saturating_sub(before),
        });
        fitting(counts.collect(), words.len())
    }

    async fn ask(&self, question: &Question<'_>) -> Result<Answer, TokenizeError> {
        let body = serde_json::to_vec(question).map_err(|_| TokenizeError::Unfit)?;
        let longest = body.len() * ANSWER_SHARE + ANSWER_BYTES;
        let request = self
            .http
            .post(&self.url)
            .headers(self.headers.clone())
            .body(body)
            .timeout(self.patience);
        let unreachable = |_| TokenizeError::Unreachable;
        let mut response = request.send().await.map_err(unreachable)?;
        if !response.status().is_success() {
            return Err(TokenizeError::Status(response.status().as_u16()));
        }
        let mut read = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(unreachable)? {
            if read.len() + bytes.len() > longest {
                return Err(TokenizeError::Unfit);
            }
            read.extend_from_slice(&bytes);
        }
        serde_json::from_slice(&read).map_err(|_| TokenizeError::Unfit)
    }
}

impl fmt::Debug for Tokenizing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizing").finish_non_exhaustive()
    }
}

fn fitting(counts: Vec<u32>, words: usize) -> Result<Vec<u32>, TokenizeError> {
    if counts.len() == words && !counts.contains(&0) {
        Ok(counts)
    } else {
        Err(TokenizeError::Unfit)
    }
}

/// One body for all servers: each ignores what it does not know.
#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    /// vLLM, SGLang.
    prompt: Prompt<'a>,
    /// llama.cpp.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    /// vLLM, SGLang.
    add_special_tokens: bool,
    /// vLLM.
    return_token_strs: bool,
    /// llama.cpp.
    add_special: bool,
    /// llama.cpp.
    with_pieces: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Prompt<'a> {
    Text(&'a str),
    /// SGLang.
    List(&'a [String]),
}

impl<'a> Question<'a> {
    fn of(model: &'a str, prompt: Prompt<'a>) -> Self {
        Self {
            model,
            content: match prompt {
                Prompt::Text(text) => Some(text),
                Prompt::List(_) => None,
            },
            prompt,
            add_special_tokens: false,
            return_token_strs: true,
            add_special: false,
            with_pieces: true,
        }
    }
}

/// What it answered; of texts only whether they begin a word.
#[derive(Deserialize)]
pub(super) struct Answer {
    #[serde(default)]
    tokens: Vec<Token>,
    /// vLLM.
    #[serde(default)]
    token_strs: Option<Vec<Begins>>,
}

/// One of `tokens`.
#[derive(Clone, Copy)]
enum Token {
    /// Its number alone.
    Number,
    /// llama.cpp's, with its text.
    Piece(Begins),
    /// SGLang's for a list: so many numbers.
    Several(u32),
}

/// Whether a token's text begins a word, that is, with a space.
#[derive(Clone, Copy)]
struct Begins(bool);

impl Answer {
    /// How many tokens each word has, if the texts of tokens are told.
    pub(super) fn by_word(&self) -> Option<Vec<u32>> {
        match &self.token_strs {
            Some(strs) => Some(by_word(strs.iter().copied())),
            None => {
                let begins = self.tokens.iter().map(|token| match token {
                    Token::Piece(begins) => Some(*begins),
                    _ => None,
                });
                let begins: Vec<Begins> = begins.collect::<Option<_>>()?;
                (!begins.is_empty()).then(|| by_word(begins.into_iter()))
            }
        }
    }

    /// How many tokens each text of a list has.
    pub(super) fn lengths(&self) -> Option<Vec<u32>> {
        let lengths = self.tokens.iter().map(|token| match token {
            Token::Several(count) => Some(*count),
            _ => None,
        });
        lengths.collect()
    }
}

fn by_word(tokens: impl Iterator<Item = Begins>) -> Vec<u32> {
    let mut counts: Vec<u32> = Vec::new();
    for Begins(begins) in tokens {
        match counts.last_mut() {
            Some(last) if !begins => *last += 1,
            _ => counts.push(1),
        }
    }
    counts
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TokenVisitor)
    }
}

struct TokenVisitor;

impl<'de> Visitor<'de> for TokenVisitor {
    type Value = Token;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token")
    }

    fn visit_u64<E>(self, _: u64) -> Result<Token, E> {
        Ok(Token::Number)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Token, A::Error> {
        let mut count = 0;
        while list.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Token::Several(count))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Token, A::Error> {
        let mut token = Token::Number;
        while let Some(key) = map.next_key::<String>()? {
            if key == "piece" {
                token = Token::Piece(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(token)
    }
}

impl<'de> Deserialize<'de> for Begins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BeginsVisitor)
    }
}

struct BeginsVisitor;

impl<'de> Visitor<'de> for BeginsVisitor {
    type Value = Begins;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token's text")
    }

    /// As it is, as byte-level vocabularies write it, as SentencePiece does.
    fn visit_str<E>(self, text: &str) -> Result<Begins, E> {
        Ok(Begins(text.starts_with([' ', 'Ġ', '▁'])))
    }

    /// llama.cpp writes what is no whole character as a list of its bytes.
    fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<Begins, A::Error> {
        let first = bytes.next_element::<u8>()?;
        while bytes.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Begins(first == Some(b' ')))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(answer: &str) -> Answer {
        serde_json::from_str(answer).unwrap()
    }

    #[test]
    fn tokens_are_counted_by_word_as_each_server_writes_them() {
        for (answer, counts) in [
            // llama.cpp, whose bytes of half a character are a list.
            (
                r#"{"tokens":[{"id":1,"piece":"7"},{"id":2,"piece":"0"},{"id":3,"piece":" the"},
                   {"piece":[32,195],"id":4},{"id":5,"piece":[164]},{"id":6,"piece":"\n"}]}"#,
                vec![2, 1, 3],
            ),
            // vLLM with byte-level and with SentencePiece vocabularies.
            (
                r#"{"count":4,"max_model_len":9,"tokens":[1,2,3,4],"token_strs":["K","7","Ġthe","Ċ"]}"#,
                vec![2, 2],
            ),
            (
                r#"{"tokens":[1,2],"token_strs":["▁the","▁end"]}"#,
                vec![1, 1],
            ),
        ] {
            assert_eq!(read(answer).by_word(), Some(counts), "{answer}");
        }
    }

    #[test]
    fn numbers_alone_tell_nothing_of_words_but_those_of_a_list_do() {
        assert_eq!(read(r#"{"tokens":[1,2,3],"count":3}"#).by_word(), None);
        let list = read(r#"{"tokens":[[1],[2,3],[]],"count":[1,2,0],"max_model_len":-1}"#);
        assert_eq!(list.by_word(), None);
        assert_eq!(list.lengths(), Some(vec![1, 2, 0]));
        assert_eq!(read("{}").by_word(), None);
    }

    #[test]
    fn what_does_not_fit_the_words_is_an_error() {
        assert_eq!(fitting(vec![1, 2], 2), Ok(vec![1, 2]));
        for (counts, words) in [(vec![1, 2], 3), (vec![1, 0], 2), (vec![], 1)] {
            assert_eq!(fitting(counts, words), Err(TokenizeError::Unfit));
        }
        for other in [
            r#"{"tokens":"text"}"#,
            r#"{"tokens":[null]}"#,
            "[1]",
            "<html>",
        ] {
            assert!(serde_json::from_str::<Answer>(other).is_err(), "{other}");
        }
    }
}
