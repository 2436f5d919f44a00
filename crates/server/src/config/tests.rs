//! Tests of settings: the sources of their values, and invalid values.
use super::*;

fn load_with(file: &str, env: &[(&str, &str)], set: &[&str]) -> Result<Config, String> {
    load_from(Config::default(), file, env, set)
}

fn load_from(
    defaults: Config,
    file: &str,
    env: &[(&str, &str)],
    set: &[&str],
) -> Result<Config, String> {
    let folder = std::env::temp_dir().join(format!(
        "workgraph-config-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("c.toml");
    std::fs::write(&path, file).unwrap();
    let flags = Flags {
        config: Some(path),
        set: set.iter().map(|s| (*s).to_owned()).collect(),
        ..Flags::default()
    };
    let out = load(
        defaults,
        &flags,
        env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())),
    );
    std::fs::remove_dir_all(&folder).unwrap();
    out.map_err(|error| format!("{error:#}"))
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let file =
        "listen = \"a:1\"\nnode = 3\n[limits]\nstandard_paid = 1\nsearch = 1\ncost = \"off\"\n";
    let env = [
        ("WORKGRAPH_LIMITS_STANDARD_PAID", "2"),
        ("WORKGRAPH_LIMITS_SEARCH", "2"),
        ("PATH", "x"),
    ];
    let config = load_with(file, &env, &["limits.search=3", "offset_lifetime=2h"]).unwrap();
    assert_eq!(
        (config.server.listen.as_str(), config.server.node),
        ("a:1", 3)
    );
    assert_eq!(
        (config.limits.standard.paid, config.limits.search_per_minute),
        (2, 3)
    );
    assert_eq!(
        (
            config.limits.cost_per_minute,
            config.api.offset_lifetime.as_secs()
        ),
        (None, 7200)
    );
}

/// Values of a demo apply only to settings that are not set elsewhere.
#[test]
fn a_demo_has_other_defaults_and_each_can_be_set() {
    let demo = |set: &[&str]| load_from(Config::of_a_demo(), "", &[], set).unwrap();
    let config = demo(&[]);
    assert!(config.portal.oob_without_pkce && config.webhooks.policy.loopback);
    assert_eq!(config.api.inspector.bytes, 16_777_216);
    assert!(config.http.cors && !demo(&["http.cors=false"]).http.cors);
    let config = demo(&["inspector.bytes=0", "webhooks.allow_loopback=false"]);
    assert_eq!(config.api.inspector.bytes, 0);
    assert!(config.portal.oob_without_pkce && !config.webhooks.policy.loopback);
    assert_eq!(load_with("", &[], &[]).unwrap().api.inspector.bytes, 0);
}

#[test]
fn unknown_settings_and_bad_values_are_refused_by_name() {
    let check = |loaded: Result<Config, String>, says: &str| {
        let error = loaded.unwrap_err();
        assert!(error.contains(says), "{error} does not say {says}");
    };
    for (file, says) in [
        (
            "node = 1\nlisen = 'a'",
            "c.toml:2: lisen: there is no such setting; is listen meant?",
        ),
        (
            "[limits]\nsearches = 1",
            "c.toml:2: limits.searches: there is no such setting; is limits.search meant?",
        ),
        (
            "search = 1",
            "search: there is no such setting; is limits.search meant?",
        ),
        ("[limits]\nfoo = 1", "limits.foo: there is no such setting"),
        ("listen = [1]", "listen: must be a text"),
        (
            "[http]\n\nstreams = 1.5",
            "c.toml:3: http.streams: must be a text",
        ),
        ("node = [", "c.toml: TOML parse error at line 1"),
    ] {
        check(load_with(file, &[], &[]), says);
    }
    for (name, value, says) in [
        (
            "LIMIT_SEARCH",
            "1",
            "LIMIT_SEARCH: there is no such setting; is WORKGRAPH_LIMITS_SEARCH meant?",
        ),
        (
            "LIMITS_SEARCH",
            "-1",
            "WORKGRAPH_LIMITS_SEARCH: must be a number, not `-1`",
        ),
    ] {
        check(
            load_with("", &[(&format!("WORKGRAPH_{name}"), value)], &[]),
            says,
        );
    }
    for (pair, says) in [
        ("node=31", "--set node: must be 0 to 30"),
        ("node", "KEY=VALUE"),
        (
            "serach=1",
            "serach: there is no such setting; is limits.search meant?",
        ),
        ("LISTEN=a", "LISTEN: there is no such setting"),
        ("limits.jobs=0", "limits.jobs: must be more"),
        ("http.idle_timeout=9y", "must be a time"),
        ("public_url=https://u@h", "public_url: must"),
        (
            "log.format=xml",
            "log.format: must be auto or text or json, not `xml`",
        ),
        ("oauth.remember=23h", "oauth.remember: must be 1d or more"),
        ("reply_max=9", "reply_max: must be 1048576 or more"),
        (
            "webhooks.allow_networks=10.0.0.0/33",
            "must be networks such as",
        ),
    ] {
        check(load_with("", &[], &[pair]), says);
    }
    assert!(
        load_with(
            "",
            &[
                ("WORKGRAPH_PORT", "tcp://1"),
                ("WORKGRAPH_SERVICE_HOST", "h")
            ],
            &[]
        )
        .is_ok()
    );
}

#[test]
fn times_and_numbers_without_which_nothing_is_served_are_not_0() {
    let named = |key: &str| format!("http.{key}");
    for key in [
        "header_timeout",
        "body_timeout",
        "idle_timeout",
        "request_timeout",
        "connections",
        "connections_per_ip",
        "streams",
    ]
    .map(named)
    {
        let error = load_with("", &[], &[&format!("{key}=0")]).unwrap_err();
        assert_eq!(error, format!("--set {key}: must be more than 0"));
        assert!(load_with("", &[], &[&format!("{key}=1")]).is_ok(), "{key}");
    }
    assert!(load_with("", &[], &["http.drain_timeout=0"]).is_ok());
}

#[test]
fn what_is_printed_reads_back_and_has_no_secret() {
    let config = load_with(
        "",
        &[],
        &[
            "admin.password=hush",
            "public_url=https://h/",
            "limits.cost=off",
            "admin.name=a\"b",
        ],
    )
    .unwrap();
    let text = print(&config);
    assert!(
        !text.contains("hush") && text.contains("password = \"(not shown)\""),
        "{text}"
    );
    let again = load_with(&text, &[], &["admin.password=hush"]).unwrap();
    assert_eq!(print(&again), text);
    assert_eq!(
        (
            again.server.public_url.0.as_str(),
            again.admin.name.as_str()
        ),
        ("https://h", "a\"b")
    );
}

#[test]
fn values_of_every_type_are_read_as_they_are_shown() {
    let file = "[webhooks]\nallow_networks = \"10.0.0.0/8,fd00::/8\"\nlog_retention = 0x3C\n[admin]\nname = 007";
    assert!(
        load_with(file, &[], &[])
            .unwrap_err()
            .contains("c.toml: TOML parse error at line 5")
    );
    let config = load_with(&file.replace("007", "\"007\\u007f\""), &[], &[]).unwrap();
    let text = print(&config);
    for line in [
        "allow_networks = \"10.0.0.0/8 fd00::/8\"",
        "log_retention = \"1m\"",
        "name = \"007\\u007F\"",
        "hsts = \"180d\"",
        "drain_timeout = \"30s\"",
        "node = 0",
        "cors = false",
    ] {
        assert!(text.contains(&format!("\n{line}\n")), "{line}: {text}");
    }
    assert_eq!(print(&load_with(&text, &[], &[]).unwrap()), text);
}

/// Returns the table of some settings, by their keys.
fn table(is_listed: fn(&str) -> bool) -> String {
    let rows = settings().filter(|setting| is_listed(setting.key));
    let rows = rows.map(|setting| {
        let (documentation, default) = setting.documentation_and_default();
        let default = if default.is_empty() {
            default
        } else {
            format!("`{default}`")
        };
        format!("| `{}` | {default} | {documentation} |\n", setting.key)
    });
    format!(
        "| Key | Default | Meaning |\n|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

/// Checks that a document has a table of settings between two marks, or writes it there.
fn has_table(path: &str, is_listed: fn(&str) -> bool) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("<!-- settings -->\n").unwrap();
    let (found, after) = rest.split_once("<!-- end of settings -->\n").unwrap();
    let table = table(is_listed);
    if found == table {
        return;
    }
    assert!(
        std::env::var_os("BLESS").is_some(),
        "the table is stale; BLESS=1 writes it"
    );
    let text = format!("{before}<!-- settings -->\n{table}<!-- end of settings -->\n{after}");
    std::fs::write(path, text).unwrap();
}

#[test]
fn the_readme_has_the_table_of_settings() {
    has_table("../../bins/workgraph/README.md", |_| true);
}

#[test]
fn the_document_on_limits_has_the_table_of_their_settings() {
    has_table("../../docs/LIMITS.md", |key| {
        key.starts_with("limits.") || key == "reply_max"
    });
}

#[test]
fn a_list_in_the_file_is_an_array_or_one_text() {
    let read = |text: &str| {
        let mut config = Config::default();
        let table = DeTable::parse(text).unwrap();
        set_table(&mut config, "", table.get_ref()).map(|()| print(&config))
    };
    let array = read("[http]\ntrusted_proxies = ['10.0.0.0/8', '::1']").unwrap();
    let text = read("[http]\ntrusted_proxies = '10.0.0.0/8 ::1'").unwrap();
    assert_eq!(array, text);
    assert!(array.contains("10.0.0.0/8"), "{array}");
    let error = |text: &str| format!("{:#}", read(text).unwrap_err().1);
    assert_eq!(
        error("listen = ['a', 'b']"),
        "listen: must be a text, a number, or true or false, not a list"
    );
    assert_eq!(
        error("[http]\ntrusted_proxies = [1]"),
        "http.trusted_proxies: must be a list of texts"
    );
}
