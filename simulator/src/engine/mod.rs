//! The engine: admission, prefill, transfer, decode.
//!
//! Isolation rests on one property of the healthy path: every position that decode reads through its
//! page table was written for the same request. [`Engine::admit`] keeps it by refusing what prefill
//! cannot hold whole.

mod generation;
mod pace;

use crate::config::Config;
use crate::fault::Fault;
use crate::kv::{PAGE_TOKENS, PagePool, PageTable, pages_for};
use crate::model;
use crate::token::{Token, tokenize};
pub(crate) use generation::Generation;
use pace::Pacer;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::sync::{Arc, Mutex, PoisonError};

/// Prefill works in chunks of so many tokens.
const CHUNK_TOKENS: usize = 8_192;
/// After so many pages a transfer lets other requests have the thread.
const PAGES_A_TURN: usize = 256;

/// Why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The prompt alone exceeds the window.
    PromptOverWindow { prompt: usize, window: usize },
    /// Prompt and answer together exceed the window.
    TotalOverWindow {
        prompt: usize,
        answer: usize,
        window: usize,
    },
    /// The prompt exceeds what the prefill group can hold.
    OverCapacity { prompt: usize, capacity: usize },
    /// A part of the engine failed.
    Internal,
}

/// Prefill gave up before the end of the prompt: so many tokens were computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CutShort {
    computed: usize,
}

/// The two groups with their pools, and what is broken.
pub(crate) struct Engine {
    pub(crate) config: Config,
    prefill: PagePool,
    decode: PagePool,
    chance: Mutex<ChaCha8Rng>,
}

/// What admission decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Admission {
    /// The fault: go on although the KV transfer failed.
    ignores_failed_transfer: bool,
}

impl Engine {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            prefill: PagePool::new(config.prefill_tokens),
            decode: PagePool::new(config.decode_capacity()),
            chance: Mutex::new(ChaCha8Rng::seed_from_u64(config.seed)),
            config,
        }
    }

    pub(crate) fn prefill_pool(&self) -> &PagePool {
        &self.prefill
    }

    pub(crate) fn decode_pool(&self) -> &PagePool {
        &self.decode
    }

    /// Serves a prompt up to the point where its answer can be read token by token.
    pub(crate) async fn serve(
        self: &Arc<Self>,
        prompt: Vec<Token>,
        most: usize,
    ) -> Result<Generation, Refusal> {
        let admission = self.admit(prompt.len(), most)?;
        // The decode group takes pages for prompt and answer before prefill begins.
        let table = self
            .decode
            .allocate(prompt.len() + most)
            .await
            .ok_or(Refusal::Internal)?;
        let transferred = {
            let (computed, outcome) = self.prefill(&prompt).await?;
            self.transfer(&computed, &table, outcome).await
            // Prefill pages are freed here; what they hold stays.
        };
        if transferred.is_err() && !admission.ignores_failed_transfer {
            return Err(Refusal::Internal);
        }
        self.start_decode(table, prompt.len(), most).await
    }

    fn admit(&self, prompt: usize, answer: usize) -> Result<Admission, Refusal> {
        let window = self.config.context_tokens as usize;
        if prompt > window {
            return Err(Refusal::PromptOverWindow { prompt, window });
        }
        if prompt + answer > window {
            return Err(Refusal::TotalOverWindow {
                prompt,
                answer,
                window,
            });
        }
        let capacity = self.prefill.capacity();
        let fits = prompt <= capacity;
        if !fits && !self.meets(Fault::StalePages) {
            return Err(Refusal::OverCapacity { prompt, capacity });
        }
        Ok(Admission {
            ignores_failed_transfer: !fits,
        })
    }

    /// Whether a request that could meet a fault does.
    fn meets(&self, fault: Fault) -> bool {
        let probability = self
            .config
            .faults
            .iter()
            .find(|setting| setting.fault == fault);
        probability.is_some_and(|setting| {
            let mut chance = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
            ((chance.next_u64() >> 11) as f64) < setting.probability * (1u64 << 53) as f64
        })
    }

    /// Computes the KV entries of the prompt, chunk by chunk, as far as the pool reaches.
    async fn prefill(
        &self,
        prompt: &[Token],
    ) -> Result<(PageTable, Result<(), CutShort>), Refusal> {
        let granted = prompt.len().min(self.prefill.capacity());
        let table = self
            .prefill
            .allocate(granted)
            .await
            .ok_or(Refusal::Internal)?;
        let mut pacer = Pacer::new(self.config.speeds.prefill);
        for (index, chunk) in prompt.chunks(CHUNK_TOKENS).enumerate() {
            let position = index * CHUNK_TOKENS;
            let room = table.capacity().saturating_sub(position);
            let fitting = &chunk[..chunk.len().min(room)];
            pacer.spend(fitting.len()).await;
            table.write(position, fitting);
            if room < chunk.len() {
                // The pool is exhausted in the middle of the prompt.
                return Ok((
                    table,
                    Err(CutShort {
                        computed: position + room,
                    }),
                ));
            }
        }
        Ok((table, Ok(())))
    }

    /// Copies what prefill computed into the pages of the decode group, page by page.
    async fn transfer(
        &self,
        from: &PageTable,
        to: &PageTable,
        computed: Result<(), CutShort>,
    ) -> Result<(), CutShort> {
        let pages = match computed {
            Ok(()) => pages_for(from.capacity()),
            // Only whole pages are sent; the rest never is.
            Err(CutShort { computed }) => computed / PAGE_TOKENS,
        };
        let mut pacer = Pacer::new(self.config.speeds.transfer);
        for page in 0..pages {
            pacer.spend(PAGE_TOKENS).await;
            if page.is_multiple_of(PAGES_A_TURN) {
                tokio::task::yield_now().await;
            }
            to.receive_page(from, page);
        }
        computed
    }

    /// Reads the prompt through the page table and answers what is found there. Decode knows nothing
    /// of the request but its length.
    async fn start_decode(
        self: &Arc<Self>,
        table: PageTable,
        prompt: usize,
        most: usize,
    ) -> Result<Generation, Refusal> {
        let read = tokio::task::spawn_blocking(move || {
            let answer = tokenize(&model::answer(&table.text(prompt)));
            (table, answer)
        });
        let (table, answer) = read.await.map_err(|_| Refusal::Internal)?;
        Ok(Generation::new(
            table,
            prompt,
            answer,
            most,
            self.config.speeds.decode,
        ))
    }
}

#[cfg(test)]
mod tests;
