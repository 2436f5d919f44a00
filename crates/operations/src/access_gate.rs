//! The gate of operations that let somebody into an object, or change a setting that restricts somebody. The rules are in
//! [`workgraph_core::access::gate`].
use workgraph_core::access::{Level, gate};
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::resource;
use workgraph_core::rules::sharing::Sharing;
use workgraph_core::storage::ReadView;

/// Checks that the caller may let others into an object, or remove them. Returns the caller's level, which is the most that they
/// can give.
///
/// # Errors
/// Fails if the caller's level is too low.
pub fn may_share(view: &ReadView, node: &Node) -> Result<Level, DomainError> {
    let own = view.level(node.gid);
    if own >= gate::least_to_share(node) {
        return Ok(own);
    }
    let noun = resource(node.ty).noun;
    Err(DomainError::forbidden(format!(
        "You do not have permission to share this {noun}."
    )))
}

/// Checks that the caller may join an object that they see. If only admins share it, nobody else lets anyone in, not even
/// themselves. A portfolio gives its members access to projects, so users who only see it cannot make themselves members.
///
/// # Errors
/// Fails if the caller's level is too low.
pub fn may_join(view: &ReadView, node: &Node) -> Result<Level, DomainError> {
    if node.ty == Type::Portfolio || gate::least_to_share(node) > Level::Editor {
        return may_share(view, node);
    }
    Ok(view.level(node.gid))
}

/// Returns the access level of new members if none is given: the default of the object, but at most the caller's own level.
#[must_use]
pub fn joining_level(view: &ReadView, node: &Node, sharing: &Sharing) -> Level {
    let word = node.get(sharing.default);
    let usual = word.and_then(|word| sharing.level(&word));
    gate::joining_level(usual.unwrap_or(Level::Viewer), view.level(node.gid))
}

/// Returns the access level that a draft gives to new members by default.
#[must_use]
pub fn usual_level(draft: &Draft, sharing: &Sharing) -> Level {
    let word = draft.get(sharing.default);
    word.and_then(|word| sharing.level(&word))
        .unwrap_or(Level::Viewer)
}

/// Checks the settings that an update changes: the caller must be allowed to change each of them, and the usual level of new
/// members must not be above the caller's own.
///
/// # Errors
/// Fails if the caller's level is too low.
pub fn may_change_settings(view: &ReadView, node: &Node, draft: &Draft) -> Result<(), DomainError> {
    let own = view.level(node.gid);
    let noun = resource(node.ty).noun;
    for key in draft.changed_keys() {
        let Some(least) = gate::least_to_change(node, key).filter(|least| own < *least) else {
            continue;
        };
        return Err(DomainError::forbidden(match (node.ty, least) {
            (Type::Team, _) => "Only admins of this team may change that.".to_owned(),
            (Type::Project | Type::Portfolio, _) if least <= gate::least_to_share(node) => {
                format!("You do not have permission to share this {noun}.")
            }
            _ => format!("You do not have permission to administer this {noun}."),
        }));
    }
    let Some(sharing) = Sharing::of(node.ty) else {
        return Ok(());
    };
    if draft.changed(sharing.default) && usual_level(draft, sharing) > own {
        return Err(DomainError::forbidden(
            "You do not have permission to give new members a level above your own access level.",
        ));
    }
    Ok(())
}
