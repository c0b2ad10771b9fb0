package io.weir.throttle;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Completes the futures of requests that wait. One daemon thread waits for all of them by Linux's epoll, and lets the
 * executor of each future complete it.
 */
final class Settling {
  private static final int ADD = 1, CLOEXEC = 0x80000, READABLE = 1;
  private static final int MOST_EVENTS = 64;
  // struct epoll_event: the events, and 8 bytes for the program, which are packed on this processor alone.
  private static final long DATA = System.getProperty("os.arch").equals("amd64") ? 4 : 8;
  private static final long SIZE = DATA + 8;

  private static final MethodHandle CREATE = linux("epoll_create1", JAVA_INT);
  private static final MethodHandle CONTROL = linux("epoll_ctl", JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS);
  private static final MethodHandle WAIT = linux("epoll_wait", JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT);

  private static final Map<Long, CompletableFuture<Void>> WAITING = new ConcurrentHashMap<>();
  private static final int EPOLL = start();

  private Settling() {}

  /** Returns the outcome of a ticket, and ends the ticket then, or when the future is cancelled. */
  static CompletableFuture<Void> of(long ticket) {
    CompletableFuture<Void> future = new CompletableFuture<>();
    int code = WeirLibrary.ticketPoll(ticket);
    if (code == WeirLibrary.WAITING) {
      WAITING.put(ticket, future);
      future.whenComplete((done, failure) -> forget(ticket));
      if (watch(ticket)) return future;
      WAITING.remove(ticket);
      code = -1;
    }
    complete(future, outcome(code));
    WeirLibrary.ticketEnd(ticket);
    return future;
  }

  private static boolean watch(long ticket) {
    int descriptor = WeirLibrary.ticketFd(ticket);
    if (descriptor < 0) return false;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment event = arena.allocate(SIZE);
      event.set(JAVA_INT_UNALIGNED, 0, READABLE);
      event.set(JAVA_LONG_UNALIGNED, DATA, ticket);
      return (int) CONTROL.invokeExact(EPOLL, ADD, descriptor, event) == 0;
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  private static boolean forget(long ticket) {
    boolean waited = WAITING.remove(ticket) != null;
    if (waited) WeirLibrary.ticketEnd(ticket);
    return waited;
  }

  private static void run() {
    MemorySegment events = Arena.global().allocate(SIZE * MOST_EVENTS);
    while (true) {
      int count = 0;
      try {
        count = (int) WAIT.invokeExact(EPOLL, events, MOST_EVENTS, -1);
      } catch (Throwable e) {
        throw new AssertionError(e);
      }
      for (int i = 0; i < count; ++i) settle(events.get(JAVA_LONG_UNALIGNED, i * SIZE + DATA));
    }
  }

  /** Does nothing if the future was cancelled meanwhile. */
  private static void settle(long ticket) {
    CompletableFuture<Void> future = WAITING.get(ticket);
    int code = WeirLibrary.ticketPoll(ticket);
    if (future == null || code == WeirLibrary.WAITING) return;
    Throwable outcome = outcome(code);
    if (forget(ticket)) future.defaultExecutor().execute(() -> complete(future, outcome));
  }

  private static Throwable outcome(int code) {
    try {
      WeirLibrary.check(code);
      return null;
    } catch (RefusedException | RuntimeException e) {
      return e;
    }
  }

  private static void complete(CompletableFuture<Void> future, Throwable outcome) {
    if (outcome == null) {
      future.complete(null);
    } else {
      future.completeExceptionally(outcome);
    }
  }

  private static int start() {
    int epoll = -1;
    try {
      epoll = (int) CREATE.invokeExact(CLOEXEC);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
    Thread.ofPlatform().daemon().name("weir-settling").start(Settling::run);
    return epoll;
  }

  private static MethodHandle linux(String name, MemoryLayout... arguments) {
    MemorySegment address = WeirLibrary.LINKER.defaultLookup().find(name).orElseThrow();
    return WeirLibrary.LINKER.downcallHandle(address, FunctionDescriptor.of(JAVA_INT, arguments));
  }
}
