// The functions of weir.h, called in any order with any handles. The input is a list of calls: a byte that chooses the
// function, and a byte that chooses among the handles that there were and some that never were.
#include <weir.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/fixtures/must.h"
#include "tests/fuzz/target.h"

namespace weir {
namespace {

constexpr std::string_view kOptions = "[CFOptions \"default\"]\nwrite_buffer_size=65536\n[CFOptions \"tags\"]\n";
constexpr size_t kMostCalls = 200;

// Answers as the byte says: nothing, nonsense, too long a text, or a number.
int64_t Answer(void* context, const char*, const char* property, char* buffer, size_t capacity) {
  const uint8_t choice = *static_cast<const uint8_t*>(context);
  if (choice % 8 == 1) return -1;
  if (choice % 8 == 2) return INT64_MAX;
  std::string text = std::to_string(choice);
  if (choice % 8 == 3) text = "\xff nonsense";
  if (choice % 8 == 4) text.assign(100'000, '9');
  if (std::strstr(property, "stats") != nullptr) text.insert(0, "\nFlush(GB): cumulative ");
  text.copy(buffer, capacity);
  return static_cast<int64_t>(text.size());
}

void Check(std::string_view calls) {
  uint8_t choice = 0;
  std::vector<uint64_t> handles{0, 1, UINT64_MAX}, throttles, setups, tickets;
  for (size_t n = 0; n < kMostCalls && !calls.empty(); ++n) {
    const uint8_t function = TakeByte(&calls), which = TakeByte(&calls);
    const uint64_t handle = handles[which % handles.size()];
    const auto keep = [&](uint64_t made, std::vector<uint64_t>* kind) {
      if (made == 0) return;
      Must(made != UINT64_MAX);
      handles.push_back(made);
      kind->push_back(made);
    };
    int code = WEIR_OK;
    switch (function % 16) {
      case 0: {
        keep(weir_setup_create(), &setups);
        weir_setup_sampled_by_program(setups.back());
        weir_setup_options(setups.back(), kOptions.data(), kOptions.size());
        break;
      }
      case 1:
        code = weir_setup_destroy(handle);
        break;
      case 2:
        code = weir_setup_set(handle, "WEIR_RATE_LIMIT_SETPOINT", std::to_string(which).c_str());
        break;
      case 3:
        code = weir_setup_options(handle, calls.data(), calls.size());
        break;
      case 4:
        code = weir_setup_family(handle, which % 2 == 0 ? "tags" : "default");
        break;
      case 5:
        if (throttles.size() < 4) keep(weir_attach(handle, Answer, &choice), &throttles);
        break;
      case 6:
        code = weir_sample(handle);
        break;
      case 7:
        code = weir_detach(handle);
        break;
      case 8:
        code = weir_close(handle);
        break;
      case 9:
        code = weir_admit(handle, WEIR_WRITE, WEIR_BULK, uint64_t{1} << which % 64, which, 0);
        break;
      case 10:
        keep(weir_ask(handle, WEIR_READ, WEIR_INTERACTIVE, uint64_t{1} << which % 64, which), &tickets);
        break;
      case 11:
        code = weir_ticket_poll(handle);
        break;
      case 12:
        code = weir_ticket_wait(handle, 0);
        break;
      case 13:
        weir_ticket_fd(handle);
        break;
      case 14:
        code = weir_ticket_end(handle);
        break;
      default: {
        char buffer[64];
        Must(weir_view(handle, buffer, which % sizeof buffer) < 100'000);
        choice = which;
      }
    }
    Must(code >= WEIR_OK && code <= WEIR_FAILED);
    Must(code == WEIR_OK || *weir_error() != '\0', "an error has a message");
  }
  for (const uint64_t throttle : throttles) weir_close(throttle);
  for (const uint64_t ticket : tickets) weir_ticket_end(ticket);
  for (const uint64_t setup : setups) weir_setup_destroy(setup);
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
