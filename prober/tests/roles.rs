//! The roles of docs/database.md: enough for what they are for, and no more.
#![allow(clippy::unwrap_used)]

mod support;

use prober::clock::SystemClock;
use prober::round::Executor;
use prober::store::{FindingFilter, Location, Store, StoreError};
use secrecy::SecretString;
use sqlx::{Connection as _, PgConnection};
use support::*;

const DOCUMENT: &str = include_str!("../../docs/database.md");
const WRITER: &str = "prober_writer";
const READER: &str = "prober_reader";

/// The text of the document, with names of roles that are nobody else's: a server's roles are for all its databases.
fn grants(suffix: &str) -> String {
    let (_, section) = DOCUMENT.split_once("## Roles").unwrap();
    let (_, block) = section.split_once("```sql\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    block
        .replace(WRITER, &format!("{WRITER}_{suffix}"))
        .replace(READER, &format!("{READER}_{suffix}"))
}

struct Roles {
    suffix: String,
    url: String,
}

impl Roles {
    async fn new(database: &TestDatabase) -> Self {
        let suffix = format!("{:016x}", random());
        sqlx::raw_sql(sqlx::AssertSqlSafe(grants(&suffix)))
            .execute(&database.pool)
            .await
            .unwrap();
        Self {
            suffix,
            url: database.url.clone(),
        }
    }

    fn url(&self, role: &str) -> String {
        let (_, rest) = self.url.split_once("postgres@").unwrap();
        format!("postgres://{role}_{}@{rest}", self.suffix)
    }

    async fn refuses(&self, role: &str, statement: &'static str) {
        let mut connection = PgConnection::connect(&self.url(role)).await.unwrap();
        let error = sqlx::query(statement)
            .execute(&mut connection)
            .await
            .unwrap_err();
        let code = error.as_database_error().unwrap().code().unwrap();
        assert_eq!(code, "42501", "{role}: {statement}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prober_watches_with_the_rights_of_a_writer_and_no_more() {
    let rehearsal = Rehearsal::new(&["stale-pages"], OVERFLOW).await;
    let roles = Roles::new(&rehearsal.database).await;
    let location = Location::Server {
        url: SecretString::from(roles.url(WRITER)),
        max_connections: pool_size(),
    };
    let store = Store::open(&location).await.unwrap();
    let (executor, session) = ready(&rehearsal.config, &store).await;
    let names = ["overflow".to_owned()];
    let now = prober::clock::Clock::now(&SystemClock);
    store.open_lines(session.id(), &names, now).await.unwrap();
    let minute = std::time::Duration::from_secs(60);
    let leased = store.lease(&[session.id()], "one", minute, 1).await;
    store.give_back(&leased.unwrap()[0].lease).await.unwrap();

    let report = run_with(&rehearsal.config, &executor, &session, 1).await;
    assert_eq!(report.verdict, "leak", "{report}");
    let sealed = "select count(*) from evidence where sealed is not null";
    assert!(rehearsal.database.count(sealed).await > 0);
    let Executor { incidents, .. } = &executor;
    store.prepare_weeks(now).await.unwrap();
    store.prune(rehearsal.config.retention, now).await.unwrap();
    store.resolve_quiet(incidents, now).await.unwrap();

    // Of a schema that it does not know it says so; it cannot mend it.
    let newer = "insert into _sqlx_migrations values (9999, 'newer', now(), true, '', 0)";
    sqlx::query(newer)
        .execute(&rehearsal.database.pool)
        .await
        .unwrap();
    let error = Store::open(&location).await.map(|_| ()).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Foreign {
                pending: 0,
                unknown: 1
            }
        ),
        "{error}"
    );

    for statement in [
        "create table mine (id bigint)",
        "delete from findings",
        "update findings set late = true",
        "truncate rounds",
        "drop table probes",
        "alter table rounds disable trigger all",
        "delete from evidence_accesses",
        "update incident_events set note = 'nothing'",
        "insert into _sqlx_migrations values (99, 'mine', now(), true, '', 0)",
    ] {
        roles.refuses(WRITER, statement).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_sees_everything_but_evidence_and_changes_nothing() {
    let rehearsal = Rehearsal::new(&["stale-pages"], OVERFLOW).await;
    let report = run_round(&rehearsal.config, &rehearsal.store, 1).await;
    assert_eq!(report.verdict, "leak", "{report}");
    let roles = Roles::new(&rehearsal.database).await;
    let mut reader = PgConnection::connect(&roles.url(READER)).await.unwrap();
    let tables: Vec<String> = sqlx::query_scalar(
        "select relname::text from pg_class
         where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
           and relname not in ('evidence', 'evidence_accesses')",
    )
    .fetch_all(&mut reader)
    .await
    .unwrap();
    assert!(tables.len() > 15, "{tables:?}");
    for table in tables {
        sqlx::query(sqlx::AssertSqlSafe(format!("select * from {table}")))
            .fetch_all(&mut reader)
            .await
            .unwrap_or_else(|error| panic!("{table}: {error}"));
    }
    // It may export findings, and sees who is writing some.
    let location = Location::Server {
        url: SecretString::from(roles.url(READER)),
        max_connections: pool_size(),
    };
    let store = Store::open(&location).await.unwrap();
    let through = store.last_finding().await.unwrap();
    let all = FindingFilter::default();
    let findings = store.findings_between((0, through), &all, 100).await;
    assert_eq!(findings.unwrap().len(), report.findings.len());
    let mut writer = rehearsal.database.pool.begin().await.unwrap();
    let lock = "lock table findings in row exclusive mode";
    sqlx::query(lock).execute(&mut *writer).await.unwrap();
    assert!(!store.finding_writers().await.unwrap().is_empty());
    writer.rollback().await.unwrap();
    assert!(store.finding_writers().await.unwrap().is_empty());
    for statement in [
        "select sealed from evidence",
        "select * from evidence_accesses",
        "update rounds set verdict = 'clean'",
        "insert into key_ids select * from key_ids",
        "delete from probes",
        "create table mine (id bigint)",
    ] {
        roles.refuses(READER, statement).await;
    }
}
