//! Page tokens: where a walk stands, what it belongs to, and how it ends.
use crate::call::Call;
use crate::fault::Failure;
use crate::pipeline::Api;
use crate::settings::Settings;
use workgraph_auth::Grant;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{ALPHABETICAL_CAP, Page, Rows};
use workgraph_wire::{Cursor, CursorError, Next, envelope, listing, message};

/// What a page token is bound to, and what the client asked for.
pub(crate) struct Paging {
    limit: Option<u16>,
    listing: [u8; 16],
    path: String,
}

/// Where a walk stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Position {
    limit: usize,
    paged: bool,
    after: Option<Vec<i64>>,
    upto: Option<u64>,
    sent: u32,
}

/// Query parameters that do not change which rows a walk has.
const FREE: &[&str] = &["limit", "offset", "opt_fields", "opt_pretty", "opt_expand"];

impl Paging {
    /// Binds a walk to user, app, operation, path and filters.
    pub(crate) fn of(call: &Call<'_>, grant: &Grant, path: &str) -> Result<Self, Failure> {
        let limit = call
            .query
            .limit()
            .map_err(|e| Fault::invalid(e.to_string()))?;
        let mut filters: Vec<(&str, &str)> = call
            .query
            .iter()
            .filter(|(n, _)| !FREE.contains(n))
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
            // What `now` means changes while a walk goes on; the walk keeps its own start.
            parts.push(name.as_bytes());
            parts.push(value.as_bytes());
        }
        Ok(Self {
            limit,
            listing: listing(&parts),
            path: path.to_owned(),
        })
    }

    /// What a token of this walk is bound to.
    pub(crate) const fn listing(&self) -> [u8; 16] {
        self.listing
    }

    /// The page size that was asked for.
    pub(crate) const fn limit(&self) -> Option<u16> {
        self.limit
    }

    /// Opens the token the client sent, if any.
    pub(crate) fn open(&self, api: &Api, call: &Call<'_>) -> Result<Position, Failure> {
        let limit = self.limit.map_or(usize::MAX, usize::from);
        let given = call
            .query
            .get("offset")
            .map_err(|e| Fault::invalid(e.to_string()))?;
        let Some(token) = given else {
            return Ok(Position {
                limit,
                paged: self.limit.is_some(),
                ..Position::default()
            });
        };
        let keys = api
            .keys
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let cursor = Cursor::open(token, &keys, self.listing, api.clock.now()).map_err(|e| {
            Fault::invalid(match e {
                CursorError::Invalid => message::OFFSET_INVALID,
                CursorError::Expired => message::OFFSET_EXPIRED,
            })
        })?;
        Ok(Position {
            limit: self.limit.map_or(100, usize::from),
            paged: true,
            after: Some(cursor.after),
            upto: Some(cursor.upto),
            sent: cursor.sent,
        })
    }
}

impl Position {
    /// The number that a list in the order of numbers goes on after.
    pub(crate) fn last(&self) -> Option<i64> {
        self.after.as_ref().and_then(|a| a.first()).copied()
    }

    /// The number that a list of webhooks goes on after, and how many to give.
    pub(crate) fn keyset(&self, settings: &Settings) -> (u64, usize) {
        let after = self.last().and_then(|a| u64::try_from(a).ok());
        let most = match settings.unpaginated_max {
            _ if self.paged => self.limit,
            0 => usize::MAX >> 2,
            max => max,
        };
        (after.unwrap_or(0), most)
    }

    /// Sets the bounds of a page. `computed` walks end after the walk cap; `silent` lists are cut
    /// without an error when they are not paginated.
    pub(crate) fn bound(&self, page: &mut Page, settings: &Settings, computed: bool, silent: bool) {
        page.after.clone_from(&self.after);
        page.upto = self.upto;
        page.seen = self.sent;
        page.cap = settings.rows();
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

/// The body of a page, with the token of the next one.
#[expect(
    clippy::too_many_arguments,
    reason = "one call site; a struct would only rename the arguments"
)]
pub(crate) fn finish(
    api: &Api,
    call: &Call<'_>,
    bounds: &Paging,
    position: &Position,
    rows: &Rows,
    json: Vec<u8>,
    computed: bool,
    silent: bool,
) -> Result<Vec<u8>, Failure> {
    let settings = call.settings;
    if rows.cut && rows.gids.is_empty() {
        return Err(Fault::invalid(message::TRUNCATED).into());
    }
    if !position.paged {
        if rows.next.is_some() && !silent && !computed {
            return Err(Fault::invalid(message::TOO_LARGE_UNPAGINATED).into());
        }
        return Ok(envelope::close(json, Next::Absent));
    }
    let walked = computed && settings.walk_cap > 0 && rows.seen >= settings.walk_cap;
    let Some(after) = rows.next.as_ref().filter(|_| !walked) else {
        return Ok(envelope::close(json, Next::Null));
    };
    let cursor = Cursor {
        listing: bounds.listing,
        after: after.clone(),
        upto: rows.upto,
        sent: rows.seen,
        expires: api.clock.now() + settings.offset_lifetime,
    };
    let limit = u16::try_from(position.limit).unwrap_or(100);
    close(api, call, bounds, &cursor, Some(limit), json)
}

/// The body of a page that another one follows.
pub(crate) fn close(
    api: &Api,
    call: &Call<'_>,
    bounds: &Paging,
    cursor: &Cursor,
    limit: Option<u16>,
    json: Vec<u8>,
) -> Result<Vec<u8>, Failure> {
    let nonce = api.random::<12>()?;
    let keys = api
        .keys
        .read()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let offset = cursor.seal(&keys, nonce);
    let query = call.query.rewrite(limit, &offset);
    let path = format!("{}?{query}", bounds.path);
    let uri = format!("{}{path}", call.settings.base_url);
    Ok(envelope::close(
        json,
        Next::Page {
            offset: &offset,
            path: &path,
            uri: &uri,
        },
    ))
}
