//! Random requests of any operation, with objects of one tenant.
use crate::probes::{ORCHID, Sample, sample};
use crate::world::{Answer, World, is_orchid};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use workgraph_api::request::Method;
use workgraph_core::Gid;
use workgraph_core::model::registry::{FieldDef, Type, ValueType, Writability};
use workgraph_core::model::resources;
use workgraph_operations::all;
use workgraph_operations::operation::Operation;

/// A small generator of numbers, the same for the same seed.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Requests that fit a world.
pub(crate) struct RandomRequests {
    /// Objects of the tenant.
    pub(crate) objects: BTreeMap<Gid, Type>,
    /// A request of each operation that has an effect on the world as it is at first.
    samples: BTreeMap<&'static str, Sample>,
}

impl RandomRequests {
    pub(crate) fn new(world: &World) -> Self {
        let named = world.names.iter().filter(|(name, _)| is_orchid(name));
        let gids: Vec<Gid> = named.map(|(_, gid)| *gid).collect();
        let view = world.view("ada", gids.iter().copied());
        let typed = |gid: Gid| Some((gid, view.node(gid)?.ty));
        let samples = all().map(|row| (row.id, sample(world, &ORCHID, row)));
        Self {
            objects: gids.into_iter().filter_map(typed).collect(),
            samples: samples.collect(),
        }
    }

    /// Returns a random object of one of these types.
    pub(crate) fn any(&self, types: &[Type], numbers: &mut Numbers) -> Option<String> {
        let fit = self.objects.iter().filter(|(_, ty)| types.contains(ty));
        let fit: Vec<&Gid> = fit.map(|(gid, _)| gid).collect();
        (!fit.is_empty()).then(|| numbers.pick(&fit).to_string())
    }

    /// Returns another object in place of one, mostly; what is no object stays.
    fn other(&self, text: &str, numbers: &mut Numbers) -> String {
        let ty = Gid::parse(text).and_then(|gid| self.objects.get(&gid));
        let other = ty.and_then(|ty| self.any(&[*ty], numbers));
        match other {
            Some(other) if numbers.below(3) > 0 => other,
            _ => text.to_owned(),
        }
    }

    fn exchange(&self, value: &mut Value, numbers: &mut Numbers) {
        match value {
            Value::String(text) => *text = self.other(text, numbers),
            Value::Array(items) => items
                .iter_mut()
                .for_each(|item| self.exchange(item, numbers)),
            _ => {}
        }
    }

    /// Returns a random value for a field; `None` for a type that has no generator here.
    fn value(&self, field: &FieldDef, numbers: &mut Numbers) -> Option<Value> {
        Some(match field.value_type {
            ValueType::One(types) => json!(self.any(types, numbers)?),
            ValueType::Many(types) => json!([self.any(types, numbers)?]),
            ValueType::Word(words) | ValueType::WordOrNull(words) => json!(numbers.pick(words)),
            ValueType::Flag => json!(numbers.below(2) == 0),
            _ => return None,
        })
    }

    /// Returns a request of a row: its sample with other objects in it, and with more fields.
    pub(crate) fn request(&self, row: &Operation, numbers: &mut Numbers) -> Sample {
        let mut request = self.samples[row.id].clone();
        for (_, gid) in &mut request.path {
            *gid = self.other(gid, numbers);
        }
        for value in request.body.values_mut() {
            self.exchange(value, numbers);
        }
        if matches!(row.method, Method::Post | Method::Put)
            && let Some(ty) = row.record()
        {
            let fields = resources::ALL.iter().filter(|resource| resource.ty == ty);
            for field in fields.flat_map(|resource| resource.fields) {
                let written = matches!(field.write, Writability::Always | Writability::OnCreate);
                if written
                    && numbers.below(8) == 0
                    && let Some(value) = self.value(field, numbers)
                {
                    request.body.insert(field.name.to_owned(), value);
                }
            }
        }
        request
    }

    /// Adds what an answer shows as made.
    pub(crate) fn note_made(&mut self, row: &Operation, answer: &Answer) {
        if answer.status == 201
            && let Some(ty) = row.record()
            && let Some(gid) = answer.json["data"]["gid"].as_str().and_then(Gid::parse)
        {
            self.objects.insert(gid, ty);
        }
    }
}
