// The page at /live in a browser.
// Needs: chromium
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { Readable } from 'node:stream';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import axe from 'axe-core';
import { getEventHash } from 'nostr-tools/pure';
import { chromium } from 'playwright-core';
import { connect, now, Person, sleep, startRelay, Wire } from './harness.mjs';

// How long the relay is under load before its picture is taken.
const kSeconds = Number(process.env.WEIR_LIVE_SECONDS ?? 5);
const pictures = join(process.cwd(), 'screenshots');
mkdirSync(pictures, { recursive: true });

let browser;
const executablePath = execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
before(async () => (browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })));
after(() => browser?.close());

const tokenOf = relay => readFileSync(join(relay.dataDir, 'admin.token'), 'utf8').trim();
const asAdmin = relay => ({ authorization: `Bearer ${tokenOf(relay)}` });

// A page that must not complain. What it complained of is expected where a relay went away.
async function open(relay, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.complaints = [];
  page.on('pageerror', error => page.complaints.push(error.message));
  page.on('console', message => message.type() === 'error' && page.complaints.push(message.text()));
  await page.goto(relay.http + '/live');
  return page;
}
const signIn = async (page, token) => {
  await page.getByLabel('administrators’ token').or(page.getByLabel("administrators' token")).fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
};
const close = page => page.context().close();
const table = (page, name) => page.locator(`[data-table="${name}"]`);
const isLive = page => page.locator('#connection.on').waitFor();
const isReconnecting = page => page.getByText(/^reconnecting since \d/).waitFor();

// An import that does not verify, of unsigned lines, until it is told to end, or is longer than it can be; others here have
// their turns meanwhile.
async function* lines(pubkey, isOver) {
  for (let i = 0, bytes = 0; bytes < kSeconds * 60e6 && !isOver();) {
    let text = '';
    for (const end = i + 100; i < end; i++) {
      const event = { pubkey, kind: 1, created_at: 1_700_000_000 + i, tags: [['t', `topic ${i % 100}`]], content: `note ${i} `.repeat(40) };
      text += JSON.stringify({ id: getEventHash(event), ...event, sig: '0'.repeat(128) }) + '\n';
    }
    bytes += text.length;
    yield text;
    await new Promise(resolve => setImmediate(resolve));
  }
}
// A fetch that may follow a redirect would keep all that it has sent.
const importing = (relay, isOver) => fetch(`${relay.http}/api/import?verify=false`, {
  method: 'POST', headers: asAdmin(relay), body: Readable.from(lines(new Person().pubkey, isOver), { highWaterMark: 1 }), duplex: 'half',
  redirect: 'error',
}).then(answer => answer.text());

describe('with a token', () => {
  let relay;
  before(async () => (relay = await startRelay({ WEIR_RELAY_NAME: 'a "test" <relay>' })));
  after(() => relay.stop());

  test('a browser signs in, sees the page, and signs out', async () => {
    const page = await open(relay);
    await signIn(page, 'wrong');
    assert.match(await page.getByRole('alert').innerText(), /wrong token/);
    await signIn(page, tokenOf(relay));
    await isLive(page);
    assert.equal(await page.title(), 'a "test" <relay>: live');
    const [cookie] = (await page.context().cookies(relay.http + '/live')).filter(c => c.name === 'weir_live_' + new URL(relay.http).port);
    assert.ok(cookie.httpOnly && cookie.sameSite === 'Strict' && cookie.path === '/live');
    assert.equal(await page.evaluate(() => document.cookie.includes('weir_live_')), false);
    await page.goto(relay.http + '/');
    await page.getByRole('link', { name: '/live' }).click();
    await isLive(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel("administrators' token").waitFor();
    await close(page);
  });

  test('it draws, and what happens is seen a moment later', async () => {
    const page = await open(relay);
    await signIn(page, tokenOf(relay));
    await isLive(page);
    page.complaints = [];
    assert.equal(await page.locator('#plots canvas').count(), 8);
    const picture = () => page.locator('#plots canvas').nth(1).evaluate(canvas => canvas.toDataURL());
    const before = await picture();
    assert.ok(before.length > 2000, 'something was drawn');
    await page.waitForFunction(old => document.querySelectorAll('#plots canvas')[1].toDataURL() !== old, before);
    assert.match(await page.locator('#plots [role=img]').first().getAttribute('aria-label'), /writes: 0\.\d\d now, at most/);
    // All plots point at one moment, which the keyboard or the mouse has found, and it stays while samples come.
    const moments = () => page.evaluate(() => [...new Set(drawn.map(one => one.chart.pointed))]);
    const isPointed = () => page.locator('#moment', { hasText: /^\d+:\d\d:\d\d/ }).waitFor();
    const level = page.locator('#plots .plot').first();
    await level.focus();
    await page.waitForFunction(() => past.at.length > 3);
    await page.keyboard.press('ArrowLeft');
    await isPointed();
    const [byKey, ...others] = await moments();
    assert.ok(byKey !== null && others.length === 0, String([byKey, ...others]));
    await page.waitForFunction(moment => past.at.at(-1) > moment + 2, byKey);
    assert.deepEqual(await moments(), [byKey]);
    assert.equal(await page.locator('#plots .pointer:visible').count(), 8);
    await page.keyboard.press('ArrowLeft');
    assert.ok((await moments())[0] < byKey);
    await level.blur();
    await page.getByText('Point at a plot').waitFor();
    assert.deepEqual(await moments(), [null]);
    await page.locator('#plots .plot').nth(2).hover();
    await isPointed();
    assert.ok(await page.evaluate(() => past.at.includes(moment)), 'a sample, and nothing between two');
    await page.mouse.move(0, 0);
    await page.getByText('Point at a plot').waitFor();
    const client = await connect(relay);
    const person = new Person();
    for (let i = 0; i < 20; i++) await client.publish(person.event(7, 'counted'));
    await table(page, 'kinds').getByRole('cell', { name: '7', exact: true }).waitFor();
    await page.waitForFunction(() => past.admitted_write.some(rate => rate > 0));
    await table(page, 'clients').getByText('127.0.0.1').waitFor();
    client.close();
    assert.deepEqual(page.complaints, []);
    await close(page);
  });

  test('a change of a gain arrives, from this page and from elsewhere, and says who made it', async () => {
    const page = await open(relay);
    await signIn(page, tokenOf(relay));
    await isLive(page);
    await page.getByLabel('WEIR_IMPORT_SETPOINT').fill('7');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('WEIR_IMPORT_SETPOINT=7: not within 0.05..1').waitFor();
    await page.getByLabel('WEIR_IMPORT_SETPOINT').fill('0.6');
    await page.keyboard.press('Enter');
    await page.locator('#settings-answer', { hasText: 'IMPORT_SETPOINT 0.7 → 0.6' }).waitFor();
    await table(page, 'marks').getByText('IMPORT_SETPOINT 0.7 → 0.6').waitFor();
    await table(page, 'marks').getByText('127.0.0.1, by the session of a browser').waitFor();
    await page.locator('#changed-lines', { hasText: 'WEIR_IMPORT_SETPOINT=0.6' }).waitFor();
    // It glides there.
    await page.waitForFunction(() => Math.abs(past.setpoint_bulk.at(-1) - 0.6) < 0.005);
    assert.ok(await page.evaluate(() => past.setpoint_bulk.some(v => v > 0.605 && v < 0.695)), 'without a step');
    assert.match(relay.log, /live: IMPORT_SETPOINT 0\.7 → 0\.6 by 127\.0\.0\.1, known by the session of a browser/);

    const changed = await fetch(relay.http + '/live/settings', {
      method: 'POST', headers: asAdmin(relay), body: new URLSearchParams({ RATE_LIMIT_WRITE_KP: '0.9' }),
    });
    assert.equal(changed.status, 200);
    await page.waitForFunction(() => document.getElementById('set-RATE_LIMIT_WRITE_KP').value === '0.9');

    // What was typed is kept, and nothing else is posted.
    await page.getByLabel('WEIR_RATE_LIMIT_WRITE_KI').fill('0.2');
    await fetch(relay.http + '/live/settings', { method: 'POST', headers: asAdmin(relay), body: new URLSearchParams({ RATE_LIMIT_WRITE_KD: '0.06' }) });
    await page.waitForFunction(() => document.getElementById('set-RATE_LIMIT_WRITE_KD').value === '0.06');
    await page.keyboard.press('Enter');
    await page.locator('#settings-answer', { hasText: /^RATE_LIMIT_WRITE_KI 0.1 → 0.2$/ }).waitFor();
    await close(page);
  });

  test('whoever listens and whoever has not signed in are kept apart', async () => {
    for (const path of ['/live/events', '/live/state', '/live/session']) assert.equal((await fetch(relay.http + path)).status, 401);
    const answer = await fetch(relay.http + '/live/events', { headers: asAdmin(relay) });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('event: tick')) text += (await reader.read()).value;
    await reader.cancel();
    assert.match(text, /^retry: 1000\n\nevent: state\ndata: \{"format":1,/);
  });
});

describe('at a restart of the relay', () => {
  const restart = async (relay, settings) => {
    const port = new URL(relay.http).port;
    await relay.stop();
    return () => startRelay(settings, { dataDir: relay.dataDir, flags: ['--port', port] });
  };

  test('a page on the same machine goes on by itself, with what it had drawn', async () => {
    const settings = { WEIR_ADMIN_FROM_LOOPBACK: 'true' };
    let relay = await startRelay(settings);
    const page = await open(relay);
    await isLive(page);
    await page.waitForFunction(() => past.at.length > 2);
    const [first, run] = await page.evaluate(() => [past.at[0], globalThis.eval('run')]);
    const start = await restart(relay, settings);
    await isReconnecting(page);
    const last = await page.evaluate(() => past.at.at(-1));
    relay = await start();
    await isLive(page);
    await page.waitForFunction(old => globalThis.eval('run') !== old, run);
    assert.equal(await page.evaluate(() => past.at[0]), first);
    const joint = await page.evaluate(old => past.at.indexOf(old), last);
    assert.deepEqual(await page.evaluate(i => past.level_write.slice(i, i + 3).map(v => v === null), joint), [false, true, false], 'a gap, not a line');
    await close(page);
    await relay.stop();
  });

  test('who has signed in signs in again, on the page as it is', async () => {
    let relay = await startRelay();
    const page = await open(relay);
    await signIn(page, tokenOf(relay));
    await isLive(page);
    const start = await restart(relay, {});
    await isReconnecting(page);
    relay = await start();
    await page.getByRole('heading', { name: 'Sign in again' }).waitFor();
    await page.getByText(/^signed out since/).waitFor();
    await signIn(page, 'wrong');
    await page.getByText('Wrong token').waitFor();
    await signIn(page, tokenOf(relay));
    await isLive(page);
    assert.equal(await page.getByRole('heading', { name: 'Sign in again' }).isVisible(), false);
    await close(page);
    await relay.stop();
  });
});

async function keepsTheRules(page, width) {
  const outside = await page.evaluate(() => [...document.querySelectorAll('body *:not(.scroll *, .unseen, .skip, #why-title)')]
    .filter(e => e.getClientRects().length > 0 && (e.getBoundingClientRect().right > innerWidth + 0.5 || e.getBoundingClientRect().left < -0.5))
    .map(e => e.outerHTML.slice(0, 100)));
  assert.deepEqual(outside, []);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => axe.run());
  assert.deepEqual(violations.map(v => `${v.id}: ${v.nodes.map(n => n.html).join(' ').slice(0, 300)}`), []);
}

describe('for everybody', () => {
  let relay;
  let closed;
  before(async () => {
    relay = await startRelay({ WEIR_ADMIN_FROM_LOOPBACK: 'true' });
    closed = await startRelay({ WEIR_RELAY_NAME: 'a relay with a rather long name, of somebody.who.has.a.long.domain.example' });
  });
  after(() => Promise.all([relay.stop(), closed.stop()]));

  for (const colorScheme of ['light', 'dark']) {
    for (const width of [360, 1280]) {
      test(`it fits ${width} px and breaks no rule of accessibility, ${colorScheme}`, async () => {
        const page = await open(relay, { colorScheme, viewport: { width, height: 740 } });
        await isLive(page);
        await fetch(relay.http + '/live/settings', { method: 'POST', body: new URLSearchParams({ IMPORT_WRITE_KP: '0.1234567' }) });
        await table(page, 'marks').getByText('IMPORT_WRITE_KP').first().waitFor();
        await keepsTheRules(page, width);
        await page.evaluate(() => {
          globalThis.renewTables = () => {};
          const cell = document.querySelector('[data-table="clients"] tbody').insertRow().insertCell();
          cell.textContent = '2001:db8:aaaa:bbbb::/64, 2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff';
        });
        await keepsTheRules(page, width);
        await page.goto(closed.http + '/live');
        await page.getByLabel("administrators' token").waitFor();
        await keepsTheRules(page, width);
        await close(page);
      });
    }
  }

  test('by the keyboard alone', async () => {
    const page = await open(relay);
    await isLive(page);
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'content');
    const reached = new Set();
    for (let i = 0; i < 80; i++) {
      await page.keyboard.press('Tab');
      const [id, outline] = await page.evaluate(() => {
        const e = document.activeElement;
        return [e === document.body ? 'the end' : e.id || e.textContent.trim().slice(0, 30), getComputedStyle(e).outlineStyle];
      });
      if (id === 'the end') break;
      assert.equal(outline, 'solid', `the focus is seen at ${id}`);
      reached.add(id);
    }
    for (const id of ['set-RATE_LIMIT_SETPOINT', 'set-LOG_LEVEL', 'Apply', 'Sign out']) assert.ok(reached.has(id), id);
    assert.equal(await page.locator('#announce').getAttribute('aria-live'), 'polite');
    assert.notEqual(await page.locator('#announce').textContent(), '');
    await close(page);
  });

  test('without JavaScript there are tables, which reload, and a form that works', async () => {
    const page = await open(relay, { javaScriptEnabled: false });
    assert.equal(await table(page, 'signals').getByRole('row').count(), 7);
    assert.match(await page.locator('#connection').innerText(), /reloads every five seconds/);
    await page.waitForEvent('framenavigated');
    // A page that is still does not reload while its user types.
    await page.getByRole('link', { name: 'stop reloading' }).click();
    await page.getByRole('link', { name: 'start it again' }).waitFor();
    await page.getByLabel('WEIR_RATE_LIMIT_READ_KI').fill('0.07');
    await fetch(relay.http + '/live/settings', { method: 'POST', body: new URLSearchParams({ RATE_LIMIT_READ_KP: '0.4' }) });
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.locator('#changed-lines', { hasText: 'WEIR_RATE_LIMIT_READ_KI=0.07' }).waitFor();
    assert.equal(await page.getByLabel('WEIR_RATE_LIMIT_READ_KI').inputValue(), '0.07');
    assert.equal(await page.getByLabel('WEIR_RATE_LIMIT_READ_KP').inputValue(), '0.4', 'what somebody else changed stays');
    await close(page);
  });

  test('left open, it keeps as much as it had', async () => {
    const page = await open(relay);
    await isLive(page);
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Performance.enable');
    const ticks = count => page.evaluate(async many => {
      const event = await (await fetch('/live/state')).json();
      delete event.history;
      for (event.at = past.at.at(-1); many > 0; many--) {
        event.at += 1;
        source.dispatchEvent(new MessageEvent('tick', { data: JSON.stringify(event) }));
      }
    }, count);
    const measure = async () => {
      await devtools.send('HeapProfiler.collectGarbage');
      const { metrics } = await devtools.send('Performance.getMetrics');
      const [longest, nodes] = await page.evaluate(() => [
        Math.max(...Object.values(past).map(list => list.length)), document.querySelectorAll('*').length]);
      return { longest, nodes, heap: metrics.find(m => m.name === 'JSHeapUsedSize').value };
    };
    await ticks(700);
    const before = await measure();
    await ticks(3000);
    const after = await measure();
    assert.deepEqual([after.longest, after.nodes], [600, before.nodes]);
    assert.ok(after.heap < before.heap + 2e6, `${before.heap} bytes became ${after.heap}`);
    await close(page);
  });

  test('a page that nobody sees leaves its connection to others', async () => {
    const page = await open(relay);
    await isLive(page);
    const turn = hidden => page.evaluate(is => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => is });
      document.dispatchEvent(new Event('visibilitychange'));
      return globalThis.eval('source').readyState === EventSource.CLOSED;
    }, hidden);
    assert.equal(await turn(true), true);
    await page.waitForTimeout(1500);
    assert.equal(await page.evaluate(() => globalThis.eval('source').readyState), 2, 'it stays closed');
    assert.equal(await turn(false), false);
    const seen = await page.evaluate(() => past.at.at(-1));
    await page.waitForFunction(old => past.at.at(-1) > old, seen);
    await close(page);
  });

  test('at the limit of listeners it says so and asks seldom', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    let asked = 0;
    await page.route('**/live/events', route => route.fulfill({ status: 503, headers: { 'retry-after': '2' } }));
    page.on('request', request => (asked += request.url().endsWith('/live/state')));
    await page.goto(relay.http + '/live');
    await page.getByText('the limit of listeners is reached').waitFor();
    asked = 0;
    await page.waitForTimeout(3000);
    assert.ok(asked <= 1, `asked ${asked} times in three seconds`);
    await context.close();
  });

  test('behind a proxy that holds events back it is renewed all the same', async () => {
    const proxy = createServer((request, response) => {
      if (request.url === '/live/events') return response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      const headers = { accept: request.headers.accept, host: new URL(relay.http).host };
      get(relay.http + request.url, { headers }, answer => answer.pipe(response.writeHead(answer.statusCode, answer.headers)));
    }).listen(0, '127.0.0.1');
    await new Promise(resolve => proxy.on('listening', resolve));
    const page = await open({ http: `http://127.0.0.1:${proxy.address().port}` });
    await page.getByText('something on the way holds back').waitFor();
    const before = await page.evaluate(() => past.at.at(-1));
    await page.waitForFunction(old => past.at.at(-1) > old, before);
    await close(page);
    proxy.closeAllConnections();
    proxy.close();
  });

  test('nothing comes from elsewhere', async () => {
    const page = await open(relay);
    const hosts = new Set();
    page.on('request', request => hosts.add(new URL(request.url()).origin));
    await page.reload();
    await isLive(page);
    assert.deepEqual([...hosts].filter(host => host !== 'null'), [relay.http]);
    await close(page);
  });
});

test('pictures, of a relay under load', { timeout: (90 + 2 * kSeconds) * 1000 }, async () => {
  const relay = await startRelay({ WEIR_RELAY_NAME: 'relay.example', WEIR_ADMIN_FROM_LOOPBACK: 'true', WEIR_RATE_LIMIT_TARGET_MEMORY_MB: '4096' });
  const set = change => fetch(relay.http + '/live/settings', { method: 'POST', body: new URLSearchParams(change) });
  let busy = true;
  const imported = importing(relay, () => !busy);
  imported.catch(() => {});  // what becomes of it is asked at the end
  const wire = await Wire.open(relay.url);
  const person = new Person();
  const load = (async () => {
    for (let i = 0; busy; i++) {
      for (let j = 0; j < 8; j++) wire.send(['EVENT', person.event([1, 1, 7, 30023][j % 4], `note ${i}`, [['d', `${j}`]], now() - j)]);
      wire.send(['REQ', 'newest', { kinds: [1], limit: 20 }]);
      wire.messages.length = 0;
      await sleep(100);
    }
  })();
  const page = await open(relay, { viewport: { width: 1440, height: 1000 } });
  try {
    await isLive(page);
    await page.waitForTimeout(kSeconds * 500);
    await set({ IMPORT_SETPOINT: '0.1' });
    await page.waitForTimeout(kSeconds * 500);
    await table(page, 'imports').getByText('127.0.0.1').waitFor();
    const take = (name, options = {}) => page.screenshot({ path: join(pictures, name), ...options });
    await page.emulateMedia({ colorScheme: 'light' });
    await page.waitForTimeout(1500);
    await take('light.png');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.waitForTimeout(1500);
    await take('dark.png');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 360, height: 780 });
    await page.waitForTimeout(1500);
    await take('phone.png');
    busy = false;
    await set({ IMPORT_SETPOINT: '0.7' });
    await Promise.all([load, imported]);
  } finally {
    busy = false;
    await wire.close();
    await close(page);
    await relay.stop();
  }
});
