// The errors of the package, from the codes of the library.
import { Code, lastError, retryMs } from './library.js';

/** weir cannot do what it was asked. `code` says why in one word. */
export class WeirError extends Error {
  name = 'WeirError';
  constructor(message, code = 'WEIR_FAILED', options) {
    super(message, options);
    this.code = code;
  }
}

/** The database has no room for the work now: do not do it, and try again after `retryAfter` milliseconds. */
export class Busy extends WeirError {
  name = 'Busy';
  constructor(message, retryAfter) {
    super(message, 'WEIR_BUSY');
    this.retryAfter = retryAfter;
  }
}

/** The work is too large to be admitted within the longest wait: do not do it, and split it. */
export class TooLarge extends WeirError {
  name = 'TooLarge';
  constructor(message) {
    super(message, 'WEIR_TOO_LARGE');
  }
}

/** Throws the error of the code that the last call of the library returned; none for OK. */
export function check(code) {
  if (code === Code.OK) return;
  const message = lastError();
  if (code === Code.BUSY || code === Code.WAITING) throw new Busy(message, Number(retryMs()));
  if (code === Code.TOO_LARGE) throw new TooLarge(message);
  throw new WeirError(message, code === Code.INVALID ? 'WEIR_INVALID' : 'WEIR_FAILED');
}
