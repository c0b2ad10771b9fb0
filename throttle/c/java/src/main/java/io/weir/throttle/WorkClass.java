package io.weir.throttle;

/** Says how long work may wait. The order is that of {@code weir_class} in weir.h. */
public enum WorkClass {
  /** A client awaits the result: waits at most a second, unless a setting says otherwise. */
  INTERACTIVE,
  /** An import, a backfill: waits at most a minute, and so leaves the database to the others. */
  BULK
}
