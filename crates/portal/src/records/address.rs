//! Addresses of records, in the forms used by people and programs.
use workgraph_core::Gid;
use workgraph_core::model::permalink::{RECORD_PAGES, TYPES_WITH_PAGES};
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::resource;

/// Record named by an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordAddress {
    pub(super) ty: Type,
    pub(super) gid: Gid,
}

impl RecordAddress {
    /// Parses the path of a page: `/0/PROJECT/TASK`, `/0/0/TASK`, `/0/PROJECT` and `/0/TYPE/GID`. Further segments after a
    /// task or a project name a view of it, such as `/f` or `/list`, and are ignored.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let below = path.strip_prefix(RECORD_PAGES)?.strip_prefix('/')?;
        let parts: Vec<&str> = below.trim_end_matches('/').split('/').collect();
        let number = |at: usize| parts.get(at).and_then(|part| Gid::parse(part));
        let is_zero = parts.first() == Some(&"0");
        let record = |ty, gid| Some(Self { ty, gid });
        match (number(0), number(1)) {
            (Some(project), Some(same)) if project == same => record(Type::Project, project),
            (Some(_), Some(task)) => record(Type::Task, task),
            (None, Some(task)) if is_zero => record(Type::Task, task),
            (Some(project), None) => record(Type::Project, project),
            (None, Some(gid)) => {
                let named = |ty: &&Type| Some(&resource(**ty).name) == parts.first();
                let ty = TYPES_WITH_PAGES.iter().find(named)?;
                record(*ty, gid)
            }
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workgraph_core::model::permalink::page_path;

    #[test]
    fn every_form_of_an_address_names_its_record() {
        let gid = |n| Gid::new(n).unwrap();
        for (path, ty, number) in [
            ("/0/7/12", Type::Task, 12),
            ("/0/0/12", Type::Task, 12),
            ("/0/0/12/f", Type::Task, 12),
            ("/0/7/12/f", Type::Task, 12),
            ("/0/7", Type::Project, 7),
            ("/0/7/", Type::Project, 7),
            ("/0/7/7", Type::Project, 7),
            ("/0/7/list", Type::Project, 7),
            ("/0/portfolio/9", Type::Portfolio, 9),
            ("/0/portfolio/9/list", Type::Portfolio, 9),
        ] {
            let gid = gid(number);
            assert_eq!(
                RecordAddress::parse(path),
                Some(RecordAddress { ty, gid }),
                "{path}"
            );
        }
        for path in [
            "/0",
            "/0/",
            "/0/0",
            "/0/x/12",
            "/0/0/x",
            "/0/webhook/9",
            "/0/-1/2",
        ] {
            assert_eq!(RecordAddress::parse(path), None, "{path}");
        }
    }

    #[test]
    fn the_page_of_each_type_is_read_back() {
        let gid = Gid::new(12).unwrap();
        for &ty in TYPES_WITH_PAGES {
            let path = page_path(ty, gid, None).unwrap();
            assert_eq!(RecordAddress::parse(&path), Some(RecordAddress { ty, gid }));
        }
    }
}
