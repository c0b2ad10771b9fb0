// The page at /live while it is open: follows /live/events, draws the last ten minutes, renews the tables. What it keeps
// does not grow: 600 rows of history, and the tables as they are. FEED.md describes what comes.
'use strict';

const kRows = 600;
const kSilence = 5000;  // ms without an event: the connection has ended, whatever it says
const $ = id => document.getElementById(id);

// --- Figures for people.

const digits = number => number.toFixed(number < 9.995 ? 2 : number < 99.95 ? 1 : 0);
function scaled(number, units) {
  let unit = 0;
  while (Math.abs(number) >= 999.5 && unit < units.length - 1) number /= 1000, unit++;
  return (unit === 0 && Number.isInteger(number) ? number : digits(number)) + units[unit];
}
const show = {
  level: v => v.toFixed(2),
  count: v => scaled(Math.round(v), ['', 'k', 'M', 'G']),
  rate: v => (v < 10 ? String(+v.toFixed(1)) : scaled(Math.round(v), ['', 'k', 'M', 'G'])),
  bytes: v => scaled(Math.round(v), [' B', ' kB', ' MB', ' GB', ' TB']),
  speed: v => show.bytes(v) + '/s',
  time: v => (v < 0.00995 ? (v * 1000).toFixed(1) + ' ms' : v < 0.9995 ? (v * 1000).toFixed(0) + ' ms' : v.toFixed(1) + ' s'),
  cores: v => (v * 100).toFixed(v < 0.1 ? 1 : 0) + ' %',
};
const shown = (kind, value) => (value === null || value === undefined ? '–' : show[kind](value));
const clock = ms => new Date(ms).toLocaleTimeString();

// --- What is drawn: a figure, its words, its colour, and one beside it that is drawn with dashes.

const three = (name, beside) => [
  [`${name}_write`, 'writes', 'write', beside && `${beside}_write`],
  [`${name}_bulk`, 'bulk', 'bulk', beside && `${beside}_bulk`],
];
const plots = [
  { title: 'Level, of its setpoint', kind: 'level', to: 1, beside: ' of ',
    lines: [...three('level', 'setpoint'), ['level_read', 'reads', 'read', 'setpoint_read']] },
  { title: 'Let through, a second', kind: 'rate', to: 10,
    lines: [...three('admitted'), ['admitted_read', 'reads', 'read']] },
  { title: 'Refused, a second', kind: 'rate', to: 5, lines: [...three('refused'), ['refused_read', 'reads', 'read']] },
  { title: 'Wait at the gates', kind: 'time', to: 0.01, lines: [...three('delay'), ['delay_read', 'reads', 'read']] },
  { title: 'Written, of its limit', kind: 'speed', to: 1e5, beside: ' of ', lines: three('bytes', 'limit') },
  { title: 'Answered within: p99, and p50', kind: 'time', to: 0.005, beside: ', ',
    lines: [['ok_p99', 'OK', 'write', 'ok_p50'], ['eose_p99', 'EOSE', 'read', 'eose_p50']] },
  { title: 'Memory, of its target', kind: 'bytes', to: 1e7, beside: ' of ', lines: [['memory', 'used', 'write', 'memory_target']] },
  { title: 'Open', kind: 'count', to: 5,
    lines: [['connections', 'connections', 'write'], ['subscriptions', 'subscriptions', 'read']] },
];
const tiles = [
  ['admitted_write', 'writes a second', 'rate'], ['admitted_bulk', 'bulk a second', 'rate'], ['admitted_read', 'reads a second', 'rate'],
  ['ok_p99', 'OK within, p99', 'time'], ['eose_p99', 'EOSE within, p99', 'time'], ['connections', 'connections', 'count'],
  ['memory', 'memory', 'bytes'], ['cpu', 'of a core', 'cores'],
];

// --- The past: a list for each figure, all of one length.

let run = 0;
let past = { at: [] };

function takeHistory(state) {
  const names = Object.keys(state.history);
  const joined = {};
  for (const name of names) {
    const before = state.run === run ? [] : (past[name] ?? []);
    // Between two runs nothing is known, and no line is drawn.
    const gap = before.length > 0 ? [name === 'at' ? before.at(-1) + 0.5 : null] : [];
    joined[name] = [...before, ...gap, ...state.history[name]].slice(-kRows);
  }
  past = joined;
  run = state.run;
}

function takeTick(state) {
  past.at.push(state.at);
  for (const name in state.now) (past[name] ??= new Array(past.at.length - 1).fill(null)).push(state.now[name]);
  if (past.at.length > kRows) for (const name in past) past[name].shift();
}

// --- Plots.

let marks = [];
const drawn = [];

// Somebody points at a moment of all plots, and it stays while samples come; then the figures are those of it, with what
// happened then, and else those of now.
const kNear = 4;  // seconds
const kHint = $('moment').textContent;
let moment = null;
const sampleAt = time => past.at.reduce((best, at, i) => (Math.abs(at - time) < Math.abs(past.at[best] - time) ? i : best), 0);

function pointAt(time) {
  moment = time === null ? null : past.at[sampleAt(time)] ?? null;
  for (const { chart } of drawn) chart.pointAt(moment);
  renewLegends();
}

function renewLegends() {
  const i = moment === null ? past.at.length - 1 : sampleAt(moment);
  for (const { plot, values } of drawn) plot.lines.forEach((line, n) => setText(values[n], legendOf(plot, i, line)));
  const then = marks.filter(mark => Math.abs(mark.at - past.at[i]) <= kNear);
  const words = then.map(mark => ' · ' + mark.text + (mark.who ? ` (${mark.who})` : '')).join('');
  setText($('moment'), moment === null ? kHint : clock(past.at[i] * 1000) + words);
}

// By the keyboard: from sample to sample, or ten at once with Shift.
function movePointer(event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step === undefined || past.at.length === 0) return;
  event.preventDefault();
  const newest = past.at.length - 1;
  const i = (moment === null ? newest : sampleAt(moment)) + step * (event.shiftKey ? 10 : 1);
  pointAt(past.at[Math.min(newest, Math.max(0, i))]);
}

// Each figure and the one beside it, which is drawn first.
const linesOf = plot => plot.lines.flatMap(([name, , colour, beside]) =>
  [{ name: beside, colour, dashed: true }, { name, colour, dashed: false }].filter(line => line.name));
const legendOf = (plot, i, [name, , , beside]) =>
  shown(plot.kind, past[name]?.[i]) + (beside ? plot.beside + shown(plot.kind, past[beside]?.[i]) : '');

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const name in attributes) made.setAttribute(name, attributes[name]);
  made.append(...children);
  return made;
}

function makePlots() {
  $('plots').hidden = false;
  for (const plot of plots) {
    const values = plot.lines.map(() => element('b', {}, ''));
    const legend = element('ul', { class: 'legend' }, ...plot.lines.map(([, words, colour], i) =>
      element('li', { class: 'key ' + colour }, words + ' ', values[i])));
    const area = element('div', { class: 'plot', role: 'img', tabindex: '0' });
    $('plots').append(element('figure', { class: 'card' }, element('figcaption', {}, element('h2', {}, plot.title), legend), area));
    const wordsOf = value => shown(plot.kind, value);
    const chart = new Plot(area, { lines: linesOf(plot), least: plot.to, wordsOf, hasWords: plot === plots[0] });
    area.addEventListener('keydown', movePointer);
    area.addEventListener('mousemove', event => pointAt(chart.timeAt(event.clientX)));
    for (const left of ['mouseleave', 'blur']) area.addEventListener(left, () => pointAt(null));
    drawn.push({ plot, area, values, chart });
  }
  renewPlots({ marks: [] });
}

// The same in words, for who does not see it.
function inWords({ plot }) {
  const parts = plot.lines.map(([name, words]) => {
    const known = (past[name] ?? []).filter(v => v !== null);
    if (known.length === 0) return `${words}: no figures`;
    const highest = known.reduce((a, b) => Math.max(a, b));
    return `${words}: ${shown(plot.kind, past[name].at(-1))} now, at most ${shown(plot.kind, highest)}`;
  });
  return `${plot.title}, over the last ten minutes. ${parts.join('; ')}.`;
}

// Ten minutes are shown, or what there is of them, and one minute at least.
function renewPlots(state) {
  marks = state.marks;
  const to = past.at.at(-1) ?? Date.now() / 1000;
  const from = Math.max(to - kRows, Math.min(past.at[0] ?? to, to - 60));
  for (const one of drawn) {
    const values = one.chart.lines.map(({ name }) => past[name] ?? []);
    one.chart.show({ from, to, times: past.at, values, marks });
    one.area.setAttribute('aria-label', inWords(one));
  }
  pointAt(moment);
}

// --- Words, tiles, tables.

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// What a screen reader is told: when it is another matter, not when a figure moves.
let announced = '';
function announce(state) {
  const matter = state.mood + state.summary.replace(/[\d.,]+/g, '');
  if (matter === announced) return;
  announced = matter;
  $('announce').textContent = state.summary;
}

function renewWords(state) {
  setText($('summary'), state.summary);
  for (const name of ['write', 'bulk', 'read']) setText($('reason-' + name), state.reasons[name]);
  $('why').className = 'card ' + state.mood;
  announce(state);
}

function renewTiles(state) {
  const now = $('now');
  if (now.hidden) {
    now.hidden = false;
    for (const [, words] of tiles) now.append(element('div', {}, element('b', {}, ''), element('span', {}, words)));
  }
  tiles.forEach(([name, , kind], i) => setText(now.children[i].firstChild, shown(kind, state.now[name])));
}

function makeTable(table) {
  const head = element('tr', {}, ...table.columns.map(c => element('th', { scope: 'col', class: c.figure ? 'figure' : '' }, c.title)));
  return element('section', { class: 'card table', 'data-table': table.name }, element('h2', {}, table.title),
    element('div', { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': table.title },
      element('table', {}, element('thead', {}, head), element('tbody', {}))),
    element('p', { class: 'note' }));
}

function renewTable(section, table) {
  const body = section.querySelector('tbody');
  while (body.rows.length > table.rows.length) body.deleteRow(-1);
  while (body.rows.length < table.rows.length)
    body.append(element('tr', {}, ...table.columns.map(c => element('td', { class: c.figure ? 'figure' : '' }))));
  table.rows.forEach((cells, i) => cells.forEach((cell, j) => setText(body.rows[i].cells[j], cell)));
  const more = table.left_out > 0 ? `and ${table.left_out} more` : '';
  setText(section.querySelector('.note'), table.rows.length === 0 ? table.empty : more);
}

function renewTables(state) {
  const all = $('tables');
  const names = new Set(state.tables.map(table => table.name));
  for (const section of [...all.children]) if (!names.has(section.dataset.table)) section.remove();
  state.tables.forEach((table, i) => {
    let section = all.querySelector(`[data-table="${table.name}"]`);
    if (!section) all.insertBefore(section = makeTable(table), all.children[i] ?? null);
    renewTable(section, table);
  });
}

// What somebody else changed is shown too, but not over what was typed. Beside each field stands what the relay has: where
// both are the same, the form changes nothing.
const fields = $('settings-form').elements;
function renewSettings(state) {
  for (const [name, value] of Object.entries(state.settings)) {
    const field = fields[name];
    const was = fields['was:' + name];
    if (!field) continue;
    field.closest('.field').classList.toggle('changed', name in state.changed);
    if (field.value === was.value) field.value = value;
    was.value = value;
  }
  const lines = Object.keys(state.changed).map(name => `WEIR_${name}=${state.settings[name]}\n`).join('');
  $('changed').hidden = lines === '';
  setText($('changed-lines'), lines);
}

// --- The connection.

let source = null;
let heard = Date.now();
let lostSince = 0;
let silences = 0;  // connections in a row that brought nothing

function take(state, how = 'live') {
  heard = Date.now();
  lostSince = 0;
  $('sign-in-again').hidden = true;
  $('connection').className = 'note on';
  setText($('connection'), how);
  renewWords(state);
  renewTiles(state);
  renewTables(state);
  renewSettings(state);
  renewPlots(state);
}

function takeWhole(state, how) {
  takeHistory(state);
  delete state.history;
  take(state, how);
}

function connect() {
  source?.close();
  heard = Date.now();
  source = new EventSource('/live/events');
  source.addEventListener('state', event => {
    silences = 0;
    takeWhole(JSON.parse(event.data));
  });
  source.addEventListener('tick', event => {
    const state = JSON.parse(event.data);
    if (state.run !== run) return;
    takeTick(state);
    take(state);
  });
  source.onerror = lose;
}

function lose() {
  lostSince ||= Date.now();
  $('connection').className = 'note off';
  setText($('connection'), `reconnecting since ${clock(lostSince)}`);
}

const ask = path => fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(kSilence) });

function askForToken() {
  source.close();
  setText($('connection'), `signed out since ${clock(lostSince)}`);
  $('sign-in-again').hidden = false;
}

// A refusal ends an EventSource for good; a relay that is away, or a connection that is silent, is tried again. Where the
// relay answers and no event comes, something on the way holds them back: then it is asked.
async function look() {
  if (document.hidden) return;
  const refused = source.readyState === EventSource.CLOSED;
  if (Date.now() - heard < (refused && silences < 2 ? 1000 : kSilence)) return;
  if (silences < 2) lose();
  if (!$('sign-in-again').hidden) return;
  heard = Date.now();
  try {
    const answer = await ask('/live/session');
    if (answer.status === 401 || answer.status === 403) return askForToken();
    if (++silences < 2 || silences % 12 === 0) return connect();
    const state = await (await ask('/live/state')).json();
    takeWhole(state, 'reloaded every five seconds: ' +
      (refused ? 'the limit of listeners is reached' : 'something on the way holds back the stream'));
  } catch {
    silences = 0;
    connect();
  }
}

async function post(form) {
  const body = new URLSearchParams(new FormData(form));
  const answer = await fetch(form.action, { method: 'POST', body, headers: { accept: 'text/plain' } });
  return { ok: answer.ok, text: (await answer.text()).trim() };
}

$('sign-in-again').querySelector('form').addEventListener('submit', async event => {
  event.preventDefault();
  const form = event.target;
  const { ok } = await post(form).catch(() => ({ ok: false }));
  form.querySelector('.problem').textContent = ok ? '' : 'Wrong token, or too many wrong tokens came from your address.';
  if (!ok) return;
  form.reset();
  $('sign-in-again').hidden = true;
  connect();
});

$('settings-form').addEventListener('submit', async event => {
  event.preventDefault();
  const { ok, text } = await post(event.target).catch(error => ({ ok: false, text: String(error) }));
  if (ok) for (const was of event.target.querySelectorAll('[name^="was:"]')) was.value = fields[was.name.slice(4)].value;
  const answer = $('settings-answer');
  answer.className = ok ? '' : 'problem';
  answer.textContent = text;
});

makePlots();
// A browser has six connections to a relay: pages that nobody sees leave them to others.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) source.close();
  else if ($('sign-in-again').hidden) connect();
});
setInterval(look, 1000);
if (!document.hidden) connect();
