//! Sets of views.

use super::View;

/// Some of the views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ViewSet(u8);

impl ViewSet {
    pub(crate) const ALL: Self = Self(u8::MAX);
    pub(crate) const NONE: Self = Self(0);

    pub(crate) const fn only(view: View) -> Self {
        Self(1 << view as u8)
    }

    pub(crate) const fn with(self, view: View) -> Self {
        Self(self.0 | Self::only(view).0)
    }

    pub(crate) const fn without(self, view: View) -> Self {
        Self(self.0 & !Self::only(view).0)
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The views in the order in which they are tried.
    pub(crate) fn iter(self) -> impl Iterator<Item = View> {
        let holds = move |view: &View| self.0 & Self::only(*view).0 != 0;
        View::ALL.into_iter().filter(holds)
    }
}
