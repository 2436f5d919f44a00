//! The handshake of a webhook and the signature of a delivery: `cargo run -p workgraph-webhooks --example signed_delivery`
use workgraph_webhooks::{Target, TargetPolicy, signature};

fn main() {
    let policy = TargetPolicy::default();
    for address in ["https://hooks.example.com/in", "https://10.0.0.1/in"] {
        match Target::read(address, &policy) {
            Ok(_) => println!("{address} may be called"),
            Err(refused) => println!("{address}: {refused}"),
        }
    }

    // The target answers the handshake with the secret that it got, and keeps it.
    let secret = signature::signing_secret([7; 32]); // random in earnest
    let echoed = Some(&*secret);
    assert!(signature::is_handshake_confirmed(&secret, 200, echoed));
    assert!(!signature::is_handshake_confirmed(&secret, 200, Some("x")));

    // It compares the signature of each delivery with its own.
    let (body, forged) = (br#"{"events":[]}"#, br#"{"events":[1]}"#);
    let sent = signature::signature(&secret, body);
    println!("X-Hook-Signature: {sent}");
    assert_eq!(sent, signature::signature(&secret, body));
    assert_ne!(sent, signature::signature(&secret, forged));
}
