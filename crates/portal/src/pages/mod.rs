//! Pages: pure functions from small views to HTML.
//!
//! Every page is whole without script and without a second request: the style sheet is in it, let
//! in by its hash. Texts of people and apps are escaped by the templates, there is no way around.
mod account;
mod apps;
mod connected;
mod consent;
mod form;
mod installed;
mod layout;
mod parts;
pub mod paths;
mod services;
mod tokens;
mod words;

pub use account::{Account, Leave, SessionRow, SignIn};
pub use apps::{AppForm, AppPage, AppRow, AppValues, Apps, Place, SecretPage, Use};
pub use connected::{Connected, Connection};
pub use consent::{Consent, FormPost, Interstitial, OutOfBand, Wish};
pub use form::Problem;
pub use installed::{Installed, InstalledApps, InstalledPlace};
pub use layout::{Failure, Frame, Page, Who};
pub use services::{Service, ServiceForm, ServicePlace, Services};
pub use tokens::{LIFETIMES, TokenForm, TokenRow, Tokens};
