//! What `prober run` keeps and serves on its machine.

use super::Check;
use crate::config::document::Field;
use crate::config::raw::{RawServe, RawSpool};
use crate::config::types::{Serve, Spool};
use std::net::{Ipv4Addr, SocketAddr};

/// Where it listens unless told otherwise.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9797);

impl Check<'_> {
    pub(super) fn spool(&mut self, raw: &RawSpool) -> Option<Spool> {
        // A record with a long response takes some 20 MiB; beyond a terabyte it is a slip of the pen.
        let max_bytes = self.size(&raw.max_bytes, 1 << 30, 32 << 20..=1 << 40);
        Some(Spool {
            max_bytes: max_bytes?,
        })
    }

    pub(super) fn serve(&mut self, raw: &RawServe) -> Option<Serve> {
        let listen = match &raw.listen {
            Field::Absent => Some(LISTEN),
            Field::Wrong => return None,
            Field::Given(at) if at.value == "off" => None,
            Field::Given(at) => match at.value.parse() {
                Ok(address) => Some(address),
                Err(_) => {
                    let message = "is no address to listen on (write IP:PORT such as \"127.0.0.1:9797\", or \"off\")";
                    self.mistakes.at(&at.place, message);
                    return None;
                }
            },
        };
        Some(Serve { listen })
    }
}
