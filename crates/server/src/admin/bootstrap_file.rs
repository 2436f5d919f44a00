//! The file `bootstrap.json`: the first users, workspaces, tokens and apps, and the first passwords.
use crate::adapters::data_dir::write_private;
use crate::config::Config;
use anyhow::{Context, Result};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Content of `bootstrap.json`. Tests and tools read these keys.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Bootstrap {
    /// Address of the API.
    pub base_url: String,
    /// Address of the authorization server and the pages.
    pub auth_url: String,
    /// First users; the first of them is the admin.
    pub users: Vec<UserEntry>,
    /// First workspaces.
    pub workspaces: Vec<WorkspaceEntry>,
    /// First teams.
    pub teams: Vec<TeamEntry>,
    /// Personal access token of the first user.
    pub personal_access_token: String,
    /// Token of another user in a demo, with its own limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_token: Option<String>,
    /// Token of a user of the demo's free workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_token: Option<String>,
    /// First apps.
    #[serde(default)]
    pub apps: Vec<AppEntry>,
    /// Gids of the objects of a fixture, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
}

/// User of `bootstrap.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserEntry {
    /// Gid of the user.
    pub gid: String,
    /// Display name of the user.
    pub name: String,
    /// Address to sign in with.
    pub email: String,
    /// Password of the first user, until it is used or replaced; in a demo, until it is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Personal access token of a user of a fixture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// Workspace of `bootstrap.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkspaceEntry {
    /// Gid of the workspace.
    pub gid: String,
    /// Display name of the workspace.
    pub name: String,
    /// Plan: `free` or `paid`.
    pub plan: String,
}

/// Team of `bootstrap.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TeamEntry {
    /// Gid of the team.
    pub gid: String,
    /// Display name of the team.
    pub name: String,
    /// Gid of its workspace.
    pub workspace: String,
}

/// App of `bootstrap.json`, with its secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AppEntry {
    /// Display name of the app.
    pub name: String,
    /// Client id, in decimal.
    pub client_id: String,
    /// Client secret in clear text.
    pub client_secret: String,
    /// Registered redirect URI.
    pub redirect_uri: String,
    /// True if the app requests full permissions instead of scopes.
    pub full_permissions: bool,
    /// Registered scopes, separated by spaces.
    pub scopes: String,
}

/// Location of the file: the data folder, or the folder that the nodes of a database share. One node creates the first users,
/// and operators don't need to know which.
#[derive(Clone, Debug)]
pub(crate) struct BootstrapFile {
    folder: PathBuf,
    /// Data folder of this node, if the file is in another folder.
    own: Option<PathBuf>,
}

pub(crate) const NAME: &str = "bootstrap.json";

impl BootstrapFile {
    /// Returns the location according to the settings.
    pub(crate) fn of(config: &Config) -> Self {
        let (folder, own) = (config.files_folder(), config.folder());
        let is_own = folder == own
            || matches!((folder.canonicalize(), own.canonicalize()), (Ok(folder), Ok(own)) if folder == own);
        Self {
            folder: folder.to_owned(),
            own: (!is_own).then(|| own.to_owned()),
        }
    }

    /// Returns the path for new files.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// Reads the file, and returns its path. Operators may remove it, since it contains secrets; then it is not created again.
    ///
    /// # Errors
    /// Fails if it can't be read.
    pub(crate) fn kept(&self) -> Result<Option<(PathBuf, Bootstrap)>> {
        // Nodes of earlier versions have it in their data folders.
        for folder in std::iter::once(&self.folder).chain(&self.own) {
            let path = folder.join(NAME);
            let named = || path.display().to_string();
            match std::fs::read(&path) {
                Ok(bytes) => {
                    let boot = serde_json::from_slice(&bytes).with_context(named)?;
                    return Ok(Some((path, boot)));
                }
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => return Err(e).with_context(named),
            }
        }
        Ok(None)
    }

    /// Writes the file of a first start, and a link to it in the data folder if it is elsewhere.
    ///
    /// # Errors
    /// Fails if it can't be written.
    pub(crate) fn save(&self, boot: &Bootstrap) -> Result<()> {
        let path = self.path();
        save(&path, boot)?;
        let Some(own) = &self.own else {
            return Ok(());
        };
        let link = own.join(NAME);
        let target = path.canonicalize();
        let target = target.with_context(|| path.display().to_string())?;
        match std::os::unix::fs::symlink(target, &link) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            made => made.with_context(|| link.display().to_string()),
        }
    }
}

/// Writes the content to a file that only its owner can read.
///
/// # Errors
/// Fails if it can't be written.
pub(crate) fn save(path: &Path, boot: &Bootstrap) -> Result<()> {
    let mut text = serde_json::to_vec_pretty(boot)?;
    text.push(b'\n');
    write_private(path, &text)
}

/// First passwords, which are removed once they are used or replaced.
#[derive(Debug)]
pub(crate) struct FirstPasswords {
    /// File with the passwords; worlds that a test makes have none.
    file: Option<BootstrapFile>,
    /// Lock held while the file is read and written.
    lock: Mutex<()>,
    /// Passwords that a world of a stand-in shows.
    world: OnceLock<WorldBootstrap>,
    /// True in a demo, whose passwords stay after a sign-in.
    demo: bool,
}

/// Content of `bootstrap.json` as a world of a stand-in shows it. Worlds that begin with the same content share it until one
/// of them changes it.
pub(crate) type WorldBootstrap = Arc<Mutex<Arc<Bootstrap>>>;

impl FirstPasswords {
    /// Returns the passwords in a file.
    pub(crate) fn of(file: BootstrapFile, demo: bool) -> Self {
        Self {
            file: Some(file),
            ..Self::of_world(demo)
        }
    }

    /// Returns the passwords of a world without a file.
    pub(crate) fn of_world(demo: bool) -> Self {
        Self {
            file: None,
            lock: Mutex::default(),
            world: OnceLock::new(),
            demo,
        }
    }

    /// Keeps the passwords that a world shows up to date. Only the first call has an effect.
    pub(crate) fn follow(&self, world: WorldBootstrap) {
        self.world.get_or_init(|| world);
    }

    /// Removes the password of a user who has signed in with it.
    pub(crate) fn used(&self, user: u64) {
        if !self.demo {
            self.changed(user);
        }
    }

    /// Removes the password of a user whose password was replaced.
    pub(crate) fn changed(&self, user: u64) {
        if let Err(error) = self.remove(&user.to_string()) {
            tracing::error!(
                reason = format!("{error:#}"),
                "a first password is still in bootstrap.json"
            );
        }
    }

    fn remove(&self, user: &str) -> Result<()> {
        if let Some(world) = self.world.get() {
            let mut bootstrap = world.lock();
            if bootstrap.password_of(user).is_some() {
                Arc::make_mut(&mut bootstrap).remove_password(user);
            }
        }
        let _alone = self.lock.lock();
        let kept = self.file.as_ref().map(BootstrapFile::kept).transpose()?;
        if let Some((path, mut bootstrap)) = kept.flatten()
            && bootstrap.remove_password(user)
        {
            save(&path, &bootstrap)?;
        }
        Ok(())
    }
}

impl Bootstrap {
    fn password_of(&self, user: &str) -> Option<&str> {
        let entry = self.users.iter().find(|entry| entry.gid == user)?;
        entry.password.as_deref()
    }

    /// Removes the password of a user. Returns false if there is none.
    fn remove_password(&mut self, user: &str) -> bool {
        let mut own = self.users.iter_mut().filter(|entry| entry.gid == user);
        own.find_map(|entry| entry.password.take()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the place in a folder of one server.
    fn place(folder: &Path) -> BootstrapFile {
        BootstrapFile {
            folder: folder.to_owned(),
            own: None,
        }
    }

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
            token: None,
        };
        let boot = Bootstrap {
            users: ["1", "2", "11"].map(entry).into(),
            personal_access_token: "wgp_x".to_owned(),
            ..Bootstrap::default()
        };
        let left = || {
            let text = std::fs::read_to_string(place(&folder).path()).unwrap();
            assert!(text.contains("wgp_x"), "{text}");
            let all = ["1", "2", "11"].into_iter();
            all.filter(|gid| text.contains(&format!("password of {gid}\"")))
                .collect::<Vec<_>>()
        };
        FirstPasswords::of(place(&folder), false).used(1);
        assert!(
            !place(&folder).path().exists(),
            "a file that is gone stays so"
        );
        place(&folder).save(&boot).unwrap();
        let demo = FirstPasswords::of(place(&folder), true);
        demo.used(1);
        assert_eq!(left(), ["1", "2", "11"]);
        demo.changed(1);
        assert_eq!(left(), ["2", "11"]);
        let first = FirstPasswords::of(place(&folder), false);
        for _ in 0..2 {
            first.used(2);
            first.used(3);
            assert_eq!(left(), ["11"]);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_password_that_is_replaced_in_one_world_stays_in_the_others() {
        let entry = UserEntry {
            gid: "1".to_owned(),
            name: "Ada".to_owned(),
            email: "ada@example.com".to_owned(),
            password: Some("the first password".to_owned()),
            token: None,
        };
        let shared = Arc::new(Bootstrap {
            users: vec![entry],
            ..Bootstrap::default()
        });
        let [first, second] = [true, false].map(|demo| {
            let own = Arc::new(Mutex::new(Arc::clone(&shared)));
            let passwords = FirstPasswords::of_world(demo);
            passwords.follow(Arc::clone(&own));
            (passwords, own)
        });
        let has = |own: &WorldBootstrap| own.lock().password_of("1").is_some();
        first.0.used(1);
        second.0.changed(2);
        assert!(has(&first.1) && has(&second.1));
        first.0.changed(1);
        assert!(!has(&first.1) && has(&second.1));
        second.0.used(1);
        assert!(!has(&second.1) && shared.password_of("1").is_some());
        FirstPasswords::of_world(false).used(1);
    }

    #[test]
    fn a_file_that_is_gone_was_removed_and_one_that_cannot_be_read_is_told() {
        let name = format!("workgraph-bootstrap-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        crate::adapters::data_dir::create_data_dir(&folder).unwrap();
        assert!(place(&folder).kept().unwrap().is_none());
        std::fs::create_dir(place(&folder).path()).unwrap();
        let error = format!("{:#}", place(&folder).kept().unwrap_err());
        assert!(error.contains("bootstrap.json: "), "{error}");
        std::fs::remove_dir(place(&folder).path()).unwrap();
        std::fs::write(place(&folder).path(), "{").unwrap();
        assert!(place(&folder).kept().is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn nodes_have_one_file_in_the_folder_they_share_and_its_first_passwords_end_on_any_of_them() {
        let root = std::env::temp_dir().join(format!("workgraph-boot-{}", std::process::id()));
        let (shared, first, second) = (root.join("shared"), root.join("a"), root.join("b"));
        for folder in [&shared, &first, &second] {
            crate::adapters::data_dir::create_data_dir(folder).unwrap();
        }
        let of = |own: &Path| BootstrapFile {
            folder: shared.clone(),
            own: Some(own.to_owned()),
        };
        let boot = Bootstrap {
            users: vec![UserEntry {
                gid: "1".to_owned(),
                name: "Ada".to_owned(),
                email: "ada@example.com".to_owned(),
                password: Some("the first password".to_owned()),
                token: None,
            }],
            ..Bootstrap::default()
        };
        of(&first).save(&boot).unwrap();
        let read = |folder: &Path| std::fs::read_to_string(folder.join(NAME)).unwrap();
        assert!(read(&first).contains("the first password"));
        assert!(!second.join(NAME).exists());
        FirstPasswords::of(of(&second), false).used(1);
        assert!(!read(&shared).contains("password"));
        assert!(!read(&first).contains("password"));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
