package io.weir.throttle;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.RocksDB;

/**
 * Keeps a RocksDB from slowing its writers down: each write asks first, and waits just long enough.
 *
 * <pre>{@code
 * try (var db = RocksDB.open(options, path);
 *     var throttle = Throttle.attach(db, new Settings())) {
 *   throttle.admit(batch.getDataSize(), WorkClass.BULK); // waits, or throws BusyException
 *   db.write(writeOptions, batch);
 * }
 * }</pre>
 *
 * <p>Threads: any thread may call any method. An interrupt does not end a wait; {@link #close} does. Close the throttle
 * before the database.
 */
public final class Throttle implements AutoCloseable {
  private final long handle;
  private final Callbacks callbacks;
  private final Arena stubs;
  private final AtomicBoolean closed = new AtomicBoolean();

  private Throttle(long handle, Callbacks callbacks, Arena stubs) {
    this.handle = handle;
    this.callbacks = callbacks;
    this.stubs = stubs;
  }

  /**
   * Attaches a throttle to an open database of rocksdbjni. It watches the column families whose handles are given, or
   * else the default one.
   *
   * @throws IllegalArgumentException if a setting is wrong
   * @throws IllegalStateException if the database or its options cannot be read, or has a throttle already
   */
  public static Throttle attach(RocksDB db, Settings settings, ColumnFamilyHandle... families) {
    RocksDbReader reader = new RocksDbReader(db, families);
    Settings all = settings.copy();
    if (!all.hasOptions()) all.directory(Path.of(db.getName()));
    reader.families().forEach(all::family);
    if (all.movesBrakes() && all.setter() == null) all.moveBrakes(reader);
    return attachReader(reader, all);
  }

  /** Does the same for any RocksDB whose properties the program can read. The settings name its directory. */
  public static Throttle attachReader(PropertyReader reader, Settings settings) {
    Callbacks callbacks = new Callbacks(reader, settings.log(), settings.setter());
    Arena stubs = Arena.ofShared();
    long setup = (long) WeirLibrary.call("weir_setup_create", JAVA_LONG);
    long handle = 0;
    try {
      settings.say(setup);
      if (settings.log() != null)
        WeirLibrary.call("weir_setup_log", JAVA_INT, setup, callbacks.log(stubs), MemorySegment.NULL);
      if (settings.setter() != null)
        WeirLibrary.call("weir_setup_set_options", JAVA_INT, setup, callbacks.setOptions(stubs), MemorySegment.NULL);
      MemorySegment read = callbacks.read(stubs);
      handle = (long) WeirLibrary.call("weir_attach", JAVA_LONG, setup, read, MemorySegment.NULL);
      if (handle == 0) throw new IllegalStateException(WeirLibrary.error(), callbacks.failure());
    } finally {
      WeirLibrary.call("weir_setup_destroy", JAVA_INT, setup);
      if (handle == 0) stubs.close();
    }
    return new Throttle(handle, callbacks, stubs);
  }

  /** Returns the version of the library. */
  public static String version() {
    return WeirLibrary.text((MemorySegment) WeirLibrary.call("weir_version", ADDRESS));
  }

  /**
   * Asks for the admission of a write of so many bytes, and waits for it, at most for the longest wait of its class.
   * Threads that wait get equal shares. A virtual thread that waits leaves its carrier.
   *
   * @throws BusyException if it was not admitted in time, or would not be: try again later
   * @throws TooLargeException if it is too large to be admitted at all: split it
   * @throws IllegalStateException if the throttle was closed
   */
  public void admit(long bytes, WorkClass workClass) throws RefusedException {
    if (Thread.currentThread().isVirtual()) {
      await(admitAsync(bytes, workClass));
    } else {
      WeirLibrary.check(WeirLibrary.admit(handle, workClass, bytes, thisThread(), WeirLibrary.PATIENT));
    }
  }

  /** Does the same for one of the clients of the program, and waits at most this time. */
  public void admit(long bytes, WorkClass workClass, long client, Duration timeout) throws RefusedException {
    long timeoutMs = Math.max(0, timeout.toMillis());
    WeirLibrary.check(WeirLibrary.admit(handle, workClass, bytes, client, timeoutMs));
  }

  /** Returns true if the write is admitted at once, false if it would wait. */
  public boolean tryAdmit(long bytes, WorkClass workClass) throws TooLargeException {
    int code = WeirLibrary.admit(handle, workClass, bytes, thisThread(), 0);
    if (code == WeirLibrary.OK) return true;
    if (code == WeirLibrary.BUSY) return false;
    if (code == WeirLibrary.TOO_LARGE) throw new TooLargeException(WeirLibrary.error());
    throw new IllegalStateException(WeirLibrary.error());
  }

  /** Asks without waiting. The future is completed as {@link #admit} ends; cancel it to give the wait up. */
  public CompletableFuture<Void> admitAsync(long bytes, WorkClass workClass) {
    return admitAsync(bytes, workClass, thisThread());
  }

  /** Does the same for one of the clients of the program. Clients that wait get equal shares. */
  public CompletableFuture<Void> admitAsync(long bytes, WorkClass workClass, long client) {
    long ticket = WeirLibrary.ask(handle, workClass, bytes, client);
    if (ticket == 0) throw new IllegalStateException(WeirLibrary.error());
    return Settling.of(ticket);
  }

  /** Returns the state of the throttle as a JSON object: the levels of the database, the limits and their reasons. */
  public String view() {
    try (Arena arena = Arena.ofConfined()) {
      for (long capacity = 4096; ; capacity *= 2) {
        MemorySegment buffer = arena.allocate(capacity);
        long length = (long) WeirLibrary.call("weir_view", JAVA_LONG, handle, buffer, capacity);
        if (length == 0) throw new IllegalStateException(WeirLibrary.error());
        if (length < capacity) return new String(buffer.asSlice(0, length).toArray(JAVA_BYTE), UTF_8);
      }
    }
  }

  /**
   * Ends all waits by a refusal. The reader and the consumer of the log are never called again. A second call does
   * nothing.
   *
   * @throws IllegalStateException if the reader or the consumer of the log calls it
   */
  @Override
  public void close() {
    if (callbacks.runsHere()) throw new IllegalStateException("the library calls this function: it cannot end yet");
    if (closed.getAndSet(true)) return;
    WeirLibrary.call("weir_close", JAVA_INT, handle);
    stubs.close();
  }

  private static void await(CompletableFuture<Void> admission) throws RefusedException {
    try {
      admission.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof RefusedException refused) throw refused;
      throw e;
    }
  }

  private static long thisThread() {
    return Thread.currentThread().threadId();
  }
}
