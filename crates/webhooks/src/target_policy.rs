//! Policy of the addresses that may be called: public ones, unless the operator allows more.
//!
//! The client that makes a webhook chooses an address that this server then calls. An address that only the server can reach
//! must not become reachable in this way (server-side request forgery). Every address is refused unless it is clearly public
//! and unicast. The check covers the special-purpose registries of IANA (RFC 6890), and every way to write an IPv4 address
//! inside an IPv6 one.
pub use ipnet::IpNet;
use ipnet::{Ipv4Net, Ipv6Net};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Policy of the targets that may be called.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TargetPolicy {
    /// True if loopback addresses may be called, for tests on one machine.
    pub loopback: bool,
    /// True if targets other than loopback may use plain http.
    pub plain_http: bool,
    /// Networks that may be called although they are not public.
    pub networks: Vec<IpNet>,
    /// Addresses on which this server itself listens. They are never called, except on loopback if
    /// that is allowed.
    pub own_addresses: Vec<SocketAddr>,
}

/// Reads a network, as in `10.1.0.0/16`; `None` if the text is not one.
#[must_use]
pub fn parse_network(text: &str) -> Option<IpNet> {
    // The standard library parses the address: unlike `ipnet` it refuses leading zeros, which some systems read as octal numbers.
    let (address, bits) = text.split_once('/')?;
    IpNet::new(address.parse().ok()?, bits.parse().ok()?).ok()
}

impl TargetPolicy {
    /// Returns true if this address may be called.
    #[must_use]
    pub fn allows(&self, at: SocketAddr) -> bool {
        let ip = at.ip().to_canonical();
        if ip.is_loopback() {
            // With `loopback` the server may call its own API: a client that could reach it by a
            // webhook could also reach it without one.
            return self.loopback;
        }
        let own = |own: &SocketAddr| {
            own.port() == at.port() && own.ip().to_canonical() == ip && !own.ip().is_unspecified()
        };
        if self.own_addresses.iter().any(own) {
            return false;
        }
        is_public(ip) || self.networks.iter().any(|n| n.contains(&ip))
    }
}

/// Returns true if an address is a public unicast one.
#[must_use]
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

/// Networks of IPv4 that are not public.
const CLOSED_V4: [Ipv4Net; 17] = [
    v4([0, 0, 0, 0], 8),       // this network
    v4([10, 0, 0, 0], 8),      // private
    v4([100, 64, 0, 0], 10),   // carrier-grade NAT
    v4([127, 0, 0, 0], 8),     // loopback
    v4([169, 254, 0, 0], 16),  // link-local, and the metadata of clouds
    v4([172, 16, 0, 0], 12),   // private
    v4([192, 0, 0, 0], 24),    // protocol assignments
    v4([192, 0, 2, 0], 24),    // documentation
    v4([192, 31, 196, 0], 24), // AS112
    v4([192, 52, 193, 0], 24), // AMT
    v4([192, 88, 99, 0], 24),  // 6to4 relays
    v4([192, 168, 0, 0], 16),  // private
    v4([192, 175, 48, 0], 24), // AS112
    v4([198, 18, 0, 0], 15),   // benchmarks
    v4([198, 51, 100, 0], 24), // documentation
    v4([203, 0, 113, 0], 24),  // documentation
    v4([224, 0, 0, 0], 3),     // multicast, class E, broadcast
];

/// Global unicast addresses of IPv6.
const GLOBAL_V6: Ipv6Net = v6([0x2000, 0, 0], 3);

/// Networks of global unicast addresses that are not public.
const CLOSED_V6: [Ipv6Net; 5] = [
    v6([0x2001, 0, 0], 23),      // Teredo, ORCHID, benchmarks and other protocols
    v6([0x2001, 0x0db8, 0], 32), // documentation
    v6([0x2002, 0, 0], 16),      // 6to4: an IPv4 address is inside
    v6([0x3fff, 0, 0], 20),      // documentation
    v6([0x2620, 0x004f, 0x8000], 48), // AS112
];

const fn v4([a, b, c, d]: [u8; 4], bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6([a, b, c]: [u16; 3], bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), bits)
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    !CLOSED_V4.iter().any(|network| network.contains(&ip))
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    GLOBAL_V6.contains(&ip) && !CLOSED_V6.iter().any(|network| network.contains(&ip))
}

#[cfg(test)]
#[path = "target_policy/tests.rs"]
mod tests;
