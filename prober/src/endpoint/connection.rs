//! How a tenant's client connects: whom it trusts, how it shows who it is, through which proxy.

use super::client::ClientError;
use reqwest::{Certificate, ClientBuilder, Identity};
use secrecy::{ExposeSecret as _, SecretString};

/// How a tenant's client connects.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// Certificates (PEM) that are trusted beside the machine's own: those of a private authority.
    pub ca: Option<String>,
    /// Certificate and key (PEM, one after the other) that the client identifies itself with. `Debug`
    /// does not show it.
    pub identity: Option<SecretString>,
    /// The way out.
    pub proxy: Proxy,
}

/// The way out of this machine.
#[derive(Clone, Debug, Default)]
pub enum Proxy {
    /// What the environment says (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`).
    #[default]
    Environment,
    /// None, whatever the environment says.
    Off,
    /// This one; a secret, because it may hold a password. `Debug` does not show it.
    Through(SecretString),
}

impl Connection {
    pub(crate) fn apply(&self, settings: ClientBuilder) -> Result<ClientBuilder, ClientError> {
        let settings = match &self.identity {
            Some(identity) => settings.identity(parse_identity(identity)?),
            None => settings,
        };
        Ok(match &self.proxy {
            Proxy::Environment => settings,
            Proxy::Off => settings.no_proxy(),
            Proxy::Through(url) => settings.proxy(parse_proxy(url)?),
        })
    }

    pub(crate) fn authorities(&self) -> Result<Vec<Certificate>, ClientError> {
        self.ca.as_deref().map_or(Ok(Vec::new()), parse_authorities)
    }

    /// Whether everything in it is what it should be.
    ///
    /// # Errors
    /// When the certificates, the key or the proxy's address are none.
    pub fn check(&self) -> Result<(), ClientError> {
        super::client::use_ring();
        self.authorities()?;
        self.apply(reqwest::Client::builder()).map(drop)
    }
}

fn parse_authorities(pem: &str) -> Result<Vec<Certificate>, ClientError> {
    match Certificate::from_pem_bundle(pem.as_bytes()) {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(ClientError::Authority),
    }
}

fn parse_identity(pem: &SecretString) -> Result<Identity, ClientError> {
    // The library's error could tell of the key.
    Identity::from_pem(pem.expose_secret().as_bytes()).map_err(|_| ClientError::Identity)
}

fn parse_proxy(url: &SecretString) -> Result<reqwest::Proxy, ClientError> {
    let url = reqwest::Url::parse(url.expose_secret()).map_err(|_| ClientError::Proxy)?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(ClientError::Proxy);
    }
    reqwest::Proxy::all(url).map_err(|_| ClientError::Proxy)
}
