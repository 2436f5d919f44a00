//! The file `bootstrap.json`: the first users, workspaces, tokens and apps, and the first passwords.
use crate::adapters::data_dir::write_private;
use anyhow::{Context, Result};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

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
        if let Err(error) = self.remove(&user.to_string()) {
            tracing::error!(
                reason = format!("{error:#}"),
                "a first password still stands in bootstrap.json"
            );
        }
    }

    fn remove(&self, user: &str) -> Result<()> {
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

/// Reads the file. Operators may remove it, since it holds secrets; then it is not made again.
pub(crate) fn kept(folder: &Path) -> Result<Option<Bootstrap>> {
    let path = file(folder);
    let named = || path.display().to_string();
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(named),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e).with_context(named),
    }
}

/// Writes the file.
pub(crate) fn save(folder: &Path, boot: &Bootstrap) -> Result<()> {
    let mut text = serde_json::to_vec_pretty(boot)?;
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
        let error = format!("{:#}", kept(&folder).unwrap_err());
        assert!(error.contains("bootstrap.json: "), "{error}");
        std::fs::remove_dir(file(&folder)).unwrap();
        std::fs::write(file(&folder), "{").unwrap();
        assert!(kept(&folder).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
