//! Tests of the policy: allowed and refused addresses.
use super::*;

/// Addresses that must never be called, each range with its ends.
const CLOSED: &[&str] = &[
    "0.0.0.0",
    "0.0.0.1",
    "0.255.255.255",
    "10.0.0.0",
    "10.0.0.1",
    "10.1.2.3",
    "10.255.255.255",
    "100.64.0.0",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.0",
    "127.0.0.1",
    "127.0.0.2",
    "127.1.2.3",
    "127.255.255.255",
    "169.254.0.0",
    "169.254.0.1",
    "169.254.169.254",
    "169.254.170.2",
    "169.254.255.255",
    "172.16.0.0",
    "172.16.0.1",
    "172.17.0.1",
    "172.20.10.1",
    "172.31.255.255",
    "192.0.0.0",
    "192.0.0.1",
    "192.0.0.8",
    "192.0.0.170",
    "192.0.0.192",
    "192.0.0.255",
    "192.0.2.0",
    "192.0.2.1",
    "192.0.2.255",
    "192.31.196.1",
    "192.52.193.1",
    "192.88.99.0",
    "192.88.99.1",
    "192.88.99.255",
    "192.168.0.0",
    "192.168.0.1",
    "192.168.1.1",
    "192.168.100.1",
    "192.168.255.255",
    "192.175.48.1",
    "198.18.0.0",
    "198.18.0.1",
    "198.19.0.1",
    "198.19.255.255",
    "198.51.100.0",
    "198.51.100.1",
    "198.51.100.255",
    "203.0.113.0",
    "203.0.113.1",
    "203.0.113.255",
    "224.0.0.0",
    "224.0.0.1",
    "224.0.0.251",
    "232.1.2.3",
    "239.255.255.250",
    "239.255.255.255",
    "240.0.0.0",
    "240.0.0.1",
    "250.1.2.3",
    "254.255.255.255",
    "255.255.255.254",
    "255.255.255.255",
    // Unspecified, loopback, and IPv4 in the forms of RFC 4291.
    "::",
    "::1",
    "::2",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:192.168.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0.0.0.0",
    "::ffff:100.64.0.1",
    "::ffff:172.16.0.1",
    "::ffff:198.18.0.1",
    "::ffff:224.0.0.1",
    "::ffff:255.255.255.255",
    "::127.0.0.1",
    "::10.0.0.1",
    "::192.168.0.1",
    "::169.254.169.254",
    "::8.8.8.8",
    "::ffff:0:127.0.0.1",
    "::ffff:0:10.0.0.1",
    "::ffff:0:8.8.8.8",
    // NAT64: a gateway turns them into IPv4.
    "64:ff9b::",
    "64:ff9b::1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b::192.168.0.1",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::",
    "64:ff9b:1::10.0.0.1",
    "64:ff9b:1:ffff::1",
    "64:ff9b:1:fffe::169.254.169.254",
    // Discard-only, unallocated below 2000::/3.
    "100::",
    "100::1",
    "100:0:0:1::1",
    "200::1",
    "400::1",
    "1000::1",
    "1fff:ffff::1",
    // Teredo, ORCHID, benchmarks, documentation, other protocol assignments.
    "2001::",
    "2001::1",
    "2001:0:5ef5:79fd::1",
    "2001:0:ffff:ffff::1",
    "2001:1::1",
    "2001:1::2",
    "2001:2::",
    "2001:2::1",
    "2001:2:0:ffff::1",
    "2001:3::1",
    "2001:4:112::1",
    "2001:5::1",
    "2001:10::",
    "2001:10::1",
    "2001:1f:ffff::1",
    "2001:20::1",
    "2001:2f:ffff::1",
    "2001:30::1",
    "2001:1ff:ffff::1",
    "2001:db8::",
    "2001:db8::1",
    "2001:db8:1:2::3",
    "2001:db8:ffff:ffff::1",
    // 6to4.
    "2002::",
    "2002::1",
    "2002:7f00:1::",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "2002:c0a8:1::1",
    "2002:a9fe:a9fe::1",
    "2002:808:808::1",
    "2002:ffff:ffff::1",
    "2620:4f:8000::1",
    "3fff::1",
    "3fff:0fff::1",
    // Above 2000::/3: nothing is assigned.
    "4000::1",
    "5f00::1",
    "6000::1",
    "8000::1",
    "a000::1",
    "c000::1",
    "e000::1",
    "f000::1",
    "f800::1",
    // Unique local, link-local, site-local, multicast.
    "fc00::",
    "fc00::1",
    "fc00:1:2::3",
    "fd00::1",
    "fd00:ec2::254",
    "fd12:3456:789a::1",
    "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "fe00::1",
    "fe80::",
    "fe80::1",
    "fe80::a9fe:a9fe",
    "febf:ffff::1",
    "fec0::1",
    "feff:ffff::1",
    "ff00::1",
    "ff01::1",
    "ff02::1",
    "ff02::2",
    "ff02::fb",
    "ff05::1:3",
    "ff0e::1",
    "ff1e::1",
    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    // More private and unusual addresses.
    "10.0.0.254",
    "10.10.10.10",
    "10.128.0.1",
    "10.254.254.254",
    "100.65.0.1",
    "100.90.1.2",
    "127.0.0.53",
    "127.0.1.1",
    "169.254.1.1",
    "172.18.0.1",
    "172.19.0.1",
    "172.24.5.6",
    "172.30.0.1",
    "192.168.2.1",
    "192.168.10.10",
    "192.168.50.1",
    "192.168.178.1",
    "198.18.255.255",
    "225.0.0.1",
    "241.1.1.1",
    "fd7a:115c:a1e0::1",
    "fe80::1ff:fe23:4567:890a",
    "ff02::1:ff00:1",
    "::ffff:127.0.0.53",
    "::ffff:192.0.0.170",
    "64:ff9b::100.64.0.1",
    "2002:ac10:1::1",
    "2001:0:4136:e378::1",
];

const OPEN: &[&str] = &[
    "1.0.0.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "52.1.2.3",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.0.3.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "203.0.114.0",
    "223.255.255.255",
    "::ffff:8.8.8.8",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2003::1",
    "2400:cb00::1",
    "2606:4700::1111",
    "2620:fe::fe",
    "2a00::1",
    "3ffe::1",
];

fn at(text: &str) -> SocketAddr {
    SocketAddr::new(text.parse().unwrap(), 443)
}

#[test]
fn two_hundred_addresses_that_are_not_public_are_refused() {
    assert!(CLOSED.len() >= 200, "{}", CLOSED.len());
    let policy = TargetPolicy::default();
    for text in CLOSED {
        assert!(!policy.allows(at(text)), "{text}");
    }
    for text in OPEN {
        assert!(policy.allows(at(text)), "{text}");
    }
}

#[test]
fn loopback_is_allowed_by_its_own_setting_alone() {
    let policy = TargetPolicy {
        loopback: true,
        ..TargetPolicy::default()
    };
    for text in CLOSED {
        let ip: IpAddr = text.parse().unwrap();
        let loopback = ip.to_canonical().is_loopback();
        assert_eq!(policy.allows(at(text)), loopback, "{text}");
    }
}

#[test]
fn networks_can_be_allowed_and_own_addresses_never_are() {
    let policy = TargetPolicy {
        networks: vec![
            parse_network("10.1.0.0/16").unwrap(),
            parse_network("fd00::/8").unwrap(),
        ],
        own_addresses: vec![at("8.8.8.8"), at("10.1.0.9")],
        ..TargetPolicy::default()
    };
    for (text, allowed) in [
        ("10.1.0.1", true),
        ("::ffff:10.1.255.255", true),
        ("10.2.0.1", false),
        ("fd00::1", true),
        ("fc00::1", false),
        ("8.8.8.8", false),
        ("::ffff:8.8.8.8", false),
        ("10.1.0.9", false),
        ("8.8.4.4", true),
    ] {
        assert_eq!(policy.allows(at(text)), allowed, "{text}");
    }
    assert!(policy.allows(SocketAddr::new("8.8.8.8".parse().unwrap(), 8443)));
    for bad in [
        "",
        "10.0.0.0",
        "10.0.0.0/33",
        "10.0.0/8",
        "::/129",
        "x/8",
        "10.0.0.0/-1",
        "10.0.0.0/",
        "010.0.0.0/8",
        "10.0.0.0/8/8",
        "10.0.0.0/ 8",
        "fe80::1%eth0/64",
        "::ffff:10.0.0.256/104",
    ] {
        assert_eq!(parse_network(bad), None, "{bad}");
    }
    assert!(
        parse_network("0.0.0.0/0")
            .unwrap()
            .contains(&"9.9.9.9".parse::<IpAddr>().unwrap())
    );
    assert!(
        parse_network("::/0")
            .unwrap()
            .contains(&"::1".parse::<IpAddr>().unwrap())
    );
    let network = parse_network("10.1.2.3/8").unwrap();
    assert_eq!(network.to_string(), "10.1.2.3/8", "as it was written");
}
