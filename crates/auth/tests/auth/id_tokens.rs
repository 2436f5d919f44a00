//! id_tokens, keys and their rotation, and the discovery document.
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use workgraph_auth::conformance::{SCOPES, block_on};
use workgraph_auth::endpoints::discovery;
use workgraph_auth::oidc::ID_TOKEN_LIFETIME;
use workgraph_auth::oidc::id_token::user_info;
use workgraph_auth::oidc::signing_keys::{KEY_SET_LIFETIME, SignError};
use workgraph_auth::{
    AuthorizationPolicy, EndpointRequest, Endpoints, IdToken, IssuerInResponses, JsonWebKey,
    PublicClients, Rs256, Secret, SecretDigest, Signer, SigningKeyRing, TokenSettings, UserInfo,
};

use crate::at;
use crate::oauth::{ISSUER, POLICY, Service, Town, ada, app, asks, exchange, member, read, with};

fn der(text: &str) -> Vec<u8> {
    STANDARD.decode(text.replace('\n', "")).unwrap()
}

/// Returns a key that is used in these tests only.
fn key() -> Rs256 {
    Rs256::from_pkcs8(&der(include_str!("test-key.b64"))).unwrap()
}

fn part(json: &str, name: &str) -> String {
    let (_, rest) = json.split_once(&format!("\"{name}\":\"")).unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

/// Verifies a JWS with nothing but a key set, as a client does, and returns its claims.
fn verify(token: &str, key_set: &str) -> Option<String> {
    let [header, claims, signature] = token.split('.').collect::<Vec<_>>().try_into().ok()?;
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
    let header = String::from_utf8(decode(header)?).ok()?;
    if part(&header, "alg") != "RS256" {
        return None;
    }
    let (_, key) = key_set.split_once(&format!("\"kid\":\"{}\"", part(&header, "kid")))?;
    let public = RsaPublicKeyComponents {
        n: decode(&part(key, "n"))?,
        e: decode(&part(key, "e"))?,
    };
    let (signed, _) = token.rsplit_once('.')?;
    public
        .verify(
            &RSA_PKCS1_2048_8192_SHA256,
            signed.as_bytes(),
            &decode(signature)?,
        )
        .ok()?;
    String::from_utf8(decode(claims)?).ok()
}

fn ring_of_one() -> SigningKeyRing {
    SigningKeyRing::new([(Arc::new(key()) as Arc<dyn Signer>, at(0))])
}

fn id_token<'a>(person: &'a UserInfo, scopes: &str) -> IdToken<'a> {
    IdToken {
        issuer: ISSUER,
        user: person,
        app: 40,
        scopes: SCOPES.parse(scopes).unwrap(),
        nonce: None,
        auth_time: at(1000),
        access: None,
        code: None,
    }
}

#[test]
fn b57_what_an_id_token_says() {
    let person = ada();
    let claims = id_token(&person, "openid").claims(at(2999));
    assert_eq!(
        claims,
        r#"{"iss":"https://wg.example/api/1.0","sub":"12","aud":"40","exp":1800003602,"iat":1800000002,"auth_time":1800000001}"#
    );
    // The hashes are those of OpenID Connect Core, appendix A.4 and A.6.
    let (access, code) = (
        Secret::new("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y".to_owned()),
        Secret::new("Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk".to_owned()),
    );
    let full = IdToken {
        nonce: Some("n \"é\""),
        access: Some(&access),
        code: Some(&code),
        ..id_token(&person, "default")
    };
    let claims = full.claims(at(0));
    let tail = r#""nonce":"n \"é\"","at_hash":"77QmUPtjPfzWtF2AnpK9RQ","c_hash":"LDktKdoQak3Pk0cnXxCltA","email":"ada@example.com","name":"Ada \"L\" é","picture":"https://wg.example/p/12"}"#;
    assert!(claims.ends_with(tail), "{claims}");
}

#[test]
fn claims_come_by_scope() {
    let person = ada();
    for (scopes, email, profile) in [
        ("openid", false, false),
        ("openid email", true, false),
        ("openid profile", false, true),
        ("email profile openid", true, true),
    ] {
        let claims = id_token(&person, scopes).claims(at(0));
        let info = user_info(&person, SCOPES.parse(scopes).unwrap()).unwrap();
        for json in [claims, info] {
            assert_eq!(
                (
                    json.contains("email"),
                    json.contains("name"),
                    json.contains("picture")
                ),
                (email, profile, profile),
                "{json}"
            );
        }
    }
    assert_eq!(
        user_info(&person, SCOPES.parse("email profile").unwrap()),
        None
    );
    assert_eq!(
        user_info(
            &UserInfo {
                picture: None,
                ..person
            },
            SCOPES.parse("openid profile").unwrap()
        )
        .unwrap(),
        r#"{"sub":"12","name":"Ada \"L\" é"}"#
    );
}

#[test]
fn b56_an_id_token_verifies_with_the_key_set_alone() {
    let (ring, person) = (ring_of_one(), ada());
    let token = id_token(&person, "openid")
        .sign(ring.signer(at(0)).unwrap(), at(0))
        .unwrap();
    let set = ring.key_set(at(0));
    assert_eq!(
        verify(&token, &set).unwrap(),
        id_token(&person, "openid").claims(at(0))
    );
    let (head, signature) = token.rsplit_once('.').unwrap();
    let (_, claims) = head.split_once('.').unwrap();
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT","kid":"x"}"#);
    let flipped = format!(
        "{head}.{}{}",
        if signature.starts_with('A') { 'B' } else { 'A' },
        &signature[1..]
    );
    for forged in [
        flipped,
        format!("{none}.{claims}."),
        format!("{head}."),
        token.replacen("ey", "ez", 1),
    ] {
        assert!(
            std::panic::catch_unwind(|| verify(&forged, &set))
                .ok()
                .flatten()
                .is_none(),
            "{forged}"
        );
    }
    assert!(
        set.contains(r#""kty":"RSA","use":"sig","alg":"RS256""#) && set.contains(r#""e":"AQAB""#)
    );
    for private in ["\"d\"", "\"p\"", "\"q\""] {
        assert!(!set.contains(private));
    }
    assert!(!format!("{ring:?}").contains("pair"));
}

#[test]
fn keys_that_are_none_or_too_small_are_refused() {
    for der in [
        der(include_str!("small-key.b64")),
        Vec::new(),
        b"not a key".to_vec(),
    ] {
        assert!(Rs256::from_pkcs8(&der).is_err());
    }
    assert_eq!(key().kid(), key().kid());
    assert_eq!(key().kid().len(), 43);
}

/// Signer with nothing but a name.
struct Named(&'static str);

impl Signer for Named {
    fn kid(&self) -> &str {
        self.0
    }
    fn jwk(&self) -> JsonWebKey {
        JsonWebKey {
            kty: "RSA",
            usage: "sig",
            alg: "RS256",
            kid: self.kid().to_owned(),
            n: String::new(),
            e: String::new(),
        }
    }
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, SignError> {
        Ok(Vec::new())
    }
}

/// Returns true if rotation keeps its rules: a key that signs was published for a key set's
/// lifetime before, and stays published for an id_token's lifetime after it last signed.
fn rotates_well(published: impl Fn(&SigningKeyRing, SystemTime) -> Vec<String>) -> bool {
    let mut ring = SigningKeyRing::new([(Arc::new(Named("a")) as Arc<dyn Signer>, at(0))]);
    let minute = |n: u64| at(n * 60_000);
    let mut made = vec![(500, "b"), (560, "c"), (2000, "d")];
    let mut good = true;
    let mut log: Vec<(Vec<String>, String)> = Vec::new();
    for n in 0..3000 {
        if made.first().is_some_and(|(when, _)| *when == n) {
            ring.push(Arc::new(Named(made.remove(0).1)), minute(n));
        }
        log.push((
            published(&ring, minute(n)),
            ring.signer(minute(n)).unwrap().kid().to_owned(),
        ));
    }
    let ttl = (KEY_SET_LIFETIME.as_secs() / 60) as usize;
    let life = (ID_TOKEN_LIFETIME.as_secs() / 60) as usize;
    for (n, (_, signer)) in log.iter().enumerate() {
        let before = &log[n.saturating_sub(ttl)..=n];
        let after = &log[n..(n + life).min(log.len())];
        good &= before
            .iter()
            .chain(after)
            .all(|(keys, _)| keys.contains(signer));
    }
    // And each key signs in its turn, and is removed.
    let signers: Vec<&str> = log.iter().map(|(_, signer)| signer.as_str()).collect();
    good && (signers[559], signers[560], signers[620], signers[2999]) == ("a", "b", "c", "d")
        && log[2999].0 == ["d"]
}

#[test]
fn b56_keys_are_published_before_and_after_they_sign() {
    let kids = |ring: &SigningKeyRing, now| {
        ring.published(now)
            .map(|key| key.kid().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(rotates_well(kids));
    assert!(!rotates_well(|ring, now| vec![
        ring.signer(now).unwrap().kid().to_owned()
    ]));
    assert!(!rotates_well(|ring, now| kids(ring, now)
        .into_iter()
        .rev()
        .take(1)
        .collect()));
    assert!(!rotates_well(|ring, now| kids(
        ring,
        now - Duration::from_secs(600)
    )));
    assert!(SigningKeyRing::default().signer(at(0)).is_none());
    assert_eq!(SigningKeyRing::default().key_set(at(0)), r#"{"keys":[]}"#);
}

#[test]
fn an_openid_exchange_brings_an_id_token() {
    let service = Service::new();
    let ring = ring_of_one();
    let endpoints = Endpoints {
        store: service.store.as_ref(),
        users: &Town,
        issuer: ISSUER,
        scopes: SCOPES,
        tokens: TokenSettings::DEFAULT,
        public_clients: PublicClients::Refused,
        signer: ring.signer(at(0)),
    };
    let get = |scope: &str, nonce| {
        let params = with(&with(&asks(), "scope", Some(scope)), "nonce", nonce);
        let pairs = exchange(&service.allow(&params, at(5000)));
        let form = EndpointRequest {
            pairs: &pairs,
            authorization: &[],
        };
        block_on(endpoints.token(&form, &service.fresh(), at(6000))).unwrap()
    };
    let reply = get("openid tasks:read", Some("n-0S6_WzA2Mj"));
    let claims = verify(&member(&reply, "id_token"), &ring.key_set(at(0))).unwrap();
    let hash = ring::digest::digest(
        &ring::digest::SHA256,
        member(&reply, "access_token").as_bytes(),
    );
    let at_hash = URL_SAFE_NO_PAD.encode(&hash.as_ref()[..16]);
    assert_eq!(
        claims,
        format!(
            r#"{{"iss":"{ISSUER}","sub":"12","aud":"40","exp":1800003606,"iat":1800000006,"auth_time":1800000000,"nonce":"n-0S6_WzA2Mj","at_hash":"{at_hash}"}}"#
        )
    );
    assert!(get("openid", None).body.contains("id_token"));
    assert!(!get("tasks:read", Some("n")).body.contains("id_token"));
    assert!(SCOPES.parse("openid").is_ok());
}

/// A user may consent to less before the code is redeemed.
#[test]
fn an_exchange_brings_an_id_token_only_if_its_scope_is_left() {
    let service = Service::new();
    let ring = ring_of_one();
    let endpoints = Endpoints {
        store: service.store.as_ref(),
        users: &Town,
        issuer: ISSUER,
        scopes: SCOPES,
        tokens: TokenSettings::DEFAULT,
        public_clients: PublicClients::Refused,
        signer: ring.signer(at(0)),
    };
    let redeemed = |later: &str| {
        let scoped = |scope: &str| with(&asks(), "scope", Some(scope));
        let code = service.allow(&scoped("openid tasks:read"), at(5000));
        service.allow(&scoped(later), at(5500));
        let form = EndpointRequest {
            pairs: &exchange(&code),
            authorization: &[],
        };
        block_on(endpoints.token(&form, &service.fresh(), at(6000))).unwrap()
    };
    assert!(redeemed("openid tasks:read").body.contains("id_token"));
    let less = redeemed("tasks:read");
    assert_eq!(member(&less, "scope"), "tasks:read");
    assert!(!less.body.contains("id_token"));
}

#[test]
fn b58_the_discovery_document() {
    let text = discovery::document(&POLICY, "https://wg.example");
    for line in [
        r#"{"issuer":"https://wg.example/api/1.0","#,
        r#""authorization_endpoint":"https://wg.example/-/oauth_authorize""#,
        r#""token_endpoint":"https://wg.example/-/oauth_token""#,
        r#""jwks_uri":"https://wg.example/api/1.0/openid_connect/jwks""#,
        r#""userinfo_endpoint":"https://wg.example/api/1.0/openid_connect/userinfo""#,
        r#""response_types_supported":["code","id_token","code id_token"]"#,
        r#""id_token_signing_alg_values_supported":["RS256"]"#,
        r#""code_challenge_methods_supported":["S256"]"#,
        r#""request_uri_parameter_supported":false"#,
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    let names: Vec<&str> = text
        .split(['{', '}', ',', '['])
        .filter_map(|part| part.split_once("\":"))
        .map(|(name, _)| name.trim_start_matches('"'))
        .collect();
    assert_eq!(
        names.join(" "),
        "issuer authorization_endpoint token_endpoint revocation_endpoint introspection_endpoint userinfo_endpoint \
         jwks_uri response_types_supported response_modes_supported grant_types_supported subject_types_supported \
         id_token_signing_alg_values_supported token_endpoint_auth_methods_supported \
         revocation_endpoint_auth_methods_supported introspection_endpoint_auth_methods_supported \
         code_challenge_methods_supported scopes_supported claims_supported claims_parameter_supported \
         request_parameter_supported request_uri_parameter_supported"
    );
}

/// B76. A client that reads there that responses name the issuer takes one without it for a
/// forgery.
#[test]
fn b76_the_discovery_document_announces_what_is_always_so() {
    for (_, issuer_in_responses) in IssuerInResponses::ALL {
        let policy = AuthorizationPolicy {
            issuer_in_responses,
            ..POLICY
        };
        let text = discovery::document(&policy, "https://wg.example");
        let always = issuer_in_responses == IssuerInResponses::Always;
        let line = r#""authorization_response_iss_parameter_supported""#;
        assert_eq!(text.contains(&format!("{line}:true")), always, "{text}");
        assert_eq!(text.contains(line), always, "{text}");
    }
}

#[test]
fn b57_the_id_token_of_an_answer_is_bound_to_its_code() {
    let (person, code) = (ada(), Secret::new("wgc_code".to_owned()));
    let claims = |kind| {
        let params = with(&with(&asks(), "scope", Some("openid")), "nonce", Some("n"));
        let request = read(
            app(40, "openid"),
            &with(&params, "response_type", Some(kind)),
        )
        .unwrap();
        let token = request.id_token(ISSUER, &person, at(1000), Some(&code));
        token.map(|token| token.claims(at(2000)))
    };
    assert_eq!(claims("code"), None);
    let alone = claims("id_token").unwrap();
    assert!(
        alone.contains(r#""nonce":"n""#) && !alone.contains("_hash"),
        "{alone}"
    );
    let both = claims("code id_token").unwrap();
    let hash = URL_SAFE_NO_PAD.encode(SecretDigest::of("wgc_code").key());
    assert!(
        both.contains(&format!(r#""c_hash":"{hash}""#)) && !both.contains("at_hash"),
        "{both}"
    );
}
