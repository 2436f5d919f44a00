//! Ports: the traits that a store of tokens, accounts, apps, authorizations, codes and sessions
//! implements.
pub mod oauth_store;
pub mod token_store;
