//! Signatures: HMAC-SHA256 (RFC 2104) over the bytes of a body, in lower-case hexadecimal.
use ring::hmac;

/// The header that carries the secret at the handshake, and its echo.
pub const SECRET_HEADER: &str = "X-Hook-Secret";
/// The header that carries the signature of a delivery.
pub const SIGNATURE_HEADER: &str = "X-Hook-Signature";

/// The signature of a body: the key is the secret's text, not the bytes it stands for.
#[must_use]
pub fn signature(secret: &str, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    hex(hmac::sign(&key, body).as_ref())
}

/// A secret from random bytes.
#[must_use]
pub fn secret(random: [u8; 32]) -> String {
    hex(&random)
}

/// Whether a handshake was answered as it must be: 200 or 204, with the secret.
#[must_use]
pub fn shaken(secret: &str, status: u16, echo: Option<&str>) -> bool {
    let same = |echo: &str| {
        let differ = echo.bytes().zip(secret.bytes());
        echo.len() == secret.len() && differ.fold(0, |d, (a, b)| d | (a ^ b)) == 0
    };
    is_success(status) && echo.is_some_and(same)
}

/// Whether a status acknowledges a delivery.
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
        let secret = secret([7; 32]);
        assert_eq!(secret.len(), 64);
        assert!(shaken(&secret, 200, Some(&secret)) && shaken(&secret, 204, Some(&secret)));
        for (status, echo) in [
            (201, Some(secret.as_str())),
            (302, Some(secret.as_str())),
            (500, Some(secret.as_str())),
            (200, None),
            (200, Some("")),
            (200, Some(&secret[1..])),
            (200, Some("0707")),
        ] {
            assert!(!shaken(&secret, status, echo), "{status} {echo:?}");
        }
    }
}
