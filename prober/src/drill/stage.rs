//! The endpoint of drills: a small simulated engine with the defect of the founding incident, in this process and on a
//! loopback socket, with tenants and a scenario of its own. Nothing leaves this machine, and all data are synthetic.

use super::DrillError;
use crate::budget::Budget;
use crate::config::{Endpoint, Scenario, Tenant};
use crate::endpoint::{Api, Connection, Extras, Limits, Proxy};
use crate::length::Tokenizer;
use crate::scenario::Recipe;
use canary_gen::Form;
use simulator::{Fault, FaultSetting, Simulator};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// The name in the database: no configuration can have it, so that nothing of a drill ever counts among real facts.
const NAME: &str = "(drill)";
const MODEL: &str = "drill";
const TENANTS: [&str; 2] = ["drill-donor", "drill-victim"];
const CONTEXT_TOKENS: u32 = 8_192;
const PREFILL_TOKENS: u32 = 6_144;
/// Hardly more than a prompt, so that the next one gets the pages of the one before.
const DECODE_TOKENS: u32 = CONTEXT_TOKENS + 512;

/// A leaking endpoint, until it is dropped.
pub(super) struct Stage {
    pub(super) endpoint: Endpoint,
    pub(super) scenario: Scenario,
    server: JoinHandle<()>,
    stop: DropGuard,
}

impl Stage {
    pub(super) async fn open() -> Result<Self, DrillError> {
        let always = FaultSetting {
            fault: Fault::StalePages,
            probability: 1.0,
        };
        let simulator = Simulator::new(simulator::Config {
            model: MODEL.to_owned(),
            context_tokens: CONTEXT_TOKENS,
            prefill_tokens: PREFILL_TOKENS,
            decode_tokens: Some(DECODE_TOKENS),
            faults: vec![always],
            ..simulator::Config::default()
        })?;
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .map_err(DrillError::Socket)?;
        let address = listener.local_addr().map_err(DrillError::Socket)?;
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let server = tokio::spawn(async move {
            if let Err(error) = simulator.serve(listener, stopped).await {
                tracing::error!(error = %error, "the endpoint of a drill stopped");
            }
        });
        Ok(Self {
            endpoint: endpoint(format!("http://{address}/v1")),
            scenario: scenario(),
            server,
            stop: stop.drop_guard(),
        })
    }

    /// Ends the endpoint.
    pub(super) async fn close(self) {
        drop(self.stop);
        // What ended it is in the log.
        let _ = self.server.await;
    }
}

fn endpoint(base_url: String) -> Endpoint {
    let tenant = |name: &str| Tenant {
        name: name.to_owned(),
        credential: None,
        extras: Extras::default(),
        // It is on this machine, whatever the environment says of proxies.
        connection: Connection {
            proxy: Proxy::Off,
            ..Connection::default()
        },
    };
    Endpoint {
        name: NAME.to_owned(),
        labels: Vec::new(),
        api: Api::OpenAiChat,
        base_url,
        model: MODEL.to_owned(),
        context_tokens: u64::from(CONTEXT_TOKENS),
        stream: true,
        page_tokens: 64,
        tokenizer: Tokenizer::default(),
        limits: Limits::default(),
        budget: Budget::default(),
        tenants: TENANTS.map(tenant).into(),
    }
}

/// A donor that fills the caches, then a prompt that is longer than what prefill holds and not longer than advertised:
/// a leak and no other finding.
fn scenario() -> Scenario {
    Scenario {
        name: "drill".to_owned(),
        endpoints: vec![NAME.to_owned()],
        every: Duration::from_secs(24 * 3_600),
        jitter: Duration::ZERO,
        form: Form::Code,
        min_sensitivity: 0.5,
        max_answer_tokens: 96,
        recipe: Recipe::Overflow {
            ladder: vec![0.94],
            donor_fraction: 0.7,
        },
    }
}
