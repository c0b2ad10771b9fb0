package io.weir.throttle;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;

/**
 * All that a program says before it attaches a {@link Throttle}.
 *
 * <pre>{@code
 * new Settings().set("WEIR_RATE_LIMIT_TARGET_MEMORY_MB", "1400").log(logger::warn)
 * }</pre>
 *
 * <p>Not thread-safe. A throttle does not see changes after it was attached.
 */
public final class Settings {
  private final Map<String, String> values = new LinkedHashMap<>();
  private final Set<String> families = new LinkedHashSet<>();
  private String directory;
  private String options;
  private Consumer<String> log;
  private boolean movesBrakes;
  private OptionSetter setter;

  /** Sets a setting by its name in weir's config/SETTINGS.md. It takes precedence over the environment variable. */
  public Settings set(String name, String value) {
    values.put(Objects.requireNonNull(name), Objects.requireNonNull(value));
    return this;
  }

  /** Names the directory of the database. {@link Throttle#attach} knows it from the database. */
  public Settings directory(Path path) {
    directory = path.toString();
    return this;
  }

  /** Gives the options as the text of a file OPTIONS-NNNNNN, for a database whose directory cannot be read. */
  public Settings options(String text) {
    options = Objects.requireNonNull(text);
    return this;
  }

  /** Adds a column family to those that are watched. Without this call, "default" is. */
  public Settings family(String name) {
    families.add(Objects.requireNonNull(name));
    return this;
  }

  /** Gets sentences for the operator, such as that RocksDB brakes although writes are limited; default: stderr. */
  public Settings log(Consumer<String> sentences) {
    log = Objects.requireNonNull(sentences);
    return this;
  }

  /**
   * Lets weir move RocksDB's own brakes (level0_slowdown_writes_trigger and four more options) to higher loads until the
   * throttle is closed, because weir acts before them; bulk work then does more.
   */
  public Settings moveBrakes() {
    movesBrakes = true;
    return this;
  }

  /** Does the same for a database that is no {@code RocksDB} of rocksdbjni. */
  public Settings moveBrakes(OptionSetter options) {
    setter = Objects.requireNonNull(options);
    return moveBrakes();
  }

  boolean movesBrakes() {
    return movesBrakes;
  }

  OptionSetter setter() {
    return setter;
  }

  Consumer<String> log() {
    return log;
  }

  Settings copy() {
    Settings copy = new Settings();
    copy.values.putAll(values);
    copy.families.addAll(families);
    copy.directory = directory;
    copy.options = options;
    copy.log = log;
    copy.movesBrakes = movesBrakes;
    copy.setter = setter;
    return copy;
  }

  boolean hasOptions() {
    return directory != null || options != null;
  }

  /** Says all of it to a setup of the library. Throws IllegalArgumentException if a setting is wrong. */
  void say(long setup) {
    values.forEach((name, value) -> say("weir_setup_set", setup, name, value));
    families.forEach(name -> say("weir_setup_family", setup, name));
    if (directory != null) say("weir_setup_directory", setup, directory);
    if (options == null) return;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment text = arena.allocateFrom(options);
      long length = text.byteSize() - 1; // without the end that C needs
      check((int) WeirLibrary.call("weir_setup_options", JAVA_INT, setup, text, length));
    }
  }

  private static void say(String function, long setup, String... texts) {
    try (Arena arena = Arena.ofConfined()) {
      Object[] arguments = new Object[1 + texts.length];
      arguments[0] = setup;
      for (int i = 0; i < texts.length; ++i) arguments[i + 1] = arena.allocateFrom(texts[i]);
      check((int) WeirLibrary.call(function, JAVA_INT, arguments));
    }
  }

  private static void check(int code) {
    if (code != WeirLibrary.OK) throw new IllegalArgumentException(WeirLibrary.error());
  }
}
