//! Tests of the command line.
use super::*;
use clap::CommandFactory;
use workgraph_server::admin_commands::{PlanName, WorkspaceCommand};

#[test]
fn the_command_line_is_sound_and_commands_travel_as_json() {
    Cli::command().debug_assert();
    let cli = Cli::try_parse_from([
        "workgraph",
        "admin",
        "workspace",
        "plan",
        "12",
        "free",
        "--json",
        "--data",
        "d",
    ])
    .unwrap();
    let Some(Command::Admin { json: true, what }) = cli.command else {
        panic!("not an admin command")
    };
    let text = serde_json::to_string(&what).unwrap();
    let back: AdminCommand = serde_json::from_str(&text).unwrap();
    assert!(
        matches!(back, AdminCommand::Workspace(WorkspaceCommand::Plan { gid, plan: PlanName::Free }) if gid == "12")
    );
    assert!(Cli::try_parse_from(["workgraph", "serve", "--dmo"]).is_err());
    let cli = Cli::try_parse_from(["workgraph", "serve", "--no-jobs"]).unwrap();
    assert!(matches!(cli.command, Some(Command::Serve(serve)) if serve.start.no_jobs));
}

#[test]
fn a_command_has_one_name_in_the_singular_and_takes_the_plural() {
    for words in [
        ["job", "list"],
        ["jobs", "list"],
        ["webhook", "list"],
        ["webhooks", "list"],
    ] {
        let cli = Cli::try_parse_from(["workgraph", "admin"].iter().chain(&words));
        assert!(cli.is_ok(), "{words:?}");
    }
}

#[test]
fn completions_and_the_manual_name_every_command() {
    use clap::ValueEnum as _;
    for shell in Shell::value_variants() {
        let script = String::from_utf8(manual::completions(*shell)).unwrap();
        assert!(script.contains("healthcheck"), "{shell}");
    }
    let page = String::from_utf8(manual::manual().unwrap()).unwrap();
    for name in Cli::command()
        .get_subcommands()
        .map(clap::Command::get_name)
    {
        let heading = format!(".SH WORKGRAPH {}", name.to_uppercase());
        assert!(page.contains(&heading), "{heading}");
    }
    assert!(page.contains(".SH WORKGRAPH ADMIN USER CREATE"));
    assert!(
        page.contains(r"shared\-files"),
        "flags of settings are explained"
    );
}

/// The help of a command would be unreadable if it listed the flags that all commands have.
#[test]
fn short_help_shows_the_flags_of_the_command() {
    let mut command = Cli::command();
    command.build();
    let serve = command.find_subcommand_mut("serve").unwrap();
    let short = serve.render_help().to_string();
    assert!(
        short.contains("--demo") && !short.contains("--shared-files"),
        "{short}"
    );
    let long = serve.render_long_help().to_string();
    assert!(
        long.contains("--shared-files") && long.contains("Settings:"),
        "{long}"
    );
}
