//! The settings. Each is said once, here: its key, type, default, bounds and documentation. From this come the file, the
//! environment, the flags, `config print` and the table in the README.
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
        /// Returns every setting: those outside of sections first, as TOML wants it, then section by section.
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

/// Values in force of all settings: those of this binary, and those of the libraries.
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
    /// Returns the values of a demo where nothing else is set: apps and webhooks may be on this machine, pages of any
    /// site may call, and requests are recorded.
    pub fn of_a_demo() -> Self {
        let mut config = Self::default();
        config.portal.loopback = LoopbackPolicy::Allowed;
        config.portal.oob_without_pkce = true;
        config.webhooks.policy.loopback = true;
        config.api.inspector.bytes = DEMO_INSPECTOR_BYTES;
        config.http.cors = true;
        config
    }

    /// Returns the values of a stand-in where nothing else is set: those of a demo, a folder of its own, and a key for id_tokens
    /// that never changes.
    pub fn of_a_stand_in() -> Self {
        let mut config = Self::of_a_demo();
        config.server.data = "./workgraph-stand-in".to_owned();
        config.oauth.key_lifetime = seconds(36_500 * DAY);
        config
    }

    /// Returns the folder of the files of exports, and of attachments without a bucket.
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
        /// Address that people and programs use for this server, such as `https://work.example`. All links begin with it; without it,
        /// with the host that a request names.
        public_url: WebUrl = WebUrl::default();
        /// Address of a listener of its own for `/-/metrics`.
        metrics_listen: String = String::new();
        /// Bearer token that shows metrics on the main listener. With neither this nor a listener of their own they are
        /// shown there if it is this machine's alone: a loopback address, no `public_url`, no proxy.
        metrics_token: String = String::new(), is_secret = true;
        /// Number of this node in gids; with a database that nodes share, each leases one instead.
        node: u8 = 0, most = 30;
        /// True if jobs are carried out; otherwise they wait, as with `serve --no-jobs`.
        run_jobs: bool = true;
    }

    /// Settings of the API.
    static API: "" {
        /// Text of `help` in every error; empty, it leads to this server's page of errors, `/-/errors`.
        help => api.help;
        /// Most objects of a list that is asked for without `limit`; a longer one is an error. 0 is no bound.
        unpaginated_max => api.unpaginated_max;
        /// Objects after which a walk over a computed list ends. 0 is no bound.
        walk_cap => api.walk_cap;
        /// Rows after which a walk over any list is an error. 0 is no bound.
        set_cap => api.set_cap;
        /// Lifetime of page tokens.
        offset_lifetime => api.offset_lifetime;
        /// Lifetime of sync tokens of events.
        sync_lifetime => api.sync_lifetime;
        /// Time for which events are kept; those that a webhook still has to deliver are kept longer.
        journal_retention => api.journal_retention;
        /// Time for which the audit log is kept.
        audit_retention => api.audit_retention;
        /// True if objects that exist and may not be seen are answered with 404 instead of 403.
        hide_forbidden => api.hide_forbidden;
        /// Bytes of the largest JSON body.
        body_max => api.body_max;
        /// Bytes of the largest file of an attachment.
        upload_max => api.upload_max, least = 1;
        /// Levels of the deepest nesting of a JSON body.
        depth_max => api.depth_max;
        /// Bytes of the records of the largest reply; those of a batch count together.
        reply_max => api.reply_max, least = 1 << 20;
        /// True if the API caches tokens and replies. Off, it asks the store each time, with the same results; for
        /// finding faults.
        api_caches => api.caches;
    }

    /// Room for the files of attachments.
    static ATTACHMENTS: "attachments." {
        /// Bytes that the files of one user may have together; `off` for no quota. A copy of an attachment shares its file.
        user_quota => api.attachments.user_quota;
        /// Bytes that the files of one workspace may have together; `off` for no quota.
        workspace_quota => api.attachments.workspace_quota;
        /// Bytes of the disk of the files that stay free: uploads that would need them are 507, and everything else goes
        /// on. 0 keeps none. Files in a bucket have no reserve.
        disk_reserve => api.attachments.disk_reserve;
    }

    /// Limits of clients, which may change while the server runs.
    static LIMITS: "limits." {
        /// Requests a minute of a token whose user has no paid workspace.
        standard_free => limits.standard.free;
        /// Requests a minute of a token whose user has a paid workspace.
        standard_paid => limits.standard.paid;
        /// Percentage of these quotas that a client still gets that never pauses.
        standard_floor_percent => limits.standard.floor_percent, most = 100;
        /// Searches a minute of a token.
        search => limits.search_per_minute;
        /// Reads of a token at the same time.
        concurrent_reads => limits.concurrent_reads;
        /// Writes of a token at the same time.
        concurrent_writes => limits.concurrent_writes;
        /// Limits that only count and refuse nothing: some of their names, with commas between.
        shadow => limits.shadow;
        /// Unfinished jobs of a user.
        jobs => api.jobs_per_user_max, least = 1;
        /// Limit of all tokens of a user together, as a multiple of that of one; `off` for none.
        user_multiple => api.user_multiple;
        /// Credits that a token regains a minute, and the most it can have; `off` for no such limit.
        cost => limits.cost_per_minute;
        /// Most credits that one request costs.
        cost_ceiling => limits.cost_ceiling;
    }

    /// Settings of the request inspector, `/-/console/requests`.
    static INSPECTOR: "inspector." {
        /// Bytes of memory for the last requests, which the owners of their tokens can look at; 0 records none. A demo has
        /// 16777216.
        bytes => api.inspector.bytes;
        /// Bytes of it for one user, app or service account.
        owner_bytes => api.inspector.owner_bytes, least = 65_536;
    }

    /// Settings of the authorization server.
    static PORTAL: "oauth." {
        /// True if apps may have `http` redirect URLs on the machines of their users. A demo allows it.
        loopback_redirects => portal.loopback;
        /// Answers of the authorization page that name the issuer (`iss`): `openid`, those to requests for that scope;
        /// `always`; `never`.
        issuer_in_responses => portal.issuer_in_responses;
        /// True if apps with an `https` URL besides may have codes shown on a page without PKCE. A demo allows it.
        oob_without_pkce => portal.oob_without_pkce;
        /// Questions about tokens a minute of an address; `off` for no limit.
        token_info_per_minute => portal.token_info_per_minute;
        /// Failed sign-ins, and as many failed authentications of apps, a minute of an address; `off` for no limit.
        failures_per_minute => portal.failures_per_minute;
        /// Failed sign-ins a minute to one account, from all addresses together; browsers that its owner has used before
        /// do not count. `off` for no limit.
        account_failures_per_minute => portal.account_failures_per_minute;
    }

    /// Settings of the keys and records of the authorization server.
    struct OAuthConfig: "oauth.", config.oauth {
        /// Age of a signing key at which another takes its place.
        key_lifetime: Duration = seconds(90 * DAY), least = DAY;
        /// Time for which records that have ended are kept: spent codes, above all, whose replay must be noticed.
        remember: Duration = seconds(7 * DAY), least = DAY;
    }

    /// Bounds of HTTP connections, requests and responses.
    struct HttpConfig: "http.", config.http {
        /// Time in which a client must have sent the head of a request.
        header_timeout: Duration = seconds(10), least = 1;
        /// Time in which a client must have sent the body.
        body_timeout: Duration = seconds(30), least = 1;
        /// Time in which a client must have sent the file of an attachment. It must not pause for longer than
        /// `body_timeout` in the meantime.
        upload_timeout: Duration = seconds(600), least = 1;
        /// Time after which a connection without a request ends. A reply that is not read ends its connection after this
        /// and the time of a request together.
        idle_timeout: Duration = seconds(75), least = 1;
        /// Time in which a request must have been carried out.
        request_timeout: Duration = seconds(30), least = 1;
        /// Time that requests under way have when the server stops.
        drain_timeout: Duration = seconds(30);
        /// Most connections.
        connections: usize = 10_000, least = 1;
        /// Most connections of an address (of IPv6: of a /64).
        connections_per_ip: usize = 256, least = 1;
        /// Most HTTP/2 streams of a connection.
        streams: u32 = 32, least = 1;
        /// Time after which a connection ends on which only replies are left to send, and the client reads none of them;
        /// and the longest pause in a body that is not a file.
        stall_timeout: Duration = seconds(10), least = 1;
        /// Most bytes in memory of bodies that arrive and replies that are not sent yet; beyond it requests are 503. A
        /// quarter of them is for clients that keep little.
        buffered_bytes: usize = 128 << 20, least = 1 << 20;
        /// Most such bytes of a user, over all tokens; and of the network of a client without a token.
        buffered_bytes_per_user: usize = 32 << 20, least = 1 << 16;
        /// Most such bytes of a connection. That of a trusted proxy has no bound of its own.
        buffered_bytes_per_connection: usize = 16 << 20, least = 1 << 16;
        /// True if scripts of other sites' web pages may call the API with a token of their own (CORS). A demo allows it.
        cors: bool = false;
        /// Networks of the proxies whose `X-Forwarded-For` is believed, with spaces or commas between.
        trusted_proxies: TrustedProxies = TrustedProxies::default();
        /// Time for which pages under https tell browsers to come by https alone; `0s` does not.
        hsts: Duration = seconds(180 * DAY);
    }

    /// Settings of the store.
    static STORE: "store." {
        /// Longest time that a read may work before it is stopped.
        read_timeout => store.read_timeout, least = 1;
        /// True if the store caches what was read. Off, every read goes to the database, with the same results; for
        /// finding faults.
        caches => store.caches;
    }

    /// Settings of a store that many nodes share.
    struct DatabaseConfig: "store.", config.database {
        /// Address of a PostgreSQL database, such as `postgres://user:password@host/name`, in place of the file in the
        /// data folder. An address with a password belongs in the file of settings or in the environment: a flag is
        /// shown in lists of processes.
        url: String = String::new(), is_secret = true;
        /// Most connections of this node to the database; up to three of them write. All nodes together should have fewer than
        /// `max_connections` of PostgreSQL: where it takes no more, a node shares those that it has.
        connections: usize = 16, least = 2;
        /// Longest time that the database works on a statement.
        statement_timeout: Duration = seconds(10), least = 1;
        /// Longest time that a statement waits for a lock.
        lock_timeout: Duration = seconds(10), least = 1;
        /// True to accept a database that can lose commits in a crash; for tests.
        allow_unsafe: bool = false;
        /// Folder that all nodes of a database share, for files of exports, and for those of attachments if there is no
        /// bucket.
        shared_files: String = String::new();
    }

    /// Settings of the work that is moved off the threads of requests.
    struct OffloadConfig: "store.", config.offload {
        /// Long reads at the same time; 0 is one less than there are cores, and one at least.
        long_reads: usize = 0;
    }

    /// Settings of the continuous archive, from which `workgraph restore` makes the database as of any commit.
    struct ArchiveConfig: "archive.", config.archive {
        /// Folder of the archive, on another disk than the data folder; without a folder or bucket there is no archive. No two
        /// servers may share one.
        folder: String = String::new();
        /// Name of a bucket for the archive, in place of a folder. Its server, region and keys are those of the bucket of
        /// attachments; it may be the same bucket.
        bucket: String = String::new();
        /// Beginning of the keys of an archive in a bucket. Another server must have another.
        prefix: String = "archive/".to_owned();
        /// Time between two copies of new commits: the most that is lost with the disk of the data folder.
        interval: Duration = seconds(10), least = 1;
        /// Time after which the whole database is copied again; it also is when the commits since are larger than it.
        copy_interval: Duration = seconds(DAY), least = 60;
        /// Time for which states of the past can be restored.
        retention: Duration = seconds(30 * DAY), least = 60;
    }

    /// Settings of the bucket of attachments.
    struct BucketConfig: "bucket.", config.bucket {
        /// Address of a server with the protocol of S3, such as `https://s3.eu-central-1.amazonaws.com`. Files of
        /// attachments are kept in a bucket there, instead of in the data folder.
        endpoint: WebUrl = WebUrl::default();
        /// Name of the bucket.
        name: String = String::new();
        /// Region of the bucket.
        region: String = "us-east-1".to_owned();
        /// Beginning of the keys of all files, such as `workgraph/`. Another server must have another.
        prefix: String = String::new();
        /// Id of the access key.
        access_key: String = String::new();
        /// Secret access key.
        secret_key: String = String::new(), is_secret = true;
        /// True if the bucket is named in the path of addresses, false if in their host.
        path_style: bool = true;
    }

    /// Settings of the log.
    struct LogConfig: "log.", config.log {
        /// Form of the lines: `text`, `json`, or `auto`, which is text on a terminal and JSON elsewhere.
        format: LogFormat = LogFormat::Auto;
        /// Least level that is logged, such as `info`.
        level: String = "info".to_owned();
        /// True if there is a line per request.
        requests: bool = false;
    }

    /// Settings of webhooks.
    static WEBHOOKS: "webhooks." {
        /// True if targets on this machine are allowed, with http or https. A demo allows them.
        allow_loopback => webhooks.policy.loopback;
        /// True if targets with http are allowed.
        allow_http => webhooks.policy.plain_http;
        /// Networks that are not public and may have targets, such as `10.1.0.0/16`, with spaces or commas between.
        allow_networks => webhooks.policy.networks;
        /// True if the stable ids of events are sent as a header.
        event_ids => webhooks.event_ids;
        /// Time for which the log of deliveries is kept.
        log_retention => webhooks.log_retention;
    }

    /// Settings of the worker that makes deliveries.
    struct DeliveryConfig: "webhooks.", config.delivery {
        /// Targets that are sent to at the same time.
        workers: u32 = 64;
    }

    /// Settings of the signing of the audit log.
    struct AuditConfig: "audit.", config.audit {
        /// File that checkpoints are appended to; `audit-anchors` in the data folder if none is named.
        anchor: String = String::new();
        /// Rows after which a checkpoint is signed; one is signed every hour besides.
        rows: u32 = 1_000;
    }

    /// Settings of the limits that several nodes share.
    struct SharedLimitsConfig: "shared_limits.", config.shared_limits {
        /// Address of a Redis or Valkey with the limits of all nodes: `redis://`, `rediss://` (TLS) or `redis+unix://`.
        /// Without one each node has limits of its own.
        url: String = String::new(), is_secret = true;
        /// File with the certificates of the authorities that are trusted with `rediss://` (PEM), instead of those that
        /// this machine trusts.
        root_certificates: String = String::new();
        /// Beginning of the keys there. All nodes of a service have the same.
        prefix: String = "workgraph".to_owned();
        /// Milliseconds that a decision there may take; after that this node decides with its part of each limit.
        timeout_ms: u64 = 20, least = 1, most = 10_000;
        /// Least number of parts into which limits are divided while Redis is away. Otherwise the nodes of the database that
        /// are alive say it, so this is for servers that share a Redis and no database.
        nodes: u32 = 1, least = 1, most = 31;
    }

    /// Admin that the first start makes, with the workspace; not with `--demo`.
    struct AdminConfig: "admin.", config.admin {
        /// Name of the admin.
        name: String = "Admin".to_owned();
        /// E-mail address of the admin.
        email: String = "admin@example.com".to_owned();
        /// Password of the admin; without one it is made up.
        password: String = String::new(), is_secret = true;
        /// Name of the workspace.
        workspace: String = "Workspace".to_owned();
        /// E-mail domains tied to the workspace, with blanks or commas between them.
        domains: String = String::new();
    }
}
