//! Tokens: their text and digest, the stored records, scopes, the bearer header, and the grant that
//! a checked token gives a request.
pub mod bearer;
pub mod grant;
pub mod scope;
pub mod token_record;
pub mod token_text;
