// A browser that knows cookies, redirects and plain HTML forms: as much as a sign-in needs.
import assert from 'node:assert/strict';

const NAMED = { lt: '<', gt: '>', quot: '"', amp: '&' };
const plain = (text) => text.replace(/&(lt|gt|quot|amp);/g, (_, name) => NAMED[name]);
const attribute = (tag, name) => plain(new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? '');

/** The action and the hidden fields of a page's form that has a field or button of this name. */
function formOf(page, name) {
  const forms = page.match(/<form[\s\S]*?<\/form>/g) ?? [];
  const form = forms.find((text) => text.includes(`name="${name}"`));
  assert.ok(form, `no form with ${name} in ${page}`);
  const inputs = (form.match(/<input[^>]*>/g) ?? []).filter((tag) => attribute(tag, 'type') === 'hidden');
  const fields = inputs.map((tag) => [attribute(tag, 'name'), attribute(tag, 'value')]);
  return { action: attribute(form, 'action'), fields };
}

/** A browser on a server, in which the person with this address and password sits. */
export class Browser {
  constructor(server, email, password) {
    Object.assign(this, { server, email, password, cookies: new Map() });
  }

  async send(url, options = {}) {
    const jar = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...options.headers, ...(jar && { cookie: jar }) };
    const reply = await fetch(url, { ...options, headers, redirect: 'manual' });
    for (const line of reply.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      if (value) this.cookies.set(name, value);
      else this.cookies.delete(name);
    }
    return reply;
  }

  submit({ action, fields }, typed) {
    const body = new URLSearchParams([...fields, ...Object.entries(typed)]);
    const headers = { origin: this.server };
    return this.send(new URL(action, this.server), { method: 'POST', body, headers });
  }

  /** Opens an authorization request, signs in if it must, decides, and returns where the app is sent. */
  async authorize(url, decision = 'allow') {
    let reply = await this.send(url);
    for (let steps = 0; steps < 10; steps += 1) {
      if (reply.status === 303) {
        const to = new URL(reply.headers.get('location'), this.server);
        if (to.origin !== this.server) return to;
        reply = await this.send(to);
        continue;
      }
      const page = await reply.text();
      assert.equal(reply.status, 200, page);
      reply = page.includes('name="password"')
        ? await this.submit(formOf(page, 'password'), { email: this.email, password: this.password })
        : await this.submit(formOf(page, 'decision'), { decision });
    }
    throw new Error(`${url} never came back to the app`);
  }
}
