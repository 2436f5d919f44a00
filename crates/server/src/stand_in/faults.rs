//! Faults that a test asks for, the requests that they apply to, and their counts.
use crate::adapters::system_clock::random;
use crate::http::connection_context::token_text;
use crate::log::request_scope::current_request;
use crate::stand_in::delivery_fault::DeliveryFault;
use crate::stand_in::fault_action::{Cut, FaultAction};
use anyhow::{Result, bail};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tokio::sync::Notify;
use workgraph_api::Entropy;
use workgraph_api::request_watch::{AdmittedRequest, RequestFault};
use workgraph_webhooks::Target;

/// Maximum number of faults of a world at the same time.
const FAULTS_MAX: usize = 100;

/// Conditions on the requests that a fault applies to. A missing field allows every request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultMatch {
    /// Name of the operation, such as `createTask`.
    operation: Option<String>,
    method: Option<String>,
    /// Path below the API base; `*` matches one segment.
    path: Option<String>,
    /// Client id of the app that the token belongs to.
    app: Option<String>,
    /// Text of the token.
    token: Option<String>,
    /// Address of a receiver of webhooks.
    target: Option<String>,
    /// Number, from 1, of the matching request that the fault applies to; it applies to no other.
    nth: Option<u64>,
    /// The fault applies to every n-th matching request; this is n.
    every: Option<u64>,
    /// Share of the requests that match, from 0 to 1.
    probability: Option<f64>,
    /// Number of requests after which the fault is over.
    times: Option<u64>,
}

/// Fault as a test sends it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SentFault {
    #[serde(default, rename = "match")]
    matches: FaultMatch,
    #[serde(rename = "do")]
    action: Value,
}

struct Fault {
    matches: FaultMatch,
    action: FaultAction,
    /// Action of the fault, as the test sent it.
    shown: Value,
    /// Numbers of requests that matched, and that met the fault.
    matched: u64,
    fired: u64,
    /// Notified when the requests that the fault holds may continue.
    released: Arc<Notify>,
    is_released: bool,
}

impl FaultMatch {
    /// Returns true if the fault has a condition on requests.
    const fn is_of_requests(&self) -> bool {
        self.operation.is_some()
            || self.method.is_some()
            || self.path.is_some()
            || self.app.is_some()
            || self.token.is_some()
    }

    /// Returns true if deliveries to a target may have the fault.
    fn allows_delivery(&self, target: &Target) -> bool {
        let wanted = self.target.as_deref();
        wanted.is_none_or(|wanted| Target::parse(wanted).as_ref() == Some(target))
    }

    fn allows(&self, request: &AdmittedRequest<'_>) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        let app = request.app.map(|app| app.to_string()).unwrap_or_default();
        let token = request.authorization.first();
        let token = token.and_then(|header| token_text(header));
        is(&self.operation, request.operation)
            && is(&self.method, request.method)
            && is(&self.app, &app)
            && is(&self.token, token.unwrap_or_default())
            && self
                .path
                .as_ref()
                .is_none_or(|path| is_path(path, request.path))
    }
}

/// Returns true if a path matches a pattern, in which `*` matches one segment.
fn is_path(pattern: &str, path: &str) -> bool {
    let (mut wanted, mut found) = (pattern.split('/'), path.split('/'));
    loop {
        match (wanted.next(), found.next()) {
            (None, None) => return true,
            (Some(wanted), Some(found)) if wanted == "*" || wanted == found => {}
            _ => return false,
        }
    }
}

/// Faults of one world.
pub(crate) struct Faults {
    entropy: Arc<dyn Entropy>,
    state: Mutex<FaultState>,
}

#[derive(Default)]
struct FaultState {
    last: u64,
    faults: BTreeMap<u64, Fault>,
    /// Connections to cut after the reply to a request, by the id of the request.
    cuts: HashMap<String, Cut>,
}

impl Faults {
    pub(crate) fn new(entropy: Arc<dyn Entropy>) -> Self {
        Self {
            entropy,
            state: Mutex::default(),
        }
    }

    /// Adds the fault in the body of a request, and returns it.
    ///
    /// # Errors
    /// Names the field that is wrong.
    pub(crate) fn add(&self, body: &[u8]) -> Result<Value> {
        let sent: SentFault = serde_json::from_slice(body)?;
        let action = FaultAction::parse(&sent.action)?;
        let matches = sent.matches;
        if matches
            .probability
            .is_some_and(|p| !(0.0..=1.0).contains(&p))
        {
            bail!("match.probability: must be from 0 to 1");
        }
        if [matches.nth, matches.every, matches.times].contains(&Some(0)) {
            bail!("match: nth, every and times begin at 1");
        }
        if let Some(operation) = &matches.operation
            && !workgraph_operations::all().any(|known| known.id == operation)
        {
            bail!("match.operation: no operation has the name `{operation}`");
        }
        match (action.is_of_deliveries(), &matches.target) {
            (true, _) if matches.is_of_requests() => {
                bail!("match: deliveries have a target; the other conditions are those of requests")
            }
            (false, Some(_)) => bail!("match.target: only deliveries (`do.webhook`) have one"),
            (true, Some(target)) if Target::parse(target).is_none() => {
                bail!("match.target: `{target}` is no address")
            }
            _ => {}
        }
        let mut state = self.state.lock();
        if state.faults.len() >= FAULTS_MAX {
            bail!("there are {FAULTS_MAX} faults already: delete some");
        }
        state.last += 1;
        let id = state.last;
        let fault = Fault {
            matches,
            action,
            shown: sent.action,
            matched: 0,
            fired: 0,
            released: Arc::default(),
            is_released: false,
        };
        let shown = fault.json(id);
        state.faults.insert(id, fault);
        Ok(shown)
    }

    /// Returns all faults, with the numbers of requests that matched and that met them.
    pub(crate) fn json(&self) -> Value {
        let state = self.state.lock();
        state
            .faults
            .iter()
            .map(|(id, fault)| fault.json(*id))
            .collect()
    }

    /// Deletes a fault, or all if no id is given. Requests that it holds continue. Returns false if no fault has this id.
    pub(crate) fn delete(&self, id: Option<u64>) -> bool {
        let mut state = self.state.lock();
        let gone = match id {
            Some(id) => state.faults.remove(&id).into_iter().collect(),
            None => std::mem::take(&mut state.faults)
                .into_values()
                .collect::<Vec<_>>(),
        };
        for fault in &gone {
            fault.released.notify_waiters();
        }
        id.is_none() || !gone.is_empty()
    }

    /// Releases the requests that a fault holds, and lets all later ones through. Returns false if no fault has this id.
    pub(crate) fn release(&self, id: u64) -> bool {
        let mut state = self.state.lock();
        let Some(fault) = state.faults.get_mut(&id) else {
            return false;
        };
        fault.is_released = true;
        fault.released.notify_waiters();
        true
    }

    /// Returns how the reply to a request is cut, if a fault asked for that.
    pub(crate) fn take_cut(&self, request_id: &str) -> Option<Cut> {
        self.state.lock().cuts.remove(request_id)
    }

    fn meet_request(&self, request: &AdmittedRequest<'_>) -> Option<(FaultAction, Arc<Notify>)> {
        self.meet(|fault| !fault.action.is_of_deliveries() && fault.matches.allows(request))
    }

    /// Returns the fault of a delivery to a target, if it meets one.
    pub(crate) fn of_delivery(&self, target: &Target) -> Option<DeliveryFault> {
        let is_met = |fault: &Fault| {
            fault.action.is_of_deliveries() && fault.matches.allows_delivery(target)
        };
        match self.meet(is_met)? {
            (FaultAction::Delivery(fault), _) => Some(fault),
            _ => None,
        }
    }

    /// Returns the action of the first fault that fires for a request or delivery. Every fault for which `is_met` returns
    /// true counts the request or delivery.
    fn meet(&self, is_met: impl Fn(&Fault) -> bool) -> Option<(FaultAction, Arc<Notify>)> {
        // One random number per request, not per match, so that an additional fault does not affect the others.
        let drawn = u32::from_be_bytes(random(&*self.entropy).ok()?);
        let share = f64::from(drawn) / f64::from(u32::MAX);
        let mut state = self.state.lock();
        let mut met = None;
        for fault in state.faults.values_mut() {
            if fault.is_over() || !is_met(fault) {
                continue;
            }
            fault.matched += 1;
            let fires = met.is_none()
                && fault.matches.nth.is_none_or(|nth| fault.matched == nth)
                && fault
                    .matches
                    .every
                    .is_none_or(|every| fault.matched.is_multiple_of(every))
                && fault.matches.probability.is_none_or(|p| share < p);
            if fires {
                fault.fired += 1;
                let is_open = fault.is_released && matches!(fault.action, FaultAction::Hold);
                met = (!is_open).then(|| (fault.action.clone(), Arc::clone(&fault.released)));
            }
        }
        if let Some((FaultAction::Cut(cut), _)) = &met
            && let Some(id) = current_request()
        {
            state.cuts.insert(id.to_text(), *cut);
        }
        met
    }
}

impl Fault {
    fn is_over(&self) -> bool {
        self.matches.times.is_some_and(|times| self.fired >= times)
    }

    fn json(&self, id: u64) -> Value {
        json!({
            "id": id.to_string(),
            "do": self.shown,
            "matched": self.matched,
            "fired": self.fired,
            "over": self.is_over(),
        })
    }
}

impl Faults {
    /// Returns the fault of a request, or `None` if the request continues.
    pub(crate) async fn fault_of(&self, request: &AdmittedRequest<'_>) -> Option<RequestFault> {
        let (action, released) = {
            let met = self.meet_request(request)?;
            (met.0, met.1.notified_owned())
        };
        action.perform(released).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_in::seeded_entropy::SeededEntropy;

    fn faults() -> Faults {
        Faults::new(Arc::new(SeededEntropy::new(1)))
    }

    fn request<'r>(operation: &'static str, path: &'r str) -> AdmittedRequest<'r> {
        AdmittedRequest {
            operation,
            method: "GET",
            path,
            authorization: &[],
            app: None,
        }
    }

    #[test]
    fn a_fault_meets_the_requests_that_it_names() {
        let faults = faults();
        let added =
            faults.add(br#"{"match":{"path":"/tasks/*","nth":2},"do":{"error":"internal"}}"#);
        assert_eq!(added.unwrap()["id"], "1");
        let met = |path| faults.meet_request(&request("getTask", path)).is_some();
        assert!(!met("/tasks/1") && !met("/tasks") && !met("/tasks/1/subtasks"));
        assert!(met("/tasks/2") && !met("/tasks/3"));
        assert_eq!(
            (&faults.json()[0]["matched"], &faults.json()[0]["fired"]),
            (&3.into(), &1.into())
        );
    }

    #[test]
    fn times_every_and_probability_bound_a_fault() {
        let faults = faults();
        let add = |matches: Value| {
            let fault = json!({"match": matches, "do": {"error": "internal"}});
            faults.add(fault.to_string().as_bytes()).unwrap();
            let is_met = || {
                faults
                    .meet_request(&request("getTask", "/tasks/1"))
                    .is_some()
            };
            let met = (0..1_000).filter(|_| is_met()).count();
            faults.delete(None);
            met
        };
        assert_eq!(add(json!({"times": 3})), 3);
        assert_eq!(add(json!({"every": 10})), 100);
        assert!((150..250).contains(&add(json!({"probability": 0.2}))));
        assert_eq!(add(json!({"operation": "getUser"})), 0);
    }

    #[test]
    fn what_is_wrong_in_a_fault_is_named() {
        let refused = |body: &str| format!("{:#}", faults().add(body.as_bytes()).unwrap_err());
        assert!(
            refused(r#"{"match":{"operation":"getTusk"},"do":{"error":"internal"}}"#)
                .contains("getTusk")
        );
        assert!(refused(r#"{"match":{"nth":0},"do":{"error":"internal"}}"#).contains("nth"));
        assert!(refused(r#"{"do":{"error":"strange"}}"#).contains("strange"));
        assert!(refused(r#"{"do":{}}"#).starts_with("do:"));
        assert!(refused(r#"{"do":{"hold":true,"cut":"half"}}"#).starts_with("do:"));
        assert!(refused(r#"{"do":{"webhook":"strange"}}"#).contains("strange"));
        assert!(
            refused(r#"{"match":{"operation":"getTask"},"do":{"webhook":"drop"}}"#)
                .contains("target")
        );
        assert!(
            refused(r#"{"match":{"target":"http://x/"},"do":{"hold":true}}"#).contains("target")
        );
        assert!(refused(r#"{"mach":{},"do":{"error":"internal"}}"#).contains("mach"));
    }
}
