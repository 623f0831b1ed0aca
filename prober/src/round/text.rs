//! A round's result for people.

use super::report::{DonorReport, FindingReport, RoundReport};
use std::fmt;
use time::OffsetDateTime;
use time::macros::format_description;

impl fmt::Display for RoundReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            endpoint,
            scenario,
            verdict,
            ..
        } = self;
        write!(f, "{scenario} at {endpoint}: {}", verdict.to_uppercase())?;
        if let Some(reason) = &self.reason {
            write!(f, " ({reason})")?;
        }
        writeln!(f)?;
        write!(
            f,
            "  {} probes: {} leaked, {} clean",
            self.probes, self.leaks, self.clean
        )?;
        if self.rejected > 0 {
            write!(f, " ({} of them refused as too long)", self.rejected)?;
        }
        writeln!(f, ", {} inconclusive", self.inconclusive)?;
        match self.sensitivity {
            Some(sensitivity) => {
                writeln!(f, "  sensitivity (own-canary recall): {sensitivity:.2}")?
            }
            None => writeln!(f, "  sensitivity: unknown, nobody answered")?,
        }
        let advertised = self.context_tokens;
        if let Some(limit) = self
            .measured_limit_tokens
            .filter(|&limit| limit < advertised)
        {
            writeln!(
                f,
                "  it refuses prompts above {} tokens, though it advertises {}",
                grouped(limit),
                grouped(advertised)
            )?;
        }
        if let Some(error) = self.length_error {
            writeln!(f, "  {}", lengths(self.lengths_by, error))?;
        }
        for finding in &self.findings {
            write!(f, "{finding}")?;
        }
        write!(
            f,
            "  round {}, seed {}, {:.1} s{}",
            self.round,
            self.seed,
            self.duration_ms as f64 / 1_000.0,
            if self.recorded {
                ""
            } else {
                ", NOT completely recorded"
            }
        )
    }
}

impl fmt::Display for FindingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prompt = grouped(self.prompt_tokens);
        if let Some(limit) = self.limit_tokens {
            return writeln!(
                f,
                "  LIMIT VIOLATION: probe {} of tenant {}: a prompt of {prompt} tokens was answered, over the limit of {}",
                self.probe,
                self.tenant,
                grouped(limit)
            );
        }
        writeln!(
            f,
            "  LEAK, {}: probe {} of tenant {} (a prompt of {prompt} tokens)",
            self.certainty, self.probe, self.tenant
        )?;
        match &self.donor {
            Some(donor) => donor_lines(f, donor, self.found_at),
            None => Ok(()),
        }
    }
}

/// How well lengths were reached.
fn lengths(by: &str, error: f64) -> String {
    let how = match by {
        "usage" => "estimated from its usage",
        "endpoint" => "counted with its /tokenize",
        _ => "counted with the tokenizer file",
    };
    let percent = error * 100.0;
    if error == 0.0 {
        format!("lengths: exact, {how}")
    } else if by == "usage" && error <= 0.001 {
        format!("lengths: within {percent:.3} %, {how}")
    } else {
        format!("lengths: up to {percent:.2} % off what was wanted, {how}")
    }
}

fn donor_lines(
    f: &mut fmt::Formatter<'_>,
    donor: &DonorReport,
    found_at: OffsetDateTime,
) -> fmt::Result {
    let count = donor.slots.len();
    let canaries = if count == 1 { "canary" } else { "canaries" };
    let whose = match (donor.relation, &donor.tenant) {
        ("same_tenant", Some(tenant)) => format!("the same tenant's ({tenant}) other request"),
        (_, Some(tenant)) => format!("tenant {tenant}"),
        (_, None) => "a tenant unknown to this store".to_owned(),
    };
    write!(
        f,
        "    received {count} {canaries} of {whose}, planted by probe {}",
        donor.probe
    )?;
    if let Some(planted) = donor.planted_at {
        let age = (found_at - planted).as_seconds_f64();
        write!(
            f,
            " at {} UTC, {age:.1} s before the proof",
            clock_time(planted)
        )?;
    }
    writeln!(f)?;
    let slots: Vec<String> = donor.slots.iter().take(8).map(u64::to_string).collect();
    let more = if count > 8 {
        format!(" and {} more", count - 8)
    } else {
        String::new()
    };
    let slot_word = if count == 1 { "slot" } else { "slots" };
    write!(
        f,
        "    from {slot_word} {}{more} of the donor's context",
        slots.join(", ")
    )?;
    if let (Some((first, last)), Some((first_page, last_page))) = (donor.tokens, donor.pages) {
        write!(
            f,
            ": about token {}, page {} (from 0)",
            range(grouped(first), grouped(last)),
            range(grouped(first_page), grouped(last_page))
        )?;
    }
    writeln!(f)
}

fn range(first: String, last: String) -> String {
    if first == last {
        first
    } else {
        format!("{first} to {last}")
    }
}

fn clock_time(at: OffsetDateTime) -> String {
    at.to_offset(time::UtcOffset::UTC)
        .format(format_description!("[hour]:[minute]:[second]"))
        .unwrap_or_else(|_| at.to_string())
}

/// 1048576 as 1,048,576.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_048_576, "1,048,576"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
