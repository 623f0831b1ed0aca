//! Thinking before an answer, and the budget that ends it.

use crate::model;
use crate::token::{Token, tokenize};
use std::sync::LazyLock;

/// What opens thinking.
pub(super) static OPENING: LazyLock<Vec<Token>> = LazyLock::new(|| tokenize("<think>\n"));
/// What closes it; the answer comes after.
pub(super) static CLOSING: LazyLock<Vec<Token>> = LazyLock::new(|| tokenize("</think>\n\n"));

/// How many tokens of an answer were thinking, with what opens and closes it.
pub(crate) fn reasoning_tokens(given: &[Token]) -> usize {
    if !given.starts_with(&OPENING) {
        return 0;
    }
    let closing = given
        .windows(CLOSING.len())
        .position(|window| *window == **CLOSING);
    closing.map_or(given.len(), |at| at + CLOSING.len())
}

/// What a request asks of thinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Thinking {
    /// Tokens of thinking at most; the engine closes it then.
    pub(crate) budget: Option<usize>,
}

/// What the model thinks of a text, from the opening to the closing.
pub(super) fn thoughts(text: &[u8]) -> Vec<Token> {
    let body = tokenize(&model::thoughts(text));
    [&OPENING[..], &body, &CLOSING[..]].concat()
}

/// How far the thinking is, as the tokens that passed tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Progress {
    is_open: bool,
    /// Tokens of the opening that passed.
    opened: usize,
    /// Tokens of thinking that passed.
    spent: usize,
    /// Tokens of the closing that passed.
    closed: usize,
}

impl Progress {
    fn pass(&mut self, token: Token) {
        if !self.is_open {
            return;
        }
        if self.opened < OPENING.len() {
            self.opened += 1;
            return;
        }
        self.spent += 1;
        self.closed = if token == CLOSING[self.closed] {
            self.closed + 1
        } else {
            usize::from(token == CLOSING[0])
        };
        self.is_open = self.closed < CLOSING.len();
    }
}

/// Where the model is in what it has to say: first its thoughts, if it was asked to think, then its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Voice {
    progress: Progress,
    /// Tokens of the part that it is at.
    said: usize,
}

impl Voice {
    pub(super) fn new(thinking: Option<Thinking>) -> Self {
        Self {
            progress: Progress {
                is_open: thinking.is_some(),
                ..Progress::default()
            },
            said: 0,
        }
    }

    /// The next token, of these thoughts or of this answer.
    pub(super) fn next(&self, thoughts: &[Token], answer: &[Token]) -> Option<Token> {
        let part = if self.progress.is_open {
            thoughts
        } else {
            answer
        };
        part.get(self.said).copied()
    }

    /// A token was given. One that was put in its mouth is not what it had to say.
    pub(super) fn pass(&mut self, token: Token, is_forced: bool) {
        let was_open = self.progress.is_open;
        self.progress.pass(token);
        if was_open && !self.progress.is_open {
            self.said = 0;
        } else if !is_forced {
            self.said += 1;
        }
    }
}

/// What the processor of a row's logits keeps: when to close the thinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Budget {
    most: Option<usize>,
    progress: Progress,
}

impl Budget {
    /// The state for a request that was given these tokens already.
    pub(super) fn after(thinking: Option<Thinking>, given: &[Token]) -> Self {
        let mut budget = Self {
            most: thinking.and_then(|thinking| thinking.budget),
            progress: Voice::new(thinking).progress,
        };
        for &token in given {
            budget.pass(token);
        }
        budget
    }

    /// The token that must come next, whatever the model says.
    pub(super) fn forced(&self) -> Option<Token> {
        let progress = &self.progress;
        let is_over = self.most.is_some_and(|most| progress.spent >= most);
        let inside = progress.is_open && progress.opened == OPENING.len();
        (inside && is_over).then(|| CLOSING[progress.closed])
    }

    pub(super) fn pass(&mut self, token: Token) {
        self.progress.pass(token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::text_of;

    /// What comes out of thoughts and an answer under a budget.
    fn spoken(budget: Option<usize>) -> String {
        let thinking = Some(Thinking { budget });
        let thoughts = tokenize("<think>\nI look at section 1.\n</think>\n\n");
        let answer = tokenize("None.");
        let (mut voice, mut budget) = (Voice::new(thinking), Budget::after(thinking, &[]));
        let mut given = Vec::new();
        loop {
            let forced = budget.forced();
            let Some(token) = forced.or_else(|| voice.next(&thoughts, &answer)) else {
                return text_of(&given);
            };
            voice.pass(token, forced.is_some());
            budget.pass(token);
            given.push(token);
            assert_eq!(budget, Budget::after(thinking, &given));
        }
    }

    #[test]
    fn thinking_ends_by_itself_or_at_its_budget_and_the_answer_is_the_same() {
        let whole = "<think>\nI look at section 1.\n</think>\n\nNone.";
        assert_eq!(spoken(None), whole);
        assert_eq!(spoken(Some(100)), whole);
        assert_eq!(spoken(Some(2)), "<think>\nI look</think>\n\nNone.");
        assert_eq!(spoken(Some(0)), "<think>\n</think>\n\nNone.");
        // A budget that ends within the closing changes nothing.
        let length = tokenize("I look at section 1.\n").len();
        for more in 0..6 {
            assert_eq!(spoken(Some(length + more)), whole);
        }
    }
}
