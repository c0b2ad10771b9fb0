#include "relay/plugins/plugin_process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

// Returns all that a process writes to its standard output.
std::string OutputOf(const std::string& command) {
  Result<PluginProcess> process = PluginProcess::Start(command);
  if (!process.ok()) return process.status().message();
  std::string output;
  pollfd polled{.fd = process.value().output().number(), .events = POLLIN, .revents = 0};
  std::array<char, 4096> bytes{};
  while (::poll(&polled, 1, 60'000) > 0) {
    const ssize_t size = ::read(polled.fd, bytes.data(), bytes.size());
    if (size <= 0) break;
    output.append(bytes.data(), static_cast<size_t>(size));
  }
  return output;
}

TEST(PluginProcess, ItsEnvironmentHasNoSettingOfTheRelay) {
  const std::pair<const char*, bool> cases[] = {{"WEIR_STORE=postgres://u:secret@db/x", true},
                                                {"ORLY_ADMINS=npub1", true},
                                                {"OTEL_EXPORTER_OTLP_HEADERS=authorization=x", true},
                                                {"PGPASSWORD=secret", true},
                                                {"PGHOST=db", false},
                                                {"DB_URL=postgres://", false},
                                                {"MY_WEIR_X=1", false}};
  for (const auto& [variable, of_relay] : cases) EXPECT_EQ(IsOfRelay(variable), of_relay) << variable;
  ::setenv("WEIR_TEST_SECRET", "secret", 1);
  ::setenv("PLUGIN_TEST_WORD", "word", 1);
  const std::string output = OutputOf("exec env");
  ::unsetenv("WEIR_TEST_SECRET");
  ::unsetenv("PLUGIN_TEST_WORD");
  EXPECT_TRUE(Has(output, "PLUGIN_TEST_WORD=word\n")) << output;
  EXPECT_TRUE(Has(output, "PATH=")) << output;
  EXPECT_FALSE(Has(output, "WEIR_TEST_SECRET")) << output;
}

}  // namespace
}  // namespace weir
