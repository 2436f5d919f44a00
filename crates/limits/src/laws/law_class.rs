//! Classes of requests of the laws.

/// Class of a request: it reads or writes. Each class has its own number of concurrent requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestClass {
    /// A request that only reads.
    Read,
    /// A request that changes something.
    Write,
}

/// Returns the value for a class.
pub(crate) fn select_by_class<T>(class: RequestClass, read: T, write: T) -> T {
    match class {
        RequestClass::Read => read,
        RequestClass::Write => write,
    }
}
