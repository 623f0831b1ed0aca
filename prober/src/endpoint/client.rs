//! One HTTP client a tenant: connections and TLS sessions of its own, so that a mix-up of tenants
//! can never be ours. Follows nothing, repeats nothing, remembers nothing.

use super::api::{Api, CredentialHeader};
use super::connection::Connection;
use super::limits::{Limits, as_usize};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{ClientBuilder, redirect, retry};
use secrecy::{ExposeSecret as _, SecretString};
use std::fmt;

/// More headers than any server needs.
const MAX_HEADERS: usize = 256;

/// The HTTP client of one tenant, with its credential.
pub struct TenantClient {
    pub(super) http: reqwest::Client,
    /// Whether an `https` endpoint can be trusted at all.
    pub(super) has_roots: bool,
    credential: Option<SecretString>,
}

/// Why a client could not be built.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The credential cannot stand in a header.
    #[error("write the credential into a header (it must be one line of printable ASCII)")]
    Credential,
    /// The certificates of a private authority are none.
    #[error("holds no certificate (write PEM: -----BEGIN CERTIFICATE-----)")]
    Authority,
    /// The client's certificate or key is none.
    #[error("hold no certificate with its key (write both in PEM)")]
    Identity,
    /// The address of the proxy is none.
    #[error("is no address of a proxy (write http://HOST:PORT)")]
    Proxy,
    /// The HTTP library refused its settings.
    #[error("build the HTTP client")]
    Build(#[source] reqwest::Error),
}

impl TenantClient {
    /// A client that identifies itself with `credential`. On a machine without root certificates it
    /// still speaks `http`; sending to an `https` endpoint then fails with a clear outcome.
    ///
    /// # Errors
    /// When the credential cannot stand in a header, or a certificate, the key or the proxy is none.
    pub fn new(
        credential: Option<SecretString>,
        connection: &Connection,
        limits: &Limits,
    ) -> Result<Self, ClientError> {
        if let Some(credential) = &credential {
            header_value("", credential)?;
        }
        use_ring();
        let authorities = connection.authorities()?;
        let has_authorities = !authorities.is_empty();
        let usual = connection
            .apply(settings(limits))?
            .tls_certs_merge(authorities.clone());
        let (http, has_roots) = match usual.build() {
            Ok(http) => (http, true),
            // The usual reason, in slim containers: no root certificates, needed or not.
            Err(error) => {
                let http = connection
                    .apply(settings(limits))?
                    .tls_certs_only(authorities)
                    .build()
                    .map_err(ClientError::Build)?;
                if !has_authorities {
                    tracing::warn!(
                        error = %error.without_url(),
                        "no root certificates on this machine (install `ca-certificates`): `https` endpoints cannot be reached"
                    );
                }
                (http, has_authorities)
            }
        };
        Ok(Self {
            http,
            has_roots,
            credential,
        })
    }

    pub(super) fn headers(&self, api: &Api) -> HeaderMap {
        let fixed: [(HeaderName, &'static str); 3] = [
            (CONTENT_TYPE, "application/json"),
            (ACCEPT, "text/event-stream, application/json"),
            // What we scan must be what was sent.
            (ACCEPT_ENCODING, "identity"),
        ];
        let mut headers: HeaderMap = fixed
            .into_iter()
            .map(|(name, value)| (name, HeaderValue::from_static(value)))
            .collect();
        let dialect = api.dialect();
        for &(name, value) in dialect.headers() {
            headers.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        let (name, scheme) = match dialect.credential() {
            CredentialHeader::Bearer => (AUTHORIZATION, "Bearer "),
            CredentialHeader::Named(name) => match HeaderName::from_bytes(name.as_bytes()) {
                Ok(name) => (name, ""),
                // A template's was checked with the configuration.
                Err(_) => return headers,
            },
        };
        let credential = self.credential.as_ref();
        // That it can stand in a header was checked when the client was built.
        if let Some(value) = credential.and_then(|text| header_value(scheme, text).ok()) {
            headers.insert(name, value);
        }
        headers
    }
}

impl fmt::Debug for TenantClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TenantClient")
            .field("has_credential", &self.credential.is_some())
            .finish_non_exhaustive()
    }
}

fn header_value(scheme: &str, credential: &SecretString) -> Result<HeaderValue, ClientError> {
    let text = format!("{scheme}{}", credential.expose_secret());
    sensitive(&text).ok_or(ClientError::Credential)
}

/// A header's value that nothing shows.
pub(super) fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn settings(limits: &Limits) -> ClientBuilder {
    let header_bytes = u32::try_from(as_usize(limits.header_bytes)).unwrap_or(u32::MAX);
    reqwest::Client::builder()
        .user_agent(concat!("prober/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(limits.connect_timeout)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .http1_max_headers(MAX_HEADERS)
        .http2_max_header_list_size(header_bytes)
}

/// The HTTP library panics without a process-wide choice of cryptography.
pub(crate) fn use_ring() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Fails only if another thread was faster.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_credential_goes_into_a_sensitive_header_and_nowhere_else() {
        let client = TenantClient::new(
            Some(SecretString::from("sk-tenant-a")),
            &Connection::default(),
            &Limits::default(),
        )
        .unwrap();
        let headers = client.headers(&Api::OpenAiChat);
        assert_eq!(
            headers[AUTHORIZATION].to_str().unwrap(),
            "Bearer sk-tenant-a"
        );
        assert!(headers[AUTHORIZATION].is_sensitive());
        assert!(!format!("{client:?} {headers:?}").contains("sk-tenant-a"));
        assert_eq!(headers[ACCEPT_ENCODING], "identity");
    }

    #[test]
    fn a_credential_that_cannot_stand_in_a_header_is_an_error_that_does_not_show_it() {
        let error = TenantClient::new(
            Some(SecretString::from("two\nlines")),
            &Connection::default(),
            &Limits::default(),
        )
        .unwrap_err();
        assert!(matches!(error, ClientError::Credential));
        assert!(!error.to_string().contains("two"));
    }

    #[test]
    fn a_client_can_be_built_without_any_root_certificate() {
        use_ring();
        settings(&Limits::default())
            .tls_certs_only([])
            .build()
            .unwrap();
    }
}
