// NIP-42 as clients meet it: a challenge when something needs it, private kinds for their parties only, protected events.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { connect, now, Person, query, startRelay, Wire } from './harness.mjs';

// Answers the challenge that the wire was sent, as this person; returns the OK.
async function authenticate(wire, relay, challenge, person) {
  const tags = [['relay', relay.url], ['challenge', challenge]];
  wire.send(['AUTH', person.event(22242, '', tags)]);
  return wire.until('OK');
}

describe('private kinds', () => {
  let relay;
  let writer;
  const [alice, bob, eve] = [new Person(), new Person(), new Person()];
  const letters = [
    alice.event(4, 'for bob', [['p', bob.pubkey]]),
    new Person().event(1059, 'wrapped for bob', [['p', bob.pubkey]]),
  ];

  before(async () => {
    relay = await startRelay();
    writer = await connect(relay);
    for (const letter of letters) await writer.publish(letter);
  });
  after(async () => {
    writer.close();
    await relay.stop();
  });

  test('nobody is asked to authenticate without need', async () => {
    const wire = await Wire.open(relay.url);
    wire.send(['REQ', 'x', { kinds: [1] }]);
    assert.equal((await wire.next())[0], 'EOSE');
    assert.equal(wire.messages.length, 0);
    await wire.close();
  });

  test('a stranger is challenged and refused', async () => {
    const wire = await Wire.open(relay.url);
    wire.send(['REQ', 'dm', { kinds: [4, 1059] }]);
    const answers = [await wire.next(), await wire.next()].sort((x, y) => (x[0] < y[0] ? -1 : 1));
    assert.equal(answers[0][0], 'AUTH');
    assert.deepEqual(answers[1].slice(0, 2), ['CLOSED', 'dm']);
    assert.match(answers[1][2], /^auth-required:/);
    await wire.close();
  });

  test('who asks for them among others is challenged once, and served what is public', async () => {
    const note = alice.event(1, 'for all', [['p', eve.pubkey]]);
    await writer.publish(note);
    // Who names no kinds is looking for what is public, and some clients take no EOSE while a challenge is unanswered.
    for (const [filter, isChallenged] of [[{ kinds: [1, 4, 1059] }, true], [{ '#p': [eve.pubkey] }, false]]) {
      const wire = await Wire.open(relay.url);
      wire.send(['REQ', 'mixed', filter]);
      if (isChallenged) assert.equal((await wire.next())[0], 'AUTH');
      const found = await wire.next();
      assert.deepEqual([found[0], found[2].id], ['EVENT', note.id]);
      assert.deepEqual(await wire.next(), ['EOSE', 'mixed']);
      wire.send(['COUNT', 'mixed', filter]);
      const counted = await wire.next();
      assert.deepEqual([counted[0], counted[2].count], ['COUNT', 1]);
      await wire.close();
    }
  });

  for (const [name, person, expected] of [
    ['the recipient reads both', bob, [0, 1]],
    ['the author reads what it wrote', alice, [0]],
    ['somebody else reads nothing', eve, []],
  ]) {
    test(name, async () => {
      const wire = await Wire.open(relay.url);
      wire.send(['REQ', 'dm', { kinds: [4, 1059] }]);
      const [, challenge] = await wire.until('AUTH');
      const [, , accepted] = await authenticate(wire, relay, challenge, person);
      assert.equal(accepted, true);
      wire.send(['REQ', 'dm', { kinds: [4, 1059] }]);
      const found = [];
      for (let message = await wire.next(); message[0] !== 'EOSE'; message = await wire.next())
        if (message[0] === 'EVENT') found.push(message[2].id);
      assert.deepEqual(new Set(found), new Set(expected.map(i => letters[i].id)));
      await wire.close();
    });
  }

  test('a search for everything shows a stranger none of them', async () => {
    const client = await connect(relay);
    assert.deepEqual(await query(client, { '#p': [bob.pubkey] }), []);
    client.close();
  });

  test('live, only the parties get them', async () => {
    const open = async person => {
      const wire = await Wire.open(relay.url);
      wire.send(['REQ', 'dm', { kinds: [4] }]);
      const [, challenge] = await wire.until('AUTH');
      await authenticate(wire, relay, challenge, person);
      wire.send(['REQ', 'live', { kinds: [4], limit: 0 }]);
      await wire.until('EOSE');
      return wire;
    };
    const [to, not] = [await open(bob), await open(eve)];
    const letter = alice.event(4, 'live', [['p', bob.pubkey]]);
    await writer.publish(letter);
    assert.equal((await to.until('EVENT'))[2].id, letter.id);
    not.send(['REQ', 'done', { kinds: [1], limit: 0 }]);
    assert.equal((await not.next())[0], 'EOSE');
    await to.close();
    await not.close();
  });

  test('nostr-tools authenticates by itself and then reads', async () => {
    const client = await connect(relay, bob);
    await assert.rejects(query(client, { kinds: [4] }), /auth-required:/);
    await client.auth(bob.signer());
    assert.ok((await query(client, { kinds: [4] })).some(event => event.id === letters[0].id));
    client.close();
  });

  test('a wrong answer is refused', async () => {
    const wire = await Wire.open(relay.url);
    wire.send(['REQ', 'dm', { kinds: [4] }]);
    const [, challenge] = await wire.until('AUTH');
    const [, , accepted, reason] = await authenticate(wire, relay, challenge + '0', eve);
    assert.equal(accepted, false);
    assert.match(reason, /challenge/);
    const stale = eve.event(22242, '', [['relay', relay.url], ['challenge', challenge]], now() - 3600);
    wire.send(['AUTH', stale]);
    assert.equal((await wire.until('OK'))[2], false);
    const elsewhere = eve.event(22242, '', [['relay', 'wss://elsewhere.example'], ['challenge', challenge]]);
    wire.send(['AUTH', elsewhere]);
    assert.equal((await wire.until('OK'))[2], false);
    await wire.close();
  });

  test('a protected event is taken from its author only', async () => {
    const wire = await Wire.open(relay.url);
    const event = alice.event(1, 'mine to publish', [['-']]);
    wire.send(['EVENT', event]);
    const [, challenge] = await wire.until('AUTH');
    let [, , accepted, reason] = wire.messages.find(m => m[0] === 'OK') ?? (await wire.until('OK'));
    assert.equal(accepted, false);
    assert.match(reason, /^auth-required:/);
    await authenticate(wire, relay, challenge, alice);
    wire.send(['EVENT', event]);
    [, , accepted] = await wire.until('OK');
    assert.equal(accepted, true);
    await wire.close();
  });
});

describe('a relay for members', () => {
  let relay;
  before(async () => (relay = await startRelay({ WEIR_AUTH_REQUIRED: 'true' })));
  after(() => relay.stop());

  test('everything needs AUTH, and works after it', async () => {
    const person = new Person();
    const client = await connect(relay, person);
    const event = person.event(1, 'from a member');
    await assert.rejects(client.publish(event), /^Error: auth-required:/);
    await client.auth(person.signer());
    await client.publish(event);
    assert.equal((await query(client, { ids: [event.id] })).length, 1);
    client.close();
  });

  test('NIP-11 says so', async () => {
    const response = await fetch(relay.http, { headers: { accept: 'application/nostr+json' } });
    assert.equal((await response.json()).limitation.auth_required, true);
  });
});
