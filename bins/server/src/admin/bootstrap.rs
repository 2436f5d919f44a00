//! The first start: makes the first users, workspaces, tokens and apps, and writes them into `bootstrap.json`.
use crate::adapters::data_dir::write_private;
use crate::admin::apps::NewApp;
use crate::admin::demo;
use crate::admin::service::AdminService;
use crate::config::Config;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use workgraph_auth::RegisteredScopes;
use workgraph_core::access::Role;
use workgraph_core::{Gid, Type};

/// Content of `bootstrap.json`. Tests and tools read these keys.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Bootstrap {
    pub(crate) base_url: String,
    pub(crate) auth_url: String,
    pub(crate) users: Vec<UserEntry>,
    pub(crate) workspaces: Vec<WorkspaceEntry>,
    pub(crate) teams: Vec<TeamEntry>,
    pub(crate) personal_access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) free_token: Option<String>,
    #[serde(default)]
    pub(crate) apps: Vec<AppEntry>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct UserEntry {
    pub(crate) gid: String,
    pub(crate) name: String,
    pub(crate) email: String,
    /// Password of the first user, until it is used or replaced; in a demo, until it is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) password: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorkspaceEntry {
    pub(crate) gid: String,
    pub(crate) name: String,
    pub(crate) plan: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TeamEntry {
    pub(crate) gid: String,
    pub(crate) name: String,
    pub(crate) workspace: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AppEntry {
    pub(crate) name: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
    pub(crate) redirect_uri: String,
    pub(crate) full_permissions: bool,
    pub(crate) scopes: String,
}

impl Bootstrap {
    /// Makes a workspace and notes it.
    pub(crate) async fn workspace(
        &mut self,
        office: &AdminService,
        name: &str,
        paid: bool,
        organization: bool,
    ) -> Result<Gid, String> {
        let gid = office.create_workspace(name, paid, organization).await?;
        let plan = if paid { "paid" } else { "free" };
        self.workspaces.push(WorkspaceEntry {
            gid: gid.to_string(),
            name: name.to_owned(),
            plan: plan.to_owned(),
        });
        Ok(gid)
    }

    /// Makes a user with a membership and notes it.
    pub(crate) async fn user(
        &mut self,
        office: &AdminService,
        who: (&str, &str),
        seat: (Gid, Role),
        password: &str,
    ) -> Result<Gid, String> {
        let password = if password.is_empty() {
            office.password()?
        } else {
            password.to_owned()
        };
        let place = office.node(Type::Workspace, &seat.0.to_string()).await?;
        let gid = office
            .create_user(who.0, who.1, Some((&place, seat.1)), &password)
            .await?
            .user;
        self.users.push(UserEntry {
            gid: gid.to_string(),
            name: who.0.to_owned(),
            email: who.1.to_lowercase(),
            password: Some(password),
        });
        Ok(gid)
    }

    /// Registers an app and notes it.
    pub(crate) async fn app(
        &mut self,
        office: &AdminService,
        new: &NewApp<'_>,
    ) -> Result<(), String> {
        let (app, secret) = office.create_app(new).await?;
        self.apps.push(AppEntry {
            client_id: app.client_id(),
            client_secret: secret.expose().to_owned(),
            redirect_uri: new.redirects.first().cloned().unwrap_or_default(),
            full_permissions: new.scopes == RegisteredScopes::Full,
            scopes: new.scopes.set().to_string(),
            name: app.name,
        });
        Ok(())
    }

    /// Makes a token.
    pub(crate) async fn token(
        &self,
        office: &AdminService,
        who: Gid,
        description: &str,
    ) -> Result<String, String> {
        Ok(office
            .create_token(who, description, None, None)
            .await?
            .1
            .expose()
            .to_owned())
    }
}

/// Passwords in the file, which are removed once they are used or replaced.
#[derive(Debug)]
pub(crate) struct FirstPasswords {
    folder: PathBuf,
    /// True in a demo, whose passwords stay in the file after a sign-in.
    demo: bool,
    /// Lock held while the file is read and written.
    file: Mutex<()>,
}

impl FirstPasswords {
    /// Returns the passwords in the file of a folder.
    pub(crate) fn of(folder: &Path, demo: bool) -> Self {
        Self {
            folder: folder.to_owned(),
            demo,
            file: Mutex::default(),
        }
    }

    /// Removes the password of a user who has signed in with it.
    pub(crate) fn used(&self, user: u64) {
        if !self.demo {
            self.changed(user);
        }
    }

    /// Removes the password of a user whose password was replaced.
    pub(crate) fn changed(&self, user: u64) {
        if let Err(why) = self.remove(&user.to_string()) {
            tracing::error!(why, "a first password still stands in bootstrap.json");
        }
    }

    fn remove(&self, user: &str) -> Result<(), String> {
        let _alone = self.file.lock();
        let Some(mut boot) = kept(&self.folder)? else {
            return Ok(());
        };
        let mut own = boot.users.iter_mut().filter(|entry| entry.gid == user);
        match own.find_map(|entry| entry.password.take()) {
            Some(_) => save(&self.folder, &boot),
            None => Ok(()),
        }
    }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("bootstrap.json")
}

/// Makes the first users, workspaces, tokens and apps if the store is empty; later only keeps the addresses in the file
/// right. Returns the content of the file, if there still is one.
///
/// # Errors
/// Fails if an object can't be made, or the file can't be written.
pub(crate) async fn prepare(
    office: &AdminService,
    config: &Config,
    demo: bool,
    root: &str,
) -> Result<Option<Bootstrap>, String> {
    let folder = config.folder();
    let begun = folder.join("bootstrap.begun");
    if begun.exists() {
        return Err(format!(
            "the first start in {} was broken off, so what it holds is incomplete; remove the folder and start again",
            folder.display()
        ));
    }
    let (base_url, auth_url) = (
        format!("{root}{}", crate::http::routes::BASE),
        root.to_owned(),
    );
    if office.workspaces().await?.is_empty() {
        write_private(&begun, b"")?;
        let mut boot = Bootstrap {
            base_url,
            auth_url,
            ..Bootstrap::default()
        };
        if demo {
            demo::create_demo(&mut boot, office).await?;
        } else {
            let place = boot
                .workspace(office, &config.admin.workspace, true, true)
                .await?;
            let domains = config.admin.domains.split([',', ' ']);
            let domains: Vec<String> = domains
                .filter(|d| !d.is_empty())
                .map(str::to_owned)
                .collect();
            if !domains.is_empty() {
                let node = office.node(Type::Workspace, &place.to_string()).await?;
                office.tie_domains(&node, &domains).await?;
            }
            let who = (config.admin.name.as_str(), config.admin.email.as_str());
            let admin = boot
                .user(office, who, (place, Role::Admin), &config.admin.password)
                .await?;
            boot.personal_access_token = boot.token(office, admin, "First token").await?;
        }
        save(folder, &boot)?;
        std::fs::remove_file(&begun).map_err(|e| format!("{}: {e}", begun.display()))?;
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

/// Reads the file. Operators may remove it, since it holds secrets; then it is not made again.
fn kept(folder: &Path) -> Result<Option<Bootstrap>, String> {
    let path = file(folder);
    let wrong = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| wrong(&e)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(wrong(&e)),
    }
}

fn save(folder: &Path, boot: &Bootstrap) -> Result<(), String> {
    let mut text = serde_json::to_vec_pretty(boot).map_err(|e| e.to_string())?;
    text.push(b'\n');
    write_private(&file(folder), &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B68.
    #[test]
    fn a_first_password_stays_until_it_is_used_or_another_one_takes_its_place() {
        let name = format!("workgraph-first-password-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        crate::adapters::data_dir::create_data_dir(&folder).unwrap();
        let entry = |gid: &str| UserEntry {
            gid: gid.to_owned(),
            name: "Ada".to_owned(),
            email: format!("{gid}@example.com"),
            password: Some(format!("password of {gid}")),
        };
        let boot = Bootstrap {
            users: ["1", "2", "11"].map(entry).into(),
            personal_access_token: "wgp_x".to_owned(),
            ..Bootstrap::default()
        };
        let left = || {
            let text = std::fs::read_to_string(file(&folder)).unwrap();
            assert!(text.contains("wgp_x"), "{text}");
            let all = ["1", "2", "11"].into_iter();
            all.filter(|gid| text.contains(&format!("password of {gid}\"")))
                .collect::<Vec<_>>()
        };
        FirstPasswords::of(&folder, false).used(1);
        assert!(!file(&folder).exists(), "a file that is gone stays so");
        save(&folder, &boot).unwrap();
        let demo = FirstPasswords::of(&folder, true);
        demo.used(1);
        assert_eq!(left(), ["1", "2", "11"]);
        demo.changed(1);
        assert_eq!(left(), ["2", "11"]);
        let first = FirstPasswords::of(&folder, false);
        for _ in 0..2 {
            first.used(2);
            first.used(3);
            assert_eq!(left(), ["11"]);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_that_is_gone_was_removed_and_one_that_cannot_be_read_is_told() {
        let name = format!("workgraph-bootstrap-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        crate::adapters::data_dir::create_data_dir(&folder).unwrap();
        assert!(kept(&folder).unwrap().is_none());
        std::fs::create_dir(file(&folder)).unwrap();
        assert!(kept(&folder).unwrap_err().contains("bootstrap.json"));
        std::fs::remove_dir(file(&folder)).unwrap();
        std::fs::write(file(&folder), "{").unwrap();
        assert!(kept(&folder).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
