//! Proxy in front of the server that cuts connections around a commit, or lets no new ones through.
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use workgraph_testkit::{ScratchFolder, TestDatabase};

/// Point at which the next commit is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Cut {
    Never = 0,
    /// The server never gets the commit.
    Before = 1,
    /// The server commits, but its answer is lost.
    After = 2,
    /// The server commits, but its answer is lost, and it can no longer be reached.
    AndAway = 3,
}

/// State of a proxy that no longer lets anything through.
const AWAY: u8 = 4;

/// Proxy with a socket of its own.
pub(crate) struct CuttingProxy {
    folder: ScratchFolder,
    cut: Arc<AtomicU8>,
    /// Number of commits of which one is cut; 0 cuts none.
    interval: Arc<AtomicU32>,
    /// True if commits are cut before they arrive.
    before: Arc<AtomicBool>,
    /// True if new connections are accepted, but get no answer.
    holds_new: Arc<AtomicBool>,
    database: String,
}

impl CuttingProxy {
    /// Starts a proxy in front of the server of a database; `None` if the tests have not started that server.
    pub(crate) fn before(database: &TestDatabase) -> Option<Self> {
        let server = database.socket()?;
        let folder = ScratchFolder::new("proxy");
        let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
        let cut = Arc::new(AtomicU8::new(0));
        let interval = Arc::new(AtomicU32::new(0));
        let before = Arc::new(AtomicBool::new(false));
        let holds_new = Arc::new(AtomicBool::new(false));
        let holds = Arc::clone(&holds_new);
        let shared = Cuts {
            next: Arc::clone(&cut),
            interval: Arc::clone(&interval),
            before: Arc::clone(&before),
            commits: Arc::default(),
        };
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for client in listener.incoming().flatten() {
                if holds.load(Ordering::SeqCst) {
                    held.push(client);
                    continue;
                }
                if shared.next.load(Ordering::SeqCst) == AWAY {
                    continue;
                }
                relay(client, &server, &shared);
            }
        });
        Some(Self {
            folder,
            cut,
            interval,
            before,
            holds_new,
            database: database.name().to_owned(),
        })
    }

    /// Returns the address of the database through the proxy.
    pub(crate) fn url(&self) -> String {
        format!(
            "postgres:///{}?host={}&user=postgres",
            self.database,
            self.folder.path().display()
        )
    }

    /// Cuts the next commit.
    pub(crate) fn cut(&self, cut: Cut) {
        self.cut.store(cut as u8, Ordering::SeqCst);
    }

    /// Cuts every `interval`-th commit after it has arrived.
    pub(crate) fn cut_each(&self, interval: u32) {
        self.interval.store(interval, Ordering::SeqCst);
    }

    /// Cuts every `interval`-th commit before it arrives.
    pub(crate) fn cut_each_before(&self, interval: u32) {
        self.before.store(true, Ordering::SeqCst);
        self.cut_each(interval);
    }

    /// Leaves new connections without an answer from now on.
    pub(crate) fn hold_new(&self) {
        self.holds_new.store(true, Ordering::SeqCst);
    }

    /// Returns true if the cut was made.
    pub(crate) fn was_cut(&self) -> bool {
        self.cut.load(Ordering::SeqCst) == Cut::Never as u8
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn end(streams: [&UnixStream; 2]) {
    for stream in streams {
        // It may already be closed.
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }
}

/// Cuts to make.
#[derive(Clone)]
struct Cuts {
    /// Cut of the next commit.
    next: Arc<AtomicU8>,
    /// Number of commits of which one is cut, and true if it is cut before it arrives.
    interval: Arc<AtomicU32>,
    before: Arc<AtomicBool>,
    /// Number of commits so far.
    commits: Arc<AtomicU32>,
}

fn relay(client: UnixStream, server: &PathBuf, cuts: &Cuts) {
    let Ok(server) = UnixStream::connect(server) else {
        return;
    };
    let swallow = Arc::new(AtomicBool::new(false));
    let (mut from_client, mut to_server) =
        (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (cuts, swallows) = (cuts.clone(), Arc::clone(&swallow));
    let cut = cuts.next;
    std::thread::spawn(move || {
        let (mut buffer, mut locks) = (vec![0; 1 << 16], false);
        while let Ok(count @ 1..) = from_client.read(&mut buffer) {
            if cut.load(Ordering::SeqCst) == AWAY {
                break;
            }
            let bytes = &buffer[..count];
            // Loads end with the same command, but do not lock the store.
            locks |= contains(bytes, b"FOR UPDATE OF store_state")
                || contains(bytes, b"UPDATE store_state SET seq");
            let writes = contains(bytes, b"; COMMIT\0") || (locks && contains(bytes, b"COMMIT\0"));
            if writes
                && cut
                    .compare_exchange(1, 0, Ordering::SeqCst, Ordering::SeqCst)
                    .is_ok()
            {
                break;
            }
            let each = cuts.interval.load(Ordering::SeqCst);
            let is_next = writes
                && each > 0
                && (cuts.commits.fetch_add(1, Ordering::SeqCst) + 1).is_multiple_of(each);
            if is_next && cuts.before.load(Ordering::SeqCst) {
                break;
            }
            let is_last = writes
                && cut
                    .compare_exchange(Cut::AndAway as u8, AWAY, Ordering::SeqCst, Ordering::SeqCst)
                    .is_ok();
            if is_next
                || is_last
                || writes
                    && cut
                        .compare_exchange(2, 0, Ordering::SeqCst, Ordering::SeqCst)
                        .is_ok()
            {
                swallows.store(true, Ordering::SeqCst);
            }
            if to_server.write_all(bytes).is_err() {
                break;
            }
        }
        if !swallows.load(Ordering::SeqCst) {
            end([&from_client, &to_server]);
        }
    });
    let (mut from_server, mut to_client) = (server, client);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from_server.read(&mut buffer) {
            let bytes = &buffer[..count];
            if swallow.load(Ordering::SeqCst) {
                if contains(bytes, b"COMMIT\0") {
                    break;
                }
                continue;
            }
            if to_client.write_all(bytes).is_err() {
                break;
            }
        }
        end([&from_server, &to_client]);
    });
}
