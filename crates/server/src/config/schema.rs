//! The settings. Each is declared only here: its key, type, default, bounds and documentation. The file, the environment,
//! the flags, `config print` and the table in the README follow from these declarations.
use crate::config::setting::{LogFormat, Setting};
use crate::config::trusted_proxies::TrustedProxies;
use crate::config::web_url::WebUrl;
use std::path::Path;
use std::time::Duration;
use workgraph_auth::LoopbackPolicy;

/// Seconds of a day.
const DAY: u64 = 86_400;

const fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

/// Declares the settings, section by section.
///
/// A `struct` has settings of this binary as its fields, with their defaults, and is a field of `Config`. A `static` lists
/// settings that a library reads: it has their fields and defaults.
macro_rules! settings {
    (@[$($rows:expr,)*]) => {
        /// Returns every setting: those outside of sections first, as TOML requires, then section by section.
        pub(crate) fn settings() -> impl Iterator<Item = &'static Setting<Config>> {
            [$($rows),*].into_iter().flatten()
        }
    };
    (@[$($rows:expr,)*] $(#[doc = $about:literal])+ struct $config:ident: $key:literal, config.$field:ident {
        $($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr $(, $rule:ident = $bound:expr)*;)*
    } $($rest:tt)*) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug)]
        pub(crate) struct $config { $($(#[doc = $doc])+ pub(crate) $name: $type,)* }
        impl Default for $config {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }
        impl $config {
            const SETTINGS: &'static [Setting<Config>] = &[$(Setting {
                $($rule: $bound,)*
                ..Setting::new(concat!($key, stringify!($name)), concat!($($doc),+), |c| &mut c.$field.$name)
            }),*];
        }
        settings! { @[$($rows,)* $config::SETTINGS,] $($rest)* }
    };
    (@[$($rows:expr,)*] $(#[doc = $about:literal])+ static $list:ident: $key:literal {
        $($(#[doc = $doc:literal])+ $name:ident => $($part:ident).+ $(, $rule:ident = $bound:expr)*;)*
    } $($rest:tt)*) => {
        $(#[doc = $about])+
        static $list: &[Setting<Config>] = &[$(Setting {
            $($rule: $bound,)*
            ..Setting::new(concat!($key, stringify!($name)), concat!($($doc),+), |c| &mut c.$($part).+)
        }),*];
        settings! { @[$($rows,)* $list,] $($rest)* }
    };
    (#$($sections:tt)*) => {
        settings! { @[] #$($sections)* }
    };
}

/// Effective values of all settings: those of this binary, and those of the libraries.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub(crate) server: ServerConfig,
    pub(crate) api: workgraph_api::ApiSettings,
    pub(crate) limits: workgraph_api::TokenLimits,
    pub(crate) portal: workgraph_portal::PortalSettings,
    pub(crate) oauth: OAuthConfig,
    pub(crate) http: HttpConfig,
    pub(crate) store: workgraph_store_sqlite::StoreOptions,
    pub(crate) archive: ArchiveConfig,
    pub(crate) database: DatabaseConfig,
    pub(crate) bucket: BucketConfig,
    pub(crate) offload: OffloadConfig,
    pub(crate) log: LogConfig,
    pub(crate) webhooks: workgraph_api::features::webhooks::service::WebhookSettings,
    pub(crate) delivery: DeliveryConfig,
    pub(crate) audit: AuditConfig,
    pub(crate) admin: AdminConfig,
    pub(crate) shared_limits: SharedLimitsConfig,
}

/// Memory of the request inspector of a demo.
const DEMO_INSPECTOR_BYTES: usize = 16 << 20;

impl Config {
    /// Returns the default values for a demo: apps and webhooks may be on this machine, pages of any site may call the API,
    /// and requests are recorded.
    pub fn of_a_demo() -> Self {
        let mut config = Self::default();
        config.portal.loopback = LoopbackPolicy::Allowed;
        config.portal.oob_without_pkce = true;
        config.webhooks.policy.loopback = true;
        config.api.inspector.bytes = DEMO_INSPECTOR_BYTES;
        config.http.cors = true;
        config
    }

    /// Returns the default values for a stand-in: those of a demo, a separate data folder, and a key for id_tokens that
    /// never changes.
    pub fn of_a_stand_in() -> Self {
        let mut config = Self::of_a_demo();
        config.server.data = "./workgraph-stand-in".to_owned();
        config.oauth.key_lifetime = seconds(36_500 * DAY);
        config
    }

    /// Returns the folder of export files, and of attachment files if there is no bucket.
    pub(crate) fn files_folder(&self) -> &Path {
        if self.database.url.is_empty() {
            self.folder()
        } else {
            Path::new(&self.database.shared_files)
        }
    }

    /// Returns the data folder.
    pub(crate) fn folder(&self) -> &Path {
        Path::new(&self.server.data)
    }
}

settings! {
    /// Settings of the process.
    struct ServerConfig: "", config.server {
        /// Data folder: the database, keys and files.
        data: String = "./workgraph-data".to_owned();
        /// Address to listen on; port 0 takes a free one.
        listen: String = "127.0.0.1:8080".to_owned();
        /// Address at which people and programs reach this server, such as `https://work.example`. All links begin with it;
        /// without it, they begin with the host that a request names.
        public_url: WebUrl = WebUrl::default();
        /// Address of a separate listener for `/-/metrics`.
        metrics_listen: String = String::new();
        /// Bearer token for metrics on the main listener. Without this token and without a separate listener, the main listener
        /// shows metrics only if no other machine reaches it: it has a loopback address, no `public_url` and no proxy.
        metrics_token: String = String::new(), is_secret = true;
        /// Number of this node in gids. Nodes that share a database lease their numbers instead.
        node: u8 = 0, most = 30;
        /// True if this server runs jobs; otherwise they wait, as with `serve --no-jobs`.
        run_jobs: bool = true;
    }

    /// Settings of the API.
    static API: "" {
        /// Text of `help` in every error. If empty, it points to this server's error page, `/-/errors`.
        help => api.help;
        /// Maximum number of objects in a list requested without `limit`; a longer list is an error. 0 means no maximum.
        unpaginated_max => api.unpaginated_max;
        /// Number of objects after which paging through a computed list ends. 0 means no maximum.
        walk_cap => api.walk_cap;
        /// Number of rows after which paging through any list is an error. 0 means no maximum.
        set_cap => api.set_cap;
        /// Lifetime of page tokens.
        offset_lifetime => api.offset_lifetime;
        /// Lifetime of sync tokens of events.
        sync_lifetime => api.sync_lifetime;
        /// Time for which events are kept. Events that a webhook has yet to deliver are kept longer.
        journal_retention => api.journal_retention;
        /// Time for which the audit log is kept.
        audit_retention => api.audit_retention;
        /// True if requests for objects that the user may not see get 404 instead of 403.
        hide_forbidden => api.hide_forbidden;
        /// Maximum size of a JSON body in bytes.
        body_max => api.body_max;
        /// Maximum size of an attached file in bytes.
        upload_max => api.upload_max, least = 1;
        /// Maximum nesting depth of a JSON body.
        depth_max => api.depth_max;
        /// Maximum size of the records in a reply in bytes; the replies of a batch count together.
        reply_max => api.reply_max, least = 1 << 20;
        /// True if the API caches tokens and replies. Without the caches, every request goes to the store, with the same
        /// results; this helps to find faults.
        api_caches => api.caches;
    }

    /// Room for the files of attachments.
    static ATTACHMENTS: "attachments." {
        /// Maximum total size of a user's files in bytes; `off` for no quota. Copies of an attachment share one file.
        user_quota => api.attachments.user_quota;
        /// Maximum total size of a workspace's files in bytes; `off` for no quota.
        workspace_quota => api.attachments.workspace_quota;
        /// Number of bytes that uploads leave free on the disk; an upload that would need them gets 507, and everything else
        /// continues. 0 reserves nothing. There is no reserve for files in a bucket.
        disk_reserve => api.attachments.disk_reserve;
    }

    /// Limits of clients. They can change while the server runs.
    static LIMITS: "limits." {
        /// Requests per minute of a token whose user has no paid workspace.
        standard_free => limits.standard.free;
        /// Requests per minute of a token whose user has a paid workspace.
        standard_paid => limits.standard.paid;
        /// Percentage of these quotas that a client still gets if it never pauses.
        standard_floor_percent => limits.standard.floor_percent, most = 100;
        /// Searches per minute of a token.
        search => limits.search_per_minute;
        /// Concurrent reads of a token.
        concurrent_reads => limits.concurrent_reads;
        /// Concurrent writes of a token.
        concurrent_writes => limits.concurrent_writes;
        /// Names of limits that count but refuse nothing, separated by commas.
        shadow => limits.shadow;
        /// Maximum number of unfinished jobs of a user.
        jobs => api.jobs_per_user_max, least = 1;
        /// Combined limit of all tokens of a user, as a multiple of the limit of one token; `off` for none.
        user_multiple => api.user_multiple;
        /// Credits that a token regains per minute, which is also the maximum that it can have; `off` for no such limit.
        cost => limits.cost_per_minute;
        /// Maximum cost of one request in credits.
        cost_ceiling => limits.cost_ceiling;
    }

    /// Settings of the request inspector, `/-/console/requests`.
    static INSPECTOR: "inspector." {
        /// Memory for the last requests in bytes, which the owners of their tokens can look at; 0 records none. A demo has
        /// 16777216.
        bytes => api.inspector.bytes;
        /// Part of this memory for one user, app or service account in bytes.
        owner_bytes => api.inspector.owner_bytes, least = 65_536;
    }

    /// Settings of the authorization server.
    static PORTAL: "oauth." {
        /// True if apps may have `http` redirect URLs on their users' machines. A demo allows them.
        loopback_redirects => portal.loopback;
        /// Authorization responses that name the issuer (`iss`): `openid` for those to requests with that scope, `always`, or
        /// `never`.
        issuer_in_responses => portal.issuer_in_responses;
        /// True if apps that also have an `https` URL may have codes shown on a page without PKCE. A demo allows it.
        oob_without_pkce => portal.oob_without_pkce;
        /// Token info requests per minute of an address; `off` for no limit.
        token_info_per_minute => portal.token_info_per_minute;
        /// Failed sign-ins per minute of an address, and separately as many failed authentications of apps; `off` for no limit.
        failures_per_minute => portal.failures_per_minute;
        /// Failed sign-ins per minute to one account from all addresses; browsers that its owner has used before do not count.
        /// `off` for no limit.
        account_failures_per_minute => portal.account_failures_per_minute;
    }

    /// Settings of the keys and records of the authorization server.
    struct OAuthConfig: "oauth.", config.oauth {
        /// Age at which a signing key is replaced.
        key_lifetime: Duration = seconds(90 * DAY), least = DAY;
        /// Time for which ended records are kept, such as used codes, whose replay must be noticed.
        remember: Duration = seconds(7 * DAY), least = DAY;
    }

    /// Bounds of HTTP connections, requests and responses.
    struct HttpConfig: "http.", config.http {
        /// Maximum time in which a client must send the head of a request.
        header_timeout: Duration = seconds(10), least = 1;
        /// Maximum time in which a client must send the body.
        body_timeout: Duration = seconds(30), least = 1;
        /// Maximum time in which a client must send an attached file. It must not pause for longer than `body_timeout`.
        upload_timeout: Duration = seconds(600), least = 1;
        /// Time after which a connection without a request is closed. A connection whose reply is not read is closed after this
        /// time plus `request_timeout`.
        idle_timeout: Duration = seconds(75), least = 1;
        /// Maximum time that a request may take.
        request_timeout: Duration = seconds(30), least = 1;
        /// Time that started requests get to finish when the server stops.
        drain_timeout: Duration = seconds(30);
        /// Maximum number of connections.
        connections: usize = 10_000, least = 1;
        /// Maximum number of connections of an address (for IPv6, of a /64).
        connections_per_ip: usize = 256, least = 1;
        /// Maximum number of HTTP/2 streams of a connection.
        streams: u32 = 32, least = 1;
        /// Time after which a connection is closed if the client does not read the replies that are left to send; also the
        /// longest pause in a body that is not a file.
        stall_timeout: Duration = seconds(10), least = 1;
        /// Maximum memory for arriving bodies and unsent replies in bytes; requests beyond it get 503. A quarter of it is for
        /// clients that hold little.
        buffered_bytes: usize = 128 << 20, least = 1 << 20;
        /// Maximum part of this memory for a user, over all tokens, or for the network of a client without a token.
        buffered_bytes_per_user: usize = 32 << 20, least = 1 << 16;
        /// Maximum part of this memory for a connection; connections of trusted proxies have no such maximum.
        buffered_bytes_per_connection: usize = 16 << 20, least = 1 << 16;
        /// True if scripts on other sites' pages may call the API with their own tokens (CORS). A demo allows it.
        cors: bool = false;
        /// Networks of the proxies whose `X-Forwarded-For` is trusted, separated by spaces or commas.
        trusted_proxies: TrustedProxies = TrustedProxies::default();
        /// Time for which pages under https tell browsers to use https only; `0s` for no such header.
        hsts: Duration = seconds(180 * DAY);
    }

    /// Settings of the store.
    static STORE: "store." {
        /// Maximum time that a read may take before it is stopped.
        read_timeout => store.read_timeout, least = 1;
        /// True if the store caches what it reads. Without the caches, every read goes to the database, with the same results;
        /// this helps to find faults.
        caches => store.caches;
    }

    /// Settings of a store that several nodes share.
    struct DatabaseConfig: "store.", config.database {
        /// Address of a PostgreSQL database, such as `postgres://user:password@host/name`, instead of the file in the data
        /// folder. Put an address with a password into the settings file or the environment: flags are visible in process
        /// lists.
        url: String = String::new(), is_secret = true;
        /// Maximum number of connections of this node to the database; up to three of them write. All nodes together should
        /// have fewer than PostgreSQL's `max_connections`: if it accepts no more, a node shares the ones it has.
        connections: usize = 16, least = 2;
        /// Maximum time that a statement may take in the database.
        statement_timeout: Duration = seconds(10), least = 1;
        /// Maximum time that a statement waits for a lock.
        lock_timeout: Duration = seconds(10), least = 1;
        /// True if a database that can lose commits in a crash is accepted; for tests.
        allow_unsafe: bool = false;
        /// Folder that all nodes of a database share, for export files, and for attached files if there is no bucket.
        shared_files: String = String::new();
    }

    /// Settings of long work, which has its own threads.
    struct OffloadConfig: "store.", config.offload {
        /// Number of long reads that run at the same time; 0 means one less than the number of cores, but at least one.
        long_reads: usize = 0;
    }

    /// Settings of the continuous archive, from which `workgraph restore` makes the database as of any commit.
    struct ArchiveConfig: "archive.", config.archive {
        /// Folder of the archive, which should be on another disk than the data folder. Without a folder or a bucket there is
        /// no archive. Two servers must not share one.
        folder: String = String::new();
        /// Name of a bucket for the archive, instead of a folder. Its server, region and keys are those of the attachment
        /// bucket, and it may be the same bucket.
        bucket: String = String::new();
        /// Prefix of the keys of an archive in a bucket. Each server needs its own.
        prefix: String = "archive/".to_owned();
        /// Interval between copies of new commits, which is the most that is lost if the disk of the data folder fails.
        interval: Duration = seconds(10), least = 1;
        /// Interval after which the whole database is copied again. It is also copied when the commits since the last copy are
        /// larger than the database.
        copy_interval: Duration = seconds(DAY), least = 60;
        /// Time for which past states can be restored.
        retention: Duration = seconds(30 * DAY), least = 60;
    }

    /// Settings of the attachment bucket.
    struct BucketConfig: "bucket.", config.bucket {
        /// Address of a server with the S3 protocol, such as `https://s3.eu-central-1.amazonaws.com`. Attached files are kept
        /// in a bucket there instead of in the data folder.
        endpoint: WebUrl = WebUrl::default();
        /// Name of the bucket.
        name: String = String::new();
        /// Region of the bucket.
        region: String = "us-east-1".to_owned();
        /// Prefix of the keys of all files, such as `workgraph/`. Each server needs its own.
        prefix: String = String::new();
        /// Id of the access key.
        access_key: String = String::new();
        /// Secret access key.
        secret_key: String = String::new(), is_secret = true;
        /// True if addresses name the bucket in their path, false if in their host.
        path_style: bool = true;
    }

    /// Settings of the log.
    struct LogConfig: "log.", config.log {
        /// Format of the lines: `text`, `json`, or `auto`, which is text on a terminal and JSON elsewhere.
        format: LogFormat = LogFormat::Auto;
        /// Lowest level that is logged, such as `info`.
        level: String = "info".to_owned();
        /// True if each request is logged.
        requests: bool = false;
    }

    /// Settings of webhooks.
    static WEBHOOKS: "webhooks." {
        /// True if targets on this machine are allowed, with http or https. A demo allows them.
        allow_loopback => webhooks.policy.loopback;
        /// True if targets with http are allowed.
        allow_http => webhooks.policy.plain_http;
        /// Private networks that may have targets, such as `10.1.0.0/16`, separated by spaces or commas.
        allow_networks => webhooks.policy.networks;
        /// True if deliveries have a header with the stable ids of their events.
        event_ids => webhooks.event_ids;
        /// Time for which the delivery log is kept.
        log_retention => webhooks.log_retention;
    }

    /// Settings of the worker that makes deliveries.
    struct DeliveryConfig: "webhooks.", config.delivery {
        /// Number of targets to which deliveries are sent at the same time.
        workers: u32 = 64;
    }

    /// Settings of the signing of the audit log.
    struct AuditConfig: "audit.", config.audit {
        /// File to which checkpoints are appended; `audit-anchors` in the data folder by default.
        anchor: String = String::new();
        /// Number of rows after which a checkpoint is signed; one is also signed every hour.
        rows: u32 = 1_000;
    }

    /// Settings of the limits that several nodes share.
    struct SharedLimitsConfig: "shared_limits.", config.shared_limits {
        /// Address of a Redis or Valkey with the limits of all nodes: `redis://`, `rediss://` (TLS) or `redis+unix://`.
        /// Without one each node has limits of its own.
        url: String = String::new(), is_secret = true;
        /// File with the certificates of the authorities to trust for `rediss://` (PEM), instead of those that this machine
        /// trusts.
        root_certificates: String = String::new();
        /// Prefix of the keys in it, the same for all nodes of a service.
        prefix: String = "workgraph".to_owned();
        /// Maximum time of a decision in it in milliseconds; after that, this node decides with its part of each limit.
        timeout_ms: u64 = 20, least = 1, most = 10_000;
        /// Minimum number of parts into which limits are divided while Redis is unavailable. Nodes that share a database know
        /// how many of them are alive; servers that share only a Redis need this setting.
        nodes: u32 = 1, least = 1, most = 31;
    }

    /// Admin and workspace that the first start creates; not with `--demo`.
    struct AdminConfig: "admin.", config.admin {
        /// Name of the admin.
        name: String = "Admin".to_owned();
        /// E-mail address of the admin.
        email: String = "admin@example.com".to_owned();
        /// Password of the admin; a random one by default.
        password: String = String::new(), is_secret = true;
        /// Name of the workspace.
        workspace: String = "Workspace".to_owned();
        /// E-mail domains tied to the workspace, separated by spaces or commas.
        domains: String = String::new();
    }
}
