//! A round's result for people.

use super::report::{DonorReport, FindingReport, PrefixReport, RoundReport};
use std::fmt;
use time::OffsetDateTime;
use time::macros::format_description;

/// So many parts of a donor's context are listed.
const MOST_PARTS: usize = 8;
/// A leak map is drawn so wide.
const MAP_CELLS: u64 = 64;

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
        write!(f, ", {} inconclusive", self.inconclusive)?;
        if self.cancelled > 0 {
            write!(f, ", {} left before their end, as planned", self.cancelled)?;
        }
        writeln!(f)?;
        match self.sensitivity {
            Some(sensitivity) => {
                writeln!(f, "  sensitivity (own-canary recall): {sensitivity:.2}")?
            }
            None => writeln!(f, "  sensitivity: unknown, nobody answered")?,
        }
        if let Some(rate) = self.leak_rate_at_most {
            write!(f, "  leaks of such requests: at most {}", percent(rate))?;
            if let Some(history) = self.history.as_ref().filter(|history| history.rounds > 1)
                && let Some(rate) = history.leak_rate_at_most
            {
                let (rounds, rate) = (grouped(history.rounds), percent(rate));
                write!(f, "; at most {rate} by all {rounds} rounds")?;
            }
            writeln!(f, " (95 % confidence)")?;
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
        let mut incidents: Vec<i64> = self
            .findings
            .iter()
            .filter_map(|one| one.incident)
            .collect();
        incidents.sort_unstable();
        incidents.dedup();
        for incident in incidents {
            writeln!(f, "  incident {incident}: prober incidents show {incident}")?;
        }
        write!(
            f,
            "  round {}, seed {}, {} tokens sent, {:.1} s{}",
            self.round,
            self.seed,
            grouped(self.prompt_tokens),
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
        let kind = self.kind.replace('_', " ").to_uppercase();
        let (probe, tenant) = (self.probe, &self.tenant);
        if let Some(about) = self.about(&prompt) {
            let suspected = if self.certainty == "confirmed" {
                ""
            } else {
                ", suspected"
            };
            writeln!(
                f,
                "  {kind}{suspected}: probe {probe} of tenant {tenant}: {about}"
            )?;
            return self.evidence_line(f);
        }
        writeln!(
            f,
            "  LEAK, {}: probe {probe} of tenant {tenant} (a prompt of {prompt} tokens)",
            self.certainty
        )?;
        if let Some(donor) = &self.donor {
            donor_lines(f, donor, self.found_at)?;
        }
        self.evidence_line(f)
    }
}

impl FindingReport {
    /// How to look at what proves it.
    fn evidence_line(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.evidence {
            return Ok(());
        }
        let probe = self.probe;
        writeln!(
            f,
            "    kept, sealed: prober evidence show {probe} --reason TEXT"
        )
    }

    /// What was found, if not a leak.
    fn about(&self, prompt: &str) -> Option<String> {
        if let Some(limit) = self.limit_tokens {
            let limit = grouped(limit);
            return Some(format!(
                "a prompt of {prompt} tokens was answered, over the limit of {limit}"
            ));
        }
        if let Some(reported) = self.reported_tokens {
            let reported = grouped(reported);
            return Some(if self.kind == "truncation" {
                format!(
                    "of a prompt of {prompt} tokens the endpoint counted {reported}, and nothing shows that it read the rest"
                )
            } else {
                format!("the endpoint counted {reported} tokens of a prompt of {prompt}")
            });
        }
        if let Some(prefix) = &self.prefix {
            let PrefixReport {
                readers,
                hits,
                chance,
                ..
            } = prefix;
            return Some(match prefix.cached_tokens {
                Some(cached) => format!(
                    "{} tokens of a beginning that only another tenant had sent came from a cache \
                     ({hits} of {readers} requests; {} of one that nobody had sent)",
                    grouped(cached),
                    grouped(prefix.usual_tokens.unwrap_or(0))
                ),
                None => format!(
                    "beginnings that only another tenant had sent are answered faster than new ones \
                     ({readers} requests, p = {chance:.1e})"
                ),
            });
        }
        if let Some(first) = self.first_probe {
            return Some(format!(
                "it got the response that probe {first} of another tenant had got for an equal prompt"
            ));
        }
        let divergence = self.divergence.as_ref()?;
        let near = if divergence.beside {
            "beside strangers' requests"
        } else {
            "after a stranger's request"
        };
        Some(format!(
            "equal requests were answered differently {near} in {} of {} cases, without one in {} (p = {:.1e})",
            divergence.differing, divergence.sets, divergence.differing_alone, divergence.chance
        ))
    }
}

/// A rate for people.
fn percent(rate: f64) -> String {
    format!("{:.2} %", rate * 100.0)
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
        ("other_endpoint", Some(tenant)) => format!(
            "tenant {tenant} of ANOTHER ENDPOINT ({})",
            donor.endpoint.as_deref().unwrap_or_default()
        ),
        ("retired_key", None) => "a retired key, unknown to this store".to_owned(),
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
    let parts: Vec<String> = donor
        .map
        .iter()
        .take(MOST_PARTS)
        .map(|part| match part.slots {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        })
        .collect();
    let more = match donor.map.len().saturating_sub(MOST_PARTS) {
        0 => String::new(),
        more => format!(" and {more} more parts"),
    };
    let slot_word = if count == 1 { "slot" } else { "slots" };
    write!(
        f,
        "    from {slot_word} {}{more} of the donor's context",
        parts.join(", ")
    )?;
    if let (Some((first, last)), Some((first_page, last_page))) = (donor.tokens, donor.pages) {
        write!(
            f,
            ": about token {}, page {} (from 0)",
            range(grouped(first), grouped(last)),
            range(grouped(first_page), grouped(last_page))
        )?;
    }
    writeln!(f)?;
    match leak_map(donor) {
        Some(map) => writeln!(
            f,
            "    leak map: |{map}| {} tokens",
            grouped(donor.context_tokens.unwrap_or(0))
        ),
        None => Ok(()),
    }
}

/// The donor's context from its beginning to its end, with what came out of it.
fn leak_map(donor: &DonorReport) -> Option<String> {
    let context = donor.context_tokens.filter(|&tokens| tokens > 0)?;
    let cell = |token: u64| (token * MAP_CELLS / context).min(MAP_CELLS - 1) as usize;
    let mut cells = ['.'; MAP_CELLS as usize];
    for (first, last) in donor.map.iter().filter_map(|part| part.tokens) {
        cells[cell(first)..=cell(last).max(cell(first))].fill('#');
    }
    Some(cells.iter().collect())
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
