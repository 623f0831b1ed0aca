//! `prober run` as a process, and waiting for what it does to the database.

use super::{TestDatabase, prober};
use prober::store::Store;
use serde_json::Value;
use sqlx::postgres::PgListener;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long a busy machine may take for anything that is waited for.
const PATIENCE: Duration = Duration::from_secs(180);

/// A process; killed when the test ends.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Asks it to stop.
    pub(crate) fn terminate(&self) {
        let mut kill = Command::new("kill");
        let status = kill.args(["-TERM", &self.0.id().to_string()]).status();
        assert!(status.unwrap().success());
    }

    /// Kills it, as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running `prober run`.
pub(crate) struct Service {
    pub(crate) process: Process,
    log: PathBuf,
}

impl Service {
    /// `prober run`; its log is a file beside the configuration.
    pub(crate) fn run(config: &Path, database: &TestDatabase) -> Self {
        Self::run_at(config, &database.url)
    }

    /// The same, with the database of a URL.
    pub(crate) fn run_at(config: &Path, database: &str) -> Self {
        let log = config.with_file_name("service.log");
        let file = File::options().append(true).create(true).open(&log);
        let child = prober(&["run", "--config", config.to_str().unwrap()])
            .env("DATABASE_URL", database)
            .stdout(Stdio::null())
            .stderr(file.unwrap())
            .spawn();
        Self {
            process: Process(child.unwrap()),
            log,
        }
    }

    /// What it, and those before it beside the same configuration, have logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// The address at which it says that it serves.
    pub(crate) async fn address(&mut self) -> String {
        loop {
            let log = self.log();
            let served = log.lines().find_map(|line| {
                let line: Value = serde_json::from_str(line).ok()?;
                line["listen"].as_str().map(str::to_owned)
            });
            if let Some(address) = served {
                return address;
            }
            assert!(self.process.0.try_wait().unwrap().is_none(), "{log}");
            tokio::task::yield_now().await;
        }
    }

    /// Waits until a count is more than nought. It is looked at whenever something was recorded, so that
    /// waiting takes nothing from what is waited for.
    pub(crate) async fn until(&self, database: &TestDatabase, query: &'static str) {
        if !came_true(database, query).await {
            panic!("never came true: {query}\nits log:\n{}", self.log());
        }
    }
}

/// Waits until a count of a [`watched_database`] is more than nought; false if that takes too long.
pub(crate) async fn came_true(database: &TestDatabase, query: &'static str) -> bool {
    let wait = async {
        let mut listener = PgListener::connect(&database.url).await.unwrap();
        listener.listen("recorded").await.unwrap();
        while database.count(query).await == 0 {
            listener.recv().await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.is_ok()
}

/// A database with the schema, that tells [`Service::until`] of everything recorded.
pub(crate) async fn watched_database() -> TestDatabase {
    let database = TestDatabase::new().await;
    let store = Store::open(&database.location()).await.unwrap();
    store.close().await;
    sqlx::raw_sql(
        "create function tell() returns trigger language plpgsql as
         $$ begin notify recorded; return null; end $$;
         create trigger tell after insert or update on rounds execute function tell();
         create trigger tell after insert or update on probes execute function tell();",
    )
    .execute(&database.pool)
    .await
    .unwrap();
    database
}
