//! Page tokens: the position of a walk, the request that it is bound to, and the end of the walk.
use crate::error::ApiError;
use crate::state::Api;
use workgraph_core::domain_error::DomainError;
use workgraph_core::storage::{ALPHABETICAL_CAP, PageQuery, PageRows};
use workgraph_operations::ApiSettings;
use workgraph_operations::request_context::RequestContext;
use workgraph_wire::{Cursor, CursorError, NextPage, envelope, listing_digest, messages};

/// The values that a page token is bound to, and the page that the client requested.
pub(crate) struct PageBinding {
    limit: Option<u16>,
    listing: [u8; 16],
    path: String,
}

/// Position of a walk over a list, and the number of records sent so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct PagePosition {
    limit: usize,
    paged: bool,
    after: Option<Vec<i64>>,
    upto: Option<u64>,
    sent: u32,
}

/// Query parameters that do not change the rows of a walk.
const UNBOUND_PARAMETERS: &[&str] = &["limit", "offset", "opt_fields", "opt_pretty", "opt_expand"];

impl PageBinding {
    /// Binds a walk to user, app, operation, path and filters.
    pub(crate) fn of(call: &RequestContext<'_>, path: &str) -> Result<Self, ApiError> {
        let grant = call.grant;
        let limit = call
            .raw
            .query
            .limit()
            .map_err(|e| DomainError::invalid(e.to_string()))?;
        let mut filters: Vec<(&str, &str)> = call
            .raw
            .query
            .iter()
            .filter(|(n, _)| !UNBOUND_PARAMETERS.contains(n))
            .collect();
        filters.sort_unstable();
        let user = grant.user.to_be_bytes();
        let app = grant.app.unwrap_or(0).to_be_bytes();
        let service = grant.workspace.unwrap_or(0).to_be_bytes();
        let mut parts: Vec<&[u8]> = vec![
            &user,
            &app,
            &service,
            call.operation.id.as_bytes(),
            path.as_bytes(),
        ];
        for (name, value) in &filters {
            // The meaning of `now` changes during a walk; the walk keeps its start time.
            parts.push(name.as_bytes());
            parts.push(value.as_bytes());
        }
        Ok(Self {
            limit,
            listing: listing_digest(&parts),
            path: path.to_owned(),
        })
    }

    pub(crate) const fn listing(&self) -> [u8; 16] {
        self.listing
    }

    /// Returns the page size that the client requested.
    pub(crate) const fn limit(&self) -> Option<u16> {
        self.limit
    }

    /// Opens the page token that the client sent, if any.
    pub(crate) fn open_page_token(
        &self,
        api: &Api,
        call: &RequestContext<'_>,
    ) -> Result<PagePosition, ApiError> {
        let limit = self.limit.map_or(usize::MAX, usize::from);
        let given = call
            .raw
            .query
            .get("offset")
            .map_err(|e| DomainError::invalid(e.to_string()))?;
        let Some(token) = given else {
            return Ok(PagePosition {
                limit,
                paged: self.limit.is_some(),
                ..PagePosition::default()
            });
        };
        let cursor =
            Cursor::open(token, &api.keys, self.listing, api.clock.now()).map_err(|e| {
                DomainError::invalid(match e {
                    CursorError::Invalid => messages::OFFSET_INVALID,
                    CursorError::Expired => messages::OFFSET_EXPIRED,
                })
            })?;
        Ok(PagePosition {
            limit: self.limit.map_or(100, usize::from),
            paged: true,
            after: Some(cursor.after),
            upto: Some(cursor.max_seq),
            sent: cursor.rows_sent,
        })
    }
}

impl PagePosition {
    /// Returns the number after which a numbered list continues.
    pub(crate) fn last(&self) -> Option<i64> {
        self.after.as_ref().and_then(|a| a.first()).copied()
    }

    /// Returns the number after which a list of webhooks continues, and the maximum number of webhooks on the page.
    pub(crate) fn keyset(&self, settings: &ApiSettings) -> (u64, usize) {
        let after = self.last().and_then(|a| u64::try_from(a).ok());
        let most = match settings.unpaginated_max {
            _ if self.paged => self.limit,
            0 => usize::MAX >> 2,
            max => max,
        };
        (after.unwrap_or(0), most)
    }

    /// Sets the bounds of a page. `computed` walks end at the walk cap; `silent` lists are cut off without an error if they
    /// are not paginated.
    pub(crate) fn bound(
        &self,
        page: &mut PageQuery,
        settings: &ApiSettings,
        computed: bool,
        silent: bool,
    ) {
        page.after.clone_from(&self.after);
        page.max_seq = self.upto;
        page.rows_seen = self.sent;
        page.row_cap = settings.traversal_rows_max();
        let most = match settings.unpaginated_max {
            _ if self.paged => self.limit,
            _ if silent => ALPHABETICAL_CAP,
            0 => usize::MAX >> 2,
            max => max,
        };
        page.limit = if computed && settings.walk_cap > 0 {
            most.min(settings.walk_cap.saturating_sub(self.sent).max(1) as usize)
        } else {
            most
        };
    }
}

/// Returns the body of a page, with the token of the next one.
#[expect(
    clippy::too_many_arguments,
    reason = "one call site; a struct would only rename the arguments"
)]
pub(crate) fn finish_page(
    api: &Api,
    call: &RequestContext<'_>,
    bounds: &PageBinding,
    position: &PagePosition,
    rows: &PageRows,
    json: Vec<u8>,
    computed: bool,
    silent: bool,
) -> Result<Vec<u8>, ApiError> {
    let settings = call.settings;
    if rows.is_truncated && rows.gids.is_empty() {
        return Err(DomainError::invalid(messages::TRUNCATED).into());
    }
    if !position.paged {
        if rows.next.is_some() && !silent && !computed {
            return Err(DomainError::invalid(messages::TOO_LARGE_UNPAGINATED).into());
        }
        return Ok(envelope::close(json, NextPage::Absent));
    }
    let walked = computed && settings.walk_cap > 0 && rows.rows_seen >= settings.walk_cap;
    let Some(after) = rows.next.as_ref().filter(|_| !walked) else {
        return Ok(envelope::close(json, NextPage::Null));
    };
    let cursor = Cursor {
        listing: bounds.listing,
        after: after.clone(),
        max_seq: rows.max_seq,
        rows_sent: rows.rows_seen,
        expires: api.clock.now() + settings.offset_lifetime,
    };
    let limit = u16::try_from(position.limit).unwrap_or(100);
    write_next_page(api, call, bounds, &cursor, Some(limit), json)
}

/// Returns the body of a page that is followed by another one.
pub(crate) fn write_next_page(
    api: &Api,
    call: &RequestContext<'_>,
    bounds: &PageBinding,
    cursor: &Cursor,
    limit: Option<u16>,
    json: Vec<u8>,
) -> Result<Vec<u8>, ApiError> {
    let nonce = api.random_bytes::<12>()?;
    let offset = cursor.seal(&api.keys, nonce);
    let query = call.raw.query.next_page_query(limit, &offset);
    let path = format!("{}?{query}", bounds.path);
    let uri = format!("{}{path}", call.base_url());
    Ok(envelope::close(
        json,
        NextPage::Page {
            offset: &offset,
            path: &path,
            uri: Some(&uri),
        },
    ))
}
