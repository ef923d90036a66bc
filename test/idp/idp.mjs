// OpenID provider for the sign-on tests. Real protocol engine: npm oidc-provider (certified).
// Everything else here (users, form, test hooks) is for tests only: run it on loopback.
import http from 'node:http';
import https from 'node:https';
import fs from 'node:fs';
import crypto from 'node:crypto';
import { parseArgs } from 'node:util';
import Provider, { interactionPolicy } from 'oidc-provider';

const { values: opt } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '9032' },
    issuer: { type: 'string' },
    'client-id': { type: 'string', default: 'almanac' },
    redirect: { type: 'string', multiple: true },
    'access-ttl': { type: 'string', default: '300' },
    'id-ttl': { type: 'string', default: '300' },
    'refresh-ttl': { type: 'string', default: '86400' },
    'session-ttl': { type: 'string', default: '86400' },
    'groups-claim': { type: 'string', default: 'groups' },
    'groups-in-token': { type: 'boolean', default: false },
    'no-refresh': { type: 'boolean', default: false },
    consent: { type: 'boolean', default: false },
    'tls-cert': { type: 'string' },
    'tls-key': { type: 'string' },
    quiet: { type: 'boolean', default: false },
  },
});

const secure = Boolean(opt['tls-cert']);
const ISSUER = opt.issuer ?? `${secure ? 'https' : 'http'}://${opt.host}:${opt.port}`;
const CLIENT = opt['client-id'];
const REDIRECTS = opt.redirect ?? [
  'http://127.0.0.1:9000/', 'http://127.0.0.1:9000/index.html', 'http://127.0.0.1:9000',
  'http://localhost:9000/', 'http://localhost:9000/index.html', 'http://localhost:9000',
];
const say = (...a) => { if (!opt.quiet) console.log(...a); };

// ---- users -------------------------------------------------------------------------------
// groups: array -> claim present; null -> claim absent. The password is "<name>-pw".
const fresh = () => ({
  alice: { name: 'Alice Analyst', email: 'alice@example.test', groups: ['analysts'], disabled: false },
  bob: { name: 'Bob Bare', email: 'bob@example.test', groups: null, disabled: false },
  carol: { name: 'Carol Clear', email: 'carol@example.test', groups: [], disabled: false },
  dave: { name: 'Dave Door', email: 'dave@example.test', groups: ['nohttp'], disabled: false },
  erin: { name: 'Erin Ending', email: 'erin@example.test', groups: ['analysts'], disabled: false },
  frank: {
    name: 'Frank "F" Föreign', email: 'frank@example.test', disabled: false,
    groups: ['CN=TestGroup1,OU=DC Users,DC=ad,DC=example,DC=test', 'analysts', 'unmapped'],
  },
});
let users = fresh();
const counters = { userinfo: 0, token: 0, auth: 0, jwks: 0, discovery: 0, introspection: 0 };
let fault = { path: null, status: 0, delay: 0, body: null }; // injected faults

// ---- keys --------------------------------------------------------------------------------
const newKey = () => {
  const { privateKey } = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: crypto.randomUUID().slice(0, 8) };
};
let backchannel = null; // where the client hears of log-outs
let keys = [newKey()];
const strangerKey = newKey(); // never published: signs forgeries

// ---- provider ----------------------------------------------------------------------------
function build() {
  // the engine asks loopback clients for consent every time; a silent sign-in needs that rule off
  const policy = interactionPolicy.base();
  policy.get('consent').checks.remove('native_client_prompt');
  const p = new Provider(ISSUER, {
    clients: [{
      client_id: CLIENT,
      application_type: 'native', // loopback http redirect addresses are allowed
      token_endpoint_auth_method: 'none', // public client: PKCE instead of a secret
      grant_types: ['authorization_code', 'refresh_token', 'password',
        'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      redirect_uris: REDIRECTS,
      ...(backchannel ? { backchannel_logout_uri: backchannel } : {}),
    }, {
      client_id: 'other-app', application_type: 'native', token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'password'], response_types: ['code'], redirect_uris: REDIRECTS,
    }, { // a resource server, which may ask about tokens of all clients
      client_id: 'almanac-server', client_secret: 'introspection: %20&secret', token_endpoint_auth_method: 'client_secret_basic',
      grant_types: [], response_types: [], redirect_uris: [],
    }],
    jwks: { keys },
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    claims: {
      openid: ['sub', opt['groups-claim']],
      profile: ['name', 'preferred_username'],
      email: ['email'],
    },
    conformIdTokenClaims: !opt['groups-in-token'],
    pkce: { required: () => true },
    fetch: (url, { dispatcher, ...options }) => fetch(url, options), // the engine's own refuses loopback addresses
    clockTolerance: 0, // the default of 15 s would keep short-lived tokens alive
    cookies: { keys: [crypto.randomBytes(16).toString('hex')] },
    features: {
      devInteractions: { enabled: false },
      // plain pages: the engine's own ones load a font from outside
      deviceFlow: {
        enabled: true,
        userCodeInputSource: async (ctx, form) => { ctx.body = `<!doctype html><title>Code</title>${form}<button form="op.deviceInputForm">Continue</button>`; },
        userCodeConfirmSource: async (ctx, form) => { ctx.body = `<!doctype html><title>Confirm</title>${form}<button form="op.deviceConfirmForm" name="confirm" value="yes">Confirm</button>`; },
        successSource: async (ctx) => { ctx.body = '<!doctype html><title>Done</title>Signed in.'; },
      },
      introspection: { enabled: true },
      backchannelLogout: { enabled: true },
      revocation: { enabled: true },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: async (ctx, form) => { ctx.body = `<!doctype html><title>Sign out</title>${form}<button form="op.logoutForm" name="logout" value="yes">Sign out</button>`; },
        postLogoutSuccessSource: async (ctx) => { ctx.body = '<!doctype html><title>Signed out</title>Signed out.'; },
      },
    },
    ttl: {
      AccessToken: Number(opt['access-ttl']),
      IdToken: Number(opt['id-ttl']),
      AuthorizationCode: 60,
      RefreshToken: Number(opt['refresh-ttl']),
      Session: Number(opt['session-ttl']),
      Grant: Number(opt['session-ttl']),
      Interaction: 600,
      DeviceCode: 600,
    },
    expiresWithSession: () => false,
    issueRefreshToken: async (ctx, client) => !opt['no-refresh'] && client.grantTypeAllowed('refresh_token'),
    clientBasedCORS: () => true, // the console posts to the token endpoint from its own origin
    renderError: async (ctx, out) => { ctx.type = 'text'; ctx.body = `${out.error}: ${out.error_description ?? ''}`; },
    interactions: { policy, url: (ctx, i) => `/interaction/${i.uid}` },
    async findAccount(ctx, sub) {
      const u = users[sub];
      if (!u || u.disabled) return undefined;
      return {
        accountId: sub,
        async claims(use) {
          const c = { sub, name: u.name, preferred_username: sub, email: u.email };
          if (u.groups !== null && (use === 'userinfo' || opt['groups-in-token'])) c[opt['groups-claim']] = u.groups;
          return c;
        },
      };
    },
    // consent is given without a screen unless --consent was asked for
    async loadExistingGrant(ctx) {
      const id = ctx.oidc.result?.consent?.grantId || ctx.oidc.session.grantIdFor(ctx.oidc.client.clientId);
      if (id) {
        const g = await ctx.oidc.provider.Grant.find(id);
        if (g) return g;
      }
      if (opt.consent) return undefined;
      const g = new ctx.oidc.provider.Grant({
        clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId,
      });
      g.addOIDCScope('openid profile email offline_access');
      await g.save();
      return g;
    },
  });

  // Resource Owner Password Credentials, for the servers that offer it (legacy flow).
  p.registerGrantType('password', async (ctx) => {
    const { client, params } = ctx.oidc;
    const { username, password, scope } = params;
    const u = users[username];
    if (!u || u.disabled || password !== `${username}-pw`) {
      ctx.status = 400;
      ctx.body = { error: 'invalid_grant', error_description: 'bad user name or password' };
      return;
    }
    const grant = new p.Grant({ clientId: client.clientId, accountId: username });
    grant.addOIDCScope(scope || 'openid');
    const grantId = await grant.save();
    const at = new p.AccessToken({ client, accountId: username, grantId, gty: 'password', scope: scope || 'openid' });
    const access_token = await at.save();
    const body = { access_token, token_type: 'Bearer', expires_in: at.expiration, scope: at.scope };
    if ((scope || 'openid').split(' ').includes('openid')) {
      body.id_token = await sign({ ...baseClaims(username, client.clientId) });
    }
    ctx.body = body;
  }, ['username', 'password', 'scope']);

  p.on('server_error', (ctx, err) => console.error('server_error', err));
  return p;
}

// ---- free-hand tokens (negative tests of token checks) -------------------------------------
const b64 = (x) => Buffer.from(typeof x === 'string' ? x : JSON.stringify(x)).toString('base64url');
function baseClaims(sub, aud = CLIENT) {
  const now = Math.floor(Date.now() / 1000);
  const u = users[sub] ?? {};
  const c = { iss: ISSUER, aud, sub, name: u.name, preferred_username: sub, iat: now, exp: now + Number(opt['id-ttl']) };
  if (opt['groups-in-token'] && u.groups) c[opt['groups-claim']] = u.groups;
  return c;
}
async function sign(claims, { alg = 'RS256', kid, key = 'good', typ = 'JWT' } = {}) {
  const jwk = key === 'stranger' ? strangerKey : keys[0];
  const head = `${b64({ alg, typ, kid: kid ?? keys[0].kid })}.${b64(claims)}`;
  if (alg === 'none') return `${head}.`;
  if (alg === 'HS256') { // key-confusion attack: the public key used as an HMAC secret
    const pem = crypto.createPublicKey({ key: { kty: 'RSA', n: jwk.n, e: jwk.e }, format: 'jwk' })
      .export({ type: 'spki', format: 'pem' });
    return `${head}.${crypto.createHmac('sha256', pem).update(head).digest('base64url')}`;
  }
  const k = crypto.createPrivateKey({ key: jwk, format: 'jwk' });
  return `${head}.${crypto.sign('sha256', Buffer.from(head), k).toString('base64url')}`;
}

let provider = build();

// ---- pages and hooks -----------------------------------------------------------------------
const read = async (req) => { let s = ''; for await (const c of req) s += c; return s; };
const send = (res, status, body, type = 'application/json') => {
  const b = type === 'application/json' ? JSON.stringify(body) : body;
  res.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(b), 'cache-control': 'no-store' });
  res.end(b);
};
const page = (uid, client, error = '') => `<!doctype html><meta charset="utf-8"><title>Test sign-in</title>
<h1>Test sign-in for ${client}</h1>${error ? `<p role="alert">${error}</p>` : ''}
<form id="f" method="post" action="/interaction/${uid}/login">
<label>User <input name="user" autofocus></label> <label>Password <input name="password" type="password"></label>
<button>Sign in</button></form>
<p>One click:${Object.keys(users).map((n) => ` <button type="button" id="as-${n}" onclick="f.user.value='${n}';f.password.value='${n}-pw';f.submit()">${n}</button>`).join('')}</p>
<form method="post" action="/interaction/${uid}/abort"><button id="abort">Refuse</button></form>`;

async function interaction(req, res, url) {
  const [, , uid, verb] = url.pathname.split('/');
  const d = await provider.interactionDetails(req, res);
  const done = (result) => provider.interactionFinished(req, res, result, { mergeWithLastSubmission: false });
  if (verb === 'abort') return done({ error: 'access_denied', error_description: 'the user refused' });
  if (d.prompt.name === 'consent') {
    if (req.method === 'GET') {
      return send(res, 200, `<!doctype html><title>Consent</title><form method="post" action="/interaction/${uid}/consent"><button>Agree</button></form>`, 'text/html');
    }
    const g = new provider.Grant({ accountId: d.session.accountId, clientId: d.params.client_id });
    g.addOIDCScope('openid profile email offline_access');
    return done({ consent: { grantId: await g.save() } });
  }
  let user; let password;
  if (req.method === 'POST') {
    const f = new URLSearchParams(await read(req));
    user = f.get('user'); password = f.get('password');
  } else if (url.searchParams.has('as')) { // scripts: /interaction/UID?as=alice
    user = url.searchParams.get('as'); password = `${user}-pw`;
  } else return send(res, 200, page(uid, d.params.client_id), 'text/html');
  const u = users[user];
  if (!u || password !== `${user}-pw`) return send(res, 401, page(uid, d.params.client_id, 'Unknown user or wrong password'), 'text/html');
  if (u.disabled) return send(res, 403, page(uid, d.params.client_id, 'This account is disabled'), 'text/html');
  return done({ login: { accountId: user } });
}

// /test/... : state | user/NAME | reset | fault | sign | rotate-key
async function hooks(req, res, url) {
  const what = url.pathname.slice('/test/'.length);
  const body = req.method === 'POST' ? await read(req) : '';
  const json = body ? JSON.parse(body) : {};
  if (what === 'state') return send(res, 200, { issuer: ISSUER, client_id: CLIENT, users, counters, fault, kids: keys.map((k) => k.kid) });
  if (what === 'reset') {
    users = fresh(); fault = { path: null };
    for (const k of Object.keys(counters)) counters[k] = 0;
    return send(res, 200, { ok: true });
  }
  if (what.startsWith('user/')) {
    const n = what.slice(5);
    users[n] = { name: n, email: `${n}@example.test`, groups: null, disabled: false, ...users[n], ...json };
    return send(res, 200, users[n]);
  }
  if (what === 'fault') { fault = { path: null, ...json }; return send(res, 200, fault); }
  if (what === 'sign') {
    const { sub = 'alice', claims = {}, ...o } = json;
    const c = { ...baseClaims(sub), ...claims };
    for (const k of Object.keys(c)) if (c[k] === null) delete c[k];
    return send(res, 200, await sign(c, o), 'text/plain');
  }
  if (what === 'backchannel') {
    backchannel = json.uri ?? null;
    provider = build();
    return send(res, 200, { uri: backchannel });
  }
  if (what === 'rotate-key') {
    keys = json.drop_old ? [newKey()] : [newKey(), ...keys];
    provider = build();
    return send(res, 200, { kids: keys.map((k) => k.kid) });
  }
  return send(res, 404, { error: 'no such hook' });
}

// answers that no provider should give: of other types, redirects, too long, without end, cut off
function misbehave(res) {
  const type = fault.type ?? 'application/json';
  const status = fault.status || 200;
  if (fault.endless) { // a byte now and then, for ever
    res.writeHead(status, { 'content-type': type });
    const timer = setInterval(() => res.write(' '), 20);
    res.on('close', () => clearInterval(timer));
  } else if (fault.cut) {
    res.writeHead(status, { 'content-type': type, 'content-length': 1000 });
    res.write('{"sub":"alice",');
    setTimeout(() => res.destroy(), 20);
  } else if (fault.location) {
    res.writeHead(status, { location: fault.location });
    res.end();
  } else if (fault.bytes) {
    res.writeHead(status, { 'content-type': type });
    res.end(`{"sub":"alice","name":"Alice","groups":["analysts"],"pad":"${'x'.repeat(fault.bytes)}"}`);
  } else if (fault.base64) {
    res.writeHead(status, { 'content-type': type });
    res.end(Buffer.from(fault.base64, 'base64'));
  } else return false;
  return true;
}

const route = { '/me': 'userinfo', '/token': 'token', '/auth': 'auth', '/jwks': 'jwks', '/token/introspection': 'introspection', '/.well-known/openid-configuration': 'discovery' };
const handler = async (req, res) => {
  try {
    const url = new URL(req.url, ISSUER);
    if (url.pathname.startsWith('/test/')) return await hooks(req, res, url);
    if (route[url.pathname] && req.method !== 'OPTIONS') counters[route[url.pathname]] += 1;
    if (fault.path === url.pathname) {
      if (fault.delay) await new Promise((r) => setTimeout(r, fault.delay));
      if (fault.status === -1) return res.destroy();
      if (misbehave(res)) return undefined;
      if (fault.status) return send(res, fault.status, fault.body ?? { error: 'injected' });
    }
    if (url.pathname.startsWith('/interaction/')) return await interaction(req, res, url);
    return provider.callback()(req, res);
  } catch (e) {
    return send(res, e.statusCode ?? 500, { error: e.error ?? 'server_error', error_description: e.error_description ?? e.message });
  }
};

const server = secure
  ? https.createServer({ cert: fs.readFileSync(opt['tls-cert']), key: fs.readFileSync(opt['tls-key']) }, handler)
  : http.createServer(handler);
server.listen(Number(opt.port), opt.host, () => say(`idp ready ${ISSUER} client ${CLIENT}`));
for (const s of ['SIGINT', 'SIGTERM']) process.on(s, () => server.close(() => process.exit(0)) && server.closeAllConnections());
