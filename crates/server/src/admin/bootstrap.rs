//! The first start: creates the first users, workspaces, tokens and apps, and writes them to `bootstrap.json`.
use crate::adapters::data_dir::write_private;
use crate::adapters::folder_use::{self, AcceptedLosses};
use crate::adapters::private_values::PrivateValues;
use crate::admin::admin_service::AdminService;
use crate::admin::bootstrap_file::{Bootstrap, BootstrapFile, save};
use crate::admin::demo;
use crate::admin::fixture::Fixture;
use crate::admin::fixture_content::create_fixture;
use crate::config::Config;
use anyhow::{Context, Result, bail};
use std::path::Path;
use workgraph_core::Type;
use workgraph_core::access::Role;

/// Name of the value that tells the nodes of a database if the first start was completed.
const MARK: &str = "first-start";
/// Values of [`MARK`].
const BEGUN: &str = "begun";
const DONE: &str = "done";
/// File that exists in a data folder from the beginning of the first start until its end.
const MARK_FILE: &str = "bootstrap.begun";

/// Mark of a first start, set before its first commit and removed after the last one: the objects created by an
/// interrupted start are incomplete, and are never served.
struct StartMark<'a> {
    folder: &'a Path,
    /// The values of the database, if nodes share one.
    values: Option<&'a PrivateValues>,
}

impl<'a> StartMark<'a> {
    fn of(config: &'a Config, values: &'a PrivateValues) -> Self {
        Self {
            folder: config.folder(),
            values: values.are_shared().then_some(values),
        }
    }

    async fn check(&self) -> Result<()> {
        let Some(values) = self.values else {
            if self.folder.join(MARK_FILE).exists() {
                bail!(
                    "the first start in {} was broken off, so what it holds is incomplete; remove the folder and start again",
                    self.folder.display()
                );
            }
            return Ok(());
        };
        let found = values.read(MARK).await?;
        if found.is_some_and(|mark| mark.text == BEGUN) {
            bail!(
                "the first start with this database was broken off, so what it holds is incomplete; drop the database, create it again, and start again"
            );
        }
        Ok(())
    }

    async fn begin(&self) -> Result<()> {
        match self.values {
            None => write_private(&self.folder.join(MARK_FILE), b""),
            Some(values) => write(values, BEGUN).await,
        }
    }

    async fn end(&self) -> Result<()> {
        match self.values {
            None => {
                let path = self.folder.join(MARK_FILE);
                std::fs::remove_file(&path)
                    .with_context(|| format!("{}: the file can't be removed", path.display()))
            }
            Some(values) => write(values, DONE).await,
        }
    }
}

/// Replaces the mark; the lease on the first start keeps other nodes from doing so at the same time.
async fn write(values: &PrivateValues, mark: &str) -> Result<()> {
    let version = values.read(MARK).await?.and_then(|found| found.version);
    if !values.replace(MARK, version, mark).await? {
        bail!("another node has changed the mark of the first start; start again");
    }
    Ok(())
}

/// Refuses to create the first users if traces show that other users existed before.
fn check_traces(config: &Config, place: &BootstrapFile, accepted: AcceptedLosses) -> Result<()> {
    let folder = config.folder();
    let is_shared = !config.database.url.is_empty();
    let traces = if is_shared {
        Vec::new()
    } else {
        folder_use::traces_beside_database(folder)?
    };
    match (place.kept()?, traces.is_empty(), accepted.database) {
        (None, true, _) => Ok(()),
        (Some((path, _)), true, false) => bail!(
            "the database is empty, but {} names users of one that was in use. Is store.url that of another database? To begin with this one, start with --new",
            path.display()
        ),
        (_, false, false) => bail!(folder_use::lost_database(folder, &traces)),
        (kept, _, true) => {
            if let (Some((path, _)), true) = (kept, is_shared) {
                let aside = path.with_extension("json.replaced");
                std::fs::rename(&path, aside).with_context(|| path.display().to_string())?;
            }
            if traces.is_empty() {
                return Ok(());
            }
            folder_use::move_aside(folder, &traces)
        }
    }
}

/// Objects that an empty store begins with.
#[derive(Clone, Copy)]
pub(crate) enum FirstObjects<'a> {
    /// A workspace with an admin, both named by the settings.
    Admin,
    /// Two workspaces and a small graph.
    Demo,
    /// Start with the objects of a fixture.
    Fixture(&'a Fixture),
}

impl FirstObjects<'_> {
    /// Returns the demo, or just the admin for a server that is not a demo.
    pub(crate) const fn of_demo(is_demo: bool) -> Self {
        if is_demo { Self::Demo } else { Self::Admin }
    }

    pub(crate) const fn is_demo(self) -> bool {
        matches!(self, Self::Demo)
    }
}

/// Creates the first users, workspaces, tokens and apps if the store is empty; later only keeps the addresses in the file
/// up to date. Returns the content of the file, if it still exists.
///
/// # Errors
/// Fails if an object can't be created, or the file can't be written.
pub(crate) async fn prepare(
    service: &AdminService,
    config: &Config,
    objects: FirstObjects<'_>,
    root: &str,
    (values, accepted): (&PrivateValues, AcceptedLosses),
) -> Result<Option<Bootstrap>> {
    let place = BootstrapFile::of(config);
    let mark = StartMark::of(config, values);
    mark.check().await?;
    let (base_url, auth_url) = (
        format!("{root}{}", crate::http::own_address::BASE),
        root.to_owned(),
    );
    if service.workspaces().await?.is_empty() {
        check_traces(config, &place, accepted)?;
        mark.begin().await?;
        let mut boot = Bootstrap {
            base_url,
            auth_url,
            ..Bootstrap::default()
        };
        if objects.is_demo() {
            demo::create_demo(&mut boot, service).await?;
        } else if let FirstObjects::Fixture(fixture) = objects {
            create_fixture(&mut boot, service, fixture).await?;
        } else {
            let workspace = boot
                .workspace(service, &config.admin.workspace, true, true)
                .await?;
            let domains = config.admin.domains.split([',', ' ']);
            let domains: Vec<String> = domains
                .filter(|d| !d.is_empty())
                .map(str::to_owned)
                .collect();
            if !domains.is_empty() {
                let node = service
                    .node(Type::Workspace, &workspace.to_string())
                    .await?;
                service.tie_domains(&node, &domains).await?;
            }
            let user = (config.admin.name.as_str(), config.admin.email.as_str());
            let admin = boot
                .user(
                    service,
                    user,
                    (workspace, Role::Admin),
                    &config.admin.password,
                )
                .await?;
            boot.personal_access_token = boot.token(service, admin, "First token").await?;
        }
        place.save(&boot)?;
        mark.end().await?;
        return Ok(Some(boot));
    }
    let Some((path, mut boot)) = place.kept()? else {
        return Ok(None);
    };
    let mut is_changed = boot.base_url != base_url || boot.auth_url != auth_url;
    (boot.base_url, boot.auth_url) = (base_url, auth_url);
    if objects.is_demo() {
        is_changed |= demo::renew_token(&mut boot, service).await?;
    }
    if is_changed {
        save(&path, &boot)?;
    }
    Ok(Some(boot))
}
