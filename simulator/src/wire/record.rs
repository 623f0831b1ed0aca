//! The line in the log about a chat request: who, how much, how it ended; never a text.

use crate::engine::Refusal;
use crate::front::Reply;

/// Written when it is dropped, so that a client that goes away is in the log, too.
pub(super) struct Record {
    tenant: String,
    prompt_tokens: usize,
    completion_tokens: usize,
    outcome: &'static str,
}

impl Record {
    pub(super) fn new(tenant: String, prompt_tokens: usize) -> Self {
        Self {
            tenant,
            prompt_tokens,
            completion_tokens: 0,
            outcome: "client_gone",
        }
    }

    pub(super) fn refused(&mut self, refusal: Refusal) {
        self.outcome = match refusal {
            Refusal::PromptOverWindow { .. } => "refused_prompt_over_window",
            Refusal::TotalOverWindow { .. } => "refused_total_over_window",
            Refusal::OverCapacity { .. } => "refused_over_capacity",
            Refusal::Internal => "failed",
        };
    }

    /// One more token was given.
    pub(super) fn progressed(&mut self, reply: &Reply) {
        self.completion_tokens = reply.given_tokens();
    }

    pub(super) fn finished(&mut self, reply: &Reply) {
        self.outcome = reply.finish().as_str();
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        tracing::info!(
            tenant = self.tenant,
            tokens.prompt = self.prompt_tokens,
            tokens.completion = self.completion_tokens,
            outcome = self.outcome,
            "chat completion"
        );
    }
}
