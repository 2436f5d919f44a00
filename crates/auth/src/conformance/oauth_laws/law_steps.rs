//! Steps of a run: each action, the required answer, and its effect on the model.
use super::*;

impl OAuthModel<'_> {
    /// Makes a user authorize an app, which replaces the granted scopes; or makes a silent request,
    /// which leaves them unchanged.
    pub(super) async fn authorize(&mut self) -> Result<(), TokenStoreFailure> {
        let user = *self.rng.pick(&USERS).unwrap_or(&1);
        let id = *self.rng.pick(&APPS).unwrap_or(&40);
        let app = self.app(id)?.0.clone();
        let asked = match (self.rng.below(6), app.scopes) {
            (0, _) => self.rng.scopes(),
            (1, _) | (_, RegisteredScopes::Full) => "default".to_owned(),
            (_, RegisteredScopes::Only(only)) => {
                let some = self.rng.scopes();
                let some = SCOPES.parse(&some).unwrap_or(only).intersect(only);
                if some.is_empty() { only } else { some }.to_string()
            }
        };
        let verifier = (!self.rng.one_in(4)).then(|| format!("{:064}", self.rng.next()));
        let challenge = verifier.as_deref().map(CodeChallenge::of);
        let mut list = pairs(&[
            ("client_id", &id.to_string()),
            ("redirect_uri", REDIRECT),
            ("response_type", "code"),
            ("state", "s"),
            ("scope", &asked),
        ]);
        if let Some(challenge) = challenge {
            let challenge = challenge.to_string();
            list.extend(pairs(&[
                ("code_challenge", &challenge),
                ("code_challenge_method", "S256"),
            ]));
        }
        let verified = VerifiedClient::check(&list, Some(app.clone()), &POLICY);
        ensure(
            verified.is_ok() == app.disabled_at.is_none(),
            "an app that is on can ask",
        )?;
        let Ok(verified) = verified else {
            return Ok(());
        };
        let set = SCOPES
            .parse(&asked)
            .map_err(|e| TokenStoreFailure(e.to_string()))?;
        let may = match app.scopes {
            RegisteredScopes::Full => set.is_full(),
            RegisteredScopes::Only(only) => !set.is_full() && only.covers(set),
        };
        let request = AuthorizationRequest::read(verified, &list, &POLICY);
        ensure(request.is_ok() == may, "an app asks for what it may")?;
        let Ok(request) = request else {
            return Ok(());
        };
        let (secret, code) =
            AuthorizationCode::mint(&request, user, self.now, &self.random(), self.now);
        let silent = self.rng.one_in(2);
        let outcome = if silent {
            self.store.keep_code(code).await
        } else {
            let allow = ConsentRecord {
                ticket: SecretDigest(self.random()),
                time: self.now,
                authorization: Authorization {
                    id: self.id(),
                    user,
                    app: id,
                    scopes: set,
                    created_at: self.now,
                    revoked_at: None,
                },
                code: Some(code),
            };
            self.store.keep_consent(allow).await
        };
        if self.disabled.contains(&user) {
            return ensure(
                outcome == Err(AuthStoreError::NoAccount),
                "a disabled user allows nothing",
            );
        }
        if silent {
            let stands = self.grant(user, id);
            if !stands.is_some_and(|stands| stands.covers(set)) {
                self.tally.not_silent += 1;
                return ensure(
                    outcome == Err(AuthStoreError::Conflict),
                    "silence is no consent to more than stands",
                );
            }
            ensure(
                Some(outcome?.scopes) == stands,
                "a silent answer leaves what stands",
            )?;
            self.tally.silent += 1;
        } else {
            let kept = outcome?;
            ensure(
                kept.scopes == set && kept.revoked_at.is_none(),
                "a yes stands as given",
            )?;
            self.granted.retain(|(pair, _)| *pair != (user, id));
            self.granted.push(((user, id), set));
            self.tally.allowed += 1;
        }
        self.codes.push(ModelCode {
            text: secret.expose().to_owned(),
            verifier,
            user,
            app: id,
            scopes: set,
            end: self.now + Duration::from_secs(60),
            used: None,
            withdrawn: false,
            family: None,
        });
        Ok(())
    }

    /// Redeems a code: by its app or another, with the right verifier or a wrong one.
    pub(super) async fn redeem(&mut self) -> Result<(), TokenStoreFailure> {
        let at = self.rng.late(self.codes.len());
        let Some(code) = self.codes.get(at).cloned() else {
            return Ok(());
        };
        let stranger = self.rng.one_in(8);
        let app = if stranger {
            *self.rng.pick(&APPS).unwrap_or(&40)
        } else {
            code.app
        };
        let (client, secret) = self.app(app)?;
        let on = client.disabled_at.is_none();
        let mut list = pairs(&[
            ("grant_type", "authorization_code"),
            ("client_id", &app.to_string()),
            ("client_secret", secret),
            ("redirect_uri", REDIRECT),
            ("code", &code.text),
        ]);
        let mut verifier = code.verifier.clone();
        if self.rng.one_in(8) {
            verifier = verifier.is_none().then(|| "v".repeat(64));
        }
        if let Some(verifier) = &verifier {
            list.extend(pairs(&[("code_verifier", verifier)]));
        }
        let fresh = self.fresh();
        let reply = self.send(&list, &fresh).await?;
        let own = on && app == code.app;
        let spends = own && (code.used.is_some() || self.now < code.end);
        let stands = !code.withdrawn && !self.disabled.contains(&code.user);
        let fresh_code = code.used.is_none() && self.now < code.end;
        let good = own && fresh_code && verifier == code.verifier && stands;
        // A request that soon presents the verifier again is a retry of the first. Any other request of
        // the app means that the code was stolen.
        let soon = code.used.is_some_and(|used| self.now < used + REPEAT_GRACE);
        let again = soon && verifier.is_some() && verifier == code.verifier;
        if own && code.used.is_some() && !again {
            self.tally.replayed += 1;
            self.kill(|token| Some(token.family) == code.family);
            self.codes.remove(at);
        } else if let Some(kept) = self.codes.get_mut(at) {
            kept.used = kept.used.or(spends.then_some(self.now));
            kept.family = kept.family.or(good.then_some(fresh.refresh_id));
        }
        if !good {
            self.tally.refused += 1;
            return ensure(
                reply.status == if on { 400 } else { 401 },
                "a redemption that must fail fails",
            );
        }
        ensure(reply.status == 200, "a good redemption succeeds")?;
        self.tally.redeemed += 1;
        for (member, refresh) in [("access_token", false), ("refresh_token", true)] {
            let text = text_of(&reply.body, member);
            let text = text.ok_or_else(|| TokenStoreFailure(format!("no {member}")))?;
            self.tokens.push(ModelToken {
                text,
                user: code.user,
                app: code.app,
                scopes: code.scopes,
                family: fresh.refresh_id,
                refresh,
                end: (!refresh).then_some(self.now + Duration::from_secs(3600)),
                dead: false,
            });
        }
        Ok(())
    }

    async fn send(
        &self,
        list: &[Param],
        fresh: &NewTokenMaterial,
    ) -> Result<EndpointReply, TokenStoreFailure> {
        let form = EndpointRequest {
            pairs: list,
            authorization: &[],
        };
        Ok(self.endpoints().token(&form, fresh, self.now).await?)
    }

    /// Requests an access token: with a refresh token or not, for the same scopes or others.
    pub(super) async fn refresh(&mut self) -> Result<(), TokenStoreFailure> {
        let at = self.rng.late(self.tokens.len());
        let refresh_tokens = !self.rng.one_in(6);
        let mut like = self.tokens.iter().skip(at).chain(&self.tokens);
        let found = like.find(|token| token.refresh == refresh_tokens).cloned();
        let Some(with) = found else {
            return Ok(());
        };
        let app = if self.rng.one_in(8) {
            *self.rng.pick(&APPS).unwrap_or(&40)
        } else {
            with.app
        };
        let (_, secret) = self.app(app)?;
        let mut list = pairs(&[
            ("grant_type", "refresh_token"),
            ("client_id", &app.to_string()),
            ("client_secret", secret),
            ("refresh_token", &with.text),
        ]);
        let asked = self.rng.one_in(3).then(|| self.rng.scopes());
        if let Some(asked) = &asked {
            list.extend(pairs(&[("scope", asked)]));
        }
        let fresh = self.fresh();
        let reply = self.send(&list, &fresh).await?;
        let scopes = self
            .expected(&with)
            .filter(|_| with.refresh && app == with.app);
        let asked = asked.map(|text| SCOPES.parse(&text));
        let bought = scopes.and_then(|has| match asked {
            None => Some(has),
            Some(asked) => asked.ok().filter(|asked| has.covers(*asked)),
        });
        ensure(
            (reply.status == 200) == bought.is_some(),
            "a refresh succeeds if it may",
        )?;
        let Some(scopes) = bought else {
            self.tally.not_refreshed += 1;
            return Ok(());
        };
        ensure(
            text_of(&reply.body, "refresh_token").is_none(),
            "refresh tokens are not rotated",
        )?;
        let text = text_of(&reply.body, "access_token");
        self.tokens.push(ModelToken {
            text: text.ok_or_else(|| TokenStoreFailure("no access_token".to_owned()))?,
            scopes,
            refresh: false,
            end: Some(self.now + Duration::from_secs(3600)),
            ..with
        });
        self.tally.refreshed += 1;
        Ok(())
    }

    /// Lets an app revoke a token: its own refresh token, or a token that it may not revoke.
    pub(super) async fn revoke(&mut self) -> Result<(), TokenStoreFailure> {
        let Some(token) = self.rng.pick(&self.tokens).cloned() else {
            return Ok(());
        };
        let app = if self.rng.one_in(4) {
            *self.rng.pick(&APPS).unwrap_or(&40)
        } else {
            token.app
        };
        let (client, secret) = self.app(app)?;
        let on = client.disabled_at.is_none();
        let list = pairs(&[
            ("client_id", &app.to_string()),
            ("client_secret", secret),
            ("token", &token.text),
        ]);
        let form = EndpointRequest {
            pairs: &list,
            authorization: &[],
        };
        let reply = self.endpoints().revoke(&form, self.now).await?;
        let status = match (on, token.refresh && app == token.app) {
            (false, _) => 401,
            (true, false) => 400,
            (true, true) => 200,
        };
        ensure(reply.status == status, "revocation answers as it should")?;
        if status == 200 {
            self.tally.revoked += 1;
            self.kill(|other| other.family == token.family);
        }
        Ok(())
    }

    /// Withdraws a user's authorization of an app.
    pub(super) async fn deauthorize(&mut self) -> Result<(), TokenStoreFailure> {
        let user = *self.rng.pick(&USERS).unwrap_or(&1);
        let app = *self.rng.pick(&APPS).unwrap_or(&40);
        let stands = self.store.authorization(user, app).await?;
        ensure(
            stands.as_ref().map(|a| a.scopes) == self.grant(user, app),
            "what stands is what was granted last",
        )?;
        let Some(stands) = stands else {
            return Ok(());
        };
        ensure(
            self.store.deauthorize(stands.id, user, self.now).await?,
            "what stands can be withdrawn",
        )?;
        self.tally.deauthorized += 1;
        self.granted.retain(|(pair, _)| *pair != (user, app));
        self.kill(|token| (token.user, token.app) == (user, app));
        let codes = self.codes.iter_mut();
        for code in codes.filter(|code| (code.user, code.app) == (user, app)) {
            code.withdrawn = true;
        }
        Ok(())
    }

    async fn change(
        &mut self,
        at: usize,
        change: impl FnOnce(&mut App),
    ) -> Result<(), TokenStoreFailure> {
        if let Some(app) = self.apps.get_mut(at) {
            let was = app.clone();
            change(app);
            self.store.put_app(app.clone(), Some(&was)).await?;
        }
        Ok(())
    }

    /// Changes the registered scopes of an app, as its owner.
    pub(super) async fn register(&mut self) -> Result<(), TokenStoreFailure> {
        let full = self.rng.one_in(3);
        let set = SCOPES
            .parse(&self.rng.scopes())
            .map_err(|e| TokenStoreFailure(e.to_string()))?;
        let scopes = if full {
            RegisteredScopes::Full
        } else {
            RegisteredScopes::Only(set)
        };
        let at = self.rng.below(self.apps.len());
        self.change(at, |app| app.scopes = scopes).await
    }

    pub(super) async fn switch_app(&mut self) -> Result<(), TokenStoreFailure> {
        let all_on = self.apps.iter().all(|app| app.disabled_at.is_none());
        let off = all_on.then_some(self.now);
        for at in 0..self.apps.len() {
            if !all_on || at == self.rng.below(self.apps.len()) {
                self.change(at, |app| app.disabled_at = off).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn switch_user(&mut self) -> Result<(), TokenStoreFailure> {
        let user = *self.rng.pick(&USERS).unwrap_or(&1);
        let back = self.disabled.pop();
        let (user, disabled) = (back.unwrap_or(user), back.is_none());
        self.disabled.extend(disabled.then_some(user));
        self.store.set_disabled(user, disabled, self.now).await?;
        if disabled {
            self.granted.retain(|((owner, _), _)| *owner != user);
            self.kill(|token| token.user == user);
            for code in self.codes.iter_mut().filter(|code| code.user == user) {
                code.withdrawn = true;
            }
        }
        Ok(())
    }
}
