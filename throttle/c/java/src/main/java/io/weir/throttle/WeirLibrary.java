package io.weir.throttle;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.time.Duration;

/**
 * The functions of weir.h. The library is the file that the system property {@code weir.library} or the environment
 * variable {@code WEIR_LIBRARY} names, or else the {@code libweir.so.0} of the system.
 */
final class WeirLibrary {
  // Values of weir_code and weir_operation.
  static final int OK = 0, BUSY = 1, TOO_LARGE = 2, WAITING = 3;
  static final int WRITE = 1;
  static final long PATIENT = -1;

  static final Linker LINKER = Linker.nativeLinker();
  private static final SymbolLookup FUNCTIONS = open();

  private static final MethodHandle ADMIT =
      function("weir_admit", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle ASK =
      function("weir_ask", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle TICKET_POLL = function("weir_ticket_poll", JAVA_INT, JAVA_LONG);
  private static final MethodHandle TICKET_FD = function("weir_ticket_fd", JAVA_INT, JAVA_LONG);
  private static final MethodHandle TICKET_END = function("weir_ticket_end", JAVA_INT, JAVA_LONG);
  private static final MethodHandle ERROR = function("weir_error", ADDRESS);
  private static final MethodHandle RETRY_MS = function("weir_retry_ms", JAVA_LONG);

  private WeirLibrary() {}

  static int admit(long throttle, WorkClass workClass, long bytes, long party, long timeoutMs) {
    try {
      return (int) ADMIT.invokeExact(throttle, WRITE, workClass.ordinal(), bytes, party, timeoutMs);
    } catch (Throwable e) {
      throw new AssertionError(e); // a C function throws nothing
    }
  }

  /** Returns a ticket; 0 for a mistake. */
  static long ask(long throttle, WorkClass workClass, long bytes, long party) {
    try {
      return (long) ASK.invokeExact(throttle, WRITE, workClass.ordinal(), bytes, party);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  static int ticketPoll(long ticket) {
    return ofTicket(TICKET_POLL, ticket);
  }

  static int ticketFd(long ticket) {
    return ofTicket(TICKET_FD, ticket);
  }

  static void ticketEnd(long ticket) {
    ofTicket(TICKET_END, ticket);
  }

  private static int ofTicket(MethodHandle function, long ticket) {
    try {
      return (int) function.invokeExact(ticket);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** Throws what the code of this thread's last call means, unless it is OK. */
  static void check(int code) throws RefusedException {
    switch (code) {
      case OK -> {}
      case BUSY -> throw new BusyException(error(), retryAfter());
      case TOO_LARGE -> throw new TooLargeException(error());
      default -> throw new IllegalStateException(error()); // such as for a throttle that was closed
    }
  }

  /** Returns why the last call of this thread did not return OK. */
  static String error() {
    try {
      return text((MemorySegment) ERROR.invokeExact());
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  private static Duration retryAfter() {
    try {
      return Duration.ofMillis((long) RETRY_MS.invokeExact());
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** Returns the text of a C string. */
  static String text(MemorySegment string) {
    return string.reinterpret(Long.MAX_VALUE).getString(0);
  }

  /** Calls a function that runs so rarely that it has no method of its own here. */
  static Object call(String name, MemoryLayout result, Object... arguments) {
    MemoryLayout[] layouts = new MemoryLayout[arguments.length];
    for (int i = 0; i < arguments.length; ++i) layouts[i] = arguments[i] instanceof Long ? JAVA_LONG : ADDRESS;
    MethodHandle function = function(name, result, layouts);
    try {
      return function.invokeWithArguments(arguments);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  private static MethodHandle function(String name, MemoryLayout result, MemoryLayout... arguments) {
    MemorySegment address =
        FUNCTIONS
            .find(name)
            .orElseThrow(() -> new UnsatisfiedLinkError("libweir.so.0 has no " + name + ": install a newer weir"));
    return LINKER.downcallHandle(address, FunctionDescriptor.of(result, arguments));
  }

  private static SymbolLookup open() {
    String file = System.getProperty("weir.library", System.getenv("WEIR_LIBRARY"));
    if (file == null) file = "libweir.so.0";
    try {
      return SymbolLookup.libraryLookup(file, Arena.global());
    } catch (IllegalArgumentException e) {
      throw new UnsatisfiedLinkError(
          file + " cannot be loaded: install weir, or set WEIR_LIBRARY to the path of libweir.so.0");
    }
  }
}
