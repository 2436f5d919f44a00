//! Properties of histories: pure functions that return what violates them, each with a change that must be noticed.
mod answers;
mod durability;
mod events;
mod jobs_and_limits;
mod registers;
mod tokens;
mod twins;

use crate::history::History;

/// Property with its broken twin.
pub(crate) struct Property {
    pub(crate) name: &'static str,
    /// Returns what violates it.
    pub(crate) check: fn(&History) -> Vec<String>,
    /// Changes a history for which it holds into one for which it does not.
    pub(crate) break_it: fn(&mut History),
}

const fn property(
    name: &'static str,
    check: fn(&History) -> Vec<String>,
    break_it: fn(&mut History),
) -> Property {
    Property {
        name,
        check,
        break_it,
    }
}

/// All properties.
pub(crate) const PROPERTIES: &[Property] = &[
    property(
        "P1: what was acknowledged is there in the end",
        durability::acknowledged_is_there,
        twins::lose_a_task,
    ),
    property(
        "P1: the last acknowledged write stands",
        registers::last_write_stands,
        twins::undo_a_write,
    ),
    property(
        "P2: numbers of commits and audit rows have no gaps, and times and gids grow",
        durability::numbers_are_dense,
        twins::skip_a_commit,
    ),
    property(
        "P3: no two commits share a number",
        durability::commits_differ,
        twins::share_a_commit,
    ),
    property(
        "P4: the writes of a task have one order that explains all reads",
        registers::is_linearizable,
        twins::read_what_nobody_wrote,
    ),
    property(
        "P5: no read is older than what was acknowledged or read before it",
        registers::reads_are_fresh,
        twins::read_an_old_value,
    ),
    property(
        "P6: a revoked token opens nothing anywhere",
        tokens::revoked_is_dead,
        twins::use_a_revoked_token,
    ),
    property(
        "P7: a code is redeemed once",
        tokens::codes_work_once,
        twins::redeem_twice,
    ),
    property(
        "P8: all nodes together admit what one would",
        jobs_and_limits::quota_is_shared,
        twins::admit_too_many,
    ),
    property(
        "P9: whoever waits as told is admitted",
        jobs_and_limits::waits_are_true,
        twins::refuse_after_the_wait,
    ),
    property(
        "P10: no more requests are in flight than may be",
        jobs_and_limits::permits_are_capped,
        twins::give_one_permit_more,
    ),
    property(
        "P11: five jobs are active at most",
        jobs_and_limits::few_jobs_are_active,
        twins::start_six_jobs,
    ),
    property(
        "P11: a job takes effect once",
        jobs_and_limits::jobs_take_effect_once,
        twins::copy_twice,
    ),
    property(
        "P11: an export is the same as without faults",
        jobs_and_limits::exports_are_equal,
        twins::change_an_export,
    ),
    property(
        "P12: every event is delivered",
        events::all_are_delivered,
        twins::lose_an_event,
    ),
    property(
        "P12: events come in order",
        events::come_in_order,
        twins::swap_deliveries,
    ),
    property(
        "P12: an event comes again only if it was not acknowledged",
        events::repeat_for_a_reason,
        twins::repeat_a_delivery,
    ),
    property(
        "P12: the stream of events has each once",
        events::stream_is_whole,
        twins::lose_from_the_stream,
    ),
    property(
        "P13: each act has its audit row, and all checks pass",
        durability::acts_are_audited,
        twins::forget_an_audit_row,
    ),
    property(
        "P14: no gid is given twice",
        durability::gids_differ,
        twins::share_a_gid,
    ),
    property(
        "P15: pages from several nodes are one list",
        answers::lists_are_whole,
        twins::skip_a_page,
    ),
    property(
        "P16: nodes with caches answer as one without",
        answers::caches_change_nothing,
        twins::answer_from_an_old_cache,
    ),
    property(
        "P17: tokens and page tokens are good at every node",
        tokens::tokens_are_good_everywhere,
        twins::refuse_a_page_token,
    ),
    property(
        "P18: nothing is written under a lease that has ended",
        events::positions_only_grow,
        twins::deliver_from_an_old_position,
    ),
    property(
        "P18: no gid is given after the lease on its node's number",
        durability::gids_are_leased,
        twins::give_a_gid_too_late,
    ),
    property(
        "refusals say why, with a status for it",
        answers::refusals_have_reasons,
        twins::refuse_without_a_reason,
    ),
];

/// Returns what violates the properties, with their names.
pub(crate) fn violations(history: &History) -> Vec<String> {
    let of = |property: &Property| {
        let found = (property.check)(history).into_iter().take(5);
        let name = property.name;
        found.map(move |what| format!("{name}: {what}"))
    };
    PROPERTIES.iter().flat_map(of).collect()
}
