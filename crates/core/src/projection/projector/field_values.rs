//! The custom fields of a task with its values.
use super::{BodyReader, OutputSpan, Projector};
use crate::model::custom_field_values as values;
use crate::model::custom_field_values::DisplayFormat;
use crate::model::node::{Node, decode_json_string, write_json_string};
use crate::model::registry::{CustomFieldType, FieldSource, ValuePart};
use crate::plan::{LinkPlan, Plan, PlanStep};
use crate::storage::custom_field_view::{self, CustomFieldValue};
use workgraph_richtext as rich_text;

/// Data shared by the values of one custom field.
#[derive(Debug)]
pub(super) struct RenderedDefinition {
    look: DisplayFormat,
    prefix: OutputSpan,
}

impl Projector<'_> {
    /// Writes a task's custom fields with its values.
    pub(super) fn values(&mut self, task: &Node, object: Option<&str>, step: &PlanStep) {
        let plan = match &step.link_plan {
            LinkPlan::Plans(plans) => plans.first(),
            _ => None,
        };
        self.byte(b'[');
        let mut first = true;
        if let Some(plan) = plan {
            let node = (task.gid, task.ty);
            for value in custom_field_view::custom_field_values(self.scene.view, node, object) {
                if self.stopped.is_some() {
                    return;
                }
                self.value(value, plan, &mut first);
            }
        }
        self.byte(b']');
    }

    /// Writes one custom field with its value, unless the viewer may not see it.
    fn value(&mut self, value: CustomFieldValue<'_>, plan: &Plan, first: &mut bool) {
        #[cfg(test)]
        self.forget_if_plain();
        let key = (std::ptr::from_ref(plan) as usize, value.field);
        let start = plan
            .steps
            .iter()
            .position(|s| matches!(s.def.source, FieldSource::Value(_)))
            .unwrap_or(plan.steps.len());
        if !self.steps(1) {
            return;
        }
        // The map is taken out so that it can be read while the record is written.
        let mut columns = std::mem::take(&mut self.columns);
        match columns.get(&key) {
            None => {
                let field = self.visible(value.field);
                let column = field.map(|field| {
                    self.comma(first);
                    let (from, links) = (self.out.len(), self.tally.links);
                    self.byte(b'{');
                    let mut body = BodyReader::new(&field.body);
                    let mut inner = true;
                    for step in plan.steps.iter().take(start) {
                        self.field(field, &mut body, step, &mut inner);
                    }
                    RenderedDefinition {
                        look: DisplayFormat::of(field),
                        prefix: self.since(from, links),
                    }
                });
                columns.insert(key, column);
            }
            Some(None) => {}
            Some(Some(column)) => {
                self.comma(first);
                self.copy(column.prefix);
            }
        }
        if let Some(Some(column)) = columns.get(&key) {
            let mut inner = false;
            let id = column.look.auto_id(value.number);
            let value = CustomFieldValue {
                value: id.as_deref().or(value.value),
                ..value
            };
            for step in plan.steps.iter().skip(start) {
                self.part(value, &column.look, step, &mut inner);
            }
            self.byte(b'}');
            self.tally.links = self.tally.links.saturating_add(1);
        }
        self.columns = columns;
    }

    /// Writes one part of a value, if the field's type has it.
    fn part(
        &mut self,
        value: CustomFieldValue<'_>,
        look: &DisplayFormat,
        step: &PlanStep,
        first: &mut bool,
    ) {
        let FieldSource::Value(part) = step.def.source else {
            return;
        };
        match part {
            ValuePart::Plain(kind) | ValuePart::Linked(kind) if kind != look.kind => return,
            ValuePart::Html if look.kind != CustomFieldType::Text => return,
            _ => self.name(step, first),
        }
        match part {
            ValuePart::Enabled => self.raw(if value.enabled { "true" } else { "false" }),
            ValuePart::Plain(_) => match value.value {
                Some(value) => self.raw(&look.kept(value)),
                None => self.raw("null"),
            },
            ValuePart::Linked(kind) => {
                let mut targets = value
                    .value
                    .into_iter()
                    .flat_map(|v| values::linked(kind, v));
                if kind == CustomFieldType::Enum {
                    self.link(targets.next(), step);
                } else {
                    self.links(targets, step);
                }
            }
            ValuePart::Html => match value.value {
                Some(text) => {
                    write_json_string(
                        &mut self.out,
                        &rich_text::from_text(&decode_json_string(text)),
                    );
                    self.fits(0);
                }
                None => self.raw("null"),
            },
            ValuePart::Display => {
                let mut out = std::mem::take(&mut self.out);
                let title = |gid| self.visible(gid).and_then(values::title);
                values::display(look, value.value, title, &mut out);
                self.out = out;
                self.fits(0);
            }
        }
    }
}
