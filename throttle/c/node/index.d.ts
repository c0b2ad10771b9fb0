/** Returns the value of a property of the database by its name; null or undefined if there is none. */
export type PropertyReader = (name: string) => string | number | null | undefined;

export interface AttachOptions {
  /** Settings of config/SETTINGS.md, such as { importSetpoint: 0.6 } or { WEIR_IMPORT_SETPOINT: 0.6 }. */
  settings?: Record<string, string | number | boolean>;
  /** The text of RocksDB's newest OPTIONS file, for a directory (then null) that cannot be read. */
  options?: string;
  /** Gets sentences for the operator. By default they go to console.warn. */
  log?: (sentence: string) => void;
}

export interface WorkOptions {
  /** Work that no client awaits, such as an import. */
  bulk?: boolean;
  /** A number for the client: clients that wait get equal shares. */
  client?: number | bigint;
}

export interface WaitOptions extends WorkOptions {
  /** Gives the wait up: the promise rejects with the reason of the signal. */
  signal?: AbortSignal;
}

/** weir cannot do what it was asked. */
export class WeirError extends Error {
  readonly code: 'WEIR_BUSY' | 'WEIR_TOO_LARGE' | 'WEIR_INVALID' | 'WEIR_FAILED';
}

/** The database has no room for the work now: do not do it. */
export class Busy extends WeirError {
  /** Milliseconds after which to try again. */
  readonly retryAfter: number;
}

/** The work is too large to be admitted within the longest wait: do not do it, and split it. */
export class TooLarge extends WeirError {}

export class Throttle {
  private constructor();
  /** Waits until a write of so many bytes is admitted. Rejects with Busy, TooLarge, or the reason of the signal. */
  admit(bytes: number, options?: WaitOptions): Promise<void>;
  /** Returns whether a write of so many bytes is admitted now. Throws TooLarge. */
  tryAdmit(bytes: number, options?: WorkOptions): boolean;
  /** Runs `read`, which touches so many bytes, when it is admitted. Returns what it returns. */
  scan<T>(bytes: number, read: () => T | Promise<T>, options?: WaitOptions): Promise<T>;
  /** Returns the state: signals, limits, and the reasons for them. */
  view(): Record<string, unknown>;
  /** Refuses all that waits, admits everything from then on, and reads the database no more. */
  detach(): void;
  /** Detaches, and ends the throttle. Close it before the database. */
  close(): void;
}

/** Attaches a throttle to the open RocksDB in the directory. */
export function attach(
  directory: string | null,
  read: PropertyReader | Record<string, PropertyReader>,
  options?: AttachOptions,
): Throttle;

/** Returns the version of the C library. */
export function libraryVersion(): string;
