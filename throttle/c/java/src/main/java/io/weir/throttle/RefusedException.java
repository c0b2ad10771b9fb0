package io.weir.throttle;

/** Work was not admitted. Its message is the reason. Do not do the work. */
public abstract sealed class RefusedException extends Exception permits BusyException, TooLargeException {
  private static final long serialVersionUID = 1;

  RefusedException(String reason) {
    super(reason);
  }
}
