//! The KV cache: physical pages in a pool, tables of pages, a cache of prefixes, tiers for what does not
//! fit. The contents of a page stay when it is freed; only the next write replaces them, as in GPU memory.

mod pool;
mod prefix;
mod tier;

pub(crate) use pool::{PageContents, PageId, PagePool};
pub(crate) use prefix::{Key, PrefixCache};
pub(crate) use tier::{Slot, Tier};

/// Tokens in a page.
pub const PAGE_TOKENS: usize = 64;

/// Pages that hold so many tokens.
pub(crate) fn pages_for(tokens: usize) -> usize {
    tokens.div_ceil(PAGE_TOKENS)
}
