//! Percent-encoding (RFC 3986 section 2.1).

use super::{Replacement, hex_value};

/// What `%XX` at the start of `rest` reads as.
pub(super) fn escape(rest: &[u8]) -> Option<Replacement> {
    let high = hex_value(*rest.get(1)?)?;
    let low = hex_value(*rest.get(2)?)?;
    Some(Replacement::byte(high << 4 | low, 3))
}
