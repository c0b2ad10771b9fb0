// Runs Debian's load generators, h2load for HTTP/2 and HTTP/1.1, wrk for HTTP/1.1, and reads their figures.
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
  uint64_t requests = 0;     // h2load's
  Duration time{};           // wrk's
};

struct HttpLoadOutcome {
  uint64_t requests = 0;
  double per_second = 0;
  Duration client_cpu{};
};

enum class Generator : uint8_t { kH2Load, kH2LoadHttp1, kWrk };
// Returns the name with the shape of the connections, for tables: "h2load, HTTP/2, 8 x 32", …
std::string NameOf(Generator generator);
bool IsInstalled(Generator generator);
// Runs the generator to its end. Returns an error if a request was not answered; 429 is an answer.
Result<HttpLoadOutcome> Run(Generator generator, const HttpLoad& load, const std::filesystem::path& log);

}  // namespace weir
