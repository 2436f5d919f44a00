//! Pages: pure functions from small views to HTML.
//!
//! Every page works without script and without a second request: it contains the style sheet, which is allowed by its hash.
//! The templates always escape texts of people and apps.
mod account;
mod apps;
mod authorized_apps;
mod components;
mod consent;
mod errors;
mod form;
mod format;
mod home;
mod layout;
mod overview;
pub mod paths;
mod record;
mod requests;
mod service_accounts;
mod tokens;
mod workspace_apps;

pub use account::{AccountPage, SessionRow, SignInPage, SignOutPage};
pub use apps::{
    AppForm, AppPage, AppRow, AppValues, AppsPage, SecretKind, SecretPage, WorkspaceChoice,
};
pub use authorized_apps::{AuthorizedAppRow, AuthorizedAppsPage};
pub use consent::{
    ConsentPage, ConsentRequest, ErrorInterstitialPage, FormPostPage, OutOfBandPage,
};
pub use errors::errors_page;
pub use form::FormProblem;
pub use home::HomePage;
pub use layout::{ErrorPage, HtmlPage, PageChrome, SignedInUser, SiteUser};
pub(crate) use layout::{STYLE_SOURCE, brand, document};
pub use overview::OverviewPage;
pub use record::{RecordLine, RecordList, RecordPage, RecordValue};
pub use requests::{
    RecordingState, RequestOwnerChoice, RequestPage, RequestRow, RequestSearch, RequestsPage,
};
pub use service_accounts::{
    ServiceAccountForm, ServiceAccountRow, ServiceAccountsPage, WorkspaceServiceAccounts,
};
pub use tokens::{LIFETIMES, TokenForm, TokenRow, TokensPage};
pub use workspace_apps::{InstalledApp, InstalledAppsPage, WorkspaceApps};
