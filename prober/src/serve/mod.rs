//! What `prober run` serves by HTTP: whether it lives, whether it can do its work, its metrics, and a reload.

mod metrics;
mod ready;
mod reload;

pub use ready::{Readiness, SpoolReadiness, SpoolState};

use crate::metrics::Metrics;
use crate::reload::Reloader;
use crate::spool::Spooler;
use crate::store::Store;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use std::io;
use std::sync::{Arc, OnceLock};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// What is looked at. Cheap to clone.
#[derive(Clone)]
pub struct Health {
    store: Arc<OnceLock<Store>>,
    spool: Spooler,
}

impl Health {
    /// Of a prober whose database is not open yet.
    #[must_use]
    pub fn new(spool: Spooler) -> Self {
        Self {
            store: Arc::default(),
            spool,
        }
    }

    /// The database is open now.
    pub fn opened(&self, store: Store) {
        // It is opened once.
        let _ = self.store.set(store);
    }
}

/// Serves until told to stop.
///
/// # Errors
/// When the socket fails.
pub async fn serve(
    listener: TcpListener,
    health: Health,
    metrics: Metrics,
    reloader: Reloader,
    stop: CancellationToken,
) -> io::Result<()> {
    let router = Router::new()
        .route("/-/healthy", get(async || "healthy\n"))
        .route("/-/ready", get(ready))
        .with_state(health)
        .merge(
            Router::new()
                .route("/metrics", get(metrics::metrics))
                .with_state(metrics),
        )
        .merge(
            Router::new()
                .route("/-/reload", post(reload::reload))
                .with_state(reloader),
        );
    axum::serve(listener, router)
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
}

async fn ready(State(health): State<Health>) -> (StatusCode, Json<Readiness>) {
    let readiness = Readiness::look(health.store.get(), &health.spool).await;
    let status = if readiness.ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(readiness))
}
