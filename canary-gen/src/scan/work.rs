//! What a scan has spent.

/// Counts of what a scan has done so far: the cost of hostile input is bounded in these, whatever
/// the machine (docs/canary-format.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes of the text and of everything it was read as through views.
    pub bytes: u64,
    /// Sixteen-byte candidates opened with the key ring.
    pub openings: u64,
    /// Spent on undoing damages: openings, and what takes as long.
    pub repair_openings: u64,
    /// Places looked up in the index.
    pub lookups: u64,
    /// Candidates whose damages were not, or not all, searched for: the effort was spent.
    pub repairs_cut_short: u64,
}
