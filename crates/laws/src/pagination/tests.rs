use super::*;
use crate::Verdict;

#[test]
fn the_list_in_memory_keeps_every_law() {
    for seed in 0..20 {
        let options = RunOptions {
            seed,
            ..RunOptions::default()
        };
        let report = judge(&mut MemoryList::new(), &options).unwrap();
        assert_eq!(
            report.with_verdict(Verdict::Holds).count(),
            LAWS.len(),
            "{report}"
        );
    }
}

#[test]
fn each_law_fails_on_its_mutant_with_a_short_counterexample() {
    for (law, _) in laws() {
        for seed in 0..10 {
            let options = RunOptions {
                seed,
                run: vec![law.to_owned()],
                ..RunOptions::default()
            };
            let report = judge(&mut MemoryList::breaking(law), &options).unwrap();
            let broken = report.with_verdict(Verdict::Broken).next();
            let broken =
                broken.unwrap_or_else(|| panic!("the mutant of {law} keeps it, seed {seed}"));
            assert!(broken.steps.len() <= 12, "{report}");
        }
    }
}

/// Removing insignificant padding of base64 cursors does not count as cutting them.
#[test]
fn the_padding_of_a_cursor_means_nothing() {
    struct Padded(MemoryList);
    impl PagedList for Padded {
        fn profile(&self) -> &ListProfile {
            self.0.profile()
        }
        fn page(&mut self, request: &PageRequest) -> Result<PageReply, SubjectError> {
            let mut request = request.clone();
            request.cursor = request
                .cursor
                .map(|cursor| cursor.trim_end_matches('=').to_owned());
            let reply = self.0.page(&request)?;
            Ok(match reply {
                PageReply::Page { ids, next } => PageReply::Page {
                    ids,
                    next: next.map(|next| next + "=="),
                },
                refused => refused,
            })
        }
        fn create(&mut self) -> Result<String, SubjectError> {
            self.0.create()
        }
        fn delete(&mut self, id: &str) -> Result<(), SubjectError> {
            self.0.delete(id)
        }
        fn change(&mut self, id: &str) -> Result<(), SubjectError> {
            self.0.change(id)
        }
        fn take_steps(&mut self) -> Vec<String> {
            self.0.take_steps()
        }
    }
    let report = judge(&mut Padded(MemoryList::new()), &RunOptions::default()).unwrap();
    assert_eq!(report.exit_status(&[]), 0, "{report}");
}

#[test]
fn a_list_without_creation_is_judged_by_what_it_has() {
    struct Fixed(MemoryList, ListProfile);
    impl PagedList for Fixed {
        fn profile(&self) -> &ListProfile {
            &self.1
        }
        fn page(&mut self, request: &PageRequest) -> Result<PageReply, SubjectError> {
            self.0.page(request)
        }
        fn create(&mut self) -> Result<String, SubjectError> {
            Err(SubjectError::new("no rows can be made"))
        }
        fn delete(&mut self, _: &str) -> Result<(), SubjectError> {
            Err(SubjectError::new("no rows can be deleted"))
        }
        fn change(&mut self, _: &str) -> Result<(), SubjectError> {
            Err(SubjectError::new("no rows can be changed"))
        }
        fn take_steps(&mut self) -> Vec<String> {
            self.0.take_steps()
        }
    }
    let mut list = MemoryList::new();
    for _ in 0..7 {
        list.create().unwrap();
    }
    let profile = ListProfile {
        creates: false,
        deletes: false,
        changes: false,
        ..list.profile().clone()
    };
    let report = judge(&mut Fixed(list, profile), &RunOptions::default()).unwrap();
    assert_eq!(report.with_verdict(Verdict::Skipped).count(), 3, "{report}");
    assert_eq!(report.exit_status(&[]), 0, "{report}");
}
