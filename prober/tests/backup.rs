//! A database that was dumped and restored, as docs/database.md says, goes on where it was.
#![allow(clippy::unwrap_used)]

mod support;

use prober::store::Store;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use support::*;

const DOCUMENT: &str = include_str!("../../docs/database.md");

fn postgres(program: &str) -> Command {
    // `scripts/with-postgres` says where they are; beside another server they are in the path.
    let folder = std::env::var_os("PG_BIN").map_or_else(PathBuf::new, PathBuf::from);
    Command::new(folder.join(program))
}

fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

/// The statement that the document gives for a restored database.
fn afterwards() -> &'static str {
    let (_, section) = DOCUMENT.split_once("## Backup and restore").unwrap();
    let (_, block) = section.split_once("```sql\n").unwrap();
    block.split_once("```").unwrap().0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_database_holds_everything_and_gives_no_number_twice() {
    let rehearsal = Rehearsal::new(&["stale-pages"], OVERFLOW).await;
    let first = run_round(&rehearsal.config, &rehearsal.store, 1).await;
    assert_eq!(first.verdict, "leak", "{first}");
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("prober.dump");
    run(postgres("pg_dump")
        .arg("--format=custom")
        .arg("--file")
        .arg(&dump)
        .arg(&rehearsal.database.url));

    // After the backup: probes that the restored database does not know.
    run_round(&rehearsal.config, &rehearsal.store, 2).await;
    let highest = "select max(id) from probes";
    let forgotten = rehearsal.database.count(highest).await;

    let restored = TestDatabase::new().await;
    run(postgres("pg_restore")
        .args(["--no-owner", "--exit-on-error", "--dbname"])
        .arg(&restored.url)
        .arg(&dump));
    sqlx::query(afterwards())
        .execute(&restored.pool)
        .await
        .unwrap();
    for query in [
        "select count(*) from rounds where verdict = 'leak'",
        "select count(*) from findings join evidence on evidence.probe_id = findings.probe_id",
        "select count(*) from incidents where state = 'open'",
        "select sum(probes)::bigint from probe_sums where span = 'day'",
    ] {
        assert!(restored.count(query).await > 0, "{query}");
    }
    assert_eq!(
        restored.count("select count(*) from rounds").await + 1,
        rehearsal
            .database
            .count("select count(*) from rounds")
            .await
    );

    let store = Store::open(&restored.location()).await.unwrap();
    let report = run_round(&rehearsal.config, &store, 3).await;
    assert!(report.recorded, "{report}");
    let round = report.round;
    let lowest: i64 = sqlx::query_scalar("select min(id) from probes where round_id = $1")
        .bind(round)
        .fetch_one(&restored.pool)
        .await
        .unwrap();
    assert!(
        lowest > forgotten,
        "{lowest} was given before ({forgotten})"
    );
    // What leaks to it comes from where it is known to come from, never from a number that was given twice.
    for finding in report.findings.iter().filter(|one| one.kind == "leak") {
        let donor = finding.donor.as_ref().unwrap();
        assert_ne!(donor.probe, finding.probe);
    }
}
