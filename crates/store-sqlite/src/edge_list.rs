//! Edge list: the outgoing edges of a node as one value, which is stored in the node's row.
//!
//! A list begins with one byte: 1 for a list of edges, 0 if the edges are rows of the table `outgoing_edge`, because there are
//! more than [`EDGES_MAX`]. Edges follow in the order of relation and target. Each has its relation and flags (one byte each), its
//! target and commit, its rank if it is not 0, and its auxiliary gid if it has one (8 bytes each, the highest byte first). A node
//! that never had an edge has no list.
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Relation;
use workgraph_core::storage::Edge;

/// Maximum number of outgoing edges that are stored in the row of their source.
pub(crate) const EDGES_MAX: usize = 64;

/// First byte of a list of edges.
const LIST: u8 = 1;
/// List of a node whose edges are rows of the table `outgoing_edge`.
pub(crate) const IN_TABLE: &[u8] = &[0];

/// Flag of an edge with a rank.
const HAS_RANK: u8 = 1;
/// Flag of an edge with an auxiliary gid.
const HAS_AUX: u8 = 2;

/// Bytes of an edge without rank and auxiliary gid.
const EDGE_BYTES: usize = 18;

/// Statements that write the edge list of each node from the rows of `edge`, and the rows of `outgoing_edge`. A migration runs
/// them, so they never change; 64 is [`EDGES_MAX`].
macro_rules! pack_edges {
    () => {
        "DELETE FROM outgoing_edge;
         INSERT INTO outgoing_edge SELECT src, rel, dst, rank, seq, aux FROM edge
             WHERE src IN (SELECT src FROM edge GROUP BY src HAVING count(*) > 64);
         UPDATE node SET edges = list.bytes FROM (
             SELECT src, CASE WHEN count(*) > 64 THEN x'00' ELSE unhex('01' || group_concat(
                 printf('%02x%02x%016x%016x', rel, (rank <> 0) + 2 * (aux IS NOT NULL), dst, seq)
                     || iif(rank <> 0, printf('%016x', rank), '') || iif(aux IS NULL, '', printf('%016x', aux)),
                 '' ORDER BY rel, dst)) END AS bytes
             FROM edge GROUP BY src
         ) AS list WHERE gid = list.src;"
    };
}
pub(crate) use pack_edges;

/// [`pack_edges!`] for a store whose rows were copied.
pub(crate) const PACK_EDGES: &str = pack_edges!();

/// Outgoing edges of a node, in the order of relation and target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum EdgeList {
    /// Edges in the row of the node.
    Row(Vec<Edge>),
    /// More than [`EDGES_MAX`] edges, in the table `outgoing_edge`.
    Table,
}

impl EdgeList {
    /// Returns the list in its stored form.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let Self::Row(edges) = self else {
            return IN_TABLE.to_vec();
        };
        let mut bytes = Vec::with_capacity(1 + edges.len() * (EDGE_BYTES + 16));
        bytes.push(LIST);
        for edge in edges {
            let aux = edge.aux.map_or(0, |_| HAS_AUX);
            let rank = if edge.rank == 0 { 0 } else { HAS_RANK };
            bytes.extend([edge.rel.0, rank | aux]);
            bytes.extend(edge.dst.get().to_be_bytes());
            bytes.extend(edge.seq.to_be_bytes());
            if edge.rank != 0 {
                bytes.extend(edge.rank.to_be_bytes());
            }
            if let Some(aux) = edge.aux {
                bytes.extend(aux.get().to_be_bytes());
            }
        }
        bytes
    }

    /// Reads the stored form of the list of `src`; `None` if it has another form.
    pub(crate) fn from_bytes(src: Gid, bytes: &[u8]) -> Option<Self> {
        let (first, mut rest) = bytes.split_first()?;
        if *first != LIST {
            return (bytes == IN_TABLE).then_some(Self::Table);
        }
        let mut edges = Vec::with_capacity(rest.len() / EDGE_BYTES);
        while let Some((head, after)) = rest.split_first_chunk::<2>() {
            rest = after;
            let [rel, flags] = *head;
            edges.push(Edge {
                src,
                rel: Relation(rel),
                dst: Gid::new(number(&mut rest)?)?,
                seq: number(&mut rest)?,
                rank: match flags & HAS_RANK {
                    0 => 0,
                    _ => i64::from_be_bytes(number(&mut rest)?.to_be_bytes()),
                },
                aux: match flags & HAS_AUX {
                    0 => None,
                    _ => Some(Gid::new(number(&mut rest)?)?),
                },
            });
        }
        rest.is_empty().then_some(Self::Row(edges))
    }
}

/// Takes a number off the front of `bytes`.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_be_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gid() -> impl Strategy<Value = Gid> {
        (1..1_u64 << 53).prop_filter_map("a gid", Gid::new)
    }

    prop_compose! {
        fn edge()(
            rel in any::<u8>(),
            dst in gid(),
            seq in 0..1_u64 << 40,
            rank in prop_oneof![Just(0), any::<i64>()],
            aux in proptest::option::of(gid()),
        ) -> Edge {
            Edge { src: Gid::new(7).unwrap(), rel: Relation(rel), dst, rank, seq, aux }
        }
    }

    proptest! {
        #[test]
        fn a_list_is_read_as_it_was_written(edges in proptest::collection::vec(edge(), 0..70)) {
            let list = EdgeList::Row(edges);
            let (bytes, src) = (list.to_bytes(), Gid::new(7).unwrap());
            for end in 0..bytes.len() {
                let shorter = EdgeList::from_bytes(src, &bytes[..end]);
                prop_assert_ne!(shorter.as_ref(), Some(&list), "the list was cut off at {}", end);
            }
            prop_assert_eq!(EdgeList::from_bytes(src, &bytes), Some(list));
        }

        #[test]
        fn other_bytes_are_refused_or_have_the_same_meaning_when_they_are_written_again(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let src = Gid::new(7).unwrap();
            if let Some(list) = EdgeList::from_bytes(src, &bytes) {
                prop_assert_eq!(EdgeList::from_bytes(src, &list.to_bytes()), Some(list));
            }
        }
    }

    #[test]
    fn edges_in_the_table_are_one_byte() {
        let src = Gid::new(7).unwrap();
        assert_eq!(EdgeList::Table.to_bytes(), IN_TABLE);
        assert_eq!(EdgeList::from_bytes(src, IN_TABLE), Some(EdgeList::Table));
        assert_eq!(EdgeList::from_bytes(src, &[]), None);
        assert_eq!(EdgeList::from_bytes(src, &[0, 1]), None);
        assert_eq!(EdgeList::from_bytes(src, &[2]), None);
    }
}
