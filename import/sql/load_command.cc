#include "import/sql/load_command.h"

#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "config/command_line.h"
#include "config/text/readable.h"
#include "config/wire/mysql/mysql_session.h"
#include "import/bulk_gate.h"
#include "import/input/input_file.h"
#include "import/input/source.h"
#include "import/sql/sql_loader.h"
#include "import/sql/sql_splitter.h"
#include "monitors/memory_target.h"
#include "monitors/myrocks/myrocks_monitor.h"
#include "relay/process/logging.h"
#include "relay/process/stop_signals.h"
#include "throttle/adaptive_limiter.h"

namespace weir {
namespace {

constexpr int kNotLoaded = 1;
constexpr Duration kConnectPatience = std::chrono::seconds(10);
constexpr Duration kProgressInterval = std::chrono::seconds(5);

struct LoadFlags {
  std::string file = "-";
  std::string to;
  uint64_t transaction_kb = 256;
  uint64_t timeout_s = 600;
  bool quiet = false;
};

void AddTo(CommandLine& line, LoadFlags& flags) {
  line.Add("FILE", &flags.file, "SQL, such as a dump; also gzip or zstd; - is standard input").ShowDefault();
  line.Add(
          "--to", &flags.to,
          "mysql://user:password@host:3306/database?ssl-ca=FILE, by TLS if it has ssl-ca; or the password in MYSQL_PWD")
      .Required();
  line.Add("--transaction-kb", &flags.transaction_kb, "KiB of SQL in a transaction")
      .Within<uint64_t>(1, 65'536)
      .ShowDefault();
  line.Add("--timeout", &flags.timeout_s, "seconds after which a statement without an answer ends the load")
      .Within<uint64_t>(1, 1'000'000)
      .ShowDefault();
  line.Add("--quiet", &flags.quiet, "print only errors");
  line.SetFooter(
      "weir asks the server four times a second how near its RocksDB is to slowing down all writers: the files in\n"
      "level 0, the full memtables, the debt of the compactions. It passes the statements on as fast as that load\n"
      "stays at WEIR_IMPORT_SETPOINT (0.7; RocksDB brakes at 1.0). So the queries of other clients, which need\n"
      "not know of weir, stay quick. The settings of the limiter are those of weir import.\n"
      "\n"
      "INSERT, REPLACE, UPDATE and DELETE are put together into transactions of --transaction-kb, whatever\n"
      "transactions the file has; one that meets a lock or a deadlock is tried again. Any other statement is\n"
      "executed alone, and committed. BEGIN, COMMIT, ROLLBACK and the like are left out; so are LOCK TABLES and\n"
      "UNLOCK TABLES, as in dumps, because they would lock out other clients until the end. weir sees bytes of\n"
      "SQL, so it can hold back many small statements, but not a single large one, such as an INSERT from a\n"
      "SELECT, an ALTER TABLE, or one INSERT of many megabytes: make dumps with --net-buffer-length=65536.\n"
      "\n"
      "If a statement fails, the load ends there. The message says up to which line the file is loaded, and what\n"
      "is not known. A last statement without a ; is an error, because the input may have been cut off.\n"
      "\n"
      "Examples:\n"
      "  weir load --to mysql://root@localhost/notes dump.sql.gz\n"
      "  mariadb-dump old | weir load --to mysql://loader@db1/notes\n"
      "\n"
      "Ctrl-C ends it after the transaction that is being executed, a second Ctrl-C at once.\n"
      "Exit status: 0 everything is loaded, 1 it was stopped or a statement failed, 2 it could not begin.");
}

// Prints how far the load is, every few seconds.
class LoadProgress {
 public:
  LoadProgress(bool quiet, const BulkGate& gate, const LoadMonitor& monitor)
      : quiet_(quiet), gate_(gate), monitor_(monitor) {}

  void Note(const SqlLoadTally& tally) {
    const TimePoint now = Clock::System().Now();
    if (quiet_ || now < next_) return;
    next_ = now + kProgressInterval;
    const ImportConditions conditions = Conditions();
    std::fprintf(stderr, "load: %s, up to line %" PRIu64 ", load %.2f%s%s\n", ReadableBytes(tally.bytes).c_str(),
                 tally.next_line - 1, conditions.level, conditions.limiting.empty() ? "" : ", waits for ",
                 conditions.limiting.c_str());
    if (const Status sampled = monitor_.LastError(); !sampled.ok())
      std::fprintf(stderr, "load: the load is not known: %s\n", sampled.message().c_str());
  }
  ImportConditions Conditions() const {
    ImportConditions conditions;
    gate_.Describe(&conditions);
    return conditions;
  }
  Duration time() const { return Clock::System().Now() - begun_; }

 private:
  const bool quiet_;
  const BulkGate& gate_;
  const LoadMonitor& monitor_;
  const TimePoint begun_ = Clock::System().Now();
  TimePoint next_ = begun_ + kProgressInterval;
};

// Reads the source, which is this file, to its end, and executes what is in it.
Status LoadAll(Source& source, const std::string& file, SqlLoader& loader, LoadProgress& progress,
               const std::atomic<bool>& stopped) {
  SqlSplitter splitter;
  const auto add = [&](SqlStatement statement) {
    Status added = loader.Add(std::move(statement));
    progress.Note(loader.tally());
    return added;
  };
  Status done;
  while (done.ok()) {
    Result<std::optional<Chunk>> chunk = source.Next();
    if (!chunk.ok()) return chunk.status();
    if (chunk.value()) {
      done = splitter.Add(chunk.value()->text, add);
      continue;
    }
    // A statement that was cut off by the stop is no error.
    done = stopped ? Status::Error("stopped") : splitter.End(add);
    if (done.ok()) done = loader.Finish();
    break;
  }
  return done.ok() ? done : Status::Error(InputFile::NameOf(file) + ": " + done.message());
}

std::string HowFar(const SqlLoadTally& tally) {
  const std::string line = std::to_string(tally.next_line);
  std::string text = "everything before line " + line + " is loaded; ";
  if (tally.done_on_line == 1) text += "the first statement that ends on line " + line + " is loaded too; ";
  if (tally.done_on_line > 1)
    text += "the first " + std::to_string(tally.done_on_line) + " statements that end on line " + line +
            " are loaded too; ";
  switch (tally.unknown) {
    case SqlLoadTally::Unknown::kLost:
      return text + "the connection was lost, so it is not known whether the next transaction is";
    case SqlLoadTally::Unknown::kNotUndone:
      return text + "a table that knows no transactions kept rows of the next transaction; it is not known which";
    case SqlLoadTally::Unknown::kAlone:
      return text + "it is not known whether the statement that failed did a part of its work; nothing after it is";
    case SqlLoadTally::Unknown::kNothing:
      break;
  }
  return text + (tally.done_on_line > 0 ? "nothing after that is" : "nothing from there on is");
}

int Tell(const LoadFlags& flags, const Status& loaded, const SqlLoadTally& tally, const LoadProgress& progress,
         uint64_t escapes) {
  if (!loaded.ok()) {
    std::fprintf(stderr, "weir load: %s\nweir load: %s\n", loaded.message().c_str(), HowFar(tally).c_str());
    return kNotLoaded;
  }
  if (flags.quiet) return 0;
  std::printf("loaded %" PRIu64 " statements, %s, in %s; waited %s of it", tally.statements,
              ReadableBytes(tally.bytes).c_str(), ClockTime(progress.time()).c_str(),
              ClockTime(progress.Conditions().throttled_time).c_str());
  std::printf("; RocksDB braked %" PRIu64 " times\n", escapes);
  if (tally.repeated > 0) std::printf("%" PRIu64 " transactions met a lock and were tried again\n", tally.repeated);
  if (tally.left_out > 0)
    std::printf("left out %" PRIu64 " statements that lock tables, or begin or end transactions\n", tally.left_out);
  return 0;
}

int Load(const CommandLine& line, const LoadFlags& flags, const MysqlAddress& address, const LimiterSettings& limits,
         uint64_t target_bytes) {
  StopSignals signals;
  SetUpLogging(LogLevel::kError, LogFormat::kText);
  signals.Listen();
  Result<std::unique_ptr<Source>> source = Source::Open({.inputs = {flags.file}});
  if (!source.ok()) return line.Fail(source.status());
  // A slow answer must not count as a lost sensor (CheckTimeout).
  MyRocksMonitor monitor(address, target_bytes, {.timeout = limits.sensor_timeout / 2});
  if (Status sampled = monitor.SampleOnce(); !sampled.ok()) return line.Fail(sampled);
  MysqlSession session(address);
  if (Status connected = session.Connect(kConnectPatience); !connected.ok()) return line.Fail(connected);
  AdaptiveLimiter limiter(monitor, limits);
  monitor.Start();
  limiter.Start();
  BulkGate gate(&limiter, {.id = 1, .work_class = WorkClass::kBulk}, Clock::System());
  SqlLoader loader(
      session, gate,
      {.transaction_bytes = flags.transaction_kb << 10, .patience = std::chrono::seconds(flags.timeout_s)});
  LoadProgress progress(flags.quiet, gate, monitor);
  signals.BeginOrderly([] { _exit(kNotLoaded); });
  std::atomic<bool> stopped = false;
  std::thread stopper([&] {
    stopped = signals.Wait() != nullptr;
    if (!stopped) return;
    gate.Stop();
    source.value()->Stop();
  });
  Status loaded = LoadAll(*source.value(), flags.file, loader, progress, stopped);
  if (loaded.ok() && stopped) loaded = Status::Error("stopped");
  signals.Release();
  stopper.join();
  return Tell(flags, loaded, loader.tally(), progress, monitor.Sample().escapes);
}

}  // namespace

int LoadCommand(int argc, char** argv) {
  CommandLine line(
      argv[0],
      "Loads SQL into a MariaDB whose tables are in MyRocks (RocksDB), as fast as RocksDB can take it and no\n"
      "faster, so that the queries of other clients stay quick.");
  LoadFlags flags;
  AddTo(line, flags);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  Result<MysqlAddress> address = ParseMysqlUrl(flags.to);
  if (!address.ok()) return line.Fail(Status::Error("--to: " + address.status().message()));
  const Environment environment = ProcessEnvironment();
  if (const auto password = environment.find("MYSQL_PWD");
      password != environment.end() && address.value().password.empty())
    address.value().password = password->second;
  LimiterSettings limits;
  MemoryTargetSettings memory;
  SettingTable table;
  Declare(table, limits);
  Declare(table, memory);
  if (Status loaded = table.Load(environment); !loaded.ok()) return line.Fail(loaded);
  if (Status checked = Check(limits); !checked.ok()) return line.Fail(checked);
  const Result<uint64_t> target = ResolveMemoryTarget(memory, MemoryProbe(), limits.emergency);
  if (!target.ok()) return line.Fail(target.status());
  const int code = Load(line, flags, address.value(), limits, target.value());
  StopLogging();
  return code;
}

}  // namespace weir
