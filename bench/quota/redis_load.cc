#include "bench/quota/redis_load.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/figure_tables.h"
#include "bench/measure/own_cpu.h"
#include "bench/quota/much.h"
#include "bench/quota/pipeline.h"
#include "bench/quota/redis_process.h"
#include "bench/relay/launch.h"
#include "bench/relay/server_usage.h"
#include "throttle/limits/quota/redis/redis_store.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr std::array<uint64_t, 3> kDepths = {1, 50, 500};
const Charge kCharge{.model = "gpt-4o",
                     .mode = Charge::Mode::kTake,
                     .tokens = 900,
                     .default_quota = ModelQuota{.max_rpm = kMuch, .max_tpm = kMuch, .max_rpd = kMuch}};

std::string Quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// Reads the rate from "EVALSHA …: rps=…": the number before the last "requests per second".
Result<double> RateOf(const fs::path& log) {
  std::ifstream in(log);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const size_t end = text.rfind(" requests per second");
  const size_t begin = end == text.npos ? text.npos : text.find_last_of(" \r\n", end - 1);
  const double rate = begin == text.npos ? 0 : std::strtod(text.c_str() + begin + 1, nullptr);
  if (rate > 0) return rate;
  return Status::Error("redis-benchmark tells no rate: " + text.substr(0, 200));
}

class RedisLoad {
 public:
  RedisLoad(const RedisLoadOptions& options, const fs::path& directory, RedisProcess& redis, RedisEndpoint endpoint,
            FigureTables* figures)
      : options_(options),
        directory_(directory),
        redis_(redis),
        endpoint_(std::move(endpoint)),
        store_(endpoint_, {.timeout = std::chrono::seconds(10)}),
        figures_(figures) {}

  Status Run() {
    if (Status status = Spy(); !status.ok()) return status;
    for (const uint64_t depth : kDepths) {
      const Result<uint64_t> calls = Calibrate(depth);
      if (!calls.ok()) return calls.status();
      for (int repetition = 1; repetition <= options_.repetitions; ++repetition) {
        std::fprintf(stderr, "[%d/%d] %s\n", repetition, options_.repetitions, Scenario(depth).c_str());
        if (Status s = Once(repetition, depth, calls.value()); !s.ok()) return s;
      }
    }
    return {};
  }

 private:
  static std::string Scenario(uint64_t depth) { return std::to_string(depth) + " under way"; }

  Status Spy() {
    EvalshaSpy spy(redis_.port());
    RedisQuotaStore spied(endpoint_, {.timeout = std::chrono::seconds(10)});
    if (spied.Run(kCharge).code != QuotaCode::kOk) return Status::Error("the store does not decide");
    Result<std::vector<std::string>> words = spy.Words();
    if (!words.ok()) return words.status();
    for (const std::string& word : words.value()) {
      if (word.find('\0') != word.npos) return Status::Error("the script's words cannot be handed to redis-benchmark");
      evalsha_ += " " + Quoted(word);
    }
    return {};
  }

  // Returns the number of calls that take about as long as a measurement should.
  Result<uint64_t> Calibrate(uint64_t depth) {
    const TimePoint from = Clock::System().Now();
    uint64_t calls = 0;
    double seconds = 0;
    while (seconds < 0.3) {
      const Pipeline::Result result = Pipeline(store_, kCharge).Run(10 * depth + 500, depth);
      if (result.failed > 0) return Status::Error("the store refuses");
      calls += result.answered;
      seconds = ToSeconds(Clock::System().Now() - from);
    }
    return static_cast<uint64_t>(static_cast<double>(calls) / seconds * ToSeconds(options_.time)) + 1;
  }

  // Runs all in turn. Each repetition begins with another one, because the speed of the machine changes.
  Status Once(int repetition, uint64_t depth, uint64_t calls) {
    const int contenders = depth == 1 ? 2 : 3;  // with one call unanswered at a time both ways have one connection
    for (int i = 0; i < contenders; ++i) {
      const int who = (i + repetition - 1) % contenders;
      Status status = who == 0   ? Weir(repetition, depth, calls)
                      : who == 1 ? Benchmark(repetition, depth, calls, 1, depth)
                                 : Benchmark(repetition, depth, calls, depth, 1);
      if (!status.ok()) return status;
    }
    return {};
  }

  void Report(int repetition, uint64_t depth, const std::string& subject, double rate, Duration client, Duration server,
              uint64_t calls) {
    const auto each = [calls](Duration time) { return ToSeconds(time) * 1e6 / static_cast<double>(calls); };
    figures_->Add(
        repetition, Scenario(depth), subject,
        {{"decisions", "1/s", rate}, {"client CPU each", "µs", each(client)}, {"server CPU each", "µs", each(server)}});
  }

  Status Weir(int repetition, uint64_t depth, uint64_t calls) {
    const Result<Duration> server_from = ProcessorTime(redis_.pid());
    if (!server_from.ok()) return server_from.status();
    const Duration own_from = OwnProcessorTime();
    const TimePoint from = Clock::System().Now();
    const Pipeline::Result result = Pipeline(store_, kCharge).Run(calls, depth);
    const double seconds = ToSeconds(Clock::System().Now() - from);
    if (result.failed > 0) return Status::Error("the store refuses: " + store_.Health().problem);
    Report(repetition, depth, "weir", static_cast<double>(calls) / seconds, OwnProcessorTime() - own_from,
           ProcessorTime(redis_.pid()).value() - server_from.value(), calls);
    return {};
  }

  // Now and then redis-benchmark takes its last answers for a lost server ("All clients disconnected") and prints no
  // rate. Then this tries again, at most three times in all.
  Status Benchmark(int repetition, uint64_t depth, uint64_t calls, uint64_t clients, uint64_t pipeline) {
    constexpr int kTries = 3;
    Status status = TryBenchmark(repetition, depth, calls, clients, pipeline);
    for (int tries = 1; tries < kTries && !status.ok(); ++tries)
      status = TryBenchmark(repetition, depth, calls, clients, pipeline);
    return status;
  }

  Status TryBenchmark(int repetition, uint64_t depth, uint64_t calls, uint64_t clients, uint64_t pipeline) {
    const fs::path log = directory_ / "redis-benchmark.log";
    fs::remove(log);
    const Result<Duration> server_from = ProcessorTime(redis_.pid());
    if (!server_from.ok()) return server_from.status();
    const auto command = Process::Start("exec redis-benchmark -h 127.0.0.1 -q -p " + std::to_string(redis_.port()) +
                                            " -n " + std::to_string(calls) + " -c " + std::to_string(clients) + " -P " +
                                            std::to_string(pipeline) + evalsha_,
                                        log);
    if (!command.ok()) return command.status();
    if (Status status = command.value()->Wait(); !status.ok()) return status;
    const Result<CommandCost> cost = command.value()->Cost();
    if (!cost.ok()) return cost.status();
    const Result<double> rate = RateOf(log);
    if (!rate.ok()) return rate.status();
    const std::string subject = clients == 1 ? "redis-benchmark, 1 connection" : "redis-benchmark, a connection each";
    Report(repetition, depth, subject, rate.value(), cost.value().user + cost.value().system,
           ProcessorTime(redis_.pid()).value() - server_from.value(), calls);
    return {};
  }

  const RedisLoadOptions& options_;
  const fs::path directory_;
  RedisProcess& redis_;
  const RedisEndpoint endpoint_;
  RedisQuotaStore store_;
  FigureTables* const figures_;
  std::string evalsha_;  // the words, quoted for sh
};

}  // namespace

Status MeasureRedisLoad(const RedisLoadOptions& options, FigureTables* figures) {
  const auto directory = TemporaryDirectory::Make(options.scratch);
  if (!directory.ok()) return directory.status();
  const auto redis = RedisProcess::Start(directory.value()->path());
  if (!redis.ok()) return redis.status();
  Result<RedisEndpoint> endpoint = ParseRedisUrl(redis.value()->url());
  if (!endpoint.ok()) return endpoint.status();
  return RedisLoad(options, directory.value()->path(), *redis.value(), std::move(endpoint).value(), figures).Run();
}

}  // namespace weir
