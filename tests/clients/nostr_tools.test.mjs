// nostr-tools as people use it: publish, query by every shape of filter, subscribe, count, delete, replace, expire.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { connect, now, Person, query, sleep, startRelay, Wire } from './harness.mjs';
// The package has this module, but does not export it.
import { NegentropyStorageVector, NegentropySync } from './node_modules/nostr-tools/lib/esm/nip77.js';

let relay;
before(async () => (relay = await startRelay()));
after(() => relay.stop());

const ids = events => events.map(event => event.id);

describe('sync', () => {
  // What a client with these events lacks, and what only it has.
  function compare(client, events, filter) {
    const own = new NegentropyStorageVector();
    for (const event of events) own.insert(event.created_at, event.id);
    own.seal();
    const have = [];
    const need = [];
    return new Promise((resolve, reject) => {
      const sync = new NegentropySync(client, own, filter, {
        onhave: id => have.push(id),
        onneed: id => need.push(id),
        onclose: error => (error ? reject(new Error(error)) : resolve({ have: have.sort(), need: need.sort() })),
      });
      sync.start();
    });
  }

  test('a client learns in which events it and the relay differ', async () => {
    const client = await connect(relay);
    const person = new Person();
    const note = n => person.event(1, `note ${n}`, [], now() - (n >> 2));
    const all = Array.from({ length: 400 }, (_, n) => note(n));
    const stored = all.slice(0, 360);
    await Promise.all(stored.map(event => client.publish(event)));
    const filter = { kinds: [1], authors: [person.pubkey] };
    const { have, need } = await compare(client, all.slice(30), filter);
    assert.deepEqual(have, ids(all.slice(360)).sort());
    assert.deepEqual(need, ids(all.slice(0, 30)).sort());
    assert.deepEqual(await compare(client, stored, filter), { have: [], need: [] });
    assert.deepEqual(await compare(client, [], filter), { have: [], need: ids(stored).sort() });
    client.close();
  });
});

describe('publish', () => {
  test('an event comes back as it was sent', async () => {
    const client = await connect(relay);
    const event = new Person().event(1, 'h\u00e9llo \u{1F30A} "quoted"\n\t\\ \u2028', [['t', 'weir'], ['x', 'a', 'b']]);
    await client.publish(event);
    const [found] = await query(client, { ids: [event.id] });
    assert.equal(JSON.stringify(found), JSON.stringify(event));
    client.close();
  });

  test('a duplicate is accepted and says so', async () => {
    const client = await connect(relay);
    const event = new Person().event(1, 'twice');
    await client.publish(event);
    assert.match(await client.publish(event), /^duplicate:/);
    assert.equal((await query(client, { ids: [event.id] })).length, 1);
    client.close();
  });

  test('what is not good is refused with a reason', async () => {
    const client = await connect(relay);
    const person = new Person();
    const forged = { ...person.event(1, 'one'), content: 'another' };
    await assert.rejects(client.publish(forged), /^Error: invalid:/);
    const badSignature = { ...person.event(1, 'one'), sig: new Person().event(1).sig };
    await assert.rejects(client.publish(badSignature), /^Error: invalid:/);
    await assert.rejects(client.publish(person.event(1, '', [], now() + 86400)), /^Error: invalid:/);
    client.close();
  });
});

describe('query', () => {
  const alice = new Person();
  const bob = new Person();
  let client;
  let events;

  before(async () => {
    client = await connect(relay);
    const t = now() - 1000;
    events = {
      a1: alice.event(1, 'a1', [['t', 'blue'], ['p', bob.pubkey]], t),
      a2: alice.event(1, 'a2', [['t', 'red']], t + 1),
      a3: alice.event(7, 'a3', [['t', 'blue']], t + 2),
      b1: bob.event(1, 'b1', [['t', 'blue'], ['t', 'red']], t + 3),
      b2: bob.event(7, 'b2', [['e', '0'.repeat(64)]], t + 3),
    };
    for (const event of Object.values(events)) await client.publish(event);
  });
  after(() => client.close());

  const mine = () => [alice.pubkey, bob.pubkey];
  const expectFound = async (filters, names) => {
    const found = await query(client, ...filters);
    const expected = names.map(name => events[name]).sort((x, y) => y.created_at - x.created_at || (x.id < y.id ? -1 : 1));
    assert.deepEqual(ids(found), ids(expected));
  };

  test('by ids', () => expectFound([{ ids: [events.a1.id, events.b2.id] }], ['a1', 'b2']));
  test('by author', () => expectFound([{ authors: [alice.pubkey] }], ['a1', 'a2', 'a3']));
  test('by authors and kind', () => expectFound([{ authors: mine(), kinds: [1] }], ['a1', 'a2', 'b1']));
  test('by authors and kinds', () => expectFound([{ authors: mine(), kinds: [1, 7] }], Object.keys(events)));
  test('by tag', () => expectFound([{ '#t': ['blue'], authors: mine() }], ['a1', 'a3', 'b1']));
  test('by one of several values of a tag', () =>
    expectFound([{ '#t': ['blue', 'red'], authors: mine() }], ['a1', 'a2', 'a3', 'b1']));
  test('by two tags at once', () => expectFound([{ '#t': ['blue'], '#p': [bob.pubkey] }], ['a1']));
  test('by #p alone', () => expectFound([{ '#p': [bob.pubkey] }], ['a1']));
  test('by #e and kind', () => expectFound([{ '#e': ['0'.repeat(64)], kinds: [7], authors: mine() }], ['b2']));
  test('since, inclusive', () =>
    expectFound([{ authors: mine(), since: events.a3.created_at }], ['a3', 'b1', 'b2']));
  test('until, inclusive', () => expectFound([{ authors: mine(), until: events.a2.created_at }], ['a1', 'a2']));
  test('a window of one second', () =>
    expectFound([{ authors: mine(), since: events.a2.created_at, until: events.a2.created_at }], ['a2']));
  test('limit takes the newest', () => expectFound([{ authors: [alice.pubkey], limit: 2 }], ['a2', 'a3']));
  test('of equal age the lowest id is first', () => expectFound([{ authors: [bob.pubkey] }], ['b1', 'b2']));
  test('two filters, each event once', () =>
    expectFound([{ authors: [alice.pubkey] }, { '#t': ['blue'], authors: mine() }], ['a1', 'a2', 'a3', 'b1']));
  test('limits are each filter\'s own', () =>
    expectFound([{ authors: [alice.pubkey], limit: 1 }, { authors: [bob.pubkey], kinds: [1], limit: 1 }], ['a3', 'b1']));
  test('what nothing matches', () => expectFound([{ authors: [new Person().pubkey] }], []));
  test('by kind and time, among what others wrote', async () => {
    const found = await query(client, { kinds: [7], since: events.a1.created_at, until: events.b2.created_at });
    assert.ok([events.a3, events.b2].every(event => ids(found).includes(event.id)));
  });
  test('everything', async () => {
    const found = await query(client, {});
    assert.ok(Object.values(events).every(event => ids(found).includes(event.id)));
    for (let i = 1; i < found.length; ++i) assert.ok(found[i - 1].created_at >= found[i].created_at);
  });

  test('COUNT says how many', async () => {
    assert.equal(await client.count([{ authors: mine() }], {}), 5);
    assert.equal(await client.count([{ authors: mine(), kinds: [7] }], {}), 2);
    assert.equal(await client.count([{ authors: [new Person().pubkey] }], {}), 0);
  });

  // The steps of NIP-45, and the estimate of Flajolet et al., as a client has them.
  test('COUNT has the sketches of two relays, which a client merges', async () => {
    const other = await startRelay();
    const far = await connect(other);
    const note = alice.event(1, 'liked', [], now() - 500);
    const offset = 8 + parseInt(note.id[32], 16);
    const expected = new Uint8Array(256);
    const sketch = async connection => {
      const wire = await Wire.open(connection.url);
      wire.send(['COUNT', 'likes', { kinds: [7], '#e': [note.id] }]);
      const [, , answer] = await wire.until('COUNT');
      await wire.close();
      assert.equal(answer.hll.length, 512);
      return [answer.count, Uint8Array.from(answer.hll.match(/../g), hex => parseInt(hex, 16))];
    };
    for (let n = 0; n < 60; ++n) {
      const person = new Person();
      const like = person.event(7, '+', [['e', note.id]]);
      if (n % 3 !== 0) await client.publish(like);
      if (n % 3 !== 1) await far.publish(like);
      const bytes = person.pubkey.match(/../g).slice(offset, offset + 8).map(hex => parseInt(hex, 16));
      const bits = bytes.slice(1).map(byte => byte.toString(2).padStart(8, '0')).join('');
      expected[bytes[0]] = Math.max(expected[bytes[0]], (bits.indexOf('1') + 57) % 57 + 1);
    }
    const [[countHere, here], [countThere, there]] = [await sketch(relay), await sketch(other)];
    assert.deepEqual([countHere, countThere], [40, 40]);
    const merged = here.map((value, i) => Math.max(value, there[i]));
    assert.deepEqual(merged, expected);
    const empty = merged.filter(value => value === 0).length;
    const authors = 256 * Math.log(256 / empty);
    assert.ok(Math.abs(authors - 60) < 20, `${authors} of 60 authors`);
    far.close();
    await other.stop();
  });

  test('an unknown field of a filter is refused by name', async () => {
    await assert.rejects(query(client, { authors: mine(), search: 'blue' }), /unsupported:.*"search"/);
  });
});

describe('subscribe', () => {
  test('stored events, EOSE, then what is published', async () => {
    const [reader, writer] = [await connect(relay), await connect(relay)];
    const person = new Person();
    const stored = person.event(1, 'stored', [], now() - 5);
    await writer.publish(stored);
    const seen = [];
    let live;
    const arrived = new Promise(resolve => (live = resolve));
    await new Promise(resolve => {
      reader.subscribe([{ authors: [person.pubkey] }], {
        onevent: event => {
          seen.push(event.content);
          if (event.content === 'live') live();
        },
        oneose: () => {
          seen.push('EOSE');
          resolve();
        },
      });
    });
    await writer.publish(person.event(7, 'live'));
    await arrived;
    assert.deepEqual(seen, ['stored', 'EOSE', 'live']);
    reader.close();
    writer.close();
  });

  test('limit 0 is live only', async () => {
    const wire = await Wire.open(relay.url);
    const writer = await connect(relay);
    const person = new Person();
    await writer.publish(person.event(1, 'before', [], now() - 5));
    wire.send(['REQ', 'live', { authors: [person.pubkey], limit: 0 }]);
    assert.equal((await wire.next())[0], 'EOSE');
    const event = person.event(1, 'after');
    await writer.publish(event);
    const [verb, subscription, received] = await wire.next();
    assert.deepEqual([verb, subscription, received.id], ['EVENT', 'live', event.id]);
    writer.close();
    await wire.close();
  });

  test('a closed subscription is silent, the others go on', async () => {
    const wire = await Wire.open(relay.url);
    const writer = await connect(relay);
    const person = new Person();
    for (const name of ['one', 'two']) {
      wire.send(['REQ', name, { authors: [person.pubkey] }]);
      assert.equal((await wire.next())[0], 'EOSE');
    }
    wire.send(['CLOSE', 'one']);
    wire.send(['COUNT', 'done', { authors: [person.pubkey] }]);
    await wire.until('COUNT');
    await writer.publish(person.event(1, 'x'));
    assert.equal((await wire.next())[1], 'two');
    wire.send(['COUNT', 'done', { authors: [person.pubkey] }]);
    assert.equal((await wire.next())[0], 'COUNT');
    writer.close();
    await wire.close();
  });

  test('an ephemeral event is passed on and not kept', async () => {
    const [reader, writer] = [await connect(relay), await connect(relay)];
    const event = new Person().event(20001, 'now');
    const arrived = new Promise(resolve => {
      reader.subscribe([{ kinds: [20001] }], { onevent: resolve, oneose: () => writer.publish(event) });
    });
    assert.equal((await arrived).id, event.id);
    assert.deepEqual(await query(reader, { ids: [event.id] }), []);
    reader.close();
    writer.close();
  });
});

describe('replace', () => {
  test('of a replaceable kind only the newest stays', async () => {
    const client = await connect(relay);
    const person = new Person();
    const t = now() - 100;
    const [old, middle, newest] = [0, 1, 2].map(i => person.event(0, `{"name":"${i}"}`, [], t + i));
    await client.publish(middle);
    await client.publish(newest);
    await client.publish(old).catch(() => {});
    assert.deepEqual(ids(await query(client, { authors: [person.pubkey] })), [newest.id]);
    client.close();
  });

  test('of equal age the lowest id stays', async () => {
    const client = await connect(relay);
    const person = new Person();
    const t = now() - 100;
    const [low, high] = ['a', 'b'].map(name => person.event(3, name, [], t)).sort((x, y) => (x.id < y.id ? -1 : 1));
    await client.publish(high);
    await client.publish(low);
    await client.publish(high).catch(() => {});
    assert.deepEqual(ids(await query(client, { authors: [person.pubkey], kinds: [3] })), [low.id]);
    client.close();
  });

  test('addressable events replace their own d only', async () => {
    const client = await connect(relay);
    const person = new Person();
    const t = now() - 100;
    const first = person.event(30023, 'one', [['d', 'one']], t);
    const other = person.event(30023, 'two', [['d', 'two']], t);
    const second = person.event(30023, 'one again', [['d', 'one']], t + 1);
    for (const event of [first, other, second]) await client.publish(event);
    assert.deepEqual(ids(await query(client, { authors: [person.pubkey], '#d': ['one'] })), [second.id]);
    assert.equal((await query(client, { authors: [person.pubkey], kinds: [30023] })).length, 2);
    client.close();
  });
});

describe('delete', () => {
  test('an author deletes own events, nobody else', async () => {
    const client = await connect(relay);
    const [author, stranger] = [new Person(), new Person()];
    const event = author.event(1, 'regret');
    await client.publish(event);
    await client.publish(stranger.event(5, '', [['e', event.id]])).catch(() => {});
    assert.equal((await query(client, { ids: [event.id] })).length, 1);
    await client.publish(author.event(5, '', [['e', event.id]]));
    assert.equal((await query(client, { ids: [event.id] })).length, 0);
    await assert.rejects(client.publish(event), /blocked|deleted/);
    client.close();
  });

  test('a deletion that comes first holds', async () => {
    const client = await connect(relay);
    const person = new Person();
    const event = person.event(1, 'never seen');
    await client.publish(person.event(5, '', [['e', event.id]]));
    await assert.rejects(client.publish(event), /blocked|deleted/);
    assert.equal((await query(client, { ids: [event.id] })).length, 0);
    client.close();
  });

  test('an address is deleted up to the deletion, not after', async () => {
    const client = await connect(relay);
    const person = new Person();
    const t = now() - 100;
    const before = person.event(30023, 'old', [['d', 'x']], t);
    const later = person.event(30023, 'new', [['d', 'x']], t + 20);
    await client.publish(before);
    await client.publish(person.event(5, '', [['a', `30023:${person.pubkey}:x`]], t + 10));
    assert.equal((await query(client, { authors: [person.pubkey], kinds: [30023] })).length, 0);
    await client.publish(later);
    assert.deepEqual(ids(await query(client, { authors: [person.pubkey], kinds: [30023] })), [later.id]);
    client.close();
  });
});

describe('expire', () => {
  test('what has expired is refused', async () => {
    const client = await connect(relay);
    const expired = new Person().event(1, 'late', [['expiration', String(now() - 10)]], now() - 60);
    await assert.rejects(client.publish(expired), /^Error: invalid:/);
    client.close();
  });

  test('what expires is not served any more', async () => {
    const client = await connect(relay);
    const event = new Person().event(1, 'soon', [['expiration', String(now() + 5)]]);
    await client.publish(event);
    assert.equal((await query(client, { ids: [event.id] })).length, 1);
    await sleep(6100);
    assert.equal((await query(client, { ids: [event.id] })).length, 0);
    client.close();
  });
});

describe('on the wire', () => {
  test('what is no message gets a NOTICE and the connection stays', async () => {
    const wire = await Wire.open(relay.url);
    for (const text of ['', 'hello', '{}', '[]', '["EVENT"]', '["FETCH","x"]', '["REQ"]', '[[[[', '{"a":']) {
      wire.send(text);
      const [verb, reason] = await wire.next();
      assert.ok(verb === 'NOTICE' && reason.length > 5, `${text} → ${verb} ${reason}`);
    }
    wire.send(['COUNT', 'alive', {}]);
    assert.equal((await wire.next())[0], 'COUNT');
    await wire.close();
  });

  test('a subscription that cannot be gets CLOSED with the reason', async () => {
    const wire = await Wire.open(relay.url);
    for (const filter of [{ kinds: ['x'] }, { ids: ['zz'] }, { since: -1 }]) {
      wire.send(['REQ', 'bad', filter]);
      const [verb, subscription, reason] = await wire.next();
      assert.deepEqual([verb, subscription], ['CLOSED', 'bad']);
      assert.match(reason, /^invalid:/);
    }
    wire.send(['REQ', 'bad', { nothing: 1 }]);
    assert.match((await wire.next())[2], /^unsupported:/);
    await wire.close();
  });

  test('a NEG-OPEN that is refused has a reason', async () => {
    const wire = await Wire.open(relay.url);
    wire.send(['NEG-OPEN', 'n', {}, 'ff']);
    const [verb, subscription, reason] = await wire.next();
    assert.deepEqual([verb, subscription], ['NEG-ERR', 'n']);
    assert.match(reason, /^invalid:/);
    await wire.close();
  });

  test('there is a WebSocket at / alone', async () => {
    const wire = await Wire.open(relay.url + '/?x=y');
    wire.send(['REQ', 'x', { limit: 1, kinds: [65535] }]);
    assert.equal((await wire.next())[0], 'EOSE');
    await wire.close();
    await assert.rejects(Wire.open(relay.url + '/some/path'), /404/);
  });
});
