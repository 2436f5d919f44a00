//! The graph found after a crash, compared with the writes that were acknowledged before.
use super::*;

/// State of the graph after a kill, as the restarted server returns it.
pub(super) struct Rest<'a> {
    connection: RawConnection,
    scene: &'a Scene,
    tasks: HashMap<String, Value>,
    pub(super) complaints: Vec<String>,
}

impl<'a> Rest<'a> {
    /// Reads the listing of the project, page by page.
    pub(super) fn read(scene: &'a Scene) -> Self {
        let mut rest = Self {
            connection: RawConnection::open(scene.port).unwrap(),
            scene,
            tasks: HashMap::new(),
            complaints: Vec::new(),
        };
        let mut path = format!(
            "/projects/{}/tasks?limit=100&opt_fields={FIELDS}",
            scene.project
        );
        loop {
            let page = rest.get(&path).1;
            for task in page["data"].as_array().unwrap() {
                if rest
                    .tasks
                    .insert(text(&task["gid"]), task.clone())
                    .is_some()
                {
                    rest.complaints.push(format!("listed twice: {task}"));
                }
            }
            match page["next_page"]["path"].as_str() {
                Some(next) => next.clone_into(&mut path),
                None => return rest,
            }
        }
    }

    pub(super) fn get(&mut self, path: &str) -> (u16, Value) {
        let reply = self
            .connection
            .ask(&request("GET", path, &self.scene.token, None))
            .unwrap();
        (reply.status, reply.json())
    }

    pub(super) fn stories(&mut self, gid: &str) -> Vec<(String, String)> {
        let mut path = format!("/tasks/{gid}/stories?limit=100&opt_fields=resource_subtype,text");
        let mut stories = Vec::new();
        loop {
            let (status, page) = self.get(&path);
            if status != 200 {
                self.complaints
                    .push(format!("the stories of {gid}: {status} {page}"));
                return stories;
            }
            stories.extend(
                page["data"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|s| (text(&s["resource_subtype"]), text(&s["text"]))),
            );
            match page["next_page"]["path"].as_str() {
                Some(next) => next.clone_into(&mut path),
                None => return stories,
            }
        }
    }

    /// Finds out whether the write that was under way took effect, and notes it if it did.
    pub(super) fn settle(&mut self, diary: &mut Diary) -> bool {
        let Some(write) = diary.open.take() else {
            return false;
        };
        let found = |gid: &str| self.tasks.get(gid);
        let gid = match &write {
            Write::Create(task) => {
                let mut same = self
                    .tasks
                    .values()
                    .filter(|t| t["name"] == task.name.as_str())
                    .map(|t| text(&t["gid"]));
                same.next()
            }
            Write::Change(at, task) => {
                let gid = &diary.tasks[*at].gid;
                found(gid)
                    .filter(|t| t["name"] == task.name.as_str())
                    .map(|_| gid.clone())
            }
            Write::Move(at, section) => {
                let gid = &diary.tasks[*at].gid;
                found(gid)
                    .filter(|t| t["memberships"][0]["section"]["gid"] == section.as_str())
                    .map(|_| gid.clone())
            }
            Write::Delete(at) => {
                let gid = &diary.tasks[*at].gid;
                found(gid).is_none().then(|| gid.clone())
            }
            Write::Comment(at, said) => {
                let gid = diary.tasks[*at].gid.clone();
                self.stories(&gid)
                    .iter()
                    .any(|(_, text)| text == said)
                    .then_some(gid)
            }
        };
        let at = match &write {
            Write::Create(_) => None,
            Write::Change(at, _)
            | Write::Comment(at, _)
            | Write::Move(at, _)
            | Write::Delete(at) => Some(*at),
        };
        if let Some(at) = at {
            // A write that did not take effect must have left nothing.
            diary.tasks[at].touched = true;
        }
        gid.map(|gid| diary.done(write, &gid)).is_some()
    }

    /// Compares a task with its expected state.
    pub(super) fn compare(&mut self, task: &Task) {
        let gid = task.gid.as_str();
        if task.deleted {
            if self.tasks.contains_key(gid)
                || (task.touched && self.get(&format!("/tasks/{gid}")).0 != 404)
            {
                self.complaints.push(format!("deleted and back: {task:?}"));
            }
            return;
        }
        let Some(found) = self.tasks.get(gid) else {
            let alone = self.get(&format!("/tasks/{gid}?opt_fields={FIELDS}"));
            self.complaints.push(format!(
                "not in its project: {task:?}; by itself: {} {}",
                alone.0, alone.1
            ));
            return;
        };
        let mut followers: Vec<_> = found["followers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| text(&f["gid"]))
            .collect();
        followers.sort();
        let mut expected = vec![self.scene.me.clone(), self.scene.other.clone()];
        expected.sort();
        let sections: Vec<_> = found["memberships"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| text(&m["section"]["gid"]))
            .collect();
        let projects: Vec<_> = found["projects"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| text(&m["gid"]))
            .collect();
        let right = [
            ("name", found["name"] == task.name.as_str()),
            ("notes", found["notes"] == task.notes.as_str()),
            ("completed", found["completed"] == task.completed),
            ("due_on", found["due_on"] == task.due_on.as_str()),
            (
                "assignee",
                found["assignee"]["gid"] == self.scene.me.as_str(),
            ),
            (
                "assignee_section",
                found["assignee_section"]["gid"].is_string(),
            ),
            ("followers", followers == expected),
            ("memberships", sections == [task.section.as_str()]),
            ("projects", projects == [self.scene.project.as_str()]),
        ];
        let wrong: Vec<_> = right
            .iter()
            .filter(|(_, fits)| !fits)
            .map(|(name, _)| *name)
            .collect();
        if !wrong.is_empty() {
            self.complaints
                .push(format!("{wrong:?} differ: {found} is not {task:?}"));
        }
        if task.touched {
            self.compare_stories(task);
        }
    }

    pub(super) fn compare_stories(&mut self, task: &Task) {
        let stories = self.stories(&task.gid);
        let count = |kinds: &[&str]| {
            stories
                .iter()
                .filter(|(kind, _)| kinds.contains(&kind.as_str()))
                .count()
        };
        let comments: Vec<_> = stories
            .iter()
            .filter(|(kind, _)| kind == "comment_added")
            .map(|(_, text)| text.clone())
            .collect();
        let found = Stories {
            renamed: count(&["name_changed"]),
            described: count(&["notes_changed"]),
            dated: count(&["due_date_changed"]),
            marked: count(&["marked_complete", "marked_incomplete"]),
        };
        let born = (count(&["added_to_project"]), count(&["assigned"])) == (1, 1);
        if found != task.stories || comments != task.comments || !born {
            self.complaints
                .push(format!("stories differ: {stories:?} do not fit {task:?}"));
        }
    }

    /// Compares the whole project with all diaries.
    pub(super) fn compare_all(&mut self, diaries: &[Diary]) {
        let mut live = 0;
        for task in diaries.iter().flat_map(|d| &d.tasks) {
            live += usize::from(!task.deleted);
            self.compare(task);
        }
        if self.complaints.is_empty() && self.tasks.len() != live {
            self.complaints.push(format!(
                "{} tasks are listed, {live} were made",
                self.tasks.len()
            ));
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
