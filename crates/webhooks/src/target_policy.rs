//! Policy of the addresses that may be called: public ones, unless the operator allows more.
//!
//! The client that makes a webhook chooses an address that this server then calls. An address that
//! only the server can reach must not become reachable in this way (server-side request forgery).
//! Every address that is not plainly a public unicast one is refused: the special-purpose
//! registries of IANA (RFC 6890), and every way to write an IPv4 address inside an IPv6 one.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Policy of the targets that may be called.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TargetPolicy {
    /// True if loopback addresses may be called, for tests on one machine.
    pub loopback: bool,
    /// True if targets other than loopback may use plain http.
    pub plain_http: bool,
    /// Networks that may be called though they are not public.
    pub networks: Vec<IpNetwork>,
    /// Addresses on which this server itself listens. They are never called, except on loopback if
    /// that is allowed.
    pub own_addresses: Vec<SocketAddr>,
}

/// IP network, as in `10.1.0.0/16`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpNetwork {
    address: IpAddr,
    bits: u8,
}

impl IpNetwork {
    /// Reads a network; `None` if the text is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let bits: u8 = bits.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        (bits <= most).then_some(Self { address, bits })
    }
    /// Returns true if an address is in the network.
    #[must_use]
    pub fn holds(&self, ip: IpAddr) -> bool {
        match (self.address, ip) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                let shift = 32 - u32::from(self.bits);
                u32::from(a).checked_shr(shift) == u32::from(b).checked_shr(shift)
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                let shift = 128 - u32::from(self.bits);
                u128::from(a).checked_shr(shift) == u128::from(b).checked_shr(shift)
            }
            _ => false,
        }
    }
}

impl std::fmt::Display for IpNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
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
        is_public(ip) || self.networks.iter().any(|n| n.holds(ip))
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

/// Networks of IPv4 that are not public: (address, bits).
const CLOSED_V4: [([u8; 4], u32); 17] = [
    ([0, 0, 0, 0], 8),       // this network
    ([10, 0, 0, 0], 8),      // private
    ([100, 64, 0, 0], 10),   // carrier-grade NAT
    ([127, 0, 0, 0], 8),     // loopback
    ([169, 254, 0, 0], 16),  // link-local, and the metadata of clouds
    ([172, 16, 0, 0], 12),   // private
    ([192, 0, 0, 0], 24),    // protocol assignments
    ([192, 0, 2, 0], 24),    // documentation
    ([192, 31, 196, 0], 24), // AS112
    ([192, 52, 193, 0], 24), // AMT
    ([192, 88, 99, 0], 24),  // 6to4 relays
    ([192, 168, 0, 0], 16),  // private
    ([192, 175, 48, 0], 24), // AS112
    ([198, 18, 0, 0], 15),   // benchmarks
    ([198, 51, 100, 0], 24), // documentation
    ([203, 0, 113, 0], 24),  // documentation
    ([224, 0, 0, 0], 3),     // multicast, class E, broadcast
];

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let bits = u32::from(ip);
    !CLOSED_V4.iter().any(|(network, len)| {
        let shift = 32 - len;
        bits >> shift == u32::from_be_bytes(*network) >> shift
    })
}

/// Returns true if an IPv6 address is public: only 2000::/3 is global unicast, and not all of that.
fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [a, b, c, ..] = ip.segments();
    let global = a & 0xe000 == 0x2000;
    let closed = match a {
        // 2001::/23: Teredo, ORCHID, benchmarks and other protocols; 2001:db8::/32: documentation.
        0x2001 => b < 0x0200 || b == 0x0db8,
        // 6to4: an IPv4 address is inside.
        0x2002 => true,
        // Documentation.
        0x3fff => b < 0x1000,
        // AS112.
        0x2620 => b == 0x004f && c == 0x8000,
        _ => false,
    };
    global && !closed
}

#[cfg(test)]
#[path = "target_policy/tests.rs"]
mod tests;
