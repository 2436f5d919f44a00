//! The paginated list under test, as the laws see it.

use crate::SubjectError;

/// Who asks for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageUser {
    /// The user to whom the rows belong.
    First,
    /// Somebody else.
    Second,
}

/// Request for one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Text of the limit; `None` leaves the parameter out.
    pub limit: Option<String>,
    /// Cursor; `None` asks for the first page.
    pub cursor: Option<String>,
    /// Who asks.
    pub user: PageUser,
    /// Every byte of the cursor is percent-encoded, also those that need not be.
    pub encode_all: bool,
}

impl PageRequest {
    /// Returns a request of the first user.
    #[must_use]
    pub fn new(limit: u32, cursor: Option<&str>) -> Self {
        Self {
            limit: Some(limit.to_string()),
            cursor: cursor.map(str::to_owned),
            user: PageUser::First,
            encode_all: false,
        }
    }
}

/// Answer to a request for a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageReply {
    /// A page.
    Page {
        /// Identifiers of its rows, in order.
        ids: Vec<String>,
        /// Cursor of the next page, if one follows.
        next: Option<String>,
    },
    /// Another status than 2xx.
    Refused {
        /// The status.
        status: u16,
    },
}

/// Facts about a list that decide which laws are judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListProfile {
    /// Name for the report.
    pub name: String,
    /// Largest limit that the list takes.
    pub max_limit: u32,
    /// Rows can be made.
    pub creates: bool,
    /// Rows can be deleted.
    pub deletes: bool,
    /// Rows can be changed.
    pub changes: bool,
    /// A second user can ask.
    pub second_user: bool,
}

/// Paginated list under test.
pub trait PagedList {
    /// Returns the profile.
    fn profile(&self) -> &ListProfile;

    /// Asks for a page.
    ///
    /// # Errors
    /// Fails if the subject can't be reached or read; so do the others.
    fn page(&mut self, request: &PageRequest) -> Result<PageReply, SubjectError>;

    /// Makes a row and returns its identifier. Rows made in a sequence have equal sort keys if the list has any.
    ///
    /// # Errors
    /// See [`PagedList::page`].
    fn create(&mut self) -> Result<String, SubjectError>;

    /// Deletes a row.
    ///
    /// # Errors
    /// See [`PagedList::page`].
    fn delete(&mut self, id: &str) -> Result<(), SubjectError>;

    /// Changes a row, so that its place may change.
    ///
    /// # Errors
    /// See [`PagedList::page`].
    fn change(&mut self, id: &str) -> Result<(), SubjectError>;

    /// Returns the operations since the last call, one a line, in a form that repeats them.
    fn take_steps(&mut self) -> Vec<String>;
}
