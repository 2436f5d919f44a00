//! Pages of a list: the request parameters, and the response envelope.

use serde_core::Serialize;
use serde_core::de::DeserializeOwned;

use crate::envelope::{self, NextPage};
use crate::page_tokens::{PageTokenError, PageTokens, SealError};
use crate::query_params::{QueryError, QueryParams};

/// The page that a request asks for with `limit` and `offset`: `DEFAULT` rows if not specified, at most `MOST`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageParams<const DEFAULT: u16 = 50, const MOST: u16 = 100> {
    path: String,
    query: QueryParams,
    /// The number of rows of the page, at least 1.
    pub limit: u16,
    /// The token at which the page starts; `None` for the first page.
    pub offset: Option<String>,
}

impl<const DEFAULT: u16, const MOST: u16> PageParams<DEFAULT, MOST> {
    /// Parses the parameters of a request with this path and query (without its `?`). A parameter without a value counts as
    /// absent.
    ///
    /// # Errors
    /// Names the parameter that is malformed or given twice; status 400.
    pub fn parse(path: &str, query: &str) -> Result<Self, QueryError> {
        let query = QueryParams::of_request(query)?;
        Ok(Self {
            path: path.to_owned(),
            limit: query.limit_within(MOST)?.unwrap_or(DEFAULT),
            offset: query.get("offset")?.map(str::to_owned),
            query,
        })
    }

    /// Returns all parameters of the request, including filters of the list.
    #[must_use]
    pub const fn query(&self) -> &QueryParams {
        &self.query
    }

    /// Returns the key after which the page starts, or `None` for the first page.
    ///
    /// # Errors
    /// Says what is wrong with the token; status 400.
    pub fn after<K: DeserializeOwned>(
        &self,
        pages: &PageTokens,
        binding: &(impl Serialize + ?Sized),
    ) -> Result<Option<K>, PageTokenError> {
        let token = self.offset.as_deref();
        token.map(|token| pages.open(token, binding)).transpose()
    }

    /// Returns the number of rows to read for [`page`](Self::page): one more than the page has, to see if another page follows.
    #[must_use]
    pub fn rows_to_read(&self) -> usize {
        usize::from(self.limit) + 1
    }

    /// Returns the page with the rows that were read, and the link to the next one if there are more rows than fit. `key`
    /// returns the sort values of a row.
    ///
    /// # Errors
    /// Fails if the key can't be sealed.
    pub fn page<T, K: Serialize>(
        &self,
        mut rows: Vec<T>,
        pages: &PageTokens,
        binding: &(impl Serialize + ?Sized),
        key: impl FnOnce(&T) -> K,
    ) -> Result<Page<T>, SealError> {
        let limit = usize::from(self.limit);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let mut page = Page::last(rows);
        if let Some(last) = page.data.last().filter(|_| more) {
            let offset = pages.seal(&key(last), binding)?;
            let query = self.query.next_page_query(Some(self.limit), &offset);
            let path = format!("{}?{query}", self.path);
            page.next = Some(NextLink { offset, path });
        }
        Ok(page)
    }
}

/// Link to the next page, for the reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextLink {
    /// The page token.
    pub offset: String,
    /// The path and query of the request for the next page.
    pub path: String,
}

/// Page of a list: `{"data":[...],"next_page":{"offset":...,"path":...}}`; on the last page, `next_page` is `null`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// Rows of the page.
    pub data: Vec<T>,
    /// The link to the next page; `None` on the last.
    pub next: Option<NextLink>,
    base: Option<String>,
}

impl<T> Page<T> {
    /// Makes a page without a next page.
    #[must_use]
    pub const fn last(data: Vec<T>) -> Self {
        Self {
            data,
            next: None,
            base: None,
        }
    }

    /// Adds `uri` to the link: this base, such as `https://api.example`, followed by the path.
    #[must_use]
    pub fn with_base(mut self, base: impl Into<String>) -> Self {
        self.base = Some(base.into());
        self
    }
}

impl<T: Serialize> Page<T> {
    /// Returns the body.
    ///
    /// # Errors
    /// Fails if a row can't be written as JSON.
    pub fn body(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut body = envelope::OPEN.to_vec();
        serde_json::to_writer(&mut body, &self.data)?;
        let Some(NextLink { offset, path }) = &self.next else {
            return Ok(envelope::close(body, NextPage::Null));
        };
        let uri = self.base.as_ref().map(|base| format!("{base}{path}"));
        let uri = uri.as_deref();
        Ok(envelope::close(body, NextPage::Page { offset, path, uri }))
    }
}

/// Envelope of one value: `{"data":...}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope<T>(pub T);

impl<T: Serialize> Envelope<T> {
    /// Returns the body.
    ///
    /// # Errors
    /// Fails if the value can't be written as JSON.
    pub fn body(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut body = envelope::OPEN.to_vec();
        serde_json::to_writer(&mut body, &self.0)?;
        Ok(envelope::close(body, NextPage::Absent))
    }
}

#[cfg(test)]
mod tests;
