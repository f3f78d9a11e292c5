// The form on which a cluster is created or its nodes are changed. What is typed is sent to the server, which says what
// is wrong and what comes of it: there are no rules here.
import { problem, confirmed, more, read, say, sent } from './page.js';

const form = document.querySelector('form.wizard');

function encoded() {
  return new URLSearchParams([...new FormData(form)].map(([k, v]) => [k, String(v)]));
}

async function post(path, body) {
  const r = await fetch(path, { method: 'POST', body, headers: { 'Accept-Language': document.body.dataset.lang } })
    .catch(() => { throw { detail: document.body.dataset.lost }; });
  const json = await r.text().then(read).catch(() => ({ detail: document.body.dataset.failed }));
  if (!r.ok) throw json;
  return json;
}

const touched = new Set();
let all = false, asked = 0;

// labelOf is what a field is called.
function labelOf(f) {
  const label = f.closest('label'), group = f.closest('[data-group]');
  const name = label ? label.firstChild.textContent.trim() : f.name;
  return group ? group.querySelector('legend').textContent + ' ' + (Number(f.name.split(':')[1]) + 1) + ', ' + name : name;
}

// show writes what is wrong below its field, and all of it at the end.
function show(list) {
  const rest = form.querySelector('.wrongs');
  rest.replaceChildren();
  for (const w of list) {
    const f = form.elements[w.field];
    const item = document.createElement('li');
    if (f && f.id === '') f.id = 'f-' + w.field;
    if (f && f.name) {
      const a = document.createElement('a');
      a.href = '#' + f.id;
      a.textContent = labelOf(f) + ': ' + w.text;
      item.append(a);
    } else item.textContent = w.text;
    rest.append(item);
  }
  say(form, list.filter((w) => all || touched.has(w.field)));
}

// note writes remarks.
function note(list) {
  form.querySelector('.notes').replaceChildren(...list.map((text) => {
    const item = document.createElement('li');
    item.textContent = text;
    return item;
  }));
}

// check gives the answer to what is typed now; null: there is none, or something else was typed since.
async function check() {
  const mine = ++asked, text = encoded();
  let r;
  try {
    r = await post(form.dataset.draft, text);
  } catch (p) {
    if (mine === asked) problem(p, form);
    return null;
  }
  if (mine !== asked) return null;
  r.text = text;
  show(r.wrong || []);
  note(r.notes);
  keep(r.secret);
  form.querySelector('.count').textContent = r.count;
  form.querySelector('.count').className = 'count ' + (r.ok ? 'good' : 'dim');
  const table = form.querySelector('[data-table]');
  if (table) table.innerHTML = r.nodes; // made by the server, which has escaped what was typed
  const yaml = form.querySelector('.yaml');
  if (yaml) yaml.textContent = r.yaml;
  for (const f of form.elements) {
    if (f.name && f.closest('label')) f.closest('label').hidden = r.hide.includes(f.name);
  }
  form.dataset.known = '';
  for (const x of form.querySelectorAll('div.later')) x.hidden = !x.querySelector('label:not([hidden])');
  return r;
}

// What was typed is kept in this browser for its user until the cluster is created or the user logs out. Passwords, keys,
// and fields in which the server sees something like it are not.
function keep(secret) {
  if (!form.dataset.keep) return;
  const out = {};
  for (const f of form.elements) {
    if (f.tagName === 'BUTTON' || f.name === 'accept') continue; // several have the same name
    if (f.name && f.dataset.secret === undefined && !secret.includes(f.name)) out[f.name] = f.type === 'checkbox' ? f.checked : f.value;
  }
  try { localStorage.setItem(place(), JSON.stringify(out)); } catch { /* it is not kept */ }
}

const place = () => form.dataset.keep + ':' + document.body.dataset.user;

function kept() {
  let have;
  try { have = JSON.parse(localStorage.getItem(place()) || '{}'); } catch { return; }
  for (const [name, value] of Object.entries(have)) {
    const [kind, n] = name.split(':'), add = form.querySelector(`[data-more="${CSS.escape(kind)}"]`);
    for (let i = 0; add && i < Number(n) && !form.elements[name]; i++) more(add);
    const f = form.elements[name];
    if (!f || !f.dataset || f.dataset.secret !== undefined) continue;
    if (f.type === 'checkbox') f.checked = value; else if (value) { f.value = value; touched.add(name); }
  }
}

if (form) {
  if (form.dataset.keep) kept();
  let timer;
  form.addEventListener('input', (e) => {
    touched.add(e.target.name);
    clearTimeout(timer);
    timer = setTimeout(check, 300);
  });
  form.addEventListener('submit', (e) => e.preventDefault());
  // A host key that was compared becomes a line of the field that has them.
  form.addEventListener('change', (e) => {
    if (e.target.name !== 'accept') return;
    const f = form.elements.known_hosts, line = e.target.value;
    const lines = f.value.split('\n').filter((l) => l.trim() && l.trim() !== line);
    if (e.target.checked) lines.push(line);
    f.value = lines.join('\n') + '\n';
  });
  form.addEventListener('click', async (e) => {
    const b = e.target.closest('[data-do]');
    if (!b) return;
    const answer = form.querySelector('.answer');
    all = true;
    b.disabled = true;
    clearTimeout(timer);
    try {
      const r = await check();
      if (!r || !r.ok) {
        const first = form.querySelector('[aria-invalid]');
        if (first) first.focus();
        return;
      }
      if (b.dataset.do === 'check') {
        answer.textContent = r.busy;
        const found = await post(form.dataset.check, r.text);
        answer.innerHTML = found.html; // made by the server
        return;
      }
      if (!await confirmed(r.ask, r.name, b.textContent)) return;
      r.text.set('etag', r.etag || '');
      answer.textContent = r.sending || '';
      const done = await post(form.dataset.send, r.text); // what was checked and asked about, and nothing else
      if (form.dataset.keep) localStorage.removeItem(place());
      sent();
      location.href = done.go;
    } catch (p) {
      problem(p, form);
      if (!p.wrong) return;
      show(p.wrong);
      const first = form.querySelector('[aria-invalid]');
      if (first) first.focus();
    } finally {
      b.disabled = false;
    }
  });
  form.querySelector('.wrongs').addEventListener('click', (e) => {
    const a = e.target.closest('a'), f = a && document.getElementById(a.hash.slice(1));
    if (!f) return;
    e.preventDefault();
    const closed = f.closest('details:not([open])');
    if (closed) closed.open = true;
    f.focus();
  });
  check();
}
