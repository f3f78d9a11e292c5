// What changes while a page is open: the server sends parts of it, and this puts them in place.
import { filter } from './page.js';

const $ = (id) => document.getElementById(id);

// morph makes one element like another and keeps what is the same, so that the focus and the selection stay.
function morph(a, b) {
  if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName) return a.replaceWith(b);
  if (a.nodeType !== Node.ELEMENT_NODE) {
    if (a.data !== b.data) a.data = b.data;
    return;
  }
  for (const { name } of [...a.attributes]) {
    if (!b.hasAttribute(name) && name !== 'open' && name !== 'hidden' && name !== 'disabled' && name !== 'data-came') a.removeAttribute(name);
  }
  for (const { name, value } of b.attributes) {
    if (name !== 'open' && a.getAttribute(name) !== value) a.setAttribute(name, value);
  }
  if (a.nodeName === 'TIME' && a.dataset.since) return;
  const old = [...a.childNodes], now = [...b.childNodes];
  now.forEach((n, i) => (old[i] ? morph(old[i], n) : a.append(n)));
  old.slice(now.length).forEach((n) => n.remove());
}

function made(html) {
  const t = document.createElement('template');
  t.innerHTML = html; // the server has escaped all that is not its own, and scripts are not run
  return t.content.firstElementChild;
}

let now = 0, at = performance.now(), speed = 1, over = false;

// draw puts parts in place.
function draw(m) {
  const follow = followed();
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
  if (m.now) { now = m.now; at = performance.now(); }
  if (m.speed) speed = m.speed;
  tick();
  mark();
  follow();
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

// tick writes the times that run, as report.Short does: by whole seconds.
function tick() {
  const t = now + (over ? 0 : (performance.now() - at) * speed);
  for (const e of document.querySelectorAll('time[data-since]')) {
    const s = Math.max(0, Math.floor((t - Number(e.dataset.since)) / 1000));
    const two = (n) => String(n).padStart(2, '0');
    const text = s < 60 ? s + 's' : s < 3600 ? Math.floor(s / 60) + 'm' + two(s % 60) + 's'
      : Math.floor(s / 3600) + 'h' + two(Math.floor(s / 60) % 60) + 'm';
    if (e.textContent !== text) e.textContent = text;
  }
}

let source = null, seq = 0, node = new URLSearchParams(location.search).get('node'), played = false;

// watch opens the stream of the page, with what is looked at.
function watch(root) {
  if (source) source.close();
  const u = new URL(root.dataset.live, location.href);
  if (node !== null) u.searchParams.set('node', node);
  if (root.dataset.replay) {
    u.searchParams.set('replay', root.dataset.replay);
    u.searchParams.set('from', played ? seq : 0);
  }
  source = new EventSource(u);
  source.onmessage = (e) => {
    const m = JSON.parse(e.data);
    if (m.seq) { seq = m.seq; played = true; }
    draw(m);
    if (m.over) { over = true; source.close(); }
  };
  source.onerror = () => { // the browser opens it again; a server that has ended refuses
    if (source.readyState === EventSource.CLOSED) setTimeout(() => watch(root), 3000);
  };
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
  if (node === null) { const d = $('node'); if (d) d.remove(); }
  if (over && !root.dataset.replay) over = false;
  mark();
  watch(root);
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
  if (!over) watch(root);
  setInterval(tick, 1000);
  if (root.id === 'board') board(root);
  addEventListener('pagehide', () => source && source.close());
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
      over = !over;
      b.textContent = over ? b.dataset.off : b.dataset.on;
      if (!over) return watch(root);
      now += (performance.now() - at) * speed;
      at = performance.now();
      return source && source.close();
    }
    const f = Math.min(64, Math.max(0.25, Number(root.dataset.replay) * (b.dataset.player === 'faster' ? 2 : 0.5)));
    root.dataset.replay = f;
    root.querySelector('.player output').textContent = f + '×';
    if (!over) watch(root);
  });
}
