// weir for Node: makes the writes to a RocksDB wait just long enough that RocksDB need not stall. See README.md.
//
//   const throttle = attach('/var/lib/my.db', name => db.getProperty(name));
//   await throttle.admit(1000);                     // a write that a client awaits
//   await throttle.admit(500_000, { bulk: true });  // an import
import { once } from 'node:events';
import { Socket } from 'node:net';
import { Busy, TooLarge, WeirError, check } from './errors.js';
import * as library from './library.js';
import { Sampler } from './sampler.js';

export { Busy, TooLarge, WeirError };

const { Code, Operation } = library;

// Waits until the ticket is settled. A thread of libuv could wait, too, but there are four of them, and the binding of
// RocksDB needs them.
async function settled(ticket, signal) {
  const fd = library.duplicate(library.ticketFd(ticket));
  if (fd < 0) throw new WeirError('the process has no descriptor left');
  const pipe = new Socket({ fd, readable: true, writable: false });
  try {
    await once(pipe, 'data', { signal });
  } catch (error) {
    signal?.throwIfAborted();  // for its own reason
    throw error;
  } finally {
    pipe.destroy();
  }
}

/** The throttle of an open RocksDB; `attach` makes one. */
export class Throttle {
  #sampler;

  constructor(sampler) {
    this.#sampler = sampler;
  }

  /**
   * Waits until a write of so many bytes is admitted. Rejects with Busy, TooLarge, or the reason of the signal.
   * Bulk work is what no client awaits, such as an import: it waits up to a minute, all other work up to a second.
   */
  async admit(bytes, options) {
    await this.#during(Operation.WRITE, bytes, options, () => {});
  }

  /** Returns whether a write of so many bytes is admitted now. Throws TooLarge. */
  tryAdmit(bytes, options) {
    const ticket = this.#ask(Operation.WRITE, bytes, options);
    try {
      const code = library.ticketPoll(ticket);
      if (code === Code.BUSY || code === Code.WAITING) return false;
      check(code);
      return true;
    } finally {
      library.ticketEnd(ticket);
    }
  }

  /** Runs `read`, which touches so many bytes, when it is admitted. Returns what it returns. */
  scan(bytes, read, options) {
    return this.#during(Operation.READ, bytes, options, read);
  }

  /** Returns the state: signals, limits, and the reasons for them. */
  view() {
    for (let capacity = 4096; ;) {
      const buffer = Buffer.alloc(capacity);
      const length = Number(library.view(this.#sampler.handle, buffer, capacity));
      if (length === 0) check(Code.INVALID);
      if (length < capacity) return JSON.parse(buffer.toString('utf8', 0, length));
      capacity = 2 * length;
    }
  }

  /** Refuses all that waits, admits everything from then on, and reads the database no more. */
  detach() {
    this.#sampler.detach();
  }

  /** Detaches, and ends the throttle: every other method throws then. Close it before the database. */
  close() {
    this.#sampler.close();
  }

  async #during(operation, bytes, options, work) {
    options?.signal?.throwIfAborted();
    const ticket = this.#ask(operation, bytes, options);
    try {
      if (library.ticketPoll(ticket) === Code.WAITING) await settled(ticket, options?.signal);
      check(library.ticketPoll(ticket));
      return await work();
    } finally {
      library.ticketEnd(ticket);
    }
  }

  #ask(operation, bytes, { bulk = false, client = 0 } = {}) {
    if (!Number.isSafeInteger(bytes) || bytes < 0) throw new RangeError(`${bytes} is no number of bytes`);
    const party = BigInt.asUintN(64, BigInt(client));
    const ticket = library.ask(this.#sampler.handle, operation, bulk ? 1 : 0, bytes, party);
    if (!ticket) check(Code.INVALID);
    return ticket;
  }
}

/**
 * Attaches a throttle to the open RocksDB in the directory. `read` returns the value of a property by its name; with
 * several column families, it is an object that has such a function for the name of each. Throws a WeirError if a
 * setting is wrong, or if the database cannot be measured or has a throttle already.
 */
export function attach(directory, read, options) {
  return new Throttle(new Sampler(directory, read, options));
}

/** Returns the version of the C library, such as "1.2.3". */
export function libraryVersion() {
  return library.version();
}
