// The form on which a cluster is created or its nodes are changed. What is typed is sent to the server, which says what
// is wrong and what comes of it: there are no rules here.
import { problem, confirmed } from './page.js';

const form = document.querySelector('form.wizard');

function encoded() {
  return new URLSearchParams([...new FormData(form)].map(([k, v]) => [k, String(v)]));
}

async function post(path) {
  const r = await fetch(path, { method: 'POST', body: encoded(), headers: { 'Accept-Language': document.body.dataset.lang } })
    .catch(() => { throw { detail: document.body.dataset.lost }; });
  const json = await r.json().catch(() => ({ detail: document.body.dataset.failed }));
  if (!r.ok) throw json;
  return json;
}

const touched = new Set();
let all = false, asked = 0;

// labelOf is what a field is called.
function labelOf(f) {
  const label = f.closest('label');
  return label ? label.firstChild.textContent.trim() : f.name;
}

// say writes what is wrong below its field, and all of it at the end.
function say(list) {
  form.querySelectorAll('.wrong').forEach((e) => e.remove());
  form.querySelectorAll('[aria-invalid]').forEach((e) => { e.removeAttribute('aria-invalid'); e.removeAttribute('aria-describedby'); });
  const rest = form.querySelector('.wrongs');
  rest.replaceChildren();
  list.forEach((w, i) => {
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
    if (!f || !f.name || !(all || touched.has(w.field))) return;
    const p = document.createElement('p');
    p.className = 'wrong bad small';
    p.id = 'wrong-' + i;
    p.textContent = [w.text, w.next].filter(Boolean).join(' ');
    f.after(p);
    f.setAttribute('aria-invalid', 'true');
    f.setAttribute('aria-describedby', p.id);
  });
}

async function check() {
  const mine = ++asked;
  let r;
  try {
    r = await post(form.dataset.draft);
  } catch (p) {
    if (mine === asked) problem(p, form);
    return null;
  }
  if (mine !== asked) return r; // something else was typed since
  say(r.wrong || []);
  form.querySelector('.count').textContent = r.count;
  form.querySelector('.count').className = 'count ' + (r.ok ? 'good' : 'dim');
  form.querySelector('[data-table]').innerHTML = r.nodes; // made by the server, which has escaped what was typed
  const yaml = form.querySelector('.yaml');
  if (yaml) yaml.textContent = r.yaml;
  for (const f of form.elements) {
    if (f.name && f.name.startsWith('s:')) f.closest('label').hidden = r.hide.includes(f.name);
  }
  return r;
}

// What was typed is kept in this browser until the cluster is created; passwords and keys are not.
function keep() {
  if (!form.dataset.keep) return;
  const out = {};
  for (const f of form.elements) {
    if (f.name && f.dataset.secret === undefined) out[f.name] = f.type === 'checkbox' ? f.checked : f.value;
  }
  try { localStorage.setItem(form.dataset.keep, JSON.stringify(out)); } catch { /* it is not kept */ }
}

function kept() {
  let have;
  try { have = JSON.parse(localStorage.getItem(form.dataset.keep) || '{}'); } catch { return; }
  for (const [name, value] of Object.entries(have)) {
    const f = form.elements[name];
    if (!f || f.dataset.secret !== undefined) continue;
    if (f.type === 'checkbox') f.checked = value; else if (value) { f.value = value; touched.add(name); }
  }
}

if (form) {
  if (form.dataset.keep) kept();
  let timer;
  form.addEventListener('input', (e) => {
    touched.add(e.target.name);
    clearTimeout(timer);
    timer = setTimeout(() => { keep(); check(); }, 300);
  });
  form.addEventListener('submit', (e) => e.preventDefault());
  form.addEventListener('click', async (e) => {
    const b = e.target.closest('[data-do]');
    if (!b) return;
    const answer = form.querySelector('.answer');
    all = true;
    b.disabled = true;
    try {
      const r = await check();
      if (!r || !r.ok) {
        const first = form.querySelector('[aria-invalid]');
        if (first) first.focus();
        return;
      }
      if (b.dataset.do === 'check') {
        const found = await post(form.dataset.check);
        answer.innerHTML = found.html; // made by the server
        return;
      }
      if (!await confirmed(form.dataset.warn)) return;
      const done = await post(form.dataset.send);
      if (form.dataset.keep) localStorage.removeItem(form.dataset.keep);
      location.href = done.go;
    } catch (p) {
      answer.replaceChildren();
      problem(p, form);
    } finally {
      b.disabled = false;
    }
  });
  check();
}
