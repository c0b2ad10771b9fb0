#include "bench/limiters/generator.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

#include "bench/measure/process.h"

namespace weir {
namespace {

std::string CommandOf(Generator generator, const HttpLoad& load) {
  const std::string requests = std::to_string(load.requests);
  const std::string rest = " " + load.options + " " + load.url;
  switch (generator) {
    case Generator::kH2Load:
      return "exec h2load -n " + requests + " -c 8 -m 32 -t 1" + rest;
    case Generator::kH2LoadHttp1:
      return "exec h2load --h1 -n " + requests + " -c 8 -t 1" + rest;
    default:
      return "exec wrk -t 1 -c 32 -d " + std::to_string(std::lround(std::ceil(ToSeconds(load.time)))) + "s" + rest;
  }
}

// Return the number behind or before a text, or NaN if the text is not there.
double NumberBehind(const std::string& all, const std::string& text) {
  const size_t at = all.find(text);
  return at == std::string::npos ? NAN : std::strtod(all.c_str() + at + text.size(), nullptr);
}
double NumberBefore(const std::string& all, const std::string& text) {
  const size_t end = all.find(text);
  if (end == std::string::npos) return NAN;
  const size_t begin = all.find_last_not_of("0123456789.", end - 1);
  return std::strtod(all.c_str() + (begin == std::string::npos ? 0 : begin + 1), nullptr);
}

}  // namespace

std::string NameOf(Generator generator) {
  switch (generator) {
    case Generator::kH2Load:
      return "h2load, HTTP/2, 8 x 32";
    case Generator::kH2LoadHttp1:
      return "h2load, HTTP/1.1, 8";
    default:
      return "wrk, HTTP/1.1, 32";
  }
}

bool IsInstalled(Generator generator) {
  return std::system(generator == Generator::kWrk ? "command -v wrk >/dev/null" : "command -v h2load >/dev/null") == 0;
}

Result<HttpLoadOutcome> Run(Generator generator, const HttpLoad& load, const std::filesystem::path& log) {
  std::error_code ignored;  // opening the file reports the error better
  std::filesystem::remove(log, ignored);
  auto process = Process::Start(CommandOf(generator, load), log, "load generator");
  if (!process.ok()) return process.status();
  if (Status s = process.value()->Wait(); !s.ok()) return s;
  const Result<CommandCost> cost = process.value()->Cost();
  if (!cost.ok()) return cost.status();

  std::ifstream in(log);
  const std::string said{std::istreambuf_iterator<char>(in), {}};
  const bool is_wrk = generator == Generator::kWrk;
  const double done = is_wrk ? NumberBefore(said, " requests in ") : NumberBefore(said, " done,");
  const double rate = is_wrk ? NumberBehind(said, "Requests/sec:") : NumberBefore(said, " req/s");
  const bool lost = is_wrk ? said.find("Socket errors") != std::string::npos
                           : done != static_cast<double>(load.requests) || NumberBefore(said, " errored") != 0 ||
                                 // A gRPC call that failed has a good HTTP status and no body.
                                 said.find("(0) data") != std::string::npos;
  if (!(done > 0) || !(rate > 0) || lost)
    return Status::Error("not all of " + load.url + " was answered; the load generator said:\n" + said);
  return HttpLoadOutcome{.requests = static_cast<uint64_t>(done),
                         .per_second = rate,
                         .client_cpu = cost.value().user + cost.value().system};
}

}  // namespace weir
