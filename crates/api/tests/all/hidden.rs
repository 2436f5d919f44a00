//! Names of what a reader may not see, looked for in everything they get.
mod scene;
mod texts;

pub(crate) use scene::{HIDDEN, MEMBERS, history, scene};
