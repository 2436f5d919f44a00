//! Completions of shells and the manual page, both made from the declaration of the command line.
use super::Cli;
use clap::CommandFactory;
use clap_complete::Shell;

/// Returns the script that completes commands in a shell.
pub(crate) fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "workgraph", &mut script);
    script
}

/// Returns the manual page in the form of `man(7)`, with a section for each command.
///
/// # Errors
/// Fails if the page can't be written; writing to memory never fails.
pub(crate) fn manual() -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    let mut rest = subcommands(&command, "workgraph");
    rest.reverse();
    while let Some((name, command)) = rest.pop() {
        let man = clap_mangen::Man::new(command.clone());
        let heading = format!(".SH {}\n", name.to_uppercase().replace('-', "\\-"));
        page.extend_from_slice(heading.as_bytes());
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
        let mut inner = subcommands(command, &name);
        inner.reverse();
        rest.extend(inner);
    }
    Ok(page)
}

/// Returns the subcommands of a command, each with its full name.
fn subcommands<'c>(command: &'c clap::Command, name: &str) -> Vec<(String, &'c clap::Command)> {
    command
        .get_subcommands()
        .filter(|inner| inner.get_name() != "help")
        .map(|inner| (format!("{name} {}", inner.get_name()), inner))
        .collect()
}
