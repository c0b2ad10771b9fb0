package io.weir.throttle;

import java.time.Duration;

/** Work would wait, or has waited, longer than it may. */
public final class BusyException extends RefusedException {
  private static final long serialVersionUID = 1;

  private final Duration retryAfter;

  BusyException(String reason, Duration retryAfter) {
    super(reason);
    this.retryAfter = retryAfter;
  }

  /** Returns after which time to try again. */
  public Duration retryAfter() {
    return retryAfter;
  }
}
