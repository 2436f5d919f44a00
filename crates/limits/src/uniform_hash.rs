//! Hasher for keys that are uniform already, or that no client chooses.

use std::hash::{BuildHasher, Hasher};

/// Hasher for digests and for numbers that the program itself gives out. It has no secret: whoever can choose keys could
/// make them collide, which the standard library's `RandomState` prevents.
#[derive(Clone, Copy, Debug, Default)]
pub struct UniformState;

/// State of [`UniformState`].
#[derive(Clone, Copy, Debug, Default)]
pub struct UniformHasher(u64);

impl BuildHasher for UniformState {
    type Hasher = UniformHasher;

    #[inline]
    fn build_hasher(&self) -> UniformHasher {
        UniformHasher::default()
    }
}

impl UniformHasher {
    /// Mixes two halves in with one multiplication, which helps those that are not uniform.
    #[inline]
    fn fold(&mut self, low: u64, high: u64) {
        let product = u128::from(low ^ self.0 ^ 0x9e37_79b9_7f4a_7c15)
            * u128::from(high ^ 0xf39c_c060_5ced_c835);
        #[expect(clippy::cast_possible_truncation, reason = "the halves of the product")]
        let folded = (product >> 64) as u64 ^ product as u64;
        self.0 = folded;
    }
}

impl Hasher for UniformHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<16>();
        for chunk in chunks {
            let chunk = u128::from_le_bytes(*chunk);
            #[expect(clippy::cast_possible_truncation, reason = "the halves of the chunk")]
            self.fold(chunk as u64, (chunk >> 64) as u64);
        }
        if !rest.is_empty() {
            let (low, high) = rest.split_at(rest.len().min(8));
            let word = |part: &[u8]| {
                part.iter()
                    .fold(0, |word, byte| word << 8 | u64::from(*byte))
            };
            self.fold(word(low), word(high));
        }
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.fold(number, 0);
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.fold(number.into(), 0);
    }

    /// Skips the lengths of arrays: keys of one type have one length, or end with a mark.
    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.0 = self.0.rotate_left(1) ^ number as u64;
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::UniformState;
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    #[test]
    fn keys_in_order_spread_over_the_top_and_the_bottom_bits() {
        let numbers = |n: u64| UniformState.hash_one(n);
        let keys = |n: u64| UniformState.hash_one(u128::from(n).to_be_bytes());
        let texts = |n: u64| UniformState.hash_one(format!("client {n} of many"));
        for hash in [&numbers as &dyn Fn(u64) -> u64, &keys, &texts] {
            let hashes: Vec<u64> = (0..4_096).map(hash).collect();
            let top: HashSet<u64> = hashes.iter().map(|hash| hash >> 56).collect();
            let bottom: HashSet<u64> = hashes.iter().map(|hash| hash & 0xfff).collect();
            assert!(top.len() > 200, "{}", top.len());
            assert!(bottom.len() > 2_000, "{}", bottom.len());
        }
    }
}
