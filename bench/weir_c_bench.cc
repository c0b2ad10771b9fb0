// Measures what weir_admit costs while nothing is limited, and what a ticket costs.
#include <benchmark/benchmark.h>
#include <weir.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace weir {
namespace {

// Answers for a database that stands idle.
int64_t Read(void*, const char*, const char* property, char* buffer, size_t capacity) {
  const std::string_view text = std::strstr(property, "stats") != nullptr ? "" : "0";
  text.copy(buffer, capacity);
  return static_cast<int64_t>(text.size());
}

weir_throttle Throttle() {
  static const weir_throttle throttle = [] {
    constexpr std::string_view kOptions = "[CFOptions \"default\"]\nwrite_buffer_size=1099511627776\n";
    const weir_setup setup = weir_setup_create();
    weir_setup_options(setup, kOptions.data(), kOptions.size());
    const weir_throttle attached = weir_attach(setup, Read, nullptr);
    if (attached == 0) std::fprintf(stderr, "%s\n", weir_error()), std::exit(1);
    weir_setup_destroy(setup);
    return attached;
  }();
  return throttle;
}

void Admit(benchmark::State& state) {
  const weir_throttle throttle = Throttle();
  for (auto _ : state)
    benchmark::DoNotOptimize(weir_admit(throttle, WEIR_WRITE, WEIR_INTERACTIVE, 100, 1, WEIR_PATIENT));
}
BENCHMARK(Admit)->Threads(1)->Threads(2)->Threads(8);

void AskAndEnd(benchmark::State& state) {
  const weir_throttle throttle = Throttle();
  for (auto _ : state) weir_ticket_end(weir_ask(throttle, WEIR_WRITE, WEIR_INTERACTIVE, 100, 1));
}
BENCHMARK(AskAndEnd)->Threads(1)->Threads(2);

}  // namespace
}  // namespace weir
