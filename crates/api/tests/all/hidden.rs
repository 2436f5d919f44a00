//! Hidden names: names of objects that a reader may not see are searched in every reply that the reader gets.
mod references;
mod scene;
mod template_roles;
mod texts;

pub(crate) use scene::{HIDDEN, MEMBERS, history, scene};
