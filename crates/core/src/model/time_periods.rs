//! Time periods as nodes, which are computed from their gids and never stored.
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::Type;
use crate::model::resources::time_period::{
    DISPLAY_NAME, END_ON, PARENT, PERIOD, PERIODS, START_ON,
};
use crate::model::time::Date;

/// First months and lengths in months of the parts of a year.
const MONTHS: [(u32, u32); 7] = [(1, 12), (1, 6), (1, 3), (4, 3), (7, 6), (7, 3), (10, 3)];
/// Years with periods.
const YEARS: std::ops::RangeInclusive<i32> = 1970..=2999;

/// A part of a year.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TimePeriod {
    year: i32,
    /// Position in [`PERIODS`].
    part: usize,
}

impl TimePeriod {
    /// Returns the period with this gid, if there is one.
    #[must_use]
    pub fn of_gid(gid: Gid) -> Option<Self> {
        let (year, part) = gid.computed_parts()?;
        let year = i32::try_from(year).ok()?;
        let part = usize::from(part);
        (YEARS.contains(&year) && part < PERIODS.len()).then_some(Self { year, part })
    }

    /// Returns the gid of the period: the same at all times and in all stores.
    #[must_use]
    pub fn gid(self) -> Option<Gid> {
        let year = u64::try_from(self.year).ok()?;
        Gid::computed(year, u8::try_from(self.part).ok()?)
    }

    /// Returns the periods of some years, in the order of their gids.
    pub fn of_years(first: i32, last: i32) -> impl Iterator<Item = Self> {
        let years = first.max(*YEARS.start())..=last.min(*YEARS.end());
        years.flat_map(|year| (0..PERIODS.len()).map(move |part| Self { year, part }))
    }

    /// Returns the period that contains this one; `None` for a year.
    fn parent(self) -> Option<Self> {
        let part = match self.part {
            0 => return None,
            1 | 4 => 0,
            2 | 3 => 1,
            _ => 4,
        };
        Some(Self { part, ..self })
    }

    /// Returns the period as a node.
    #[must_use]
    pub fn node(self) -> Option<Node> {
        let (month, months) = *MONTHS.get(self.part)?;
        let next = match month + months {
            13 => Date::new(self.year + 1, 1, 1),
            month => Date::new(self.year, month, 1),
        };
        let word = *PERIODS.get(self.part)?;
        let short = self.year.rem_euclid(100);
        let mut draft = Draft::new(Type::TimePeriod, self.gid()?, None);
        draft.set(START_ON, Date::new(self.year, month, 1));
        draft.set(END_ON, next?.add_days(-1));
        draft.set(PERIOD, word);
        let name = match self.part {
            0 => format!("FY{short:02}"),
            _ => format!("{word} FY{short:02}"),
        };
        draft.set(DISPLAY_NAME, name.as_str());
        draft.set(PARENT, self.parent().and_then(Self::gid));
        Some(draft.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::gid::GidGenerator;

    #[test]
    fn periods_are_found_by_their_gids_and_fill_their_parents() {
        let all: Vec<TimePeriod> = TimePeriod::of_years(2024, 2025).collect();
        assert_eq!(all.len(), 14);
        for period in &all {
            let gid = period.gid().unwrap();
            assert_eq!(TimePeriod::of_gid(gid), Some(*period));
            let node = period.node().unwrap();
            let Some(parent) = period.parent() else {
                continue;
            };
            let parent = parent.node().unwrap();
            assert!(node.get(START_ON) >= parent.get(START_ON));
            assert!(node.get(END_ON) <= parent.get(END_ON));
        }
        let node = all[2].node().unwrap();
        assert_eq!(
            &*node.body,
            format!(
                r#"{{"end_on":"2024-03-31","start_on":"2024-01-01","period":"Q1","display_name":"Q1 FY24","parent":"{}"}}"#,
                all[1].gid().unwrap()
            )
        );
    }

    #[test]
    fn no_generator_makes_the_gid_of_a_period() {
        for node in 0..=31 {
            let generator = GidGenerator::new(node, None);
            for _ in 0..600 {
                let gid = generator.next(1_735_689_600_000);
                assert_eq!(TimePeriod::of_gid(gid), None);
            }
        }
    }
}
