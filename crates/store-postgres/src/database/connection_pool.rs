//! Pool with as many connections as the server accepts: when it accepts no more, the existing ones are shared.
//!
//! A permit belongs to each connection in use. If the server refuses a connection, its permit is removed, so that there are soon
//! as many permits as connections, and a request waits for a connection to be returned. From time to time one permit is added
//! again, so that the pool grows once the server has room.
use crate::database_error::DatabaseError;
use crate::deadline::Deadline;
use deadpool_postgres::{ClientWrapper, HookError, Object, Pool, PoolError};
use parking_lot::Mutex;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::error::SqlState;

/// Time after a refusal until one more connection is tried.
const GROWTH_INTERVAL: Duration = Duration::from_secs(1);
/// Time after a refusal until a pool without any connection tries again.
const FIRST_INTERVAL: Duration = Duration::from_millis(100);
/// Shortest time between two log lines which say that the server accepts no more connections.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Connection from a pool, to which it returns when it is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    // Dropped before the permit, so that the connection is back in the pool when another user gets the permit.
    object: Object,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    /// Closes the connection.
    pub(crate) fn close(self) {
        drop(Object::take(self.object));
    }
}

impl Deref for Connection {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        &self.object
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut ClientWrapper {
        &mut self.object
    }
}

/// Pool of connections, shared by the threads of a node.
pub(crate) struct ConnectionPool {
    pool: Pool,
    /// One permit for each connection that may be in use.
    permits: Arc<Semaphore>,
    room: Mutex<Room>,
    most: usize,
}

/// Number of connections that a pool may have in use.
struct Room {
    allowed: usize,
    /// Time of the next permit; `None` if the server has refused no connection.
    growth: Option<Deadline>,
    /// Time until which a pool without any connection does not try again.
    pause: Option<Deadline>,
    /// Time until which no further log line is written.
    silence: Option<Deadline>,
}

impl ConnectionPool {
    /// Returns a pool of at most this many connections.
    pub(crate) fn new(pool: Pool, most: usize) -> Self {
        Self {
            pool,
            permits: Arc::new(Semaphore::new(most)),
            room: Mutex::new(Room {
                allowed: most,
                growth: None,
                pause: None,
                silence: None,
            }),
            most,
        }
    }

    /// Returns the number of connections that exist.
    pub(crate) fn size(&self) -> usize {
        self.pool.status().size
    }

    /// Returns true if the pool has no connection, because the server accepts no more.
    pub(crate) fn is_shut_out(&self) -> bool {
        self.size() == 0 && self.room.lock().growth.is_some()
    }

    /// Takes a connection as soon as one is free; `None` if the pool has none at all and the server accepts no more.
    ///
    /// # Errors
    /// Fails if the server cannot be reached.
    pub(crate) async fn take(&self) -> Result<Option<Connection>, PoolError> {
        loop {
            self.grow();
            let permit = Arc::clone(&self.permits).acquire_owned().await;
            let permit = permit.map_err(|_| PoolError::Closed)?;
            if self.size() == 0 && is_before(self.room.lock().pause) {
                return Ok(None);
            }
            match self.pool.get().await {
                Ok(object) => {
                    return Ok(Some(Connection {
                        object,
                        _permit: permit,
                    }));
                }
                Err(error) if is_full(&error) => {
                    if !self.shrink(permit) {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes the permit of a connection that the server refused. Returns false if it was the last one.
    fn shrink(&self, permit: OwnedSemaphorePermit) -> bool {
        let mut room = self.room.lock();
        room.growth = Some(Deadline::after(GROWTH_INTERVAL));
        room.pause = Some(Deadline::after(FIRST_INTERVAL));
        if !is_before(room.silence) {
            room.silence = Some(Deadline::after(WARNING_INTERVAL));
            tracing::warn!(
                connections = self.size(),
                wanted = self.most,
                "the database takes no more connections, so requests share the ones that this node has: raise max_connections of PostgreSQL, or lower store.connections"
            );
        }
        let is_last = room.allowed <= 1;
        if !is_last {
            room.allowed -= 1;
            permit.forget();
        }
        !is_last
    }

    /// Adds a permit if connections were refused, but not recently.
    fn grow(&self) {
        let mut room = self.room.lock();
        if room.growth.is_some_and(Deadline::has_passed) {
            room.growth = None;
            if room.allowed < self.most {
                room.allowed += 1;
                room.growth = Some(Deadline::after(GROWTH_INTERVAL));
                self.permits.add_permits(1);
            }
        }
    }
}

fn is_before(time: Option<Deadline>) -> bool {
    time.is_some_and(|time| !time.has_passed())
}

/// Returns true if the server accepts no more connections: of all clients, of this user, or for this database.
fn is_full(error: &PoolError) -> bool {
    let refusal = match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            error.code()
        }
        _ => None,
    };
    refusal == Some(&SqlState::TOO_MANY_CONNECTIONS)
}

/// Returns the error of a node that has no connection because the server accepts no more.
pub(crate) fn none_left() -> DatabaseError {
    DatabaseError::Unavailable(
        "it takes no more connections: raise max_connections of PostgreSQL, or lower store.connections of its nodes"
            .into(),
    )
}
