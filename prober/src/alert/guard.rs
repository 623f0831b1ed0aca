//! Which addresses a message may go to. A receiver's address may be a customer's word: without this guard it could
//! lead into the network that the prober stands in, to a cloud's metadata service for instance.

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Why a message was not sent to an address.
#[derive(Debug, thiserror::Error)]
#[error(
    "it is at an address of a private network (set `allow_private_addresses = true` if it belongs there)"
)]
pub(super) struct Private;

/// Looks up names, and lets through only addresses that the whole Internet knows. It is asked right before each
/// connection, so that a name cannot be one thing when it is checked and another when it is used.
pub(super) struct Guard {
    /// The receiver's hosts; a proxy may be anywhere.
    pub(super) hosts: Vec<String>,
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let mut hosts = self.hosts.iter();
        let is_guarded = hosts.any(|host| name.as_str().eq_ignore_ascii_case(host));
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            if !is_guarded {
                return Ok(Box::new(found.collect::<Vec<_>>().into_iter()) as Addrs);
            }
            let public: Vec<SocketAddr> = found.filter(|address| is_public(address.ip())).collect();
            if public.is_empty() {
                return Err(Private.into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

/// Whether the whole Internet knows an address (IANA's registries of special-purpose addresses).
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        // "This" network, reserved, and broadcast.
        || a == 0
        || a >= 240
        // Behind a carrier's translation of addresses (RFC 6598).
        || (a == 100 && (64..128).contains(&b))
        // Protocol assignments, relays of 6to4, benchmarks.
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b)))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = embedded_v4(address) {
        return is_public_v4(inner);
    }
    let [first, second, ..] = address.segments();
    // Only 2000::/3 is handed out; of it not 2001::/23 (protocols), and not what is for documentation.
    first & 0xe000 == 0x2000
        && !(first == 0x2001 && second < 0x0200)
        && !(first == 0x2001 && second == 0x0db8)
        && !(first == 0x3fff && second < 0x1000)
}

/// The address of version 4 that one of version 6 leads to: mapped, translated (RFC 6052), or of 6to4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = address.segments();
    let of = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match parts {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(of(high, low))
        }
        [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_whole_internet_are_public() {
        for public in [
            "8.8.8.8",
            "100.63.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "2606:4700::1111",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "203.0.113.5",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:a00:1::1",
            "fc00::1",
            "fe80::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "3fff::1",
            "64:ff9b:1::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }
}
