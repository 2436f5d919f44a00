//! TLS to the database: certificates and names are always verified.
use super::address::Address;
use crate::database_error::DatabaseError;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

pub(super) fn connector(address: &Address) -> Result<MakeRustlsConnect, DatabaseError> {
    let wrong = |reason: String| DatabaseError::Address(reason);
    let mut roots = RootCertStore::empty();
    match &address.authorities {
        Some(file) => {
            let named = |error: &dyn std::fmt::Display| {
                wrong(format!("sslrootcert {}: {error}", file.display()))
            };
            for certificate in CertificateDer::pem_file_iter(file).map_err(|e| named(&e))? {
                let certificate = certificate.map_err(|e| named(&e))?;
                roots.add(certificate).map_err(|e| named(&e))?;
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
        }
    }
    if roots.is_empty() {
        return Err(wrong(
            "no certificate authority is trusted: name a file with sslrootcert=FILE".into(),
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| wrong(e.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
