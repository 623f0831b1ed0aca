//! Who may share prefixes of prompts.

use std::{fmt, str::FromStr};

/// Who may share prefixes of prompts. A request's `cache_salt` keeps it apart in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrefixScope {
    /// Requests of one tenant.
    #[default]
    Tenant,
    /// Everybody, as vLLM and SGLang have it: only the salt keeps tenants apart.
    Everybody,
}

impl PrefixScope {
    /// The name on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tenant => "tenant",
            Self::Everybody => "everybody",
        }
    }
}

impl fmt::Display for PrefixScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no scope.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown prefix scope `{0}` (known scopes: tenant, everybody)")]
pub struct UnknownScope(String);

impl FromStr for PrefixScope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        let mut scopes = [Self::Tenant, Self::Everybody].into_iter();
        scopes
            .find(|scope| scope.as_str() == text)
            .ok_or_else(|| UnknownScope(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_known_by_its_name_and_the_refusal_of_another_names_both() {
        for scope in [PrefixScope::Tenant, PrefixScope::Everybody] {
            assert_eq!(scope.as_str().parse(), Ok(scope));
            let refused = "all".parse::<PrefixScope>().expect_err("no scope");
            assert!(refused.to_string().contains(scope.as_str()));
        }
    }
}
