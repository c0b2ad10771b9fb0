package io.weir.throttle;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The functions that the library calls: {@code weir_read}, {@code weir_log} and {@code weir_set_options}. An
 * exception that left one would end the JVM, so they catch everything.
 */
final class Callbacks {
  private final PropertyReader reader;
  private final Consumer<String> log;
  private final OptionSetter setter;
  private volatile Thread running;
  private volatile Throwable failure;

  Callbacks(PropertyReader reader, Consumer<String> log, OptionSetter setter) {
    this.reader = reader;
    this.log = log;
    this.setter = setter;
  }

  /** Returns {@code weir_read} for C, until the arena is closed. */
  MemorySegment read(Arena arena) {
    FunctionDescriptor type = FunctionDescriptor.of(JAVA_LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG);
    return stub("read", type, arena);
  }

  /** Returns {@code weir_log} for C, until the arena is closed; NULL if there is no consumer. */
  MemorySegment log(Arena arena) {
    return log == null ? MemorySegment.NULL : stub("log", FunctionDescriptor.ofVoid(ADDRESS, ADDRESS), arena);
  }

  /** Returns {@code weir_set_options} for C, until the arena is closed. */
  MemorySegment setOptions(Arena arena) {
    return stub("setOptions", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS), arena);
  }

  /** Returns what one of them threw last; null if none threw anything. */
  Throwable failure() {
    return failure;
  }

  /** Returns true in a thread in which the library calls one of the functions right now. */
  boolean runsHere() {
    return running == Thread.currentThread();
  }

  @SuppressWarnings("unused") // by a stub
  private long read(
      MemorySegment context, MemorySegment family, MemorySegment property, MemorySegment buffer, long capacity) {
    running = Thread.currentThread();
    try {
      String value = reader.read(WeirLibrary.text(family), WeirLibrary.text(property));
      if (value == null) return -1;
      byte[] bytes = value.getBytes(UTF_8);
      int copied = (int) Math.min(bytes.length, capacity);
      MemorySegment.copy(bytes, 0, buffer.reinterpret(capacity), JAVA_BYTE, 0, copied);
      return bytes.length;
    } catch (Throwable e) {
      failure = e;
      return -1;
    } finally {
      running = null;
    }
  }

  @SuppressWarnings("unused") // by a stub
  private void log(MemorySegment context, MemorySegment sentence) {
    running = Thread.currentThread();
    try {
      log.accept(WeirLibrary.text(sentence));
    } catch (Throwable e) {
      failure = e;
    } finally {
      running = null;
    }
  }

  @SuppressWarnings("unused") // by a stub
  private int setOptions(
      MemorySegment context, MemorySegment family, long count, MemorySegment names, MemorySegment values) {
    try {
      Map<String, String> options = new LinkedHashMap<>();
      for (long i = 0; i < count; ++i) options.put(textAt(names, i), textAt(values, i));
      return setter.set(WeirLibrary.text(family), options) ? 0 : 1;
    } catch (Throwable e) {
      failure = e;
      return 1;
    }
  }

  private static String textAt(MemorySegment array, long index) {
    return WeirLibrary.text(array.reinterpret((index + 1) * ADDRESS.byteSize()).getAtIndex(ADDRESS, index));
  }

  private MemorySegment stub(String name, FunctionDescriptor type, Arena arena) {
    MethodType method = type.toMethodType();
    try {
      var handle = MethodHandles.lookup().findVirtual(Callbacks.class, name, method).bindTo(this);
      return WeirLibrary.LINKER.upcallStub(handle, type, arena);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }
}
