//! Time periods: years, halves and quarters of the calendar. They are computed from their gids and never stored.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{LinkOne, Resource, Type, TypedField};
use crate::model::time::Date;

/// Words for the parts of a year, in the order of a tree: each comes before its own parts.
pub const PERIODS: &[&str] = &["FY", "H1", "Q1", "Q2", "H2", "Q3", "Q4"];
/// First day.
pub const START_ON: TypedField<Date> = TypedField::date("start_on").compact().doc("The first day.");
/// Last day.
pub const END_ON: TypedField<Date> = TypedField::date("end_on").compact().doc("The last day.");
/// Part of the year.
pub const PERIOD: TypedField<str> = TypedField::word("period", PERIODS, "\"FY\"")
    .compact()
    .doc("The part of the year: the year itself, a half or a quarter.");
/// Display name.
pub const DISPLAY_NAME: TypedField<str> = TypedField::text("display_name", 64)
    .compact()
    .doc("The name of the period, with its year.");
/// The period that it is part of.
pub const PARENT: TypedField<LinkOne> = TypedField::inline("parent", &[Type::TimePeriod])
    .doc("The period it is part of, or null for a year.");

/// Declaration of time periods.
pub static TIME_PERIOD: Resource = Resource {
    path: "time_periods",
    noun: "time period",
    read_scope: "time_periods:read",
    title: None,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        END_ON.def,
        START_ON.def,
        PERIOD.def,
        DISPLAY_NAME.def,
        PARENT.def,
    ],
    ..Resource::of(Type::TimePeriod, "time_period")
};
