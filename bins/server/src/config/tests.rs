//! Settings: the sources of their values, and the values that are refused.
use super::*;

fn load_with(file: &str, env: &[(&str, &str)], set: &[&str]) -> Result<Config, String> {
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
        &flags,
        env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())),
    );
    std::fs::remove_dir_all(&folder).unwrap();
    out
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
    assert_eq!((config.listen.as_str(), config.node), ("a:1", 3));
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

#[test]
fn unknown_settings_and_bad_values_are_refused_by_name() {
    for (file, env, set, says) in [
        (
            "lisen = \"a\"",
            None,
            None,
            "lisen: there is no such setting",
        ),
        (
            "[limits]\nfoo = 1",
            None,
            None,
            "limits.foo: there is no such",
        ),
        ("listen = [1]", None, None, "listen: must be a text"),
        (
            "",
            Some(("WORKGRAPH_LIMIT_SEARCH", "1")),
            None,
            "WORKGRAPH_LIMIT_SEARCH: there is no such",
        ),
        (
            "",
            Some(("WORKGRAPH_LIMITS_SEARCH", "-1")),
            None,
            "must be a number, not `-1`",
        ),
        ("", None, Some("node=31"), "node: must be 0 to 30"),
        ("", None, Some("node"), "KEY=VALUE"),
        ("", None, Some("limits.jobs=0"), "limits.jobs: must be more"),
        ("", None, Some("http.idle_timeout=9y"), "must be a time"),
        ("", None, Some("public_url=https://u@h"), "public_url: must"),
        ("", None, Some("log.format=xml"), "log.format: must"),
    ] {
        let error = load_with(file, env.as_slice(), set.as_slice()).unwrap_err();
        assert!(error.contains(says), "{error} does not say {says}");
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
        assert_eq!(error, format!("{key}: must be more than 0"));
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
        (again.public_url.as_str(), again.admin.name.as_str()),
        ("https://h", "a\"b")
    );
}

#[test]
fn the_documents_name_every_setting() {
    let documents = [
        include_str!("../../README.md"),
        include_str!("../../../../docs/LIMITS.md"),
    ];
    let mut section = String::new();
    for line in print(&load_with("", &[], &[]).unwrap()).lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned() + ".";
        }
        let Some((name, _)) = line.split_once(" = ") else {
            continue;
        };
        let forms = [format!("`{section}{name}`"), format!("`.{name}`")];
        let named = |text: &str| forms.iter().any(|form| text.contains(form));
        assert!(documents.into_iter().any(named), "{section}{name}");
    }
}
