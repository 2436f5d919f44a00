//! TLS to other servers, whose certificates must lead to authorities that the machine trusts.
use anyhow::{Context, Result};
use std::sync::Arc;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Returns a connector; reading the trusted certificates takes a few milliseconds.
///
/// # Errors
/// Fails if TLS can't be set up.
pub(crate) fn connector() -> Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(
            reason = error.to_string(),
            "trusted certificates could not be read"
        );
    }
    let (trusted, _) = roots.add_parsable_certificates(found.certs);
    if trusted == 0 {
        tracing::warn!(
            "no trusted certificates were found: calls to other servers by https will fail"
        );
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .context("TLS")?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
