//! Protection of forms and attempts: the origin of a form, and the number of attempts a minute.
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::SystemTime;

use parking_lot::Mutex;

use workgraph_auth::SecretDigest;
use workgraph_limits::{LimitKey, Limiter, RateQuota, RequestClass};

use crate::portal_request::PortalRequest;

/// Purpose of the anti-forgery text in the console's forms.
pub const PURPOSE: &str = "console";

/// Returns true if a browser sent this form from a page of this server, as far as its headers show.
///
/// Pages are sent with `Referrer-Policy: no-referrer`, for which a browser makes the origin of a form `null` (Fetch,
/// section 3.1); then `Sec-Fetch-Site` decides, which browsers send to `https` and to this machine. A request without
/// any of these headers is let through: the form's anti-forgery text decides.
pub(crate) fn is_same_origin(request: &PortalRequest, origin: &str) -> bool {
    match request.fetch_site.as_deref() {
        Some("same-origin") => {
            return request
                .origin
                .as_deref()
                .is_none_or(|o| o == origin || o == "null");
        }
        None => {}
        Some(_) => return false,
    }
    match (request.origin.as_deref(), request.referer.as_deref()) {
        (Some("null"), _) => origin.starts_with("http://"),
        (Some(sent), _) => sent == origin,
        (None, Some(page)) => page
            .strip_prefix(origin)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        (None, None) => true,
    }
}

/// Returns the origin of an address: scheme, host and port.
pub(crate) fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let rest = url.get(start..).unwrap_or_default();
    let end = rest.find('/').map_or(url.len(), |at| start + at);
    url.get(..end).unwrap_or(url)
}

/// Counts attempts per kind and client, so that a flood from one client does not limit another.
#[derive(Debug)]
pub(crate) struct Throttle {
    limiter: Limiter,
    /// Number of attempts under way, which may still turn out not to count.
    pending: Mutex<HashMap<LimitKey, u32>>,
}

/// Attempt under way. It counts when it is dropped, unless it was given back.
#[derive(Debug)]
pub(crate) struct ThrottleAttempt<'a> {
    throttle: &'a Throttle,
    key: LimitKey,
    quota: Option<u32>,
    now: SystemTime,
}

impl ThrottleAttempt<'_> {
    /// Gives the attempt back, so that it does not count.
    pub(crate) fn give_back(mut self) {
        let Some(_) = self.quota.take() else { return };
        self.throttle.close(&self.key);
    }
}

impl Drop for ThrottleAttempt<'_> {
    fn drop(&mut self) {
        let Some(quota) = self.quota else { return };
        // The attempt was let through already; this counts it for later ones.
        let _counted = self.throttle.count(self.key, quota, self.now);
        self.throttle.close(&self.key);
    }
}

impl Throttle {
    pub(crate) fn new() -> Self {
        let limiter = Limiter::new(workgraph_limits::LimiterSettings {
            concurrent_reads: u32::MAX,
            concurrent_writes: u32::MAX,
            cost_per_minute: None,
            ..workgraph_limits::LimiterSettings::default()
        });
        Self {
            limiter,
            pending: Mutex::default(),
        }
    }

    fn close(&self, key: &LimitKey) {
        let mut open = self.pending.lock();
        if let Some(count) = open.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                open.remove(key);
            }
        }
    }

    fn count(&self, key: LimitKey, quota: u32, now: SystemTime) -> Result<(), u64> {
        let request = workgraph_limits::AdmissionRequest {
            key,
            class: RequestClass::Read,
            rate: RateQuota::Standard { quota },
            weight: 1,
        };
        let admitted = self.limiter.admit(&request, now);
        admitted.map(drop).map_err(|refusal| refusal.retry_after)
    }

    /// Counts an attempt and admits it, if it is within `quota` a minute. Without a quota every attempt is admitted.
    ///
    /// # Errors
    /// The wait in seconds.
    pub(crate) fn admit(
        &self,
        what: &str,
        client: &str,
        quota: Option<u32>,
        now: SystemTime,
    ) -> Result<(), u64> {
        quota.map_or(Ok(()), |quota| self.count(key(what, client), quota, now))
    }

    /// Begins an attempt, if it is within `quota` a minute together with all attempts under way.
    ///
    /// # Errors
    /// The wait in seconds.
    pub(crate) fn begin(
        &self,
        what: &str,
        client: &str,
        quota: Option<u32>,
        now: SystemTime,
    ) -> Result<ThrottleAttempt<'_>, u64> {
        let key = key(what, client);
        if let Some(quota) = quota {
            let mut open = self.pending.lock();
            let under_way = open.get(&key).copied().unwrap_or_default();
            let state = self.limiter.state(&key, quota, now).standard;
            if state.remaining <= under_way {
                return Err(state.next_ms.div_ceil(1000).max(1));
            }
            open.insert(key, under_way + 1);
        }
        Ok(ThrottleAttempt {
            throttle: self,
            key,
            quota,
            now,
        })
    }

    /// Forgets attempts that no longer count.
    pub(crate) fn sweep(&self, now: SystemTime) {
        self.limiter.evict_idle(now);
    }
}

/// Returns the name under which an address counts: its own, or for IPv6, where each client has many, that of its
/// network.
pub(crate) fn network(from: IpAddr) -> String {
    match from.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

fn key(what: &str, client: &str) -> LimitKey {
    SecretDigest::of(&format!("{what} {client}")).key()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::time::{Duration, UNIX_EPOCH};

    const OWN: &str = "https://work.example";

    fn request(origin: Option<&str>, referer: Option<&str>, site: Option<&str>) -> PortalRequest {
        PortalRequest {
            method: "POST".to_owned(),
            path: String::new(),
            query: String::new(),
            authorization: Vec::new(),
            content_type: None,
            cookies: Vec::new(),
            origin: origin.map(str::to_owned),
            referer: referer.map(str::to_owned),
            fetch_site: site.map(str::to_owned),
            fetch_dest: None,
            address: IpAddr::from([127, 0, 0, 1]),
            user_agent: None,
            body: Bytes::new(),
        }
    }

    /// B20.
    #[test]
    fn forms_of_other_origins_are_refused() {
        for (origin, referer, site, own) in [
            (Some(OWN), None, None, true),
            (Some("null"), None, Some("same-origin"), true),
            (None, Some("https://work.example/-/sign_in"), None, true),
            (None, None, None, true),
            (Some("null"), None, None, false),
            (Some("null"), None, Some("cross-site"), false),
            (Some(OWN), None, Some("cross-site"), false),
            (Some(OWN), None, Some("same-site"), false),
            (
                Some("https://evil.example"),
                None,
                Some("same-origin"),
                false,
            ),
            (Some("http://work.example"), None, None, false),
            (Some("https://work.example.evil"), None, None, false),
            (None, Some("https://work.example.evil/"), None, false),
            (None, Some("https://evil.example/"), None, false),
        ] {
            let sent = request(origin, referer, site);
            assert_eq!(
                is_same_origin(&sent, OWN),
                own,
                "{origin:?} {referer:?} {site:?}"
            );
        }
        assert!(is_same_origin(
            &request(Some("null"), None, None),
            "http://10.0.0.1"
        ));
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for (url, is) in [
            ("https://h", "https://h"),
            ("https://h:8/api", "https://h:8"),
            ("http://[::1]:80/a/b", "http://[::1]:80"),
        ] {
            assert_eq!(origin(url), is);
        }
    }

    /// B48, B64.
    #[test]
    fn one_address_gets_its_quota_and_others_theirs() {
        let (throttle, now) = (Throttle::new(), UNIX_EPOCH + Duration::from_secs(1000));
        let (a, b) = ("1.1.1.1", "2.2.2.2");
        for _ in 0..60 {
            assert_eq!(throttle.admit("x", a, Some(60), now), Ok(()));
        }
        assert_eq!(throttle.begin("x", a, Some(60), now).err(), Some(60));
        assert!(throttle.admit("x", a, Some(60), now).is_err());
        assert_eq!(throttle.admit("x", b, Some(60), now), Ok(()));
        assert_eq!(throttle.admit("y", a, Some(60), now), Ok(()));
        assert_eq!(throttle.admit("x", a, None, now), Ok(()));
        let one: IpAddr = "2001:db8::1".parse().unwrap();
        let two: IpAddr = "2001:db8::2".parse().unwrap();
        assert_eq!(network(one), network(two));
    }

    /// B69.
    #[test]
    fn attempts_under_way_count_until_they_are_given_back() {
        let (throttle, now) = (Throttle::new(), UNIX_EPOCH + Duration::from_secs(1000));
        let begin = || throttle.begin("x", "a", Some(3), now);
        let mut open: Vec<ThrottleAttempt<'_>> = (0..3).map(|_| begin().unwrap()).collect();
        assert!(begin().is_err(), "three are under way");
        assert!(throttle.begin("x", "b", Some(3), now).is_ok());
        open.pop().unwrap().give_back();
        open.push(begin().unwrap());
        drop(open);
        assert!(begin().is_err(), "three have counted");
        assert!(throttle.pending.lock().is_empty(), "none is under way");
        let later = now + Duration::from_secs(60);
        assert!(throttle.begin("x", "a", Some(3), later).is_ok());
        assert!(throttle.begin("x", "a", None, now).is_ok());
    }
}
