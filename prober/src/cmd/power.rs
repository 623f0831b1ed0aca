//! `prober power`

use super::{CommandError, Format, exit, print};
use crate::bounds::{Confidence, OutOfRange, Probability, probes_needed};
use serde::Serialize;
use std::fmt;
use std::process::ExitCode;

/// What is to be shown, and with what means.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  prober power --rate 1e-4 --sensitivity 0.9 --tokens 700000 --tokens-per-day 2000000000

How often do over-long requests have to be sent to notice a leak that happens in one of 10,000 of them?")]
pub struct Args {
    /// Share of requests that leak, above 0 and at most 1.
    #[arg(long, value_name = "R", value_parser = probability)]
    rate: Probability,
    /// How sure to be that at least one leak is seen, above 0 and below 1.
    #[arg(long, value_name = "C", default_value = "0.95", value_parser = confidence)]
    confidence: Confidence,
    /// Share of leaks that an answer shows: the recall of own canaries, which `prober once` reports.
    #[arg(long, value_name = "S", default_value = "1", value_parser = probability)]
    sensitivity: Probability,
    /// Length of a probe, in tokens.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    tokens: Option<u64>,
    /// Tokens that may be sent in a day; with --tokens, tells how long it takes.
    #[arg(long, value_name = "N", requires = "tokens", value_parser = clap::value_parser!(u64).range(1..))]
    tokens_per_day: Option<u64>,
    /// A sentence for people, or one JSON object.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

fn probability(text: &str) -> Result<Probability, OutOfRange> {
    Probability::new(text.parse().unwrap_or(f64::NAN))
}

fn confidence(text: &str) -> Result<Confidence, OutOfRange> {
    Confidence::new(text.parse().unwrap_or(f64::NAN))
}

/// What it takes.
#[derive(Debug, PartialEq, Serialize)]
struct Power {
    rate: f64,
    confidence: f64,
    sensitivity: f64,
    probes: u64,
    /// Of all probes together.
    tokens: Option<u128>,
    hours: Option<f64>,
}

/// Tells how many probes, tokens and hours it takes to see a leak.
///
/// # Errors
/// When no number of probes does.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let power = power(args).ok_or_else(|| {
        CommandError::Choice(
            "no number of probes shows a leak of this --rate with this --sensitivity (both must be above 0)"
                .to_owned(),
        )
    })?;
    match args.format {
        Format::Text => print(&power.to_string())?,
        Format::Json => print(&serde_json::to_string(&power)?)?,
    }
    Ok(ExitCode::from(exit::CLEAN))
}

fn power(args: &Args) -> Option<Power> {
    let probes = probes_needed(args.rate, args.confidence, args.sensitivity)?;
    let tokens = args
        .tokens
        .map(|tokens| u128::from(tokens) * u128::from(probes));
    let hours = tokens.zip(args.tokens_per_day);
    Some(Power {
        rate: args.rate.get(),
        confidence: args.confidence.get(),
        sensitivity: args.sensitivity.get(),
        probes,
        tokens,
        hours: hours.map(|(tokens, per_day)| tokens as f64 / per_day as f64 * 24.0),
    })
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} probes show a leak of rate {} with {} % confidence",
            self.probes,
            self.rate,
            // Not 99.90000000000001.
            (self.confidence * 1e12).round() / 1e10,
        )?;
        if self.sensitivity < 1.0 {
            write!(f, " if {} of leaks are seen", self.sensitivity)?;
        }
        if let Some(tokens) = self.tokens {
            write!(f, "; {tokens} tokens")?;
        }
        if let Some(hours) = self.hours {
            write!(f, ", {hours:.1} hours")?;
        }
        f.write_str(
            ".\nAs many without a leak rule out this rate, as surely, if leaks are independent.",
        )
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn of(line: &str) -> Power {
        let words = ["power"].into_iter().chain(line.split(' '));
        power(&Line::try_parse_from(words).unwrap().args).unwrap()
    }

    #[test]
    fn probes_tokens_and_hours_follow_from_rate_sensitivity_and_budget() {
        let power = of(
            "--rate 1e-4 --confidence 0.95 --sensitivity 0.9 --tokens 700000 --tokens-per-day 2000000000",
        );
        assert_eq!((power.probes, power.tokens), (33_285, Some(23_299_500_000)));
        assert!((power.hours.unwrap() - 279.594).abs() < 1e-3);
        assert_eq!(
            power.to_string(),
            "33285 probes show a leak of rate 0.0001 with 95 % confidence if 0.9 of leaks are seen; \
             23299500000 tokens, 279.6 hours.\nAs many without a leak rule out this rate, as surely, if leaks are independent."
        );
        assert_eq!(
            of("--rate 0.5 --confidence 0.75")
                .to_string()
                .lines()
                .next(),
            Some("2 probes show a leak of rate 0.5 with 75 % confidence.")
        );
    }

    #[test]
    fn what_is_no_probability_is_refused_with_what_would_be_one() {
        for (line, expected) in [
            (
                "power --rate 2",
                "`2` is not a probability (expected a number from 0 to 1)",
            ),
            ("power --rate x", "expected a number from 0 to 1"),
            ("power --rate 0.1 --confidence 95", "such as 0.95"),
            ("power --rate 0.1 --tokens-per-day 5", "--tokens"),
        ] {
            let error = Line::try_parse_from(line.split(' '))
                .map(drop)
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
