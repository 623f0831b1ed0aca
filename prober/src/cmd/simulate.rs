//! `prober simulate`

use super::{CommandError, exit, print, signals};
use crate::config::{Log, LogFormat};
use secrecy::{ExposeSecret as _, SecretString};
use simulator::{Config, Fault, FaultSetting, Simulator, Speeds, TenantKey};
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
        model: args.model,
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
