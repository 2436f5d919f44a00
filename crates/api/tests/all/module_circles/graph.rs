//! Imports between the modules of a crate, and the circles in them.
use super::source::{Crate, Import};
use std::collections::{BTreeMap, BTreeSet};

/// Meaning of a name: a module, or an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    Module(usize),
    /// An item declared in a module.
    Item(usize),
}

/// Modules that use each other, and the names by which they do.
#[derive(Debug)]
pub(super) struct Circle {
    /// For each arrow (from, to): the names.
    pub(super) arrows: BTreeMap<(String, String), BTreeSet<String>>,
}

/// Arrows between modules, with the names that tie them.
type Arrows = BTreeMap<(usize, usize), BTreeSet<String>>;

/// Names that are being looked up, each in a module, as a module or as anything: imports can go in circles, too.
type Seen = Vec<(usize, String, bool)>;

impl Crate {
    /// Returns what a path stands for in a module; `None` for things of other crates and of the code itself.
    fn resolve(
        &self,
        module: usize,
        path: &[String],
        seen: &mut Seen,
        wants_module: bool,
    ) -> Option<Target> {
        let mut target = Target::Module(module);
        for (index, name) in path.iter().enumerate() {
            let last = index + 1 == path.len();
            let Target::Module(here) = target else { break };
            target = match name.as_str() {
                "crate" => Target::Module(0),
                "self" => Target::Module(here),
                "super" => Target::Module(self.modules[here].parent?),
                name => {
                    let found = self.lookup(here, name, seen, wants_module || !last);
                    // The first name may be another crate; a later one that is not found was made by a macro.
                    let is_first = index == 0;
                    match found {
                        Some(found) => found,
                        None if is_first => return None,
                        None => Target::Item(here),
                    }
                }
            };
        }
        Some(target)
    }

    /// Returns what a name stands for in a module.
    fn lookup(
        &self,
        module: usize,
        name: &str,
        seen: &mut Seen,
        wants_module: bool,
    ) -> Option<Target> {
        let key = (module, name.to_owned(), wants_module);
        if seen.contains(&key) {
            return None;
        }
        seen.push(key);
        let own = &self.modules[module];
        let child = own.children.get(name).map(|child| Target::Module(*child));
        let mut named = || {
            if own.declared.contains(name) {
                return Some(Target::Item(module));
            }
            own.imports
                .iter()
                .filter(|import| import.name.as_deref() == Some(name))
                .find_map(|import| self.resolve(module, &import.path, seen, wants_module))
        };
        let found = if wants_module {
            child.or_else(named)
        } else {
            named().or(child)
        };
        let found = found.or_else(|| {
            own.imports
                .iter()
                .filter(|import| import.name.is_none())
                .find_map(
                    |import| match self.resolve(module, &import.path, seen, true)? {
                        Target::Module(of) => self.lookup(of, name, seen, wants_module),
                        Target::Item(_) => None,
                    },
                )
        });
        seen.pop();
        found
    }

    /// Returns the module with the file that a module is in.
    fn file(&self, mut module: usize) -> usize {
        while self.modules[module].inline
            && let Some(parent) = self.modules[module].parent
        {
            module = parent;
        }
        module
    }

    fn is_below(&self, mut module: usize, above: usize) -> bool {
        while let Some(parent) = self.modules[module].parent {
            if parent == above {
                return true;
            }
            module = parent;
        }
        false
    }

    /// Returns the arrows between files: from each module to those that declare what it names.
    fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (index, module) in self.modules.iter().enumerate() {
            let mut add = |target: Option<Target>, name: &str| {
                if let Some(Target::Item(to)) = target
                    && self.file(index) != self.file(to)
                {
                    let names = arrows.entry((self.file(index), self.file(to))).or_default();
                    names.insert(name.to_owned());
                }
            };
            for import in &module.imports {
                self.import(index, import, &mut add);
            }
            for path in &module.paths {
                let target = self.resolve(index, path, &mut vec![], false);
                add(target, path.last().map_or("", String::as_str));
            }
        }
        arrows
    }

    fn import(&self, index: usize, import: &Import, add: &mut dyn FnMut(Option<Target>, &str)) {
        let module = &self.modules[index];
        let Some(name) = &import.name else {
            // All names of a module: those that are written here.
            for head in &module.heads {
                let declared = module.declared.contains(head) || module.children.contains_key(head);
                let imported = module
                    .imports
                    .iter()
                    .any(|other| other.name.as_ref() == Some(head));
                if declared || imported {
                    continue;
                }
                if let Some(Target::Module(of)) =
                    self.resolve(index, &import.path, &mut vec![], true)
                {
                    add(self.lookup(of, head, &mut vec![], false), head);
                }
            }
            return;
        };
        let target = self.resolve(index, &import.path, &mut vec![], false);
        let hands_on = import.exported
            && !module.heads.contains(name)
            && matches!(target, Some(Target::Item(to)) if self.is_below(to, index));
        if !hands_on {
            add(target, name);
        }
    }

    /// Returns the part of a module that a file belongs to: the module's own file, or one of its children.
    fn part(&self, module: usize, mut file: usize) -> Option<usize> {
        if module == file {
            return Some(file);
        }
        while let Some(parent) = self.modules[file].parent {
            if parent == module {
                return Some(file);
            }
            file = parent;
        }
        None
    }

    /// Returns the arrows between the parts of each module with children: its own file, and each child with all that
    /// is below it.
    fn levels(&self) -> BTreeMap<usize, Arrows> {
        let mut levels: BTreeMap<usize, Arrows> = BTreeMap::new();
        let arrows = self.arrows();
        for module in 0..self.modules.len() {
            for ((from, to), names) in &arrows {
                if let (Some(from), Some(to)) = (self.part(module, *from), self.part(module, *to))
                    && from != to
                {
                    let level = levels.entry(module).or_default();
                    level
                        .entry((from, to))
                        .or_default()
                        .extend(names.iter().cloned());
                }
            }
        }
        levels
    }

    /// Returns the circles between children of one module; `allowed` arrows don't count.
    pub(super) fn circles(&self, allowed: &BTreeSet<(String, String)>) -> Vec<Circle> {
        let mut circles = Vec::new();
        for (module, mut level) in self.levels() {
            level.retain(|(from, to), _| {
                *from != module
                    && *to != module
                    && !allowed.contains(&(self.path(*from), self.path(*to)))
            });
            let mut seen = BTreeSet::new();
            for (node, _) in level.keys() {
                let members = circle_of(&level, *node);
                if seen.insert(members.clone()) && !members.is_empty() {
                    circles.push(self.circle(&level, &members));
                }
            }
        }
        circles
    }

    /// Returns the folders whose own file and parts use each other, with the circle.
    pub(super) fn folders_in_circles(&self) -> BTreeMap<String, Circle> {
        let levels = self.levels().into_iter().filter_map(|(module, level)| {
            let members = circle_of(&level, module);
            let circle = || (self.path(module), self.circle(&level, &members));
            (!members.is_empty()).then(circle)
        });
        levels.collect()
    }

    fn circle(&self, level: &Arrows, members: &BTreeSet<usize>) -> Circle {
        let inside = |(from, to): &(usize, usize)| members.contains(from) && members.contains(to);
        let arrows = level
            .iter()
            .filter(|(ends, _)| inside(ends))
            .map(|((from, to), names)| ((self.path(*from), self.path(*to)), names.clone()))
            .collect();
        Circle { arrows }
    }
}

/// Returns the parts that are in a circle with one; none if that is in no circle.
fn circle_of(level: &Arrows, node: usize) -> BTreeSet<usize> {
    let mut members = reached(level, node);
    members.retain(|other| reached(level, *other).contains(&node));
    members
}

/// Returns the parts that arrows lead to from one.
fn reached(level: &Arrows, from: usize) -> BTreeSet<usize> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(here) = open.pop() {
        for (_, to) in level.keys().filter(|(from, _)| *from == here) {
            if reached.insert(*to) {
                open.push(*to);
            }
        }
    }
    reached
}

impl std::fmt::Display for Circle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for ((from, to), names) in &self.arrows {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            writeln!(f, "  {from} -> {to}: {}", names.join(", "))?;
        }
        Ok(())
    }
}
