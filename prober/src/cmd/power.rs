//! `prober power`

use super::{CommandError, Format, exit, print};
use crate::bounds::{Confidence, OutOfRange, Probability, probes_needed};
use crate::budget::Budget;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

/// What is to be shown, and with what means.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  prober power --rate 1e-4 --sensitivity 0.9 --tokens 700000 --tokens-per-day 2000000000
  prober power --rate 1e-4 --sensitivity 0.9 --tokens 700000 --config prober.toml --endpoint glm-prod

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
    /// Configuration file: takes tokens and money in a day from the endpoint's budget.
    #[arg(
        long,
        value_name = "FILE",
        requires = "tokens",
        conflicts_with = "tokens_per_day"
    )]
    config: Option<PathBuf>,
    /// Name of the endpoint in it; may be left out if there is only one.
    #[arg(long, value_name = "NAME", requires = "config")]
    endpoint: Option<String>,
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
    let budget = budget(args)?;
    let power = power(args, &budget).ok_or_else(|| {
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

/// What may be spent in a day.
fn budget(args: &Args) -> Result<Budget, CommandError> {
    let Some(path) = &args.config else {
        return Ok(Budget {
            tokens_per_day: args.tokens_per_day,
            ..Budget::default()
        });
    };
    let config = crate::config::load(path).map_err(CommandError::Config)?;
    let endpoints = super::limits::choose(&config, args.endpoint.as_deref())?;
    let [endpoint] = endpoints[..] else {
        return Err(CommandError::Choice(
            "the configuration has several endpoints (choose one with --endpoint)".to_owned(),
        ));
    };
    if !endpoint.budget.is_limited() {
        return Err(CommandError::Choice(format!(
            "endpoint `{}` has no budget (write `tokens_per_day` or `money_per_day` in [endpoints.budget], or use --tokens-per-day)",
            endpoint.name
        )));
    }
    Ok(endpoint.budget.clone())
}

/// How many hours so many probes of a length take; `None` without a limit. Answers are short beside
/// prompts, and left out.
fn hours(budget: &Budget, probes: u64, tokens: u64) -> Option<f64> {
    let price = budget.prices.cost(tokens, 0).money.micros();
    let days = |need: u64, per_day: u64| probes as f64 * need as f64 / per_day as f64;
    let by_tokens = budget.tokens_per_day.map(|most| days(tokens, most));
    let by_money = budget.money_per_day.map(|most| days(price, most.micros()));
    let days = by_tokens.into_iter().chain(by_money).reduce(f64::max)?;
    Some(days * 24.0)
}

fn power(args: &Args, budget: &Budget) -> Option<Power> {
    let probes = probes_needed(args.rate, args.confidence, args.sensitivity)?;
    let tokens = args
        .tokens
        .map(|tokens| u128::from(tokens) * u128::from(probes));
    let hours = args.tokens.and_then(|tokens| hours(budget, probes, tokens));
    Some(Power {
        rate: args.rate.get(),
        confidence: args.confidence.get(),
        sensitivity: args.sensitivity.get(),
        probes,
        tokens,
        hours,
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
    use crate::budget::Prices;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn of(line: &str) -> Power {
        let words = ["power"].into_iter().chain(line.split(' '));
        let args = Line::try_parse_from(words).unwrap().args;
        power(&args, &budget(&args).unwrap()).unwrap()
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
    fn the_scarcer_of_tokens_and_money_says_how_long_it_takes() {
        let budget = Budget {
            tokens_per_day: Some(10_000_000),
            money_per_day: Some("5".parse().unwrap()),
            prices: Prices {
                input: "1".parse().unwrap(),
                ..Prices::default()
            },
            ..Budget::default()
        };
        assert_eq!(hours(&budget, 10, 1_000_000), Some(48.0));
        let by_tokens = Budget {
            money_per_day: None,
            ..budget
        };
        assert_eq!(hours(&by_tokens, 10, 1_000_000), Some(24.0));
        assert_eq!(hours(&Budget::default(), 10, 1_000_000), None);
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
