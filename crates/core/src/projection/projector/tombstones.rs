//! Records of deleted nodes.
use super::{BodyReader, Projector};
use crate::model::node::Node;
use crate::model::registry::FieldSource;
use crate::plan::Plan;

impl Projector<'_> {
    /// Writes the fields of a deleted node that its head has: nothing else about it is known.
    pub(super) fn tombstone(&mut self, node: &Node, plan: &Plan) {
        self.byte(b'{');
        let mut first = true;
        for step in &plan.steps {
            let mut head = BodyReader::of_text(&node.head);
            let is_known = match step.def.source {
                FieldSource::Gid | FieldSource::TypeName => true,
                FieldSource::Stored(key) => head.find(key).is_some(),
                _ => false,
            };
            if is_known {
                self.field(node, &mut BodyReader::of_text(&node.head), step, &mut first);
            }
        }
        self.byte(b'}');
    }
}
