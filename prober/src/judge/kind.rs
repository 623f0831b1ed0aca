//! What each kind of finding means, for whoever reads it in another tool.

/// A kind of finding, explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The name in tables and output, as [`super::Finding::kind`] tells it.
    pub name: &'static str,
    /// In a few words.
    pub title: &'static str,
    /// In a sentence.
    pub meaning: &'static str,
    /// What to do about it.
    pub advice: &'static str,
}

/// All there are, the gravest first.
pub const KINDS: [Kind; 7] = [
    Kind {
        name: "leak",
        title: "Another request's context was answered",
        meaning: "A response held canaries that were planted in another request's context: data of one tenant reaches another.",
        advice: "Stop the rollout, or take the endpoint out of service. The slots and pages of the donor's context tell which part of the cache was read; `prober replay ROUND` sends the same schedule again after a repair.",
    },
    Kind {
        name: "shared_response",
        title: "A response was given to two tenants",
        meaning: "A tenant got a response with the id of one that another tenant had got for an equal prompt.",
        advice: "Put the tenant into the key of the response cache, or turn it off.",
    },
    Kind {
        name: "shared_prefix_cache",
        title: "The prefix cache is shared by tenants",
        meaning: "The beginning of a prompt that only another tenant had sent was counted as cached, or answered faster than a new one: a tenant can try out what another has sent.",
        advice: "Give each tenant a cache salt of its own, and see that it arrives behind every router.",
    },
    Kind {
        name: "limit_violation",
        title: "A prompt over the limit was answered",
        meaning: "A prompt longer than the advertised context window was answered and not refused: the condition under which stale pages are read.",
        advice: "Refuse such prompts before they reach the engine. `prober limits` tells what is really accepted.",
    },
    Kind {
        name: "usage_anomaly",
        title: "The tokens of a prompt were counted wrongly",
        meaning: "The endpoint reported a length that cannot be that of the prompt it answered.",
        advice: "Look for what the count leaves out or adds; budgets and bills follow it.",
    },
    Kind {
        name: "divergence",
        title: "Strangers' requests change the answer",
        meaning: "Equal deterministic requests were answered differently near another tenant's requests, and less so alone.",
        advice: "Look for states that are not reset between requests; an engine whose numbers depend on the batch may differ without a defect.",
    },
    Kind {
        name: "truncation",
        title: "A part of the prompt may not have been read",
        meaning: "The endpoint counted fewer tokens than were sent, and nothing shows that it read the rest.",
        advice: "Refuse prompts that are too long; do not cut them silently.",
    },
];

#[cfg(test)]
mod tests {
    use super::KINDS;

    #[test]
    fn no_kind_is_explained_twice() {
        let mut names = KINDS.map(|kind| kind.name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
