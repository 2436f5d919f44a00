//! The key that signs the id_tokens of every stand-in. It is published here, so that runs can be repeated; its signatures
//! prove nothing.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::sync::{Arc, OnceLock};
use workgraph_auth::{Rs256, Signer};

/// Returns the signer with this key. The key is parsed once, and all worlds of a stand-in share the signer.
///
/// # Errors
/// Fails if the key can't sign.
pub(crate) fn signer() -> Result<Arc<dyn Signer>> {
    static SIGNER: OnceLock<Arc<Rs256>> = OnceLock::new();
    if let Some(signer) = SIGNER.get() {
        return Ok(Arc::clone(signer) as Arc<dyn Signer>);
    }
    let der = STANDARD.decode(PKCS8);
    let der = der.context("the published key is not base64")?;
    let signer = Rs256::from_pkcs8(&der).context("the published key can't sign")?;
    Ok(Arc::clone(SIGNER.get_or_init(|| Arc::new(signer))) as Arc<dyn Signer>)
}

/// Private key in PKCS#8, base64.
pub(crate) const PKCS8: &str = "\
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCa1z9W6odpLPLm7tnz1uRgaIR92u3sWuiiG9dDWdPHT3z5i05v\
    cesowFroVKijSKGL79cV9AuuYXUdntWPW9dLm9uCgRbizUFgdrErLNhreoFamMIaKcN+nxpGzrsS/C55DaRPetElCmERzalSYhWf\
    PNdLqJsnpZ6NvfnDXzQwwOpDBX013lKiIHnxJZ7eiqJgX5PjL6qbFpcRNlV7vWvCPM8fGmyi2H8ROET/70FgHnwjIZBHCDzbOrlS\
    XPPfgjnIPCVIe+JGYaMIk/nkEQQT25B/dQP9SroL66a8SgPmuQRZHPAQ35AzcpNHqYaMfwwu4PNXtUBPfcs0amkghR+DAgMBAAEC\
    ggEAKTyI2E9mV5rKZ7kVn2xL7ub23gOnmGoPiVirx/qMvYhMSrMQZPqsO3Ka40Pkk3O83iU2HVkcoUjAJW7PBjpZyH+OAp/5ZdZv\
    Ak8p2Ms9KcZ625NSIiCcOUUK/O+Cf8hcYg3BhA870scEWfbxEIkhpAJSfgo9o93mL254LVFV92OG5BM2ykY0IMM1LhxJdt1J92Wy\
    I5SxaW61MP2N9/D4mXUP6OqWTJtidz8z9Z8L1r1mLGJJTzMUhYWFcie4y5cIO7oM3YvjfoTxH0WdM0e4rF6/VWjqKUs7h+esLZuV\
    1KxaHhtLQ0z7eZx4XAwQPbDzxs/BhNDZMdIm+YUfGvYtfQKBgQDTSuLW6afn7IEhEFHi6E63TzLIW9HfGdRFV9n5eYjnvQbqF9aF\
    uxSBjzLi4l4N+/FnUQlxd8K7UR1+tfgmF7sa7D2Mw2oAk4eLyDEyV6lk4lWjcIac+7rEjW9OTuDOYm/O6EeoCF7rLNbDRQnvQNu9\
    A7ZDoRHYyAW/6vG74L5k7QKBgQC7mohqPdpmw68HEpoVFGMGPko7dchPjhOlMbRSP1chaVfuwNbNNlgho7Pbp0I5U9U9GddS2a4E\
    MG3ImPWHe0oCTD+X+caZkKQL0oXBMQ5zgTwuk3EJrkgVTlRFwGGkOTyeptNegoSqtUclAie5PWDUPk6ym/XBVCghhx4f9Jf4LwKB\
    gD6G0K4MozWM1YG1VKYzXOf+Neb41RiSijCjGMws3QjG9X7c4wzcGetlNwfROUgmIIAUiRjc+fF4xaOzseWD7EjBVE2NnpbhEaGZ\
    8oUVT/mcyP7+07cs/04fFKs1yG0K0E+IiXv+TiiGMl/C1HfK17wNlyhYR/HA74Klwjd5AJ7ZAoGAF5N4CUH0rG1zFYR08Kk7OJGj\
    ao2Guti0B1KTwrJLFNvUPSDm3asysCeOdtAyNloetisFMFhC0ivz3/24/Wm1B0zlwQeWub2/n+y4+mpb0pAvK/tDfV/1lxfc51ch\
    7i1zPMziS0JDweA+LJx0uYbJIGMkKLYI0F7vHCeK1aE7Z+kCgYEAwaDwOLmbYJZ9uroFB6aKUT35X5t16kVp5TZoecL3bU0RBw6m\
    pnq8Xy/kPjuZwnQfy4iKw6a3O0V3oEY2y6PF2mf53eipb0kZbmesDN17mCwkKh0D9wSYiYt/xkb9UXiXcqHI8r3xP2fJd+g9IJLP\
    8XI/SThYwOZj10L3uIF1jCQ=";
