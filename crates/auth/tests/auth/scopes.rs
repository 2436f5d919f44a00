//! Scopes: the registry, and the laws of sets.
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};
use workgraph_auth::tokens::scope::{DEFAULT, SCOPES};
use workgraph_auth::{ScopeError, ScopeSet};

fn names() -> Vec<&'static str> {
    SCOPES.iter().map(|scope| scope.name).collect()
}

fn some_names() -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(names(), 0..=SCOPES.len()).prop_shuffle()
}

fn set(names: &[&str]) -> ScopeSet {
    ScopeSet::parse(&names.join(" ")).unwrap()
}

/// Returns true if a set allows exactly the scopes of which it was made.
fn allows_exactly(names: &[&str], allows: impl Fn(&str) -> bool) -> bool {
    SCOPES
        .iter()
        .all(|scope| allows(scope.name) == names.contains(&scope.name))
}

proptest! {
    /// B16. S54. Scopes in a set are allowed and no others; no action implies another.
    #[test]
    fn a_scope_is_allowed_if_it_is_in_the_set(names in some_names()) {
        let set = set(&names);
        prop_assert!(allows_exactly(&names, |scope| set.allows(scope)));
        prop_assert!(!set.is_full());
        prop_assert!(!set.allows(DEFAULT));
        prop_assert!(!set.allows(""));
    }

    #[test]
    fn covering_and_intersecting_are_those_of_sets(a in some_names(), b in some_names()) {
        let (left, right) = (set(&a), set(&b));
        let both: Vec<&str> = a.iter().filter(|name| b.contains(name)).copied().collect();
        prop_assert_eq!(left.intersect(right), set(&both));
        prop_assert_eq!(left.covers(right), b.iter().all(|name| a.contains(name)));
        prop_assert_eq!(left == right, left.covers(right) && right.covers(left));
        prop_assert!(left.covers(left.intersect(right)));
    }

    #[test]
    fn a_set_reads_back_from_its_text(names in some_names(), repeat in any::<Index>()) {
        let once = set(&names);
        prop_assert_eq!(once.to_string().parse(), Ok(once));
        let mut sorted = names.clone();
        sorted.sort_unstable();
        prop_assert_eq!(once.to_string(), sorted.join(" "));
        if !names.is_empty() {
            let twice = format!("{}  {} ", names.join("  "), names[repeat.index(names.len())]);
            prop_assert_eq!(twice.parse(), Ok(once));
        }
    }

    #[test]
    fn full_permissions_are_neutral_and_on_top(names in some_names()) {
        let (full, set) = (ScopeSet::full(), set(&names));
        prop_assert_eq!(full.intersect(set), set);
        prop_assert_eq!(set.intersect(full), set);
        prop_assert!(full.covers(set) && !set.covers(full));
    }

    #[test]
    fn no_text_reads_as_full_but_default(text in "[a-z:_. ]{0,40}") {
        if let Ok(set) = ScopeSet::parse(&text) {
            prop_assert_eq!(set.is_full(), text.split(' ').any(|name| name == DEFAULT));
        }
    }
}

#[test]
fn all_scopes_together_are_not_full_permissions() {
    let all = set(&names());
    assert!(SCOPES.iter().all(|scope| all.allows(scope.name)));
    assert!(!all.is_full());
    assert_ne!(all, ScopeSet::full());
    assert!(!all.covers(ScopeSet::full()));
    assert_eq!(all.iter().count(), SCOPES.len());
}

#[test]
fn default_stands_for_full_permissions_and_alone() {
    assert_eq!("default".parse(), Ok(ScopeSet::full()));
    assert_eq!(" default default ".parse(), Ok(ScopeSet::full()));
    assert_eq!(ScopeSet::full().to_string(), "default");
    assert_eq!(ScopeSet::full().iter().count(), 0);
    for mixed in ["default tasks:read", "openid default"] {
        assert_eq!(ScopeSet::parse(mixed), Err(ScopeError::Mixed));
    }
    for scope in names().into_iter().chain(["", DEFAULT, "anything:new"]) {
        assert!(ScopeSet::full().allows(scope), "{scope}");
    }
}

#[test]
fn unknown_scopes_are_named() {
    let names = [
        "Tasks:read",
        "tasks:READ",
        "tasks",
        "tasks:",
        ":read",
        "tasks:read,users:read",
        "tasks:read\tusers:read",
        "tasks:read\n",
        "DEFAULT",
        "+",
        "workspace.typeahead:read",
    ];
    for name in names {
        let text = format!("tasks:read {name} users:read");
        assert_eq!(
            ScopeSet::parse(&text),
            Err(ScopeError::Unknown(name.to_owned()))
        );
    }
    assert_eq!(ScopeSet::parse(""), Ok(ScopeSet::empty()));
    assert!(ScopeSet::empty().is_empty() && ScopeSet::empty() == ScopeSet::default());
}

/// S54.
#[test]
fn the_registry_is_in_order_and_described() {
    assert!(SCOPES.is_sorted_by(|a, b| a.name < b.name));
    assert_eq!(SCOPES.len() + 1, 52, "with `default`");
    for scope in SCOPES {
        let action = scope.name.split_once(':').map(|(_, action)| action);
        let known = matches!(action, Some("read" | "write" | "delete"));
        assert!(
            known || ["openid", "email", "profile"].contains(&scope.name),
            "{}",
            scope.name
        );
        assert!(
            scope.description.len() >= 8 && !scope.description.contains(['_', ':']),
            "{}",
            scope.description
        );
        assert!(
            scope.description.starts_with(char::is_uppercase) && !scope.description.ends_with('.')
        );
    }
}

/// B16. The law of allowing notices actions that imply each other, and names matched by their start.
#[test]
fn broken_sets_are_noticed() {
    let names = ["tasks:write", "projects:delete"];
    let good = set(&names);
    let implied = |scope: &str| {
        let resource = scope.split(':').next().unwrap_or(scope);
        scope.ends_with(":read") && names.iter().any(|name| name.starts_with(resource))
    };
    let prefix = |scope: &str| names.iter().any(|name| scope.starts_with(&name[..4]));
    assert!(allows_exactly(&names, |scope| good.allows(scope)));
    assert!(!allows_exactly(&names, |scope| good.allows(scope) || implied(scope)));
    assert!(!allows_exactly(&names, |scope| good.allows(scope) || prefix(scope)));
    assert!(!allows_exactly(&names, |scope| ScopeSet::full().allows(scope)));
}
