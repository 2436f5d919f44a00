//! Reasons for refusals, by the authorization server and by the rest of the server.
use crate::token_limits::{CONCURRENT_READS, CONCURRENT_WRITES, SEARCH, STANDARD};
use workgraph_auth::{AuthRefusal, refusal_reasons};
use workgraph_limits::Limit;

refusal_reasons! {
    /// Reason for refusing a request, other than its token or its client.
    RequestRefusal {
        // Before an operation is known.
        NoRoute, "no_route", "No operation and no page has this method and path.";
        AddressTooLong, "address_too_long", "The request address is too long.";
        HeadersTooLarge, "headers_too_large", "The headers are too large, or too many.";
        HostInvalid, "host_invalid", "The Host header is missing, repeated or unreadable.";
        TooManyRequestsOfAddress, "too_many_requests_of_address", "The client has too many requests under way.";
        ContentEncoding, "content_encoding", "The body is compressed.";
        MediaType, "media_type", "The body is of a media type that is not understood.";
        BodyTooLarge, "body_too_large", "The body is too large.";
        FileTooLarge, "file_too_large", "The file of an upload is too large.";
        QuotaExceeded, "quota_exceeded", "The files of the user or workspace may have no more bytes.";
        NoDiskSpace, "no_disk_space", "The disk of the files has too little free space.";
        BodyTimedOut, "body_timed_out", "The body did not arrive in time.";
        BodyBroken, "body_broken", "The body ended early.";
        NoRoom, "no_room", "The memory for bodies and replies is taken.";
        // Of operations.
        ScopeInsufficient, "scope_insufficient", "The token lacks a scope.";
        LimitStandard, "limit_standard", "The quota of requests per minute is used up.";
        LimitSearch, "limit_search", "The quota of searches per minute is used up.";
        LimitConcurrentReads, "limit_concurrent_reads", "Too many reads of the user are under way.";
        LimitConcurrentWrites, "limit_concurrent_writes", "Too many writes of the user are under way.";
        LimitCost, "limit_cost", "The quota of credits is used up.";
        InputInvalid, "input_invalid", "A parameter or a field of the body is wrong.";
        ResultTooLarge, "result_too_large", "The request asks for more than a budget holds.";
        NotFound, "not_found", "The object does not exist.";
        Forbidden, "forbidden", "The user may not see or do this.";
        PlanRequired, "plan_required", "The plan of the workspace does not include this.";
        Unprocessable, "unprocessable", "The request is sound, and can't be carried out.";
        SyncTokenOld, "sync_token_old", "The sync token is missing, unknown or too old.";
        Busy, "busy", "Too much work of this kind waits already.";
        ReadQueueFull, "read_queue_full", "Too many long reads wait already.";
        DeadlineExceeded, "deadline_exceeded", "The request took too long.";
        FaultRequested, "fault_requested", "A tester asked for this reply.";
        Abandoned, "abandoned", "The client does not wait for the result any more.";
        StoreUnavailable, "store_unavailable", "The database can't be reached.";
        Failed, "failed", "The server failed; another line of the log says why.";
        // Of pages and files.
        FormInvalid, "form_invalid", "A field of the form is wrong; the page says which.";
        SecretShown, "secret_shown", "The new secret was shown already.";
        TicketInvalid, "ticket_invalid", "The ticket of the address is wrong or expired.";
        FileGone, "file_gone", "The file is no longer there.";
        FileUnreadable, "file_unreadable", "The file can't be read.";
        RangeUnsatisfiable, "range_unsatisfiable", "The file does not have these bytes.";
        TooManyDownloads, "too_many_downloads", "Too many files are being sent.";
        NotReady, "not_ready", "The server is starting, stopping, or without its database.";
        Other, "other", "The reason has no name.";
    }
}

impl From<Limit> for RequestRefusal {
    fn from(limit: Limit) -> Self {
        match limit {
            STANDARD => Self::LimitStandard,
            SEARCH => Self::LimitSearch,
            CONCURRENT_READS => Self::LimitConcurrentReads,
            CONCURRENT_WRITES => Self::LimitConcurrentWrites,
            _ => Self::LimitCost,
        }
    }
}

/// Reason for refusing a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// Reason of the authorization server, or of the bearer token check.
    Auth(AuthRefusal),
    /// Reason of any other refusal.
    Request(RequestRefusal),
}

impl RefusalReason {
    /// Number of all reasons.
    pub const COUNT: usize = AuthRefusal::ALL.len() + RequestRefusal::ALL.len();

    /// Returns all reasons, in the order of their indices.
    pub fn all() -> impl Iterator<Item = Self> {
        let auth = AuthRefusal::ALL.iter().copied().map(Self::Auth);
        auth.chain(RequestRefusal::ALL.iter().copied().map(Self::Request))
    }

    /// Returns the index of the reason among all reasons, less than [`COUNT`](Self::COUNT).
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Auth(reason) => reason as usize,
            Self::Request(reason) => AuthRefusal::ALL.len() + reason as usize,
        }
    }

    /// Returns the name, which never changes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auth(reason) => reason.name(),
            Self::Request(reason) => reason.name(),
        }
    }

    /// Returns the meaning as a sentence for the owner of the client.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Auth(reason) => reason.meaning(),
            Self::Request(reason) => reason.meaning(),
        }
    }
}

impl From<AuthRefusal> for RefusalReason {
    fn from(reason: AuthRefusal) -> Self {
        Self::Auth(reason)
    }
}

impl From<RequestRefusal> for RefusalReason {
    fn from(reason: RequestRefusal) -> Self {
        Self::Request(reason)
    }
}

/// Refusal of a request: the reason, and the app and the user that it concerns, if known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Reason that the log and the metrics show.
    pub reason: RefusalReason,
    /// Client ID in the request, or the app of its token.
    pub client: Option<u64>,
    /// User to whom the account or token belongs.
    pub user: Option<u64>,
}

impl<R: Into<RefusalReason>> From<R> for Refusal {
    fn from(reason: R) -> Self {
        Self {
            reason: reason.into(),
            client: None,
            user: None,
        }
    }
}

impl Refusal {
    /// Returns the refusal with the client that it concerns.
    #[must_use]
    pub const fn of_client(self, client: Option<u64>) -> Self {
        Self { client, ..self }
    }

    /// Returns the refusal with the user that it concerns.
    #[must_use]
    pub const fn of_user(self, user: Option<u64>) -> Self {
        Self { user, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_reason_has_a_name_of_its_own_a_sentence_and_its_place() {
        let mut names = BTreeSet::new();
        for (place, reason) in RefusalReason::all().enumerate() {
            assert_eq!(reason.index(), place);
            let name = reason.name();
            let is_plain = |b: u8| b.is_ascii_lowercase() || b == b'_';
            assert!(name.bytes().all(is_plain) && names.insert(name), "{name}");
            assert!(reason.meaning().ends_with('.'), "{name}");
        }
        assert_eq!(names.len(), RefusalReason::COUNT);
    }
}
