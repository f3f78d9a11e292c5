// What changes while a page is open: the server sends parts of it, and this puts them in place.
import { filter, held, localize, read } from './page.js';

const $ = (id) => document.getElementById(id);

// morph makes one element like another and keeps what is the same, so that the focus and the selection stay.
function morph(a, b) {
  if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName) return a.replaceWith(b);
  if (a.nodeType !== Node.ELEMENT_NODE) {
    if (a.data !== b.data) a.data = b.data;
    return;
  }
  if (a.dataset.is !== b.dataset.is) { // it is another one, in the same place
    if (b.classList.contains('ask')) b.dataset.came = performance.now();
    return a.replaceWith(b);
  }
  for (const { name } of [...a.attributes]) {
    if (!b.hasAttribute(name) && name !== 'open' && name !== 'hidden' && name !== 'disabled' && name !== 'data-came') a.removeAttribute(name);
  }
  for (const { name, value } of b.attributes) {
    if (name !== 'open' && a.getAttribute(name) !== value) a.setAttribute(name, value);
  }
  if (a.nodeName === 'TIME' && a.dataset.since || a.dataset.own !== undefined || a.classList.contains('answer')) return;
  const old = [...a.childNodes], now = [...b.childNodes];
  now.forEach((n, i) => (old[i] ? morph(old[i], n) : a.append(n)));
  old.slice(now.length).forEach((n) => n.remove());
}

function made(html) {
  const t = document.createElement('template');
  t.innerHTML = html; // the server has escaped all that is not its own, and scripts are not run
  return t.content.firstElementChild;
}

let now = 0, at = performance.now(), speed = 1, over = false, paused = false, lost = false;

// draw puts parts in place.
function draw(m) {
  const follow = followed(), asks = () => $('asks') && [...$('asks').children].map((e) => e.id).join();
  const before = asks();
  for (const p of m.parts || []) {
    const have = $(p.id);
    if (!p.html) { if (have) have.remove(); continue; }
    const next = made(p.html);
    if (have) morph(have, next);
    else if ($(p.in)) {
      $(p.in).append(next);
      if (next.classList.contains('ask')) next.dataset.came = performance.now();
    }
  }
  for (const [box, ids] of Object.entries(m.order || {})) reorder($(box), ids);
  if (asks() !== before) $('asks').dataset.came = performance.now();
  if (m.now) { now = m.now; at = performance.now(); }
  if (m.speed) speed = m.speed;
  tick();
  mark();
  follow();
  localize();
  held();
  announce();
  arrive();
  document.querySelectorAll('[data-filter]').forEach((f) => { if (f.value) filter(f); });
}

// reorder moves what stands elsewhere; what has the focus keeps it.
function reorder(box, ids) {
  if (!box) return;
  const focus = document.activeElement;
  ids.forEach((id, i) => {
    const e = $(id);
    if (e && box.children[i] !== e) box.insertBefore(e, box.children[i] || null);
  });
  if (focus !== document.activeElement && focus.isConnected) focus.focus({ preventScroll: true });
}

// followed remembers whether the newest output was in sight, and keeps it there.
function followed() {
  const o = document.querySelector('[data-follow]');
  const end = !o || o.scrollHeight - o.scrollTop - o.clientHeight < 30;
  return () => {
    const n = document.querySelector('[data-follow]');
    if (n && end) n.scrollTop = n.scrollHeight;
  };
}

// announce says what has come to those who do not see it: failures, the end of a run; the title of the page counts them.
const title = document.title;
let known = null, ended = null;
function announce() {
  const failures = new Map([...document.querySelectorAll('.ask.open')].map((e) => [e.id + e.dataset.is, e.getAttribute('aria-label')]));
  const trouble = new Map([...document.querySelectorAll('.cluster:has([data-state="Unavailable"]), .cluster:has([data-state="Unreachable"])')]
    .map((e) => [e.id, e.querySelector('.who').textContent + ': ' + e.querySelector('.state').textContent.trim()]));
  const all = new Map([...failures, ...trouble]);
  const sum = $('sum-title');
  const said = known === null ? [] : [...all].filter(([k]) => !known.has(k)).map(([, text]) => text);
  if (sum && ended === false) said.push(sum.textContent.trim());
  known = all;
  ended = Boolean(sum);
  if (said.length) $('said').textContent = said.join('. ');
  const count = Number((document.querySelector('[data-open]:not(button)') || { dataset: {} }).dataset.open) || 0;
  document.title = count ? '(' + count + ') ' + title : title;
  const stop = $('stop');
  if (stop && sum) stop.remove();
}

// refresh draws again what the stream of a cluster does not have, when its state has changed.
let revision = null;
async function refresh(query) {
  const box = document.querySelector('[data-fresh]');
  if (!box) return;
  const at = document.activeElement;
  if (box.contains(at) && at.matches('input, textarea, select')) return setTimeout(refresh, 3000, query); // not while somebody types
  try {
    const r = await fetch(location.pathname + (query || ''));
    if (!r.ok) return;
    const page = new DOMParser().parseFromString(await r.text(), 'text/html');
    const next = page.getElementById(box.id);
    if (next) morph(box, next);
    localize();
    if (next && next.dataset.later !== undefined && !query) refresh('?wait');
  } catch { /* the stream says that the server is away */ }
}
function fresh() {
  const s = $('state');
  if (!s) return;
  if (revision !== null && revision !== s.dataset.revision) refresh();
  revision = s.dataset.revision;
}

// tick writes the times that run, as report.Short does: by whole seconds.
function tick() {
  if (lost) return;
  const t = now + (over || paused ? 0 : (performance.now() - at) * speed);
  for (const e of document.querySelectorAll('time[data-since]')) {
    const s = Math.max(0, Math.floor((t - Number(e.dataset.since)) / 1000));
    const two = (n) => String(n).padStart(2, '0');
    const text = s < 60 ? s + 's' : s < 3600 ? Math.floor(s / 60) + 'm' + two(s % 60) + 's'
      : Math.floor(s / 3600) + 'h' + two(Math.floor(s / 60) % 60) + 'm';
    if (e.textContent !== text) e.textContent = text;
  }
}

let source = null, seq = 0, node = new URLSearchParams(location.search).get('node'), played = false;
let heard = Date.now(), tries = 0, again = 0;
const silent = 40000; // milliseconds without a sign of life, which comes every 15 s

// addressOf is the stream of the page, with what is looked at.
function addressOf(root) {
  const u = new URL(root.dataset.live, location.href);
  if (node !== null) u.searchParams.set('node', node);
  if (root.dataset.replay) {
    u.searchParams.set('replay', root.dataset.replay);
    u.searchParams.set('from', played ? seq : 0);
  }
  return u;
}

// watch opens the stream.
function watch(root) {
  clearTimeout(again);
  if (source) source.close();
  heard = Date.now();
  const mine = source = new EventSource(addressOf(root));
  const hear = () => {
    heard = Date.now();
    tries = 0;
    if (lost) { lost = false; $('cut').hidden = true; root.classList.remove('lost'); }
  };
  source.addEventListener('beat', hear);
  source.onmessage = (e) => {
    hear();
    const m = JSON.parse(e.data);
    if (m.seq) { seq = m.seq; played = true; }
    draw(m);
    fresh();
    if (m.over) over = true;
    if (m.over || paused) source.close(); // of a pause, what is looked at is drawn once
  };
  source.onerror = () => { if (mine === source) cut(root); };
}

// cut says that nothing comes any more, and tries again, each time later.
async function cut(root) {
  if (source) source.close();
  source = null;
  if (over) return;
  if (!lost) {
    const two = (n) => String(n).padStart(2, '0'), d = new Date(heard);
    lost = true;
    root.classList.add('lost');
    $('cut').textContent = document.body.dataset.cut + ' ' + two(d.getHours()) + ':' + two(d.getMinutes()) + ':' + two(d.getSeconds());
    $('cut').hidden = false;
  }
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 10000);
  try { // why: an EventSource does not say
    const r = await fetch(addressOf(root), { signal: stop.signal, headers: { 'Accept-Language': document.body.dataset.lang } });
    if (r.status === 401) return location.assign('/login?next=' + encodeURIComponent(location.pathname + location.search));
    if (r.status === 403 || r.status === 404) {
      const p = await r.text().then(read).catch(() => null);
      if (p) { $('cut').textContent = [p.detail, p.next].filter(Boolean).join(' '); return; }
    }
    stop.abort();
  } catch { /* it is away */ }
  const wait = Math.min(30000, 1000 * 2 ** tries++) * (0.75 + Math.random() / 2);
  again = setTimeout(() => watch(root), wait);
}

// mark shows which node is looked at.
function mark() {
  for (const a of document.querySelectorAll('.node .who')) {
    a.closest('.node').classList.toggle('on', node !== null && a.dataset.node === node);
  }
}

// look shows a node beside the others, without another page.
function look(root, name, url) {
  node = name;
  history.pushState(null, '', url);
  show(root);
}

function show(root) {
  const d = $('node'), before = d && d.dataset.is;
  if (node === null && d) d.remove();
  if (node !== before) wanted = true;
  over = false; // what is over says so again
  mark();
  if (node === null && before !== null) {
    const who = [...document.querySelectorAll('.node .who')].find((a) => a.dataset.node === before);
    if (who) who.focus();
    wanted = false;
  }
  watch(root);
}

// arrive shows a node that was opened: its heading gets the focus.
let wanted = false;
function arrive() {
  const h = wanted && document.querySelector('#node h2');
  if (!h || $('node').dataset.is !== node) return;
  wanted = false;
  h.scrollIntoView({ block: 'start' });
  h.focus({ preventScroll: true });
}

const root = document.querySelector('[data-live]');
if (root) {
  now = Number(root.dataset.now) || Date.now();
  speed = Number(root.dataset.speed) || 1;
  over = 'over' in root.dataset;
  tick();
  mark();
  followed()();
  const o = document.querySelector('[data-follow]');
  if (o) o.scrollTop = o.scrollHeight;
  announce();
  fresh();
  if (document.querySelector('[data-later]')) refresh('?wait');
  if (!over) watch(root);
  setInterval(tick, 1000);
  setInterval(() => { if (source && !over && !paused && Date.now() - heard > silent) cut(root); }, 5000);
  if (root.id === 'board') board(root);
  addEventListener('pagehide', () => source && source.close());
  addEventListener('pageshow', (e) => { if (e.persisted && !over && !paused) watch(root); });
}

function board(root) {
  root.addEventListener('click', (e) => {
    const a = e.target.closest('a[data-node], a[data-close-node]');
    if (!a || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    const u = new URL(location.href);
    if (a.dataset.node === undefined) u.searchParams.delete('node');
    else u.searchParams.set('node', a.dataset.node);
    look(root, a.dataset.node === undefined ? null : a.dataset.node, u);
  });
  addEventListener('popstate', () => {
    node = new URLSearchParams(location.search).get('node');
    show(root);
  });
  root.addEventListener('click', (e) => {
    const b = e.target.closest('[data-player]');
    if (!b) return;
    if (b.dataset.player === 'pause') {
      paused = !paused;
      b.textContent = paused ? b.dataset.play : b.dataset.pause;
      if (!paused) { over = false; return watch(root); }
      now += (performance.now() - at) * speed;
      at = performance.now();
      return source && source.close();
    }
    const f = Math.min(64, Math.max(0.25, Number(root.dataset.replay) * (b.dataset.player === 'faster' ? 2 : 0.5)));
    root.dataset.replay = f;
    root.querySelector('.player output').textContent = f + '×';
    if (!over && !paused) watch(root);
  });
}
