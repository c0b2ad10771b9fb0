import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.weir.throttle.BusyException;
import io.weir.throttle.PropertyReader;
import io.weir.throttle.Settings;
import io.weir.throttle.Throttle;
import io.weir.throttle.TooLargeException;
import io.weir.throttle.WorkClass;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.Test;

/** The package against a database that answers as the test says. */
public final class ThrottleTest {
  private static final String OPTIONS =
      """
      [CFOptions "default"]
        write_buffer_size=1048576
      [CFOptions "tags"]
        write_buffer_size=2097152
      """;
  private static final String TARGET = "WEIR_RATE_LIMIT_TARGET_MEMORY_MB";
  private static final String STOPPED = "rocksdb.is-write-stopped";

  private final Map<String, String> planted = new ConcurrentHashMap<>();
  private final AtomicInteger calls = new AtomicInteger();

  private String read(String family, String property) throws Exception {
    calls.incrementAndGet();
    String answer = planted.getOrDefault(property, property.contains("stats") ? "" : "0");
    return switch (answer) {
      case "none" -> null;
      case "throw" -> throw new Exception("the reader fails");
      case "error" -> throw new StackOverflowError();
      default -> answer;
    };
  }

  private static Settings idle() {
    return new Settings().options(OPTIONS).set(TARGET, "100000");
  }

  private Throttle attach(Settings settings) {
    return Throttle.attachReader(this::read, settings);
  }

  /** The memory of this process is an emergency: bulk writes wait, at most this time. */
  private Throttle emergency(int longestWaitMs) {
    Settings settings = new Settings().options(OPTIONS).set(TARGET, "1");
    Throttle throttle = attach(settings.set("WEIR_IMPORT_MAX_DELAY_MS", Integer.toString(longestWaitMs)));
    eventually(() -> throttle.view().contains("\"emergency\":true"));
    return throttle;
  }

  static void eventually(BooleanSupplier holds) {
    for (long begin = System.nanoTime(); !holds.getAsBoolean(); pause(5))
      if (System.nanoTime() - begin > 60e9) throw new AssertionError("did not come true in a minute");
  }

  /** Returns the level of a signal in the view; 0 if there is none. */
  static double level(Throttle throttle, String signal) {
    Matcher found = Pattern.compile("\"" + signal + "\":([^,}]*)").matcher(throttle.view());
    return found.find() ? Double.parseDouble(found.group(1)) : 0;
  }

  private static void pause(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  public void admitsAtOnceWhileTheDatabaseIsIdle() throws Exception {
    try (Throttle throttle = attach(idle())) {
      for (WorkClass workClass : WorkClass.values()) {
        throttle.admit(100, workClass);
        throttle.admit(100, workClass, 7, Duration.ofSeconds(1));
        assertTrue(throttle.tryAdmit(100, workClass));
        assertTrue(throttle.admitAsync(100, workClass).isDone());
        assertTrue(throttle.admitAsync(100, workClass, 7).isDone());
      }
    }
    assertFalse(Throttle.version().isEmpty());
  }

  @Test
  public void aFullLevel0MakesBulkWorkWait() {
    try (Throttle throttle = attach(idle())) {
      planted.put("rocksdb.num-files-at-level0", "30");
      eventually(() -> level(throttle, "l0") > 1 && throttle.view().contains("\"open\":false"));
      assertFalse(tries(throttle, 1 << 20));
      planted.remove("rocksdb.num-files-at-level0");
      eventually(() -> tries(throttle, 100));
    }
  }

  private static boolean tries(Throttle throttle, long bytes) {
    try {
      return throttle.tryAdmit(bytes, WorkClass.BULK);
    } catch (TooLargeException e) {
      return false;
    }
  }

  @Test
  public void refusesWorkThatWouldWaitTooLongAndSaysWhy() throws Exception {
    try (Throttle throttle = emergency(200)) {
      BusyException busy = assertThrows(BusyException.class, () -> throttle.admit(100, WorkClass.BULK));
      assertEquals("emergency", busy.getMessage());
      assertTrue(busy.retryAfter().isPositive());
      assertThrows(BusyException.class, () -> throttle.admit(100, WorkClass.BULK, 7, Duration.ofMillis(1)));
      assertFalse(throttle.tryAdmit(100, WorkClass.BULK));
      assertThrows(TooLargeException.class, () -> throttle.admit(1L << 50, WorkClass.INTERACTIVE));
      assertThrows(TooLargeException.class, () -> throttle.tryAdmit(-1, WorkClass.INTERACTIVE));
      throttle.admit(100, WorkClass.INTERACTIVE);
    }
  }

  @Test
  public void closingRefusesWhatWaits() throws Exception {
    Throttle throttle = emergency(60_000);
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    CompletableFuture<Void> asked = throttle.admitAsync(100, WorkClass.BULK);
    Thread waits = Thread.ofPlatform().start(() -> thrown.set(refusalOf(throttle)));
    eventually(() -> waits.getState() == Thread.State.RUNNABLE || !waits.isAlive());
    assertFalse(asked.isDone());
    throttle.close();
    waits.join();
    assertTrue(thrown.get() instanceof BusyException || thrown.get() instanceof IllegalStateException);
    assertTrue(causeOf(asked) instanceof BusyException);
    throttle.close();
    assertThrows(IllegalStateException.class, () -> throttle.admit(100, WorkClass.BULK));
    assertThrows(IllegalStateException.class, () -> throttle.tryAdmit(100, WorkClass.BULK));
    assertThrows(IllegalStateException.class, () -> throttle.admitAsync(100, WorkClass.BULK));
    assertThrows(IllegalStateException.class, throttle::view);
    int before = calls.get();
    pause(250);
    assertEquals("the reader is not called any more", before, calls.get());
  }

  private static Throwable refusalOf(Throttle throttle) {
    try {
      throttle.admit(100, WorkClass.BULK);
      return null;
    } catch (Exception e) {
      return e;
    }
  }

  private static Throwable causeOf(CompletableFuture<Void> asked) {
    return assertThrows(CompletionException.class, asked::join).getCause();
  }

  @Test
  public void aReaderThatFailsLosesTheSensorAndNoMore() throws Exception {
    try (Throttle throttle = attach(idle())) {
      for (String answer : new String[] {"none", "throw", "error", "soon", "9".repeat(100_000), "ä"}) {
        planted.put(STOPPED, answer);
        eventually(() -> throttle.view().contains(STOPPED));
        throttle.admit(100, WorkClass.INTERACTIVE);
        planted.remove(STOPPED);
        eventually(() -> throttle.view().contains("\"sensor_error\":\"\""));
      }
    }
    planted.put(STOPPED, "throw");
    var failed = assertThrows(IllegalStateException.class, () -> attach(idle()));
    assertTrue(failed.getMessage(), failed.getMessage().contains("does not answer " + STOPPED));
    assertEquals("the reader fails", failed.getCause().getMessage());
  }

  @Test
  public void aReaderThatClosesItsThrottleIsToldThatItMayNot() {
    AtomicReference<Throttle> own = new AtomicReference<>();
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    PropertyReader reader =
        (family, property) -> {
          if (own.get() != null) {
            try {
              own.get().close();
            } catch (Throwable e) {
              thrown.set(e);
            }
          }
          return read(family, property);
        };
    try (Throttle throttle = Throttle.attachReader(reader, idle())) {
      own.set(throttle);
      eventually(() -> thrown.get() != null);
      assertSame(IllegalStateException.class, thrown.get().getClass());
    }
  }

  @Test
  public void tellsTheLogOfABrakeAndSurvivesItsException() throws Exception {
    List<String> heard = new ArrayList<>();
    Settings settings =
        idle()
            .log(
                sentence -> {
                  synchronized (heard) {
                    heard.add(sentence);
                  }
                  throw new IllegalStateException("the log fails");
                });
    try (Throttle throttle = attach(settings)) {
      eventually(() -> throttle.view().contains("\"l0\""));
      planted.put(STOPPED, "1");
      eventually(
          () -> {
            synchronized (heard) {
              return heard.stream().anyMatch(sentence -> sentence.contains("RocksDB stops writes by itself"));
            }
          });
      throttle.admit(100, WorkClass.INTERACTIVE);
    }
  }

  @Test
  public void aMistakeInTheSettingsIsNamed() {
    assertNamed(IllegalArgumentException.class, idle().set("WEIR_RATE_LIMIT_SETPONT", "0.5"), "WEIR_RATE_LIMIT_SETPOINT");
    assertNamed(IllegalArgumentException.class, idle().set(TARGET, "much"), TARGET);
    assertNamed(IllegalArgumentException.class, new Settings().options("hello"), "CFOptions");
    assertNamed(IllegalStateException.class, idle().family("none"), "no column family none");
    assertNamed(IllegalStateException.class, new Settings().directory(Path.of("/nowhere")), "/nowhere");
    assertNamed(IllegalStateException.class, new Settings(), "neither the directory");
    attach(idle().family("tags")).close();
    attach(idle().family("tags").family("tags")).close();
  }

  private void assertNamed(Class<? extends Exception> type, Settings settings, String name) {
    Exception thrown = assertThrows(type, () -> attach(settings));
    assertTrue(thrown.getMessage(), thrown.getMessage().contains(name));
  }

  @Test
  public void futuresThatWaitAreCompletedOrGivenUp() throws Exception {
    try (Throttle throttle = emergency(300)) {
      List<CompletableFuture<Void>> asked = new ArrayList<>();
      for (int i = 0; i < 200; ++i) asked.add(throttle.admitAsync(100, WorkClass.BULK, i));
      for (int i = 0; i < 200; i += 2) asked.get(i).cancel(false);
      for (int i = 1; i < 200; i += 2) assertTrue(causeOf(asked.get(i)) instanceof BusyException);
      CompletableFuture<Void> blocked = new CompletableFuture<>();
      throttle.admitAsync(100, WorkClass.BULK).whenComplete((done, failure) -> blocked.join());
      assertTrue("one that blocks holds no other up", causeOf(throttle.admitAsync(100, WorkClass.BULK)) instanceof BusyException);
      blocked.complete(null);
    }
  }

  @Test
  public void aThreadMayEndWithWhatItAskedFor() throws Exception {
    Throttle throttle = emergency(60_000);
    AtomicReference<CompletableFuture<Void>> asked = new AtomicReference<>();
    Thread ends = Thread.ofPlatform().start(() -> asked.set(throttle.admitAsync(100, WorkClass.BULK)));
    ends.join();
    assertFalse(asked.get().isDone());
    throttle.close();
    assertTrue(causeOf(asked.get()) instanceof BusyException);
  }

  @Test
  public void virtualThreadsWaitWithoutTheirCarriers() throws Exception {
    Throttle throttle = emergency(60_000);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Throwable>> waiting = new ArrayList<>();
      for (int i = 0; i < 100; ++i) waiting.add(threads.submit(() -> refusalOf(throttle)));
      assertTrue(threads.submit(() -> throttle.tryAdmit(100, WorkClass.INTERACTIVE)).get());
      throttle.close();
      for (Future<Throwable> refused : waiting) {
        Throwable thrown = refused.get();
        assertTrue(thrown + "", thrown instanceof BusyException || thrown instanceof IllegalStateException);
      }
    }
  }

  @Test
  public void aProcessMayEndWhileItsThreadsWait() throws Exception {
    String java = ProcessHandle.current().info().command().orElseThrow();
    Process process =
        new ProcessBuilder(
                java, "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"), "ThrottleTest")
            .inheritIO()
            .start();
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    assertEquals(7, process.exitValue());
  }

  /** The process of the test above. */
  public static void main(String[] arguments) {
    Throttle throttle = new ThrottleTest().emergency(60_000);
    for (int i = 0; i < 3; ++i) Thread.ofPlatform().start(() -> refusalOf(throttle));
    CompletableFuture<Void> asked = throttle.admitAsync(100, WorkClass.BULK);
    if (!asked.isDone()) System.exit(7);
  }
}
