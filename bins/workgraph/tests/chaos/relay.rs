//! Relay between a node and a server on a socket: it can hold all bytes back, cut all connections, or lead elsewhere.
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// Treatment of bytes by a relay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Passage {
    Open,
    /// Connections stay, and nothing comes through.
    Stalled,
    /// Connections break, and new ones do, too.
    Cut,
}

/// Running relay. It serves until the process ends.
#[derive(Clone, Debug)]
pub(crate) struct Relay {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    passage: Passage,
    target: PathBuf,
    connections: BTreeMap<u64, (TcpStream, UnixStream)>,
    opened: u64,
}

impl Relay {
    /// Starts a relay to a socket.
    pub(crate) fn start(target: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = State {
            passage: Passage::Open,
            target,
            connections: BTreeMap::new(),
            opened: 0,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let own = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let own = Arc::clone(&own);
                // A broken connection is the end of that one alone.
                thread::spawn(move || connect(client, &own).ok());
            }
        });
        Self { port, shared }
    }

    /// Opens, stalls or cuts.
    pub(crate) fn set(&self, passage: Passage) {
        let mut state = self.shared.state.lock().unwrap();
        state.passage = passage;
        if passage == Passage::Cut {
            break_all(&mut state);
        }
        self.shared.changed.notify_all();
    }

    /// Leads to another socket from now on; the connections break.
    pub(crate) fn lead_to(&self, target: PathBuf) {
        let mut state = self.shared.state.lock().unwrap();
        state.target = target;
        break_all(&mut state);
        self.shared.changed.notify_all();
    }
}

fn break_all(state: &mut State) {
    for (client, server) in std::mem::take(&mut state.connections).into_values() {
        // They may have ended by themselves.
        let _ended = client.shutdown(Shutdown::Both);
        let _ended = server.shutdown(Shutdown::Both);
    }
}

/// Waits while bytes are held back. Returns false if the connection is cut.
fn may_pass(shared: &Shared) -> bool {
    let state = shared.state.lock().unwrap();
    let state = shared
        .changed
        .wait_while(state, |state| state.passage == Passage::Stalled)
        .unwrap();
    state.passage == Passage::Open
}

fn connect(client: TcpStream, shared: &Arc<Shared>) -> std::io::Result<()> {
    if !may_pass(shared) {
        return Ok(());
    }
    client.set_nodelay(true)?;
    let target = shared.state.lock().unwrap().target.clone();
    let server = UnixStream::connect(target)?;
    let number = {
        let mut state = shared.state.lock().unwrap();
        if state.passage == Passage::Cut {
            return Ok(());
        }
        state.opened += 1;
        let (number, both) = (state.opened, (client.try_clone()?, server.try_clone()?));
        state.connections.insert(number, both);
        number
    };
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let own = Arc::clone(shared);
    let upward = thread::spawn(move || {
        pump(&mut from_client, &mut to_server, &own);
        // It may have ended by itself.
        let _ended = to_server.shutdown(Shutdown::Both);
    });
    let (mut from_server, mut to_client) = (server, client);
    pump(&mut from_server, &mut to_client, shared);
    let _ended = to_client.shutdown(Shutdown::Both);
    // A panic there was printed.
    let _done = upward.join();
    shared.state.lock().unwrap().connections.remove(&number);
    Ok(())
}

/// Passes bytes on until one end is closed.
fn pump(from: &mut impl Read, to: &mut impl Write, shared: &Shared) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if !may_pass(shared) || to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}
