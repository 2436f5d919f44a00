//! The router: a trie over the operation table.
use crate::error::ApiError;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;
use workgraph_operations::Method;
use workgraph_operations::operation::{NumberedOperation, Operation};
use workgraph_wire::percent;

/// Index of operations by method and path.
#[derive(Debug, Default)]
pub struct Router {
    root: RouteNode,
}

#[derive(Debug, Default)]
struct RouteNode {
    literals: FxHashMap<&'static str, RouteNode>,
    variable: Option<(&'static str, Box<RouteNode>)>,
    rows: Vec<(Method, &'static Operation, u16)>,
}

/// A matched operation with its path parameters, decoded.
#[derive(Debug)]
pub struct RouteMatch {
    /// The operation that was matched.
    pub operation: &'static Operation,
    /// Its number in the table, from 1.
    pub number: u16,
    /// Names and values of the parameters, in path order.
    pub parameters: Vec<(&'static str, String)>,
}

impl RouteMatch {
    pub(crate) const fn row(&self) -> NumberedOperation {
        (self.operation, self.number)
    }
}

/// Router of the operations of the API. The table is the same for every API of a process.
static OF_OPERATIONS: LazyLock<Router> =
    LazyLock::new(|| Router::new(workgraph_operations::TABLES));

impl Router {
    /// Returns the router of the operations of the API.
    pub(crate) fn of_operations() -> &'static Self {
        &OF_OPERATIONS
    }

    /// Builds a router from all tables.
    #[must_use]
    pub fn new(tables: &[&'static [Operation]]) -> Self {
        let mut router = Self::default();
        for (operation, number) in tables.iter().copied().flatten().zip(1..) {
            for path in std::iter::once(&operation.path).chain(operation.alias_paths) {
                router.add(path, operation, number);
            }
        }
        router
    }

    fn add(&mut self, path: &'static str, operation: &'static Operation, number: u16) {
        let mut at = &mut self.root;
        for segment in path.split('/').skip(1) {
            at = match segment.strip_prefix('{').and_then(|s| s.strip_suffix('}')) {
                Some(name) => &mut at.variable.get_or_insert_with(|| (name, Box::default())).1,
                None => at.literals.entry(segment).or_default(),
            };
        }
        at.rows.push((operation.method, operation, number));
    }

    /// Returns the operation of a request.
    ///
    /// # Errors
    /// Fails when no operation has the method and the path.
    pub(crate) fn match_route(
        &self,
        method: Option<Method>,
        path: &str,
    ) -> Result<RouteMatch, ApiError> {
        let found = method.and_then(|method| self.find(method, path));
        found.ok_or(ApiError::NoRoute)
    }

    /// Finds the operation of a request. One slash at the end of the path is ignored; otherwise paths are taken as they
    /// are. A parameter that is empty, badly encoded or contains a slash never matches.
    #[must_use]
    pub fn find(&self, method: Method, path: &str) -> Option<RouteMatch> {
        let mut at = &self.root;
        let mut parameters = Vec::new();
        let path = path.strip_prefix('/')?;
        for segment in path.strip_suffix('/').unwrap_or(path).split('/') {
            if let Some(next) = at.literals.get(segment) {
                at = next;
            } else {
                let (name, next) = at.variable.as_ref()?;
                parameters.push((*name, decode(segment)?));
                at = next;
            }
        }
        let (_, operation, number) = at.rows.iter().find(|(m, ..)| *m == method)?;
        Some(RouteMatch {
            operation,
            number: *number,
            parameters,
        })
    }
}

/// Decodes a percent-encoded path segment.
fn decode(segment: &str) -> Option<String> {
    let text = percent::decode(segment.as_bytes(), false).ok()?;
    (!text.is_empty() && !text.contains('/')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_path_with_another_method_has_no_route() {
        let router = Router::new(workgraph_operations::TABLES);
        let find = |method, path| router.find(Method::parse(method)?, path);
        assert_eq!(find("GET", "/tasks/12").unwrap().operation.id, "getTask");
        assert_eq!(
            find("GET", "/users/ann%40x.org").unwrap().parameters,
            [("user_gid", "ann@x.org".to_owned())]
        );
        assert_eq!(
            find("GET", "/users/a+n%2Bn").unwrap().parameters,
            [("user_gid", "a+n+n".to_owned())]
        );
        for path in ["/tasks/", "/tasks/12/", "/tasks/12/addTag/"] {
            let method = if path.ends_with("Tag/") {
                "POST"
            } else {
                "GET"
            };
            assert!(find(method, path).is_some(), "{path}");
        }
        for (method, path) in [
            ("PATCH", "/tasks/12"),
            ("POST", "/tasks/12"),
            ("HEAD", "/tasks/12"),
            ("TRACE", "/"),
            ("GET", ""),
            ("GET", "/"),
            ("GET", "//"),
            ("GET", "/tasks//"),
            ("GET", "/tasks//1"),
            ("GET", "/tasks/1%2f2"),
            ("GET", "/tasks/..;/x"),
            ("GET", "/tasks/%zz"),
            ("GET", "/tasks/%+1"),
            ("GET", "/tasks/1%2"),
            ("GET", "/tasks/%ff"),
            ("GET", "/tasks/%00"),
            ("GET", "tasks/12"),
            ("GET", "/TASKS/12"),
            ("GET", "/tasks/12//"),
        ] {
            assert!(find(method, path).is_none(), "{method} {path}");
        }
    }

    #[test]
    fn every_row_is_found_by_its_own_path() {
        let router = Router::new(workgraph_operations::TABLES);
        for operation in workgraph_operations::all() {
            let path: String = operation
                .path
                .split('/')
                .skip(1)
                .map(|s| {
                    if s.starts_with('{') {
                        "/7".to_owned()
                    } else {
                        format!("/{s}")
                    }
                })
                .collect();
            let found = router.find(operation.method, &path).unwrap();
            assert_eq!(found.operation.id, operation.id);
            let numbered = workgraph_operations::all().nth(usize::from(found.number) - 1);
            assert_eq!(numbered.unwrap().id, operation.id);
        }
    }
}
