//! Ways to an endpoint: private authorities, client certificates, proxies.

use crate::authority::Authority;
use crate::support::*;
use prober::endpoint::{ConnectFailure, Connection, Outcome, Proxy, TenantClient};
use secrecy::SecretString;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;
use tokio_rustls::rustls::pki_types::CertificateDer;

/// An endpoint over TLS, and the client certificate of every connection to it.
async fn serve_over_tls(
    authority: &Authority,
) -> (String, mpsc::UnboundedReceiver<Option<Vec<u8>>>) {
    let acceptor = authority.acceptor(&[]);
    let (shown, seen) = mpsc::unbounded_channel();
    let base_url = serve(move |stream| {
        let (acceptor, shown) = (acceptor.clone(), shown.clone());
        async move {
            // A client that does not trust us goes away.
            let Ok(mut stream) = acceptor.accept(stream).await else {
                return;
            };
            let certificates = stream.get_ref().1.peer_certificates();
            let first = certificates.and_then(<[CertificateDer<'_>]>::first);
            shown.send(first.map(|first| first.to_vec())).unwrap();
            read_request(&mut stream).await;
            let response = format!("{STREAM_HEAD}{ANSWER}");
            let _ = stream.write_all(response.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    })
    .await;
    (base_url.replace("http:", "https:"), seen)
}

async fn outcome_over(base_url: &str, connection: &Connection) -> Outcome {
    let client = TenantClient::new(None, connection, &impatient()).unwrap();
    let (exchange, _) = exchange_with(&client, base_url, impatient(), Text(64)).await;
    exchange.outcome
}

#[tokio::test]
async fn a_private_authority_is_trusted_only_where_the_configuration_says_so() {
    let authority = Authority::new();
    let (base_url, _seen) = serve_over_tls(&authority).await;
    let trusting = Connection {
        ca: Some(authority.pem()),
        ..Connection::default()
    };
    assert_eq!(outcome_over(&base_url, &trusting).await, Outcome::Answered);
    let stranger = Connection {
        ca: Some(Authority::new().pem()),
        ..Connection::default()
    };
    assert_eq!(
        outcome_over(&base_url, &stranger).await,
        Outcome::ConnectFailed(ConnectFailure::Tls)
    );
}

#[tokio::test]
async fn each_tenant_shows_its_own_certificate() {
    let authority = Authority::new();
    let (base_url, mut seen) = serve_over_tls(&authority).await;
    let connection = |identity| Connection {
        ca: Some(authority.pem()),
        identity,
        ..Connection::default()
    };
    let (acme, acme_identity) = authority.identity("acme");
    let (globex, globex_identity) = authority.identity("globex");
    for (identity, expected) in [
        (Some(acme_identity), Some(acme)),
        (Some(globex_identity), Some(globex)),
        (None, None),
    ] {
        let outcome = outcome_over(&base_url, &connection(identity)).await;
        assert_eq!(outcome, Outcome::Answered);
        assert_eq!(seen.recv().await.unwrap(), expected);
    }
}

#[tokio::test]
async fn requests_go_through_the_proxy_with_its_own_credential() {
    let (told, request) = told_once();
    let proxy = serve(move |mut stream| {
        let told = told.take();
        async move {
            told.send(read_request(&mut stream).await.0).unwrap();
            let response = format!("{STREAM_HEAD}{ANSWER}");
            stream.write_all(response.as_bytes()).await.unwrap();
        }
    })
    .await;
    let address = proxy.trim_start_matches("http://").trim_end_matches("/v1");
    let connection = Connection {
        proxy: Proxy::Through(SecretString::from(format!("http://user:pass@{address}"))),
        ..Connection::default()
    };
    assert!(!format!("{connection:?}").contains("pass"));
    let outcome = outcome_over("http://endpoint.example/v1", &connection).await;
    assert_eq!(outcome, Outcome::Answered);
    let head = request.await.unwrap();
    assert!(head.starts_with("post http://endpoint.example/v1/chat/completions http/1.1\r\n"));
    assert!(
        head.contains("proxy-authorization: basic dxnlcjpwyxnz\r\n"),
        "{head}"
    );
}

#[test]
fn what_is_no_certificate_key_or_proxy_is_refused_without_being_shown() {
    let pem = "-----BEGIN CERTIFICATE-----\nTOPSECRET\n-----END CERTIFICATE-----";
    let secret = || SecretString::from("ftp://TOPSECRET");
    for connection in [
        Connection {
            ca: Some(pem.to_owned()),
            ..Connection::default()
        },
        Connection {
            ca: Some(String::new()),
            ..Connection::default()
        },
        Connection {
            identity: Some(secret()),
            ..Connection::default()
        },
        Connection {
            proxy: Proxy::Through(secret()),
            ..Connection::default()
        },
    ] {
        let error = connection.check().unwrap_err();
        assert!(
            !format!("{error} {error:?}").contains("TOPSECRET"),
            "{error:?}"
        );
    }
}
