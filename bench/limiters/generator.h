// Debian's load generators: h2load for HTTP/2 and HTTP/1.1, wrk for HTTP/1.1. What is asked, and what they tell.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "config/clock.h"
#include "config/status.h"

namespace weir {

struct HttpLoad {
  std::string url;
  std::string options = {};  // of the generator, besides: "-d body.json"
  uint64_t requests = 0;     // h2load's
  Duration time{};           // wrk's
};

struct HttpLoadOutcome {
  uint64_t requests = 0;
  double per_second = 0;
  Duration client_cpu{};
};

enum class Generator : uint8_t { kH2Load, kH2LoadHttp1, kWrk };
// With the shape of connections that its figures are told by: "HTTP/2, 8 x 32", …
std::string NameOf(Generator generator);
bool IsInstalled(Generator generator);
// Waits for its end. An error where a request was not answered; 429 is an answer.
Result<HttpLoadOutcome> Run(Generator generator, const HttpLoad& load, const std::filesystem::path& log);

}  // namespace weir
