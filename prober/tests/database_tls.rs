//! The way to the database is encrypted and verified, as its URL says.
#![allow(clippy::unwrap_used)]

mod support;

use prober::store::{Location, Store, StoreError};
use rcgen::{CertificateParams, KeyPair};
use secrecy::SecretString;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use support::*;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// A certificate for `localhost` that is its own authority, and its key.
fn certificate() -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

/// PostgreSQL reads a key only if nobody else but its own user can.
fn give_to_server(file: &Path) {
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    let chown = std::process::Command::new("bash")
        .args([
            "-c",
            "[ $(id -u) != 0 ] || chown \"$(id -u postgres 2>/dev/null || id -u nobody)\" \"$0\"",
        ])
        .arg(file)
        .status();
    assert!(chown.unwrap().success());
}

/// A server on a port of its own that takes TLS; gone when dropped.
async fn server(folder: &Path, certificate: &str, key: &str) -> (Child, u16) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let (certificate_file, key_file) = (folder.join("server.crt"), folder.join("server.key"));
    fs::write(&certificate_file, certificate).unwrap();
    fs::write(&key_file, key).unwrap();
    give_to_server(&key_file);
    let free = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let settings = format!(
        "-c listen_addresses=127.0.0.1 -c port={port} -c ssl=on -c ssl_cert_file={} -c ssl_key_file={}",
        certificate_file.display(),
        key_file.display()
    );
    let mut keeper = Command::new("../scripts/with-postgres")
        .args(["bash", "-c", "echo ready; read -r _"])
        .env("PG_SETTINGS", settings)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(keeper.stdout.take().unwrap()).lines();
    assert_eq!(said.next_line().await.unwrap().as_deref(), Some("ready"));
    (keeper, port)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_believed_only_if_the_authority_of_the_url_vouches_for_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = certificate();
    let (_server, port) = server(folder.path(), &certificate, &key).await;
    let authority = folder.path().join("authority.crt");
    let open = async |host: &str, pem: &str| {
        fs::write(&authority, pem).unwrap();
        let url = format!(
            "postgres://postgres@{host}:{port}/postgres?sslmode=verify-full&sslrootcert={}",
            authority.display()
        );
        Store::open(&Location::Server {
            url: SecretString::from(url),
            max_connections: pool_size(),
        })
        .await
    };
    let store = open("localhost", &certificate).await.unwrap();
    assert!(store.answers().await);
    store.close().await;
    let of_another = self::certificate().0;
    for (host, pem) in [("localhost", &of_another), ("127.0.0.1", &certificate)] {
        let refused = open(host, pem).await.err().unwrap();
        assert!(matches!(refused, StoreError::Connect(_)), "{refused:?}");
        assert!(!refused.is_transient(), "{refused:?}");
    }
}
