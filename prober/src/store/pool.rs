//! Connections: how many, how long they live, and what a statement may take.

use super::StoreError;
use sqlx::PgConnection;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use std::time::Duration;

/// How long a query waits for a free connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// So long a connection to a server lives: behind a load balancer others take over after a while.
const LIFETIME: Duration = Duration::from_secs(30 * 60);

/// Connections to a server.
pub(super) async fn to_server(
    options: PgConnectOptions,
    max_connections: u32,
) -> Result<PgPool, StoreError> {
    PgPoolOptions::new()
        .max_connections(max_connections)
        .min_connections(1)
        .idle_timeout(None)
        .max_lifetime(LIFETIME)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        // The question whether it is a standby tells as well whether the connection lives.
        .test_before_acquire(false)
        .before_acquire(|connection, _| Box::pin(async { Ok(!is_standby(connection).await?) }))
        .after_connect(|connection, _| {
            Box::pin(async {
                if is_standby(connection).await? {
                    return Err(sqlx::Error::Protocol(
                        "the server is a standby (it takes no writes until it is promoted)"
                            .to_owned(),
                    ));
                }
                with_limits(connection).await
            })
        })
        .connect_with(options)
        .await
        .map_err(StoreError::Connect)
}

/// The connection to the embedded Postgres. It takes 0.1 s and resets its session: it is kept.
#[cfg(feature = "embedded-postgres")]
pub(super) async fn to_embedded(options: PgConnectOptions) -> Result<PgPool, StoreError> {
    PgPoolOptions::new()
        .max_connections(1)
        .min_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .connect_with(options)
        .await
        .map_err(StoreError::Connect)
}

/// A connection to look at a server, whatever it is.
pub(super) async fn to_look(options: PgConnectOptions) -> Result<PgPool, StoreError> {
    PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .connect_with(options)
        .await
        .map_err(StoreError::Connect)
}

/// After a failover a connection may lead to a server that only follows another one.
async fn is_standby(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("/* is_standby */ select pg_is_in_recovery()")
        .fetch_one(connection)
        .await
}

/// Statements, waits for locks and transactions end after a while, unless the role or the URL says when.
pub(super) async fn with_limits(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    set(
        connection,
        "/* with_limits */
         select set_config(name, value, false)
         from (values ('statement_timeout', '60s'), ('lock_timeout', '20s'),
                      ('idle_in_transaction_session_timeout', '60s')) limits (name, value)
         where current_setting(name) = '0'",
    )
    .await
}

/// A migration takes as long as it takes.
pub(super) async fn without_limits(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    set(
        connection,
        "/* without_limits */
         select set_config(name, '0', false)
         from unnest(array['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']) names (name)",
    )
    .await
}

async fn set(connection: &mut PgConnection, settings: &'static str) -> Result<(), sqlx::Error> {
    sqlx::query(settings).fetch_all(connection).await.map(drop)
}
