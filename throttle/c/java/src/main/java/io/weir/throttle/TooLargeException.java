package io.weir.throttle;

/** Work was refused for its size, which cannot be admitted within the longest wait. Split it. */
public final class TooLargeException extends RefusedException {
  private static final long serialVersionUID = 1;

  TooLargeException(String reason) {
    super(reason);
  }
}
