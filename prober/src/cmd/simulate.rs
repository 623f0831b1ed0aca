//! `prober simulate`

use super::{CommandError, exit, print, signals};
use crate::config::{Log, LogFormat};
use secrecy::{ExposeSecret as _, SecretString};
use simulator::{Config, Fault, FaultSetting, PrefixScope, Shape, Simulator, Speeds, TenantKey};
use std::net::SocketAddr;
use std::process::ExitCode;
use tokio::net::TcpListener;

/// The engine to simulate.
#[derive(Debug, clap::Args)]
#[command(after_help = faults())]
pub struct Args {
    /// Address to listen on; port 0 takes a free one. The address is printed as the first line.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Fault to have, with the probability that a request meets it; may be given several times.
    #[arg(long = "fault", value_name = "NAME[=PROBABILITY]")]
    faults: Vec<FaultSetting>,
    /// Server to be like, in answers, streams, refusals, metrics and further paths: sglang, vllm, llamacpp
    /// or openai. The engine behind is the same.
    #[arg(long, value_name = "NAME", default_value_t)]
    shape: Shape,
    /// LoRA adapter to serve beside the base model; may be given several times. A request chooses one by its
    /// `model`. What is computed with one is no prefix for another.
    #[arg(long = "adapter", value_name = "NAME")]
    adapters: Vec<String>,
    /// Decode speculatively: a drafter proposes tokens, the model verifies them. Answers are the same, in
    /// fewer steps.
    #[arg(long)]
    speculative: bool,
    /// Who may share prefixes of prompts: `tenant`, or `everybody` as vLLM and SGLang have it, where only a
    /// request's `cache_salt` keeps tenants apart.
    #[arg(long, value_name = "WHO", default_value_t)]
    prefix_scope: PrefixScope,
    /// Keep answers for the same request of the same tenant, as a gateway's cache does.
    #[arg(long)]
    response_cache: bool,
    /// Keep answers for requests of the same tenant that are nearly the same.
    #[arg(long)]
    semantic_cache: bool,
    /// Chance from 0 to 1 that a transfer between the groups fails half way. The request is answered with an
    /// error then; faults make something else of it.
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    transfer_failures: f64,
    /// Advertised context window, in tokens.
    #[arg(long = "context", value_name = "N", default_value_t = 1_048_576)]
    context_tokens: u32,
    /// Capacity of the prefill group's KV cache, in tokens [default: the context window].
    #[arg(long, value_name = "N")]
    prefill_tokens: Option<u32>,
    /// Capacity of the decode group's KV cache, in tokens [default: a little over the context window].
    #[arg(long, value_name = "N")]
    decode_tokens: Option<u32>,
    /// Host memory behind the prefix cache, in tokens [default: twice the prefill group's].
    #[arg(long, value_name = "N")]
    host_tokens: Option<u32>,
    /// Disk behind the host's memory, in tokens [default: four times the prefill group's].
    #[arg(long, value_name = "N")]
    disk_tokens: Option<u32>,
    /// A tenant and its API key; may be given several times. Without any, no key is asked for.
    #[arg(long = "key", value_name = "TENANT=KEY")]
    keys: Vec<SecretString>,
    /// Name of the model.
    #[arg(long, default_value = "simulated-1m")]
    model: String,
    /// Speed of the prefill group in tokens a second [default: as fast as it can].
    #[arg(long, value_name = "N")]
    prefill_speed: Option<f64>,
    /// Speed of the KV transfer of one request in tokens a second [default: as fast as it can].
    #[arg(long, value_name = "N")]
    transfer_speed: Option<f64>,
    /// Decode speed of one request in tokens a second [default: as fast as it can].
    #[arg(long, value_name = "N")]
    decode_speed: Option<f64>,
    /// Of the faults' probabilities.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// The faults, one a line.
fn faults() -> String {
    let lines = Fault::all().map(|fault| format!("  {:26}{}\n", fault.as_str(), fault.about()));
    format!("Faults (docs/faults.md):\n{}", lines.collect::<String>())
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// When the settings contradict each other or the socket fails.
pub async fn run(args: Args) -> Result<ExitCode, CommandError> {
    crate::logging::start(Log {
        format: LogFormat::Human,
        level: tracing::Level::INFO,
    });
    let config = Config {
        shape: args.shape,
        model: args.model,
        adapters: args.adapters,
        speculative: args.speculative,
        prefix_scope: args.prefix_scope,
        response_cache: args.response_cache,
        semantic_cache: args.semantic_cache,
        transfer_failures: args.transfer_failures,
        context_tokens: args.context_tokens,
        prefill_tokens: args.prefill_tokens.unwrap_or(args.context_tokens),
        decode_tokens: args.decode_tokens,
        host_tokens: args.host_tokens,
        disk_tokens: args.disk_tokens,
        keys: args.keys.iter().map(tenant_key).collect::<Result<_, _>>()?,
        faults: args.faults,
        speeds: Speeds {
            prefill: args.prefill_speed,
            transfer: args.transfer_speed,
            decode: args.decode_speed,
        },
        seed: args.seed,
        ..Config::default()
    };
    let simulator = Simulator::new(config)?;
    let stop = signals::stop_token()?;
    let listener = TcpListener::bind(args.listen)
        .await
        .map_err(CommandError::io(format!("listen on {}", args.listen)))?;
    let address = listener
        .local_addr()
        .map_err(CommandError::io("read the listening address"))?;
    print(&format!("http://{address}/v1"))?;
    simulator
        .serve(listener, stop)
        .await
        .map_err(CommandError::io("serve the simulated endpoint"))?;
    Ok(ExitCode::from(exit::CLEAN))
}

/// Read here and not by the command line's parser, whose errors repeat what they could not read.
fn tenant_key(text: &SecretString) -> Result<TenantKey, CommandError> {
    match text.expose_secret().split_once('=') {
        Some((tenant, key)) if !tenant.is_empty() && !key.is_empty() => {
            Ok((tenant.to_owned(), key.to_owned()).into())
        }
        _ => Err(CommandError::Choice(
            "--key: expected TENANT=KEY".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Args as _;

    #[test]
    fn the_documentation_has_a_row_for_every_flag_and_for_no_other() {
        let command = Args::augment_args(clap::Command::new("simulate"));
        let mut flags: Vec<String> = command
            .get_arguments()
            .filter_map(|argument| argument.get_long())
            .map(|flag| format!("--{flag}"))
            .collect();
        let documented = include_str!("../../../docs/simulate.md").lines();
        let rows = documented.filter_map(|line| line.strip_prefix("| `--"));
        let mut rows: Vec<String> = rows
            .filter_map(|row| row.split([' ', '[', '`']).next())
            .map(|flag| format!("--{flag}"))
            .collect();
        flags.sort_unstable();
        rows.sort_unstable();
        assert_eq!(rows, flags);
    }
}
