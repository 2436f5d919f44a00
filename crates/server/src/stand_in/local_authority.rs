//! A certificate authority for one run of a stand-in. Its key exists only in memory and ends with the process, so a
//! certificate that somebody trusts by accident is harmless later.
use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use std::sync::Arc;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::ResolvesServerCertUsingSni;
use tokio_rustls::rustls::sign::CertifiedKey;
use workgraph_core::model::time::Date;

/// Number of days for which certificates are valid; some systems accept no more than 825.
const DAYS: i32 = 90;
/// Protocol that intercepted clients get.
const ALPN: &[u8] = b"http/1.1";

/// Authority that issues certificates.
pub(crate) struct LocalAuthority {
    issuer: Issuer<'static, KeyPair>,
    /// Certificate of the authority, for clients to trust.
    pub(crate) certificate: String,
    today: Date,
}

/// Sets the period in which a certificate is valid. It starts yesterday, since clocks differ.
fn set_days(certificate: &mut CertificateParams, today: Date) -> Result<()> {
    let day = |days: i32| {
        let (year, month, day) = today.add_days(days)?.year_month_day();
        Some(date_time_ymd(
            year,
            u8::try_from(month).ok()?,
            u8::try_from(day).ok()?,
        ))
    };
    certificate.not_before = day(-1).context("the clock of the machine is off")?;
    certificate.not_after = day(DAYS).context("the clock of the machine is off")?;
    Ok(())
}

impl LocalAuthority {
    /// Creates an authority with a new key.
    ///
    /// # Errors
    /// Fails without random bytes.
    pub(crate) fn new(today: Date) -> Result<Self> {
        let mut own = CertificateParams::default();
        own.distinguished_name
            .push(DnType::CommonName, "Workgraph stand-in");
        own.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        own.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        set_days(&mut own, today)?;
        let key = KeyPair::generate()?;
        let certificate = own.self_signed(&key)?.pem();
        Ok(Self {
            issuer: Issuer::new(own, key),
            certificate,
            today,
        })
    }

    /// Returns the settings of a TLS server that has a certificate for each of these hosts.
    ///
    /// # Errors
    /// Fails if a host is not a valid name.
    pub(crate) fn server_config(&self, hosts: &[String]) -> Result<ServerConfig> {
        let provider = Arc::new(ring::default_provider());
        let mut certificates = ResolvesServerCertUsingSni::new();
        for host in hosts {
            let named = || format!("--intercept: `{host}` is no name of a host");
            let key = KeyPair::generate()?;
            let mut leaf = CertificateParams::new(vec![host.clone()]).with_context(named)?;
            leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            set_days(&mut leaf, self.today)?;
            let signed = leaf.signed_by(&key, &self.issuer)?;
            let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
            let key = provider.key_provider.load_private_key(key)?;
            let certified = CertifiedKey::new(vec![signed.der().clone()], key);
            certificates.add(host, certified).with_context(named)?;
        }
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(certificates));
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_get_certificates_and_texts_that_are_none_are_refused() {
        let authority = LocalAuthority::new(Date::parse("2026-03-02").unwrap()).unwrap();
        assert!(
            authority
                .certificate
                .starts_with("-----BEGIN CERTIFICATE-----")
        );
        let config = |host: &str| authority.server_config(&[host.to_owned()]);
        assert!(config("app.example.com").is_ok());
        for wrong in ["", "http://x", "a b"] {
            let error = format!("{:#}", config(wrong).unwrap_err());
            assert!(error.contains("--intercept"), "{error}");
        }
    }
}
