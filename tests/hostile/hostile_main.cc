// hostile: attacks a relay of its own on loopback, one attack after another. Reports what a quiet client beside it saw
// and how much memory the attack cost. Run it by `make hostile`.
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include "config/command_line.h"
#include "tests/hostile/attack.h"
#include "tests/hostile/crowd.h"
#include "tests/hostile/quiet_client.h"

namespace weir {

std::string ManyTags(char letter, const std::string& prefix, size_t count) {
  std::string tags = "[";
  for (size_t n = 0; n < count; ++n)
    tags += std::string(n == 0 ? "" : ",") + "[\"" + letter + "\",\"" + prefix + std::to_string(n) + "\"]";
  return tags + "]";
}

std::string TextFrame(const std::string& text) { return ClientFrame(kText, text); }
std::string Get(const std::string& target, const std::string& more) {
  return "GET " + target + " HTTP/1.1\r\nHost: relay.example\r\n" + more + "\r\n";
}
std::string Post(const std::string& target, const std::string& body) {
  return "POST " + target + " HTTP/1.1\r\nHost: relay.example\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}
std::string ComeAgain(Arena& arena, double scale, const std::string& bytes, size_t connections) {
  const auto end = std::chrono::steady_clock::now() + Scaled(std::chrono::seconds(8), scale);
  size_t came = 0;
  while (std::chrono::steady_clock::now() < end) {
    Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), connections);
    crowd.SendOnce([&](size_t) { return bytes; }, std::chrono::milliseconds(100), Reads::kAll);
    came += crowd.size();
  }
  return std::to_string(came) + " connections";
}
std::string Authorization(const Arena& arena) {
  std::string token;
  std::ifstream(arena.data_dir() / "admin.token") >> token;
  return "Authorization: Bearer " + token + "\r\n";
}
std::string EventFrame(const std::string& json) { return TextFrame("[\"EVENT\"," + json + "]"); }
uint64_t Now() { return static_cast<uint64_t>(std::time(nullptr)); }

namespace {

using namespace std::chrono_literals;

// Latencies that a quiet client may see.
constexpr double kMostP99Ms = 50;
constexpr double kMostMs = 250;
// Memory that may stay when the attackers are gone: what the allocator keeps. The engine's cache and memtables do not
// count, because they fill with use.
constexpr double kMostKeptShare = 0.5;  // share of the allowed growth
constexpr auto kPatience = std::chrono::minutes(1);

struct Options {
  std::string program;
  std::string scratch = std::filesystem::temp_directory_path();
  std::vector<std::string> only;
  bool brief = false;
  double scale() const { return brief ? 0.1 : 1; }
};

struct Verdict {
  QuietFigures before;
  QuietFigures during;
  double growth_mb = 0;
  double kept_mb = 0;
  double kept_own_mb = 0;
  std::string heard;
  std::string fate;
  std::string complaint;

  // Returns "" if all bounds held. Latencies are judged only if nothing else is expected to use the machine.
  std::string Broken(const Attack& attack, bool judges_times) const;
  bool GaveBack(const Attack& attack) const;
};

bool Verdict::GaveBack(const Attack& attack) const {
  const double share = attack.is_counted ? 1 : kMostKeptShare;
  return kept_mb <= share * attack.most_mb && kept_own_mb <= 1;
}

bool TooLate(const Latencies& during, const Latencies& before) {
  return during.Quantile(0.99) > std::max(kMostP99Ms, 2 * before.Quantile(0.99)) || during.max() > kMostMs;
}

std::string Verdict::Broken(const Attack& attack, bool judges_times) const {
  std::string broken;
  const auto say = [&broken](const std::string& what) { broken += (broken.empty() ? "" : "; ") + what; };
  if (!fate.empty()) say(fate);
  if (during.unanswered > 0) say(std::to_string(during.unanswered) + " messages of the quiet client were not answered");
  if (!during.trouble.empty()) say("the quiet client was told: " + during.trouble);
  if (growth_mb > attack.most_mb) say("the relay grew too much");
  if (!complaint.empty()) say(complaint);
  if (!GaveBack(attack)) say("not all memory was given back");
  if (judges_times && TooLate(during.ok, before.ok)) say("OKs were late");
  if (judges_times && TooLate(during.eose, before.eose)) say("EOSEs were late");
  return broken;
}

// Memtables count as part of the block cache.
double EngineMb(const Arena& arena) { return arena.PartMb("block_cache") + arena.PartMb("table_readers"); }

Result<Verdict> Try(const Attack& attack, const Options& options) {
  ArenaOptions arena_options{.program = options.program,
                             .scratch = options.scratch,
                             .settings = attack.settings,
                             .by_tls = attack.by_tls,
                             .config = attack.config,
                             .limits = attack.limits,
                             .fill = {}};
  if (attack.fill) arena_options.fill = [&](const auto& store) { attack.fill(options.scale(), store); };
  auto started = Arena::Start(arena_options);
  if (!started.ok()) return started.status();
  Arena& arena = *started.value();
  QuietClient quiet(arena.clear_port());
  std::this_thread::sleep_for(options.brief ? 200ms : 5s);
  Verdict verdict;
  verdict.before = quiet.Take();
  const double before_mb = arena.AnonymousMb();
  const double before_own_mb = arena.PartMb("own");
  const double before_engine_mb = EngineMb(arena);
  arena.TakePeakMb();
  verdict.heard = attack.run(arena, options.scale());
  verdict.complaint = arena.complaint;
  verdict.during = quiet.Take();
  verdict.growth_mb = arena.TakePeakMb() - before_mb;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  do {
    verdict.fate = arena.Fate();
    verdict.kept_mb = arena.AnonymousMb() - before_mb - (EngineMb(arena) - before_engine_mb);
    verdict.kept_own_mb = arena.PartMb("own") - before_own_mb;
  } while (verdict.fate.empty() && !verdict.GaveBack(attack) && std::chrono::steady_clock::now() < end &&
           (std::this_thread::sleep_for(200ms), true));
  return verdict;
}

int RunAll(const Options& options) {
  std::vector<Attack> attacks;
  for (auto& more : {WriteAttacks(), LiveAttacks(), ReadAttacks(), AddressAttacks(), FrameAttacks(), FloodAttacks(),
                     Http2Attacks(), LimiterAttacks(), LinkAttacks(), TlsAttacks()})
    attacks.insert(attacks.end(), more.begin(), more.end());
  constexpr const char* kHead = "%-23s | %-29s | %-29s | %-21s |\n";
  std::printf(kHead, "", "OK ms: p50, p99, max", "EOSE ms: p50, p99, max", "MiB: may grow by, has,");
  std::printf(kHead, "attack", "and the p99 before", "and the p99 before", "and kept");
  int broken = 0;
  for (const Attack& attack : attacks) {
    if (!options.only.empty() && std::count(options.only.begin(), options.only.end(), attack.name) == 0) continue;
    if (options.brief && options.only.empty() && !attack.also_brief) continue;
    const Result<Verdict> verdict = Try(attack, options);
    if (!verdict.ok()) {
      std::printf("%-23s | could not be tried: %s\n", std::string(attack.name).c_str(),
                  verdict.status().message().c_str());
      ++broken;
      continue;
    }
    const Verdict& v = verdict.value();
    const std::string why = v.Broken(attack, !options.brief);
    const auto times = [](const Latencies& during, const Latencies& before) {
      std::printf(" | %6.1f %6.1f %7.1f %7.1f", during.Quantile(0.5), during.Quantile(0.99), during.max(),
                  before.Quantile(0.99));
    };
    const std::string name(attack.name);
    std::printf("%-23s", name.c_str());
    times(v.during.ok, v.before.ok);
    times(v.during.eose, v.before.eose);
    std::printf(" | %6.0f %6.1f %7.1f | %s\n", attack.most_mb, v.growth_mb, v.kept_mb,
                why.empty() ? "held" : ("BROKEN: " + why).c_str());
    std::printf("%-23s   %s; it heard: %s\n", "", std::string(attack.does).c_str(), v.heard.c_str());
    std::fflush(stdout);
    broken += why.empty() ? 0 : 1;
  }
  return broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::Options options;
  weir::CommandLine line(
      "hostile",
      "Attacks a relay that it starts on loopback, and says what a quiet client beside each attack saw. Fails where a "
      "bound is broken: p99 50 ms or twice what it was before, 250 ms at most, 64 MiB for an address, 128 MiB for all "
      "addresses together, all answered, "
      "all given back within a minute.");
  line.Add("weir", &options.program, "the program").Required().ExistingFile();
  line.Add("--only", &options.only, "these attacks alone");
  line.Add("--scratch", &options.scratch,
           "where databases are made; /dev/shm where the disk's fsync stalls by itself, as with discard")
      .ExistingDirectory()
      .ShowDefault();
  line.Add("--brief", &options.brief, "a tenth of everything, and times are shown but not judged: for CI");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  weir::RaiseFileLimit();
  return weir::RunAll(options);
}
