// The page at /live/moderation: shows reports and bans, and decides about authors and events. All by calls of NIP-86's
// JSON-RPC at /api/moderation. Lists are read when the page is opened and when its user asks: a card that moves by itself
// while a finger comes down would ban another author than the one that was meant. All that others have written gets into
// the page as text.
'use strict';

const kShown = 50;        // rows of a list
const kParts = 20;        // the most parts of a list that are read
const kTimeout = 30_000;  // ms
const kReason = 200;      // characters of a reason
const $ = id => document.getElementById(id);

// --- The calls.

const asSentence = text => {
  const line = text.trim().split('\n')[0];
  return line && line[0].toUpperCase() + line.slice(1) + (/[.!?]$/.test(line) ? '' : '.');
};

// Returns the answer of the method: `result` and, if that is a part of a list, `after`, the parameter for the next part.
// The message of an error is a sentence for people.
async function call(method, ...params) {
  const ask = async () => {
    const answer = await fetch('/api/moderation', {
      method: 'POST', headers: { 'content-type': 'application/nostr+json+rpc' }, body: JSON.stringify({ method, params }),
      signal: AbortSignal.timeout(kTimeout),
    });
    return { answer, text: await answer.text() };
  };
  const { answer, text } = await ask().catch(() => { throw new Error('The relay cannot be reached. Try again in a moment.'); });
  if (answer.status === 401) throw new Error('The relay no longer knows this browser. Reload the page to sign in again.');
  let said = {};
  try {
    said = JSON.parse(text) ?? {};
  } catch { /* a proxy or the relay has answered in words */ }
  if (said.error) throw new Error(asSentence(said.error.message ?? said.error));
  if (answer.ok && said.result !== undefined) return said;
  throw new Error(asSentence(text) || `The relay has answered with the HTTP status ${answer.status}.`);
}

function say(answer, ...parts) {
  answer.classList.remove('problem');
  answer.replaceChildren(...parts);
}
function sayProblem(answer, problem) {
  say(answer, problem.message);
  answer.classList.add('problem');
}
const tell = problem => ($('problem').textContent = problem?.message ?? '');

// --- Keys and ids as people see them: npub1… and note1… (NIP-19), which are bech32.

const kLetters = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';

function checksum(prefix, values) {
  const codes = [...prefix].map(c => c.charCodeAt(0));
  let sum = 1;
  for (const value of [...codes.map(c => c >> 5), 0, ...codes.map(c => c & 31), ...values]) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ value;
    [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3].forEach((g, i) => { if ((top >> i) & 1) sum ^= g; });
  }
  return sum;
}

// Joins numbers of `from` bits to numbers of `to` bits.
function regroup(numbers, from, to) {
  const bits = numbers.map(n => n.toString(2).padStart(from, '0')).join('');
  return bits.match(new RegExp(`.{1,${to}}`, 'g')).map(b => parseInt(b.padEnd(to, '0'), 2));
}

function toBech32(prefix, hex) {
  const values = regroup([...hex].map(c => parseInt(c, 16)), 4, 5);
  const sum = checksum(prefix, [...values, 0, 0, 0, 0, 0, 0]) ^ 1;
  for (let i = 0; i < 6; i++) values.push((sum >> (5 * (5 - i))) & 31);
  return prefix + '1' + values.map(v => kLetters[v]).join('');
}

// A subject is what is decided about: { about: 'author' or 'event', hex }.
const author = hex => ({ about: 'author', hex });
const nameOf = ({ about, hex }) => toBech32(about === 'author' ? 'npub' : 'note', hex);
const shortName = subject => nameOf(subject).replace(/^(.{12}).*(.{4})$/, '$1…$2');

// Reads what a person has typed.
function readSubject(text) {
  const typed = text.trim().toLowerCase().replace(/^nostr:/, '');
  if (/^[0-9a-f]{64}$/.test(typed)) return author(typed);
  const [, prefix, data] = /^(npub|note)1([02-9ac-hj-np-z]{58})$/.exec(typed) ?? [];
  const values = [...(data ?? '')].map(c => kLetters.indexOf(c));
  if (data === undefined || checksum(prefix, values) !== 1)
    throw new Error('This is neither an npub nor 64 hex digits nor a note1…; is a character missing or wrong?');
  const hex = regroup(values.slice(0, 52), 5, 4).slice(0, 64).map(n => n.toString(16)).join('');
  return { about: prefix === 'npub' ? 'author' : 'event', hex };
}

// Returns the hex digits with which a key begins whose npub or hex digits begin with `typed`.
function beginningOfKey(typed) {
  if ('npub1'.startsWith(typed)) return '';
  const values = [...typed.slice(5, 57)].map(c => kLetters.indexOf(c));
  if (!typed.startsWith('npub1') || values.includes(-1)) return typed;
  const whole = Math.min(Math.floor(values.length * 5 / 4), 64);
  return regroup(values, 5, 4).slice(0, whole).map(n => n.toString(16)).join('');
}

// --- Decisions.

let supported = new Set();  // methods that this administrator may call
const verdicts = new Map();  // 'author' or 'event', and hex: 'banned', 'allowed' or 'none'
const keyOf = ({ about, hex }) => about + hex;
const verdictOf = subject => verdicts.get(keyOf(subject)) ?? 'none';
const noteVerdict = (subject, verdict) => verdicts.set(keyOf(subject), verdict);
const endings = { author: 'pubkey', event: 'event' };
const verbs = { banned: 'ban', allowed: 'allow' };

// Returns the method that takes a subject from one verdict to another; undefined if this administrator has none.
function methodFor({ about }, from, to) {
  const method = (to === 'none' ? 'un' + verbs[from] : verbs[to]) + endings[about];
  return supported.has(method) ? method : undefined;
}

const whatFollows = {
  'author banned': 'The events of this author are hidden.',
  'author allowed': 'This author may write, whatever the lists of allowed authors and the rates say.',
  'author none': 'No decision is left. Events that were removed do not come back.',
  'event banned': 'The event is hidden, and is not taken again.',
  'event allowed': 'The event stays, and its reports are answered.',
  'event none': 'No decision is left. An event that was removed does not come back.',
};

// Decides, and says in `answer` what that did, with a button that takes it back.
async function decide(subject, to, reason, answer) {
  const from = verdictOf(subject);
  const reasonBefore = lists[from]?.all.find(entry => entry.subject.hex === subject.hex)?.reason ?? '';
  say(answer, 'Asking the relay …');
  try {
    await call(methodFor(subject, from, to), subject.hex, reason);
    noteVerdict(subject, to);
    const did = { banned: 'Banned', allowed: 'Allowed', none: 'Took back the decision about' }[to];
    say(answer, `${did} ${shortName(subject)}. ${whatFollows[`${subject.about} ${to}`]} `);
    if (to !== 'allowed') answer.append(element('span', { 'data-removal': subject.hex }));
    if (from !== to && to !== 'none' && methodFor(subject, to, from)) {
      const undo = element('button', { class: 'quiet' }, 'Undo');
      undo.addEventListener('click', () => decide(subject, from, reasonBefore, answer));
      answer.append(undo);
      undo.focus();
    }
    if (to === 'banned') followRemovals();
    if (subject.about === 'author') noteInLists(subject, to, reason);
  } catch (problem) {
    sayProblem(answer, problem);
  }
  renewCards();
  showLists();
}

// --- The page's parts.

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const name in attributes) made.setAttribute(name, attributes[name]);
  made.append(...children);
  return made;
}

const nameElement = subject => element('code', { class: 'name', title: nameOf(subject) }, nameOf(subject));
const timeElement = seconds => element('time', {}, new Date(seconds * 1000).toLocaleString());

// Returns the types of a card's reports as the reason of a decision. Clients that report choose the types, so there may
// be more than a reason may have.
const reasonOf = ({ types }) => [...[...types.keys()].join(', ')].slice(0, kReason).join('');

// All reports about one event or author share a card. `targetOf` returns what a report is about.
let cards = new Map();
const targetOf = report => (report.event ? { about: 'event', hex: report.event.id } : author(report.author.pubkey));

function describeTarget({ event, author: by }) {
  const parts = [];
  if (event?.stored) {
    parts.push(element('p', { class: 'said' }, event.content || '(no content)'));
    parts.push(element('p', { class: 'note' }, `kind ${event.kind}, `, timeElement(event.created_at)));
  } else if (event) {
    parts.push(element('p', { class: 'note' }, 'The event is not stored here: ', nameElement(targetOf({ event }))));
  }
  if (by) {
    const how = by.claimed ? 'by, as the report says, ' : 'by ';
    parts.push(element('p', { class: 'by' }, how, nameElement(author(by.pubkey))));
  }
  return parts;
}

function makeCard(report) {
  const target = targetOf(report);
  const by = report.author && author(report.author.pubkey);
  const card = {
    target, by, types: new Map(), title: element('h3', {}), verdict: element('p', { class: 'note' }),
    actions: element('p', { class: 'actions' }), answer: element('p', { class: 'answer', role: 'status' }),
    list: element('ul', { class: 'rows' }), count: element('summary', {}),
  };
  card.section = element('article', { class: 'card report' }, card.title, ...describeTarget(report), card.verdict, card.actions,
    card.answer, element('details', {}, card.count, card.list));
  for (const subject of by && report.event ? [by, target] : [target]) {
    for (const to of target === subject ? ['banned', 'allowed'] : ['banned']) {
      const button = element('button', {}, `${to === 'banned' ? 'Ban' : 'Allow'} ${subject.about}`);
      button.addEventListener('click', () => {
        for (const other of card.actions.children) other.disabled = true;
        decide(subject, to, reasonOf(card), card.answer);
      });
      card.actions.append(Object.assign(button, { subject, to }));
    }
  }
  return card;
}

function addReport(report) {
  const target = targetOf(report);
  if (report.event) noteVerdict(target, report.event.verdict);
  if (report.author) noteVerdict(author(report.author.pubkey), report.author.verdict);
  let card = cards.get(keyOf(target));
  if (!card) {
    cards.set(keyOf(target), card = makeCard(report));
    $('reports').append(card.section);
  }
  const type = report.type || 'no type';
  card.types.set(type, (card.types.get(type) ?? 0) + 1);
  card.title.textContent = [...card.types].map(([name, count]) => name + (count > 1 ? ` × ${count}` : '')).join(', ');
  const from = element('p', { class: 'note' }, type + ', ', timeElement(report.created_at), ', by ', nameElement(author(report.reporter)));
  card.list.append(element('li', {}, element('p', { class: 'said' }, report.text || '(no text)'), from));
  card.count.textContent = card.list.children.length === 1 ? '1 report' : `${card.list.children.length} reports`;
}

// Brings the buttons of all cards up to date: a decision about an author concerns several.
function renewCards() {
  for (const { target, by, actions, verdict, section } of cards.values()) {
    const subjects = by && target.about === 'event' ? [target, by] : [target];
    verdict.textContent = subjects.filter(subject => verdictOf(subject) !== 'none')
      .map(subject => `${subject.about} ${verdictOf(subject)}`).join(', ');
    section.classList.toggle('answered', verdictOf(target) !== 'none' || (!!by && verdictOf(by) === 'banned'));
    for (const button of actions.children) {
      const from = verdictOf(button.subject);
      button.disabled = false;
      button.hidden = from === button.to || !methodFor(button.subject, from, button.to);
    }
  }
}

let older;
let asked = 0;  // times that reports were asked for
async function loadReports(from) {
  const number = ++asked;
  const { result, after } = await call('listreports', $('all').checked ? 'all' : 'open', ...(from ? [from] : []));
  if (number !== asked) return;  // they were asked for again meanwhile
  if (!from) {
    cards = new Map();
    $('reports').replaceChildren();
  }
  for (const report of result) addReport(report);
  renewCards();
  older = after;
  $('older').hidden = !older;
  const none = $('all').checked ? 'There are no reports.' : 'No report waits for an answer.';
  $('reports-note').textContent = cards.size > 0 ? '' : older ? 'None of the newest reports waits for an answer.' : none;
}

const lists = { banned: { all: [], isCut: false }, allowed: { all: [], isCut: false } };
async function loadLists() {
  for (const verdict in lists) {
    const all = [];
    let from = [];
    for (let part = 0; part < kParts && from; part++) {
      const { result, after } = await call(`list${verdict}pubkeys`, ...from);
      for (const { pubkey, reason } of result) all.push({ subject: author(pubkey), reason });
      from = after && [after];
    }
    for (const { subject } of all) noteVerdict(subject, verdict);
    lists[verdict] = { all, isCut: !!from };
  }
  showLists();
  renewCards();
}

function noteInLists(subject, to, reason) {
  for (const [verdict, list] of Object.entries(lists)) {
    list.all = list.all.filter(entry => entry.subject.hex !== subject.hex);
    if (verdict === to) list.all.unshift({ subject, reason });
  }
}

function listRow({ subject, reason }, verdict) {
  const button = element('button', { class: 'quiet' }, verdict === 'banned' ? 'Unban' : 'Take back');
  button.hidden = !methodFor(subject, verdict, 'none');
  button.addEventListener('click', () => {
    button.disabled = true;
    decide(subject, 'none', '', $(verdict + '-answer'));
  });
  return element('li', {}, nameElement(subject), reason ? ` ${reason} ` : ' ', button);
}

// Shows the authors that match what is typed into the box.
function showLists() {
  const beginning = beginningOfKey($('subject').value.trim().toLowerCase());
  for (const [verdict, { all, isCut }] of Object.entries(lists)) {
    const found = all.filter(({ subject }) => subject.hex.startsWith(beginning));
    $(verdict).replaceChildren(...found.slice(0, kShown).map(entry => listRow(entry, verdict)));
    const more = Math.max(found.length - kShown, 0) + (isCut ? ' or more' : '');
    $(verdict + '-note').textContent = all.length === 0 ? `No author is ${verdict}.` :
      more !== '0' ? `and ${more} others; type the beginning of a key into the box above to find one` :
      found.length === 0 ? 'None matches the box above.' : '';
  }
}

// Says how far the removals are, in the list and where a ban was made here. Returns true while one goes on.
async function loadRemovals() {
  const removals = (await call('listremovals')).result;
  const events = n => (n === 1 ? '1 event' : `${n} events`);
  const going = removals.filter(removal => !removal.done);
  $('removals').replaceChildren(...going.slice(0, kShown).map(({ pubkey, id, removed }) => {
    const subject = pubkey ? author(pubkey) : { about: 'event', hex: id };
    return element('li', {}, nameElement(subject), ` ${events(removed)} removed`);
  }));
  $('removals-note').textContent = going.length === 0 ? 'No removal is in progress.' :
    going.length > kShown ? `and ${going.length - kShown} more` : '';
  for (const { pubkey, id, removed, done } of removals)
    for (const progress of document.querySelectorAll(`[data-removal="${pubkey ?? id}"]`))
      progress.textContent = done ? `${events(removed)} removed. ` : `${events(removed)} removed, and the removal goes on. `;
  return going.length > 0;
}

// Asks at growing intervals, because a removal may take long.
let follower = 0;
function followRemovals(pause = 500) {
  clearTimeout(follower);
  follower = setTimeout(async () => {
    const goesOn = document.hidden || await loadRemovals().catch(() => true);
    if (goesOn) followRemovals(Math.min(pause * 2, 15_000));
  }, pause);
}

const loadAll = async () => {
  tell(null);
  verdicts.clear();
  const removals = loadRemovals().then(goesOn => goesOn && followRemovals());
  const parts = await Promise.allSettled([loadReports(), loadLists(), removals]);
  tell(parts.find(part => part.status === 'rejected')?.reason);
};

async function begin() {
  $('parts').hidden = false;
  try {
    supported = new Set((await call('supportedmethods')).result);
    $('decide').hidden = !supported.has('banpubkey');
    $('only-look').hidden = !$('decide').hidden;
    await loadAll();
  } catch (problem) {
    $('reports-note').textContent = '';
    tell(problem);
  }
}

$('again').addEventListener('click', () => loadAll());
$('all').addEventListener('change', () => loadReports().catch(tell));
$('older').addEventListener('click', () => loadReports(older).catch(tell));
$('subject').addEventListener('input', showLists);
$('decide-form').addEventListener('submit', async event => {
  event.preventDefault();
  const answer = $('decide-answer');
  try {
    const subject = readSubject($('subject').value);
    await decide(subject, event.submitter?.value === 'allow' ? 'allowed' : 'banned', $('reason').value.trim(), answer);
  } catch (problem) {
    sayProblem(answer, problem);
  }
});
begin();
