//! A PostgreSQL server of its own that can be crashed.

use prober::store::Location;
use secrecy::SecretString;
use sqlx::{Connection as _, PgConnection};
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Runs inside of `scripts/with-postgres`: tells where the server is, and crashes it for each line that comes in.
const KEEPER: &str = "echo \"$TEST_DATABASE_URL\"; while read -r _; do eval \"$TEST_DATABASE_CRASH\" >&2; echo done; done";

pub(crate) struct Server {
    pub(crate) url: String,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    _keeper: Child,
}

impl Server {
    pub(crate) async fn start() -> Self {
        // What was acknowledged must outlive a crash of the server.
        let mut keeper = Command::new("../scripts/with-postgres")
            .args(["bash", "-c", KEEPER])
            .env("PG_SETTINGS", "-c synchronous_commit=on")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut answers = BufReader::new(keeper.stdout.take().unwrap()).lines();
        let url = answers.next_line().await.unwrap().expect("a server's URL");
        Self {
            orders: keeper.stdin.take().unwrap(),
            answers,
            url,
            _keeper: keeper,
        }
    }

    /// All connections break; what was not committed is gone. Ends when it has recovered.
    pub(crate) async fn crash(&mut self) {
        self.orders.write_all(b"crash\n").await.unwrap();
        assert_eq!(
            self.answers.next_line().await.unwrap().as_deref(),
            Some("done")
        );
    }

    /// Where it is, past everything that may be cut.
    pub(crate) fn location(&self) -> Location {
        Location::Server {
            url: SecretString::from(self.url.as_str()),
            max_connections: 1,
        }
    }

    pub(crate) async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.url).await.unwrap()
    }
}
