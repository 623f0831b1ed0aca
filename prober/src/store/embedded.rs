//! The embedded Postgres: PGlite (PostgreSQL 17 compiled to WebAssembly) in this process.
//!
//! For trying out and for one small machine: it takes one connection and runs with fsync off, so a
//! power failure can lose data (a killed process does not). Production is a PostgreSQL server.

use super::StoreError;
use pglite_oxide::PgliteServer;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// A running embedded server; its files outlive it.
pub(super) struct Server {
    server: PgliteServer,
}

impl Server {
    pub(super) async fn start(directory: PathBuf) -> Result<Self, StoreError> {
        let failed =
            |directory: PathBuf, reason: String| StoreError::Embedded { directory, reason };
        // Its listener has no password; the directory at least is the owner's alone.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)
            .map_err(|error| failed(directory.clone(), error.to_string()))?;
        tracing::warn!(
            store.directory = %directory.display(),
            "embedded Postgres: one connection, fsync off; for trying out and for one small machine (production: set DATABASE_URL)"
        );
        let path = directory.clone();
        let started =
            tokio::task::spawn_blocking(move || PgliteServer::builder().path(path).start()).await;
        match started {
            Ok(Ok(server)) => Ok(Self { server }),
            Ok(Err(error)) => Err(failed(directory, format!("{error:#}"))),
            Err(error) => Err(failed(directory, error.to_string())),
        }
    }

    pub(super) fn url(&self) -> String {
        self.server.database_url()
    }

    pub(super) async fn stop(self) {
        let stopped = tokio::task::spawn_blocking(move || self.server.shutdown()).await;
        if let Ok(Err(error)) = stopped {
            tracing::warn!(error = %format!("{error:#}"), "embedded Postgres did not stop cleanly");
        }
    }
}
