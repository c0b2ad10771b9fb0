// Runs load generators from Debian's packages (h2load for HTTP/2 and HTTP/1.1, wrk for HTTP/1.1) and reads their
// output.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "config/clock.h"
#include "config/status.h"

namespace weir {

struct HttpLoad {
  std::string url;
  std::string options = {};  // further options of the generator: "-d body.json"
  uint64_t requests = 0;     // number of requests that h2load sends; wrk ignores it
  Duration time{};           // time for which wrk sends requests; h2load ignores it
};

struct HttpLoadOutcome {
  uint64_t requests = 0;
  double per_second = 0;
  Duration client_cpu{};
};

enum class Generator : uint8_t { kH2Load, kH2LoadHttp1, kWrk };
// Returns the name for tables, with the connections and the streams of each: "h2load, HTTP/2, 8 x 32", …
std::string NameOf(Generator generator);
bool IsInstalled(Generator generator);
// Runs the generator to its end. Returns an error if a request got no answer. Status 429 is an answer.
Result<HttpLoadOutcome> Run(Generator generator, const HttpLoad& load, const std::filesystem::path& log);

}  // namespace weir
