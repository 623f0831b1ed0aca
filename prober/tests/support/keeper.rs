//! A script that keeps a PostgreSQL server of its own and does to it what it is told.

use std::process::Stdio;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Runs inside of `scripts/with-postgres`; its server is gone when this is.
pub(crate) struct Keeper {
    orders: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

impl Keeper {
    pub(crate) fn start(script: &str) -> Self {
        // What was acknowledged must outlive a crash of the server.
        let mut process = Command::new("../scripts/with-postgres")
            .args(["bash", "-c", script])
            .env("PG_SETTINGS", "-c synchronous_commit=on")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            orders: process.stdin.take().unwrap(),
            said: BufReader::new(process.stdout.take().unwrap()).lines(),
            _process: process,
        }
    }

    /// What it says next.
    pub(crate) async fn says(&mut self) -> String {
        let said = self.said.next_line().await.unwrap();
        said.expect("the keeper of a server has ended")
    }

    /// Has it do something, to the end.
    pub(crate) async fn act(&mut self, act: &str) {
        let order = format!("{act}\n");
        self.orders.write_all(order.as_bytes()).await.unwrap();
        assert_eq!(self.says().await, "done", "{act}");
    }
}
