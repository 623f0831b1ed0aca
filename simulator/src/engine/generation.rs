//! An answer under way: token by token, each written into the request's own pages.

use super::pace::Pacer;
use crate::kv::PageTable;
use crate::token::Token;

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The model had said everything.
    Stop,
    /// The request's limit was reached.
    Length,
}

impl Finish {
    /// As OpenAI's API says it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
        }
    }
}

/// The decode group's work on one request. Its pages are freed when it is dropped.
pub(crate) struct Generation {
    table: PageTable,
    prompt: usize,
    answer: Vec<Token>,
    given: usize,
    finish: Finish,
    pacer: Pacer,
}

impl Generation {
    pub(super) fn new(
        table: PageTable,
        prompt: usize,
        mut answer: Vec<Token>,
        most: usize,
        speed: Option<f64>,
    ) -> Self {
        let finish = if answer.len() > most {
            Finish::Length
        } else {
            Finish::Stop
        };
        answer.truncate(most);
        Self {
            table,
            prompt,
            answer,
            given: 0,
            finish,
            pacer: Pacer::new(speed),
        }
    }

    /// The next token, at the speed of the decode group.
    pub(crate) async fn next(&mut self) -> Option<Token> {
        let token = *self.answer.get(self.given)?;
        self.pacer.spend(1).await;
        self.table.write(self.prompt + self.given, &[token]);
        self.given += 1;
        Some(token)
    }

    pub(crate) fn finish(&self) -> Finish {
        self.finish
    }

    pub(crate) fn prompt_tokens(&self) -> usize {
        self.prompt
    }

    pub(crate) fn given_tokens(&self) -> usize {
        self.given
    }
}
