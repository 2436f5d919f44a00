//! Portfolios: lists of projects and other portfolios, with custom fields for them; and the settings that link a project to a
//! portfolio.
use super::membership::MEMBER;
use super::project::CUSTOM_FIELDS;
use super::status_update::CURRENT_STATUS_UPDATE;
use super::{GID, PERMALINK, RESOURCE_TYPE, TAG_COLORS};
use crate::model::computed_field::ComputedFieldContext;
use crate::model::node::Node;
use crate::model::registry::{
    Direction, FieldSource, Inclusion, LinkMany, LinkOne, NAME_MAX, Opaque, Resource, Type,
    TypedField, ValueType, rel,
};
use crate::model::time::{Date, Time};

/// Types of the objects that a portfolio has as items.
pub const ITEM_TYPES: &[Type] = &[Type::Project, Type::Portfolio];
/// Maximum number of items of a portfolio.
pub const ITEMS_MAX: usize = 1_500;
/// The levels of access to a portfolio, lowest first.
pub const LEVELS: &[&str] = &["viewer", "editor", "admin"];

/// Display name of the portfolio.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the portfolio.");
/// True if it is hidden from normal views.
pub const ARCHIVED: TypedField<bool> = TypedField::flag("archived")
    .opt_in()
    .writable()
    .doc("True if the portfolio is archived.");
/// Display colour.
pub const COLOR: TypedField<str> = TypedField::word_or_null("color", TAG_COLORS)
    .writable()
    .doc("The display colour.");
/// Day on which the portfolio starts.
pub const START_ON: TypedField<Date> = TypedField::date("start_on")
    .writable()
    .doc("The day the portfolio starts.");
/// Day on which the portfolio is due.
pub const DUE_ON: TypedField<Date> = TypedField::date("due_on")
    .writable()
    .doc("The day the portfolio is due.");
/// The level of newly added members.
pub const DEFAULT_ACCESS: TypedField<str> =
    TypedField::word("default_access_level", LEVELS, "\"viewer\"")
        .writable()
        .doc("The access level of newly added members.");
/// Time at which the portfolio was created.
pub const CREATED_AT: TypedField<Time> =
    TypedField::time("created_at").doc("When the portfolio was created.");
/// User who created the portfolio.
pub const CREATED_BY: TypedField<LinkOne> =
    TypedField::inline("created_by", &[Type::User]).doc("Who created it.");
/// Settings of the custom fields that its items have.
pub const CUSTOM_FIELD_SETTINGS: TypedField<Opaque> = TypedField::other(
    "custom_field_settings",
    ValueType::Many(&[Type::CustomFieldSetting]),
    FieldSource::Aux(rel::FIELD_ON, Direction::In),
)
.record(Inclusion::Compact)
.doc("Custom fields its items have.");
/// Users with a membership.
pub const MEMBERS: TypedField<LinkMany> =
    TypedField::edges("members", &[Type::User], rel::MEMBERS, Direction::Out)
        .doc("Users with a membership of their own.");
/// User who is responsible.
pub const OWNER: TypedField<LinkOne> = TypedField::inline("owner", &[Type::User])
    .current()
    .doc("The user responsible for it.");
/// Workspace of the portfolio.
pub const WORKSPACE: TypedField<LinkOne> = TypedField::workspace("workspace")
    .on_create()
    .doc("The workspace it belongs to.");
/// Old flag for the visibility.
pub const PUBLIC: TypedField<bool> = {
    let mut f = TypedField::flag("public")
        .writable()
        .doc("Old form of privacy_setting.");
    f.def.source = FieldSource::Computed(public);
    f
};
/// Visibility of the portfolio.
pub const PRIVACY: TypedField<str> = TypedField::word(
    "privacy_setting",
    &[PUBLIC_TO_DOMAIN, "members_only"],
    "\"members_only\"",
)
.writable()
.doc("Who can see the portfolio.");
/// The privacy setting of portfolios that all members of the workspace see.
pub const PUBLIC_TO_DOMAIN: &str = "public_to_domain";
/// Its project templates; always none.
pub const PROJECT_TEMPLATES: TypedField<Opaque> = TypedField::other(
    "project_templates",
    ValueType::Json,
    FieldSource::Always("[]"),
)
.doc("The templates in the portfolio.");

/// Declaration of portfolios.
pub static PORTFOLIO: Resource = Resource {
    path: "portfolios",
    read_scope: "portfolios:read",
    // Items of a portfolio are projects, too.
    variants: &[Type::Project],
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        NAME.def,
        ARCHIVED.def,
        COLOR.def,
        START_ON.def,
        DUE_ON.def,
        DEFAULT_ACCESS.def,
        CREATED_AT.def,
        CREATED_BY.def,
        CUSTOM_FIELD_SETTINGS.def,
        CURRENT_STATUS_UPDATE.def,
        CUSTOM_FIELDS.def,
        MEMBERS.def,
        OWNER.def,
        WORKSPACE.def,
        PERMALINK.def,
        PUBLIC.def,
        PRIVACY.def,
        PROJECT_TEMPLATES.def,
    ],
    ..Resource::of(Type::Portfolio, "portfolio")
};

fn public(node: &Node, _scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    let public = node.get(PRIVACY).as_deref() == Some(PUBLIC_TO_DOMAIN);
    out.extend_from_slice(if public { b"true" } else { b"false" });
}

/// The portfolio of a portfolio membership.
pub const PARENT: TypedField<LinkOne> = TypedField::inline("parent", &[Type::Portfolio])
    .compact()
    .doc("The portfolio.");
/// Access level of the member to the portfolio.
pub const ACCESS_LEVEL: TypedField<str> = TypedField::word("access_level", LEVELS, "\"editor\"")
    .compact()
    .writable()
    .doc("What the member may do.");
/// Old name of `member`, when it is a user.
pub const MEMBER_USER: TypedField<LinkOne> = TypedField::inline("user", &[Type::User])
    .stored_as("member")
    .compact()
    .doc("The member, when it is a user.");
/// Old name of `parent`.
pub const MEMBER_PORTFOLIO: TypedField<LinkOne> =
    TypedField::inline("portfolio", &[Type::Portfolio])
        .stored_as("parent")
        .doc("Old name of parent.");

/// Declaration of portfolio memberships.
pub static PORTFOLIO_MEMBERSHIP: Resource = Resource {
    path: "memberships",
    noun: "membership",
    read_scope: "portfolios:read",
    title: None,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        PARENT.def,
        MEMBER.def,
        ACCESS_LEVEL.def,
        MEMBER_USER.def,
        MEMBER_PORTFOLIO.def,
    ],
    ..Resource::of(Type::PortfolioMembership, "portfolio_membership")
};

/// The project of a project portfolio setting.
pub const SETTING_PROJECT: TypedField<LinkOne> = TypedField::inline("project", &[Type::Project])
    .compact()
    .doc("The project.");
/// The portfolio of a project portfolio setting.
pub const SETTING_PORTFOLIO: TypedField<LinkOne> =
    TypedField::inline("portfolio", &[Type::Portfolio])
        .compact()
        .doc("The portfolio.");
/// True if members of the portfolio have access to the project.
pub const IS_INHERITED: TypedField<bool> = TypedField::flag("is_access_control_inherited")
    .compact()
    .writable()
    .doc("True if members of the portfolio have access to the project.");
/// User who let the members of the portfolio into the project; not part of the public record.
pub const GIVEN_BY: TypedField<LinkOne> = TypedField::inline("given_by", &[Type::User]).opt_in();
/// Time at which the project was put into the portfolio.
pub const ADDED_AT: TypedField<Time> =
    TypedField::time("created_at").doc("When the project was put into the portfolio.");

/// Declaration of project portfolio settings.
pub static PROJECT_PORTFOLIO_SETTING: Resource = Resource {
    path: "project_portfolio_settings",
    noun: "project portfolio setting",
    read_scope: "project_portfolio_settings:read",
    title: None,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        SETTING_PROJECT.def,
        SETTING_PORTFOLIO.def,
        IS_INHERITED.def,
        ADDED_AT.def,
    ],
    ..Resource::of(Type::ProjectPortfolioSetting, "project_portfolio_setting")
};
