//! The paginated list under test, as the laws see it.

use crate::SubjectError;

/// User who asks for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageUser {
    /// The user to whom the rows belong.
    First,
    /// Another user.
    Second,
}

/// Request for one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Text of the limit; `None` leaves the parameter out.
    pub limit: Option<String>,
    /// Cursor; `None` requests the first page.
    pub cursor: Option<String>,
    /// User of the request.
    pub user: PageUser,
    /// True if every byte of the cursor is percent-encoded, even if it need not be.
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
    /// A page with rows.
    Page {
        /// Identifiers of its rows, in order.
        ids: Vec<String>,
        /// Cursor of the next page, if any.
        next: Option<String>,
    },
    /// A status other than 2xx.
    Refused {
        /// Status of the reply.
        status: u16,
    },
}

/// Properties of a list that determine which laws are judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListProfile {
    /// Name that the report shows.
    pub name: String,
    /// Maximum limit that the list accepts.
    pub max_limit: u32,
    /// True if rows can be created.
    pub creates: bool,
    /// True if rows can be deleted.
    pub deletes: bool,
    /// True if rows can be changed.
    pub changes: bool,
    /// True if a second user can send requests.
    pub second_user: bool,
}

/// Paginated list under test.
pub trait PagedList {
    /// Returns the properties of the list that determine which laws are judged.
    fn profile(&self) -> &ListProfile;

    /// Requests a page.
    ///
    /// # Errors
    /// Fails if the subject can't be reached or its answer is invalid; so do the other methods.
    fn page(&mut self, request: &PageRequest) -> Result<PageReply, SubjectError>;

    /// Creates a row and returns its identifier. Rows created in sequence have equal sort keys if the list has any.
    ///
    /// # Errors
    /// See [`PagedList::page`].
    fn create(&mut self) -> Result<String, SubjectError>;

    /// Deletes a row.
    ///
    /// # Errors
    /// See [`PagedList::page`].
    fn delete(&mut self, id: &str) -> Result<(), SubjectError>;

    /// Changes a row in a way that may change its position.
    ///
    /// # Errors
    /// See [`PagedList::page`].
    fn change(&mut self, id: &str) -> Result<(), SubjectError>;

    /// Returns the operations since the last call, one per line, in a form that can be repeated.
    fn take_steps(&mut self) -> Vec<String>;
}
