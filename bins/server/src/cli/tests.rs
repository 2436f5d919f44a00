//! The command line is sound.
use super::*;
use clap::CommandFactory;

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
    assert!(matches!(cli.command, Some(Command::Serve(serve)) if serve.no_jobs));
}
