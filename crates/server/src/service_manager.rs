//! Notifications to the service manager that started this process (systemd's `sd_notify`), if any.
use std::os::unix::net::UnixDatagram;

/// Sends a state such as `READY=1` to the service manager, if there is one. A lost notification is only logged, since
/// the server keeps running.
pub fn notify(state: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let text = socket.to_string_lossy();
    let sent = UnixDatagram::unbound().and_then(|datagram| match text.strip_prefix('@') {
        Some(name) => {
            use std::os::linux::net::SocketAddrExt;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
            datagram.send_to_addr(state.as_bytes(), &address)
        }
        None => datagram.send_to(state.as_bytes(), &socket),
    });
    if let Err(error) = sent {
        tracing::warn!(
            reason = error.to_string(),
            "the service manager could not be notified: {state}"
        );
    }
}
