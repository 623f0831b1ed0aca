//! A PostgreSQL server of its own that can be crashed.

use super::support::keeper::Keeper;
use prober::store::Location;
use secrecy::SecretString;
use sqlx::{Connection as _, PgConnection};

/// Runs inside of `scripts/with-postgres`: tells where the server is, and crashes it for each line that comes in.
const KEEPER: &str = "echo \"$TEST_DATABASE_URL\"; while read -r _; do eval \"$TEST_DATABASE_CRASH\" >&2; echo done; done";

pub(crate) struct Server {
    pub(crate) url: String,
    keeper: Keeper,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let mut keeper = Keeper::start(KEEPER);
        Self {
            url: keeper.says().await,
            keeper,
        }
    }

    /// All connections break; what was not committed is gone. Ends when it has recovered.
    pub(crate) async fn crash(&mut self) {
        self.keeper.act("crash").await;
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
