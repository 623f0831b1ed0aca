//! Who opens evidence, and why.

use super::CommandError;
use crate::clock::{Clock as _, SystemClock};
use crate::cmd::who::login;
use crate::store::Access;

/// Who asks, and why.
#[derive(Debug, clap::Args)]
pub(super) struct Who {
    /// Why; it is recorded.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Who asks, if not the user of the operating system (who is recorded in any case).
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
}

impl Who {
    pub(super) fn access(&self) -> Result<Access, CommandError> {
        let told = |text: &str, option: &str| match text.trim() {
            "" => Err(CommandError::Choice(format!(
                "{option} is empty (whoever opens evidence says who they are and why)"
            ))),
            told => Ok(told.to_owned()),
        };
        let login = login();
        Ok(Access {
            who: told(self.name.as_deref().unwrap_or(&login), "--as")?,
            reason: told(&self.reason, "--reason")?,
            login,
            at: SystemClock.now(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(reason: &str, name: Option<&str>) -> Who {
        Who {
            reason: reason.to_owned(),
            name: name.map(str::to_owned),
        }
    }

    #[test]
    fn whoever_gives_no_reason_or_an_empty_name_is_refused() {
        for (reason, name) in [("", None), (" \n\t", None), ("a reason", Some(" "))] {
            assert!(who(reason, name).access().is_err());
        }
    }

    #[test]
    fn a_name_does_not_hide_the_user_of_the_operating_system() {
        let access = who(" a reason ", Some("Ada")).access();
        let access = access.expect("name and reason are told");
        assert_eq!(
            (access.who.as_str(), access.reason.as_str()),
            ("Ada", "a reason")
        );
        assert!(access.login.contains("(uid "), "{}", access.login);
    }
}
