//! Signatures: HMAC-SHA256 (RFC 2104) over the bytes of a body, in lower-case hexadecimal.
use ring::hmac;

/// Header that carries the secret in the handshake, and its echo in the reply.
pub const SECRET_HEADER: &str = "X-Hook-Secret";
/// Header that carries the signature of a delivery.
pub const SIGNATURE_HEADER: &str = "X-Hook-Signature";

/// Returns the signature of a body. The key is the secret's text, not the bytes that the text
/// encodes.
#[must_use]
pub fn signature(secret: &str, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    hex(hmac::sign(&key, body).as_ref())
}

/// Creates a secret from random bytes.
#[must_use]
pub fn signing_secret(random: [u8; 32]) -> String {
    hex(&random)
}

/// Returns true if a handshake was confirmed: status 200 or 204, and the secret in the reply.
#[must_use]
pub fn is_handshake_confirmed(secret: &str, status: u16, echo: Option<&str>) -> bool {
    let same = |echo: &str| {
        let differ = echo.bytes().zip(secret.bytes());
        echo.len() == secret.len() && differ.fold(0, |d, (a, b)| d | (a ^ b)) == 0
    };
    is_success(status) && echo.is_some_and(same)
}

/// Returns true if a status acknowledges a delivery.
#[must_use]
pub const fn is_success(status: u16) -> bool {
    matches!(status, 200 | 204)
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let nibbles = bytes.iter().flat_map(|b| [b >> 4, b & 15]);
    let digit = |n: u8| DIGITS.get(usize::from(n)).copied().unwrap_or(b'0');
    nibbles.map(|n| char::from(digit(n))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_rfc_4231_case_2() {
        assert_eq!(
            signature("Jefe", b"what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn a_handshake_needs_the_status_and_the_very_secret() {
        let secret = signing_secret([7; 32]);
        assert_eq!(secret.len(), 64);
        assert!(
            is_handshake_confirmed(&secret, 200, Some(&secret))
                && is_handshake_confirmed(&secret, 204, Some(&secret))
        );
        for (status, echo) in [
            (201, Some(secret.as_str())),
            (302, Some(secret.as_str())),
            (500, Some(secret.as_str())),
            (200, None),
            (200, Some("")),
            (200, Some(&secret[1..])),
            (200, Some("0707")),
        ] {
            assert!(
                !is_handshake_confirmed(&secret, status, echo),
                "{status} {echo:?}"
            );
        }
    }
}
