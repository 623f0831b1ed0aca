//! The search for the length of prompt that an endpoint really accepts. Adaptive, so it has no
//! schedule: the next length depends on what became of the last one. Pure.

/// The shortest prompt that is tried.
const SHORTEST: u64 = 256;
/// No prompt is longer than this many advertised windows.
const LONGEST_WINDOWS: u64 = 4;

/// What became of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was answered.
    Accepted,
    /// It was refused as too long; the limit that the refusal named, in tokens.
    Rejected(Option<u64>),
}

/// The state of a search. All lengths in tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitSearch {
    advertised: u64,
    answer: u64,
    budget: u64,
    /// What was sent so far.
    pub spent: u64,
    /// The longest prompt that was accepted.
    pub accepted: Option<u64>,
    /// The shortest prompt that was refused.
    pub rejected: Option<u64>,
    /// The limit that the last refusal named.
    pub named: Option<u64>,
}

impl LimitSearch {
    /// A search at an endpoint that advertises a window of so many tokens, with room for an answer in
    /// each request. `spent`: what was sent to it before.
    #[must_use]
    pub fn new(advertised: u64, answer: u32, budget: u64, spent: u64) -> Self {
        Self {
            advertised,
            answer: u64::from(answer),
            budget,
            spent,
            accepted: None,
            rejected: None,
            named: None,
        }
    }

    /// How close the bounds must come: what estimates of a length are good to.
    #[must_use]
    pub fn tolerance(&self) -> u64 {
        (self.advertised / 200).max(64)
    }

    /// The next length to try; `None` when the bounds are close, or nothing affordable is left.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        let tokens = self.wanted()?;
        (self.spent + tokens <= self.budget).then_some(tokens)
    }

    /// Whether it ended because the budget does not reach further.
    #[must_use]
    pub fn is_out_of_budget(&self) -> bool {
        self.wanted()
            .is_some_and(|tokens| self.spent + tokens > self.budget)
    }

    /// Takes what became of a prompt.
    pub fn learn(&mut self, tokens: u64, fate: Fate) {
        self.spent += tokens;
        match fate {
            Fate::Accepted => self.accepted = self.accepted.max(Some(tokens)),
            Fate::Rejected(named) => {
                self.rejected = Some(self.rejected.map_or(tokens, |known| known.min(tokens)));
                self.named = named.or(self.named);
            }
        }
    }

    fn wanted(&self) -> Option<u64> {
        match (self.accepted, self.rejected) {
            (None, None) => Some(self.under(self.advertised)),
            (Some(accepted), None) => {
                let over = self.over(self.advertised);
                let next = if accepted < over {
                    over
                } else {
                    accepted / 4 * 5
                };
                (next <= self.advertised * LONGEST_WINDOWS).then_some(next)
            }
            (None, Some(rejected)) => {
                let named = self.named.map(|named| self.under(named));
                let shorter = named.filter(|&under| under < rejected);
                (rejected > SHORTEST).then(|| shorter.unwrap_or(rejected / 2).max(SHORTEST))
            }
            (Some(accepted), Some(rejected)) => self.between(accepted, rejected),
        }
    }

    fn between(&self, accepted: u64, rejected: u64) -> Option<u64> {
        // A server that changes its mind has no limit to be found.
        if rejected.saturating_sub(accepted) <= self.tolerance() {
            return None;
        }
        let hints = [self.named, Some(self.advertised)].into_iter().flatten();
        let around = hints.flat_map(|limit| [self.under(limit), self.over(limit)]);
        let apart = self.tolerance() / 2;
        let is_new = |tokens: &u64| *tokens > accepted + apart && *tokens + apart < rejected;
        Some(
            around
                .filter(is_new)
                .max()
                .unwrap_or(accepted + (rejected - accepted) / 2),
        )
    }

    /// Just within a limit for prompt and answer together.
    fn under(&self, limit: u64) -> u64 {
        limit.saturating_sub(self.answer + limit / 500)
    }

    /// Just over it.
    fn over(&self, limit: u64) -> u64 {
        limit + limit / 500
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Searches at an endpoint that takes prompts of up to `limit` tokens.
    fn search(advertised: u64, limit: u64, named: Option<u64>, budget: u64) -> (LimitSearch, u32) {
        let mut search = LimitSearch::new(advertised, 16, budget, 0);
        let mut requests = 0;
        while let Some(tokens) = search.next() {
            requests += 1;
            assert!(requests < 40, "{search:?}");
            let fate = if tokens <= limit {
                Fate::Accepted
            } else {
                Fate::Rejected(named)
            };
            search.learn(tokens, fate);
        }
        (search, requests)
    }

    #[test]
    fn the_limit_is_found_between_close_bounds_wherever_it_is() {
        for advertised in [4_096, 131_072, 1_048_576] {
            for limit in [
                advertised / 9,
                advertised * 2 / 3,
                advertised - 16,
                advertised,
                advertised * 3 / 2,
                advertised * 3,
            ] {
                let (search, requests) = search(advertised, limit, None, u64::MAX / 2);
                let (accepted, rejected) = (search.accepted.unwrap(), search.rejected.unwrap());
                assert!(accepted <= limit && limit < rejected, "{search:?}");
                assert!(rejected - accepted <= search.tolerance(), "{search:?}");
                assert!(requests <= 16, "{requests}");
            }
        }
    }

    #[test]
    fn a_limit_that_is_named_takes_few_requests() {
        let limit = 681_280;
        let (search, requests) = search(1_048_576, limit - 16, Some(limit), u64::MAX / 2);
        assert!(requests <= 4, "{requests} {search:?}");
        assert_eq!(search.named, Some(limit));
        let (accepted, rejected) = (search.accepted.unwrap(), search.rejected.unwrap());
        assert!(accepted < limit && limit <= rejected && rejected - accepted <= search.tolerance());
    }

    #[test]
    fn an_endpoint_that_keeps_its_word_takes_two_requests() {
        let (search, requests) = search(131_072, 131_072 - 16, None, u64::MAX / 2);
        assert!(requests <= 3, "{requests} {search:?}");
    }

    #[test]
    fn the_budget_is_never_exceeded_and_an_endless_endpoint_ends() {
        let (poor, _) = search(131_072, 40_000, None, 300_000);
        assert!(poor.spent <= 300_000 && poor.is_out_of_budget());
        let (endless, _) = search(131_072, u64::MAX, None, u64::MAX / 2);
        assert_eq!(endless.rejected, None);
        assert!(endless.accepted.unwrap() <= 4 * 131_072 && !endless.is_out_of_budget());
        let (nothing, _) = search(131_072, 0, None, u64::MAX / 2);
        assert_eq!(nothing.accepted, None);
    }
}
