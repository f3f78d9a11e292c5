// What every page does: requests to the API, filters, keys. The server says all words; nothing is evaluated here.
const $ = (id) => document.getElementById(id);
const body = document.body;

// problem shows what the API says is wrong: a sentence, what to do next, and all that is wrong with the request.
function problem(p, near, where) {
  const box = document.createElement('div');
  box.className = 'problem';
  const add = (to, name, text) => {
    const e = document.createElement(name);
    e.textContent = text;
    to.append(e);
    return e;
  };
  const first = add(box, 'p', '');
  add(first, 'strong', p.detail || body.dataset.failed);
  first.append(' ');
  if (p.code) add(first, 'code', p.code);
  if (p.next) add(box, 'p', p.next);
  if (p.errors && p.errors.length) {
    const list = add(box, 'ul', '');
    for (const e of p.errors) add(list, 'li', [e.detail, e.next].filter(Boolean).join(' '));
  }
  where ||= answerOf(near);
  where.replaceChildren(box);
  where.scrollIntoView({ block: 'nearest' });
  if (near && near.matches('form')) say(near, (p.errors || []).map((e) => ({ field: (e.location || '').replace(/^body\./, ''), text: e.detail, next: e.next })));
  const own = $('secrets');
  if (p.code === 'usage.secret' && own) {
    own.open = true;
    own.querySelector('input').focus();
  }
}

// read reads JSON without the characters of others that change how text is shown.
export function read(text) {
  return JSON.parse(text, (_, v) => (typeof v === 'string' ? v.replace(/(?![\t\n\r])[\p{Cc}\p{Cf}]/gu, '') : v));
}

// answerOf is where a form has its answer. What has no form is answered at the top.
function answerOf(near) {
  if (!near) return $('problem');
  const have = near.querySelector('.answer');
  if (have || !near.matches('form')) return have || $('problem');
  const place = document.createElement('div');
  place.className = 'answer';
  place.setAttribute('role', 'status');
  near.append(place);
  return place;
}

// say writes what is wrong below each field: the first few of many, which are listed in all at the end of the form.
let said = 0;
const below = 5;
export function say(form, list) {
  form.querySelectorAll('.wrong').forEach((e) => e.remove());
  form.querySelectorAll('[aria-invalid]').forEach((e) => { e.removeAttribute('aria-invalid'); e.removeAttribute('aria-describedby'); });
  const at = new Map();
  for (const w of list) {
    const f = form.elements[w.field];
    if (f && f.name) at.set(f, [...(at.get(f) || []), w]);
  }
  for (const [f, own] of at) {
    const lines = own.slice(0, below).map((w) => [w.text, w.next].filter(Boolean).join(' '));
    if (own.length > below) lines.push(body.dataset.more.replace('#', own.length - below));
    const all = lines.map((text) => {
      const p = document.createElement('p');
      p.className = 'wrong bad small';
      p.id = 'wrong-' + said++;
      p.textContent = text;
      return p;
    });
    f.after(...all);
    f.setAttribute('aria-invalid', 'true');
    f.setAttribute('aria-describedby', all.map((p) => p.id).join(' '));
    const closed = f.closest('details:not([open])');
    if (closed) closed.open = true;
  }
}

// secrets are the passwords of nodes that were typed on the page; null: none were.
function secrets() {
  const out = {};
  for (const f of document.querySelectorAll('#secrets [name^="secret:"]')) if (f.value) out[f.name.slice('secret:'.length)] = f.value;
  for (const g of document.querySelectorAll('#secrets [data-group="login"]')) {
    const of = (name) => g.querySelector(`[name$=":${name}"]`).value, who = of('who').trim();
    const bastion = 'bastion ' + who + (/:\d+$/.test(who) ? '' : ':22');
    if (who && of('password')) out[who.includes('@') ? bastion : 'password ' + who] = of('password');
    if (who && of('sudo')) out['sudo ' + who] = of('sudo');
  }
  return Object.keys(out).length ? out : null;
}

// call sends a request as JSON. The session is a cookie; the server refuses what another site had a browser send.
async function call(method, path, value) {
  const headers = { 'Accept-Language': body.dataset.lang };
  if (value !== undefined) headers['Content-Type'] = 'application/json';
  if (method === 'POST') headers['Idempotency-Key'] = crypto.randomUUID();
  let r;
  try {
    r = await fetch(path, { method, headers, body: value === undefined ? undefined : JSON.stringify(value) });
  } catch {
    throw { detail: body.dataset.lost };
  }
  const text = await r.text();
  if (r.status === 401 && location.pathname !== '/login') {
    location.href = '/login?next=' + encodeURIComponent(location.pathname + location.search);
  }
  let json = null;
  try { json = read(text); } catch { /* a file */ }
  if (!r.ok) throw json || { detail: body.dataset.failed };
  return { json, text };
}

// more adds a group of fields like the last one of its kind, and gives it the next number.
export function more(button) {
  const all = document.querySelectorAll(`[data-group="${button.dataset.more}"]`), last = all[all.length - 1], next = last.cloneNode(true);
  next.querySelectorAll('.wrong').forEach((e) => e.remove());
  for (const f of next.querySelectorAll('[name]')) {
    f.name = f.name.replace(/:\d+:/, ':' + all.length + ':');
    f.value = '';
    ['id', 'aria-invalid', 'aria-describedby'].forEach((a) => f.removeAttribute(a));
  }
  last.after(next);
  next.querySelector('[name]').focus();
}

// wordsOf is what a button says, without its key.
function wordsOf(b) {
  const copy = b.cloneNode(true);
  copy.querySelectorAll('kbd').forEach((k) => k.remove());
  return copy.textContent.trim();
}

// confirmed asks, with a button that says what it does; where a name is given, it has to be typed.
function confirmed(text, name, what) {
  const box = $('confirm');
  if (!text || !box) return Promise.resolve(true);
  $('confirm-text').textContent = text;
  const label = $('confirm-name'), field = label.querySelector('input'), yes = box.querySelector('[value="yes"]');
  if (what) yes.textContent = what;
  label.hidden = !name;
  label.querySelector('span').textContent = name || '';
  field.value = '';
  const check = () => { yes.disabled = Boolean(name) && field.value !== name; };
  field.oninput = check;
  check();
  box.returnValue = 'no';
  box.showModal();
  if (name) field.focus();
  return new Promise((done) => box.addEventListener('close', () => done(box.returnValue === 'yes'), { once: true }));
}

// valuesOf makes the body of a request of the fields of a form.
export function valuesOf(form) {
  const out = {};
  for (const f of form.elements) {
    if (!f.name) continue;
    const map = f.closest('[data-map]');
    const to = map && form.contains(map) ? (out[map.dataset.map] ||= {}) : out;
    if (f.type === 'checkbox') to[f.name] = f.checked;
    else if (f.type === 'number') { if (f.value) to[f.name] = Number(f.value); }
    else if (f.dataset.list !== undefined) to[f.name] = f.value.split(/[,\n]/).map((s) => s.trim()).filter(Boolean);
    else if (f.dataset.date !== undefined) { if (f.value) to[f.name] = f.value + 'T23:59:59Z'; }
    else if (f.value || to !== out || f.tagName === 'SELECT' && f.name === 'role') { if (f.value || to === out) to[f.name] = f.value; }
  }
  return out;
}

// act sends what a form or a button asks for, and says whether the server has done it.
async function act(from, value) {
  const [method, path] = from.dataset.api.split(' ', 2), form = from.matches('form');
  const says = wordsOf(form ? from.querySelector('button:not([type="button"])') : from);
  if (!await confirmed(from.dataset.confirm, from.dataset.confirmName, says)) return;
  const buttons = form ? from.querySelectorAll('button') : [from];
  buttons.forEach((b) => { b.disabled = true; });
  const known = from.dataset.secrets !== undefined && secrets();
  if (known) value = { ...value, secrets: known };
  try {
    const { json, text } = await call(method, path, value);
    $('problem').replaceChildren();
    typed = false;
    if (from.dataset.forget !== undefined) forget();
    if (from.dataset.save) return save(from.dataset.save, text);
    if (from.dataset.show) return show(from, json[from.dataset.show]);
    const then = (from.dataset.login !== undefined && nextPage()) || from.dataset.then || (json && json.go);
    if (then) location.href = then;
    else if (!document.querySelector('[data-live]') || from.dataset.then === '' || from.matches('form')) location.reload();
    return true;
  } catch (p) {
    problem(p, from);
  } finally {
    buttons.forEach((b) => { b.disabled = false; });
  }
}

function save(name, text) {
  const a = document.createElement('a');
  a.href = URL.createObjectURL(new Blob([text], { type: 'application/yaml' }));
  a.download = name;
  a.click();
  URL.revokeObjectURL(a.href);
}

// show shows a secret, once.
function show(form, text) {
  const box = document.createElement('div');
  box.className = 'secret';
  box.append(form.dataset.shown + ' ');
  const code = document.createElement('code');
  code.textContent = text;
  box.append(code);
  form.after(box);
}

document.addEventListener('submit', (e) => {
  const f = e.target;
  if (f.dataset.form) {
    e.preventDefault();
    put(f, f.dataset.form, new URLSearchParams(new FormData(f)), f.querySelector('.answer'));
  }
  if (!f.dataset.api) return;
  e.preventDefault();
  act(f, valuesOf(f));
});

// put asks the server for a part of the page, and puts it in place.
async function put(from, path, form, place) {
  const buttons = from.matches('form') ? from.querySelectorAll('button') : [from];
  buttons.forEach((b) => { b.disabled = true; });
  place.setAttribute('aria-busy', 'true');
  const known = from.dataset.secrets !== undefined && secrets();
  if (known) form = new URLSearchParams(Object.entries(known).map(([k, v]) => ['secret:' + k, v])); // in no address
  try {
    const r = await fetch(path, { method: form ? 'POST' : 'GET', body: form, headers: { 'Accept': 'application/json', 'Accept-Language': body.dataset.lang } })
      .catch(() => { throw { detail: body.dataset.lost }; });
    const json = await r.text().then(read).catch(() => ({ detail: body.dataset.failed }));
    if (!r.ok) throw json;
    place.innerHTML = json.html; // made by the server, which has escaped what is not its own
    localize();
    if (form && !known) typed = false;
  } catch (p) {
    problem(p, from, place);
  } finally {
    place.removeAttribute('aria-busy');
    buttons.forEach((b) => { b.disabled = false; });
  }
}

// What was typed and not sent is not lost by leaving the page.
let typed = false;
export function sent() { typed = false; }
document.addEventListener('input', (e) => {
  const f = e.target;
  if (f.closest('form[method="post"]') && /^(text|password|textarea)$/.test(f.type)) typed = true;
});
addEventListener('beforeunload', (e) => { if (typed) e.preventDefault(); });

// forget removes what this browser has kept of forms.
function forget() {
  try {
    Object.keys(localStorage).filter((k) => k.startsWith('eggo-new')).forEach((k) => localStorage.removeItem(k));
  } catch { /* nothing is kept */ }
}

// nextPage is where a login leads to. The provider of single sign-on does not keep that.
function nextPage() {
  const here = document.querySelector('[data-login]');
  let kept = null;
  try { kept = sessionStorage.getItem('eggo-next'); sessionStorage.removeItem('eggo-next'); } catch { /* none */ }
  const next = here && here.dataset.then;
  return next && next !== '/' ? next : /^\/[^/\\]/.test(kept || '') ? kept : next;
}

// A link of another site does not bring the session along; a request of this page does.
const login = document.querySelector('form[data-login]');
if (login) {
  const sso = document.querySelector('[data-sso]');
  if (sso) sso.addEventListener('click', () => { try { sessionStorage.setItem('eggo-next', login.dataset.then); } catch { /* not kept */ } });
  fetch('/api/v1/me').then((r) => { if (r.ok && !typed) location.replace(nextPage()); }).catch(() => {});
}

// localize writes times in the time zone of the reader; the server writes UTC.
export function localize() {
  const two = (n) => String(n).padStart(2, '0');
  for (const e of document.querySelectorAll('time[datetime]')) {
    const d = new Date(e.dateTime);
    if (isNaN(d)) continue;
    const text = d.getFullYear() + '-' + two(d.getMonth() + 1) + '-' + two(d.getDate()) + ' ' + two(d.getHours()) + ':' + two(d.getMinutes()) + ':' + two(d.getSeconds());
    if (e.dataset.local === undefined) { if (e.title !== text) e.title = text; } else if (e.textContent !== text) {
      e.textContent = text;
      e.title = e.dateTime;
    }
  }
}
localize();

document.addEventListener('click', (e) => {
  const b = e.target.closest('button');
  if (!b) return;
  if (b.dataset.more) {
    e.preventDefault();
    more(b);
  } else if (b.dataset.open) $(b.dataset.open).showModal();
  else if (b.dataset.cancel !== undefined) b.closest('dialog').close('no');
  else if (b.dataset.load) put(b, b.dataset.load, null, $(b.dataset.into));
  else if (b.dataset.decide) decide(b);
  else if (b.dataset.api) {
    let value = b.dataset.body ? JSON.parse(b.dataset.body) : undefined;
    if (b.dataset.fieldSnapshot) value = { snapshot: b.dataset.fieldSnapshot };
    act(b, value);
  }
});

// A failure that has just come is not decided by a key that was meant for something else, nor is another one that took
// the place of the one that was decided.
const settled = 700;
const fresh = (e) => e && performance.now() - (Number(e.dataset.came) || 0) < settled;
// What is decided is decided once: its buttons stay off, wherever they are shown, until the board says what came of it.
const decided = new Set();
export function held() {
  for (const d of document.querySelectorAll('.decide')) {
    if (decided.has(d.dataset.is)) d.querySelectorAll('button').forEach((b) => { b.disabled = true; });
  }
}
async function decide(b) {
  b.dataset.api = 'POST ' + b.dataset.run;
  const is = b.closest('.decide').dataset.is;
  if (!await act(b, { step: b.dataset.step, decision: b.dataset.decide })) return;
  decided.add(is);
  held();
}

// chosen is the failure that a key is about: the one that has the focus, that of the node that has it, that of the node
// that is open; else the only one. false: there is none.
function chosen() {
  const all = [...document.querySelectorAll('.decide')].filter(visible);
  const at = document.activeElement, panel = at.closest('.ask, .detail');
  const own = panel && all.find((d) => panel.contains(d));
  if (own) return own;
  const who = at.closest('.node') ? at.closest('.node').querySelector('.who') : null;
  const open = $('node');
  const host = who ? who.dataset.node : open ? open.dataset.is : undefined;
  if (host !== undefined) return all.find((d) => d.dataset.host === host) || null;
  return new Set(all.map((d) => d.dataset.step)).size > 1 ? null : all[0] || false;
}

// byKey decides about the chosen failure; where none is, it shows the first, so that it is clear what the next key does.
function byKey(key) {
  const at = chosen();
  if (at === false || fresh($('asks'))) return;
  if (!at) {
    const first = document.querySelector('.ask.open');
    if (first) { first.scrollIntoView({ block: 'nearest' }); first.focus(); }
    return;
  }
  const b = [...at.querySelectorAll('[data-key]')].find((x) => x.dataset.key === key);
  if (b && !b.disabled && !fresh(b.closest('.ask'))) decide(b);
}

// A choice of language or theme stays on the page, with all that it was asked for.
document.querySelectorAll('[data-prefer]').forEach((a) => a.addEventListener('click', (e) => {
  e.preventDefault();
  const q = new URLSearchParams(location.search), [name, value] = a.dataset.prefer.split('=');
  q.set(name, value);
  location.search = q.toString();
}));

// filters: words that all have to be there; ! before a word excludes it.
export function filter(input) {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let seen = 0;
  for (const x of document.querySelectorAll('#' + input.dataset.filter + ' [data-filter-text]')) {
    const text = x.dataset.filterText.toLowerCase();
    x.hidden = !words.every((w) => (w[0] === '!' && w.length > 1 ? !text.includes(w.slice(1)) : text.includes(w)));
    if (!x.hidden) seen++;
  }
  const none = document.querySelector('.nothing');
  if (none) none.hidden = seen > 0 || !words.length;
}
document.querySelectorAll('[data-filter]').forEach((i) => {
  i.addEventListener('input', () => filter(i));
  if (i.value) filter(i);
});

// keys, as on a terminal. Letters are not taken where text is typed.
function visible(e) { return e.offsetParent !== null; }
function move(n) {
  const items = [...document.querySelectorAll('[data-item]')].filter(visible);
  if (!items.length) return;
  const at = items.indexOf(document.activeElement.closest('[data-item]'));
  const to = items[at < 0 ? (n > 0 ? 0 : items.length - 1) : Math.min(items.length - 1, Math.max(0, at + n))];
  to.focus();
}

// across is how many items stand beside each other.
function across() {
  const items = [...document.querySelectorAll('[data-item]')].filter(visible);
  if (items.length < 2) return 1;
  const top = (e) => Math.round((e.closest('.node') || e).getBoundingClientRect().top);
  const first = items.findIndex((e) => top(e) !== top(items[0]));
  return first < 0 ? items.length : first;
}

document.addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return;
  const typing = e.target.closest('input, textarea, select, [contenteditable]');
  if (e.key === 'Escape') return back(typing);
  if (typing) return;
  const grid = document.querySelector('.node') ? across() : 1;
  const moves = { j: grid, ArrowDown: grid, k: -grid, ArrowUp: -grid, h: -1, l: 1, ArrowLeft: -1, ArrowRight: 1 };
  if (e.key in moves && !e.target.closest('pre, .rail')) {
    if (grid === 1 && /^(h|l|Arrow(Left|Right))$/.test(e.key)) return;
    e.preventDefault();
    return move(moves[e.key]);
  }
  if (e.key === '/') {
    const f = document.querySelector('[data-filter], [data-slash]');
    if (f) { e.preventDefault(); f.focus(); f.select(); }
    return;
  }
  if (e.key === 'e') {
    const bad = [...document.querySelectorAll('[data-state="asked"] .who, [data-state="failed"] .who, ' +
      '.cluster:has([data-state="Unavailable"]) .who')].filter(visible);
    if (bad.length) bad[(bad.indexOf(document.activeElement) + 1) % bad.length].focus();
    return;
  }
  if (e.key === ' ' && e.target.closest('button, a, summary')) return;
  const b = [...document.querySelectorAll('[data-key]')].find((x) => x.dataset.key === e.key && visible(x));
  if (!b) return;
  e.preventDefault();
  if (e.repeat) return;
  if (b.dataset.decide) byKey(e.key);
  else if (!b.disabled) b.click();
});

// back goes one level up; nothing is lost.
function back(typing) {
  if (typing) {
    if (typing.dataset.filter !== undefined && typing.value) { typing.value = ''; filter(typing); } else typing.blur();
    return;
  }
  const close = document.querySelector('[data-close-node]');
  if (close) return close.click();
  const up = [...document.querySelectorAll('.crumbs a, .boardhead h1 a')].pop() || (location.pathname !== '/' && document.querySelector('.logo'));
  if (up && location.pathname !== '/login' && location.pathname !== '/new') up.click();
}

export { call, problem, confirmed };
