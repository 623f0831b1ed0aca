//! How tenants connect.

use super::Check;
use crate::config::document::{At, Field};
use crate::config::free::TextSource;
use crate::config::raw::{RawEndpoint, RawTenant};
use crate::config::secret;
use crate::endpoint::{Connection, Proxy};
use secrecy::{ExposeSecret as _, SecretString};

impl Check<'_> {
    /// What an endpoint says of how its tenants connect.
    pub(super) fn connection(&mut self, raw: &RawEndpoint) -> Option<Connection> {
        let identity = self.identity(&raw.client_cert_file, &raw.client_key_file);
        let way = self.way(&raw.ca_file, &raw.proxy);
        Some(Connection {
            identity: identity?,
            ..way?
        })
    }

    /// Whom a client trusts, and through which proxy it goes.
    pub(super) fn way(
        &mut self,
        ca_file: &Field<String>,
        proxy: &Field<TextSource>,
    ) -> Option<Connection> {
        let ca = match ca_file {
            Field::Absent => Some(None),
            Field::Wrong => None,
            Field::Given(name) => secret::pem_from_file(name, false, self.folder, self.mistakes)
                .map(|pem| (name, pem.expose_secret().to_owned()))
                .and_then(|(name, pem)| {
                    let connection = Connection {
                        ca: Some(pem),
                        ..Connection::default()
                    };
                    self.good(connection, name)
                })
                .map(|connection| connection.ca),
        };
        let proxy = self.proxy(proxy);
        Some(Connection {
            ca: ca?,
            proxy: proxy?,
            ..Connection::default()
        })
    }

    /// How a tenant connects, given what its endpoint says.
    pub(super) fn tenant_connection(
        &mut self,
        raw: &RawTenant,
        common: Option<&Connection>,
    ) -> Option<Connection> {
        let own = self.identity(&raw.client_cert_file, &raw.client_key_file)?;
        let common = common?;
        Some(Connection {
            identity: own.or_else(|| common.identity.clone()),
            ..common.clone()
        })
    }

    fn identity(
        &mut self,
        certificate: &Field<String>,
        key: &Field<String>,
    ) -> Option<Option<SecretString>> {
        match (certificate, key) {
            (Field::Absent, Field::Absent) => Some(None),
            (Field::Given(certificate), Field::Given(key)) => {
                let public = secret::pem_from_file(certificate, false, self.folder, self.mistakes);
                let private = secret::pem_from_file(key, true, self.folder, self.mistakes);
                let (public, private) = (public?, private?);
                let both = format!("{}\n{}", public.expose_secret(), private.expose_secret());
                let connection = Connection {
                    identity: Some(SecretString::from(both)),
                    ..Connection::default()
                };
                let connection = self.good(connection, certificate)?;
                Some(connection.identity)
            }
            (Field::Wrong, _) | (_, Field::Wrong) => None,
            (Field::Given(one), Field::Absent) | (Field::Absent, Field::Given(one)) => {
                let message = "stands alone (write both client_cert_file and client_key_file)";
                self.mistakes.at(&one.place, message);
                None
            }
        }
    }

    fn proxy(&mut self, field: &Field<TextSource>) -> Option<Proxy> {
        let at = match field {
            Field::Absent => return Some(Proxy::Environment),
            Field::Wrong => return None,
            Field::Given(at) => at,
        };
        let url = match &at.value {
            TextSource::Plain(text) if text == "off" => return Some(Proxy::Off),
            TextSource::Plain(text) if text.contains('@') => {
                let message =
                    "holds a credential (write { env = \"VARIABLE\" } or { file = \"FILE\" })";
                self.mistakes.at(&at.place, message);
                return None;
            }
            TextSource::Plain(text) => SecretString::from(text.as_str()),
            TextSource::Secret(raw) => self.secret(raw)?,
        };
        let connection = Connection {
            proxy: Proxy::Through(url),
            ..Connection::default()
        };
        self.good(connection, at).map(|connection| connection.proxy)
    }

    fn good<T>(&mut self, connection: Connection, at: &At<T>) -> Option<Connection> {
        match connection.check() {
            Ok(()) => Some(connection),
            Err(error) => {
                self.mistakes.at(&at.place, error.to_string());
                None
            }
        }
    }
}
