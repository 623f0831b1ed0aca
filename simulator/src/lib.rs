//! An inference endpoint to rehearse on: an engine in prefill/decode disaggregation with a real paged
//! KV cache, a deterministic reader in place of the model, real wire formats, and faults on demand.
//!
//! ```text
//! HTTP ─▶ wire ─▶ engine: admit ─▶ prefill, in chunks ─▶ transfer, page by page ─▶ decode, in a batch ─▶ wire ─▶ HTTP
//!                            │         │ prefix cache, host, disk       │ retraction to the host
//!                            └ refuse  └ kv: prefill pool               └ kv: decode pool
//!                                              pages keep their contents; the model reads what its page table shows
//! ```
//!
//! It knows nothing of canaries: the reader copies strings that look like codes. Healthy by default;
//! a [`Fault`] changes one decision of the engine, and whatever follows, follows from the mechanism.

mod config;
mod engine;
mod fault;
mod front;
mod kv;
mod model;
mod scope;
mod shape;
mod token;
mod wire;

pub use config::{Config, ConfigError, Speeds, TenantKey};
pub use fault::{Fault, FaultSetting, UnknownFault};
pub use kv::PAGE_TOKENS;
pub use scope::{PrefixScope, UnknownScope};
pub use shape::{Shape, UnknownShape};

use front::Front;
use std::io;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// A simulated endpoint, ready to serve.
pub struct Simulator {
    front: Arc<Front>,
}

/// How full the caches of a simulator are. Cheap to clone.
#[derive(Clone)]
pub struct Gauges {
    front: Arc<Front>,
}

impl Gauges {
    /// Free and all pages of the prefill pool; cached pages that nobody uses count as free.
    #[must_use]
    pub fn prefill_pages(&self) -> (usize, usize) {
        let pages = self.front.engine.state().prefill;
        (pages.free, pages.all)
    }

    /// Free and all pages of the decode pool.
    #[must_use]
    pub fn decode_pages(&self) -> (usize, usize) {
        let pages = self.front.engine.state().decode;
        (pages.free, pages.all)
    }
}

impl Simulator {
    /// Checks the settings, allocates both pools and starts the engine's thread.
    ///
    /// # Errors
    /// When the settings contradict each other; the message says which.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            front: Arc::new(Front::start(config).map_err(ConfigError::Thread)?),
        })
    }

    /// How full its caches are, also while it serves.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        Gauges {
            front: Arc::clone(&self.front),
        }
    }

    /// Serves until `stop` is cancelled; requests under way then end first.
    ///
    /// # Errors
    /// When the socket fails.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) -> io::Result<()> {
        axum::serve(listener, wire::router(self.front))
            .with_graceful_shutdown(stop.cancelled_owned())
            .await
    }
}
