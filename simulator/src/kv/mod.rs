//! The KV cache: physical pages in a pool, a page table for each request, a free list. The contents of
//! a page stay when it is freed; only the next write replaces them, as in GPU memory.

mod pool;

pub(crate) use pool::{PagePool, PageTable};

/// Tokens in a page.
pub const PAGE_TOKENS: usize = 64;

/// Pages that hold so many tokens.
pub(crate) fn pages_for(tokens: usize) -> usize {
    tokens.div_ceil(PAGE_TOKENS)
}
