//! Shapes: which columns of a card have a value.
use super::card::{Card, Column};

/// What a card has, whatever the values are. Cards are kept by their shapes, and those of a shape in
/// the order in which they were modified: so what lacks something is listed, too, and found in the usual
/// order of searches.
///
/// There are hundreds of shapes; a workspace has a dozen or two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Shape(u16);

impl Shape {
    /// Columns in which a card has a value or not. A store keeps the number of a shape: places are
    /// never given to others.
    const COLUMNS: [Column; 8] = [
        Column::Completed,
        Column::Due,
        Column::Start,
        Column::Who,
        Column::Creator,
        Column::Assigner,
        Column::Sub,
        Column::Subtype,
    ];
    /// The place of [`Card::done`].
    const DONE: usize = 8;
    /// The place of [`Card::timed`].
    const TIMED: usize = 9;

    /// The shape of a number that a store kept.
    #[must_use]
    pub const fn from_number(number: u16) -> Self {
        Self(number)
    }

    /// The number by which it is kept.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }

    const fn bit(self, at: usize) -> bool {
        self.0 >> at & 1 == 1
    }

    /// Whether its cards have a value in a column, if that makes a difference to shapes.
    #[must_use]
    pub fn has(self, column: Column) -> Option<bool> {
        let at = Self::COLUMNS.iter().position(|c| *c == column)?;
        Some(self.bit(at))
    }

    /// Whether its cards are completed.
    #[must_use]
    pub const fn done(self) -> bool {
        self.bit(Self::DONE)
    }

    /// Whether its cards are due at an instant.
    #[must_use]
    pub const fn timed(self) -> bool {
        self.bit(Self::TIMED)
    }
}

impl Card {
    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> Shape {
        let bit = |at: usize, on: bool| u16::from(on) << at;
        let columns = Shape::COLUMNS.iter().enumerate();
        let has = columns.map(|(at, column)| bit(at, self.value(*column).is_some()));
        let flags = bit(Shape::DONE, self.done) | bit(Shape::TIMED, self.timed);
        Shape(has.fold(flags, |shape, bit| shape | bit))
    }
}
