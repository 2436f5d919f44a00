//! The first start: makes the first users, workspaces, tokens and apps, and writes them into `bootstrap.json`.
use crate::adapters::data_dir::write_private;
use crate::admin::admin_service::AdminService;
use crate::admin::bootstrap_file::{Bootstrap, kept, save};
use crate::admin::demo;
use crate::config::Config;
use anyhow::{Context, Result, bail};
use workgraph_core::Type;
use workgraph_core::access::Role;

/// Makes the first users, workspaces, tokens and apps if the store is empty; later only keeps the addresses in the file
/// right. Returns the content of the file, if there still is one.
///
/// # Errors
/// Fails if an object can't be made, or the file can't be written.
pub(crate) async fn prepare(
    service: &AdminService,
    config: &Config,
    demo: bool,
    root: &str,
) -> Result<Option<Bootstrap>> {
    let folder = config.folder();
    let begun = folder.join("bootstrap.begun");
    if begun.exists() {
        bail!(
            "the first start in {} was broken off, so what it holds is incomplete; remove the folder and start again",
            folder.display()
        );
    }
    let (base_url, auth_url) = (
        format!("{root}{}", crate::http::routes::BASE),
        root.to_owned(),
    );
    if service.workspaces().await?.is_empty() {
        write_private(&begun, b"")?;
        let mut boot = Bootstrap {
            base_url,
            auth_url,
            ..Bootstrap::default()
        };
        if demo {
            demo::create_demo(&mut boot, service).await?;
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
        save(folder, &boot)?;
        std::fs::remove_file(&begun)
            .with_context(|| format!("{}: the file can't be removed", begun.display()))?;
        return Ok(Some(boot));
    }
    let Some(mut boot) = kept(folder)? else {
        return Ok(None);
    };
    if boot.base_url != base_url || boot.auth_url != auth_url {
        (boot.base_url, boot.auth_url) = (base_url, auth_url);
        save(folder, &boot)?;
    }
    Ok(Some(boot))
}
