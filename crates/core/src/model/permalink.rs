//! Addresses of the pages that show records to people.
pub use super::page_address::pages_url;
pub use workgraph_richtext::page_html;

use super::gid::Gid;
use super::registry::Type;
use super::resources::resource;

/// Start of the paths of all record pages.
pub const RECORD_PAGES: &str = "/0";

/// The types that have pages.
pub const TYPES_WITH_PAGES: &[Type] = &[
    Type::Task,
    Type::Project,
    Type::Portfolio,
    Type::Tag,
    Type::Team,
    Type::ProjectBrief,
    Type::Goal,
    Type::StatusUpdate,
    Type::User,
];

/// Returns the path of the page of a record: `/0/PROJECT/TASK` for a task, with 0 for no project, `/0/PROJECT` for a
/// project, and `/0/TYPE/GID` for other records. `None` if the type has no pages.
#[must_use]
pub fn page_path(ty: Type, gid: Gid, project: Option<Gid>) -> Option<String> {
    if !TYPES_WITH_PAGES.contains(&ty) {
        return None;
    }
    let mut path = String::with_capacity(48);
    path.push_str(RECORD_PAGES);
    path.push('/');
    match ty {
        Type::Task => {
            match project {
                Some(project) => project.push_to(&mut path),
                None => path.push('0'),
            }
            path.push('/');
        }
        Type::Project => {}
        _ => {
            path.push_str(resource(ty).name);
            path.push('/');
        }
    }
    gid.push_to(&mut path);
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_a_task_names_its_project_and_others_name_their_type() {
        let gid = |n| Gid::new(n).unwrap();
        let path = |ty, project| page_path(ty, gid(12), project);
        assert_eq!(path(Type::Task, Some(gid(7))).unwrap(), "/0/7/12");
        assert_eq!(path(Type::Task, None).unwrap(), "/0/0/12");
        assert_eq!(path(Type::Project, None).unwrap(), "/0/12");
        assert_eq!(path(Type::Portfolio, None).unwrap(), "/0/portfolio/12");
        assert_eq!(path(Type::Webhook, None), None);
        assert_eq!(
            pages_url("https://w.example/x/api/1.0"),
            "https://w.example/x"
        );
    }
}
