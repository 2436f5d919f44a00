//! Passwords: their slow, salted hashes.
use argon2::password_hash::{Ident, Output, ParamsString, PasswordHash, SaltString};
use argon2::{ARGON2ID_IDENT, Argon2, Block, Params, Version};
use workgraph_auth::Secret;

/// Room set aside for a hash, in blocks of a kibibyte: more than the allocator ever keeps for
/// itself, so what was used goes back to the system each time. Untouched room costs nothing.
const ROOM: usize = 33 << 10;

/// The Argon2id hash of a password in its self-describing text form. Takes some 20 ms and 19 MiB.
///
/// # Errors
/// When the password is too short or too long.
pub(crate) fn hash(password: &str, salt: &[u8; 16]) -> Result<Secret, String> {
    if !(8..=1024).contains(&password.len()) {
        return Err("a password has 8 to 1024 bytes".to_owned());
    }
    let say = |e: argon2::password_hash::Error| e.to_string();
    let params = Params::default();
    let mut blocks = Vec::with_capacity(ROOM);
    blocks.resize(params.block_count(), Block::default());
    let mut out = [0; Params::DEFAULT_OUTPUT_LEN];
    let hasher = Argon2::new(argon2::Algorithm::Argon2id, Version::V0x13, params.clone());
    hasher
        .hash_password_into_with_memory(password.as_bytes(), salt, &mut out, &mut blocks)
        .map_err(|e| e.to_string())?;
    let salt = SaltString::encode_b64(salt).map_err(say)?;
    let text = PasswordHash {
        algorithm: Ident::new(ARGON2ID_IDENT.as_str()).map_err(say)?,
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(&params).map_err(say)?,
        salt: Some(salt.as_salt()),
        hash: Some(Output::new(&out).map_err(say)?),
    };
    Ok(Secret::new(text.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use argon2::PasswordVerifier;

    #[test]
    fn a_hash_verifies_with_its_own_password_only() {
        let secret = hash("correct horse", &[7; 16]).unwrap();
        assert!(
            secret
                .expose()
                .starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{}",
            secret.expose()
        );
        let parsed = PasswordHash::new(secret.expose()).unwrap();
        assert!(
            Argon2::default()
                .verify_password(b"correct horse", &parsed)
                .is_ok()
        );
        assert!(
            Argon2::default()
                .verify_password(b"correct horsf", &parsed)
                .is_err()
        );
        assert!(hash("short", &[7; 16]).is_err());
    }
}
