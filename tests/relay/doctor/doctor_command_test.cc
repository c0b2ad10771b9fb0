// weir doctor as an operator uses it: beside a relay, beside a gate, and alone.
#include "relay/doctor/doctor_command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <simdjson.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "relay/doctor/gather.h"
#include "relay/nostr/signature.h"
#include "tests/fixtures/certificates.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/server_port.h"
#include "tests/fixtures/temp_directory.h"
#include "tests/fixtures/web_client.h"
#include "tests/relay/doctor/weir_child.h"

namespace weir {
namespace {

bool HasName(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

uint16_t PortOf(const std::string& address) {
  return static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

class DoctorCommandTest : public testing::Test {
 protected:
  struct Said {
    int code = 0;
    std::vector<std::string> names;  // the findings' names
    std::string json;
    std::string err;
    bool Tells(const std::string& part) const { return json.find(part) != std::string::npos; }
  };

  // Asks about a port that no other program uses, and the relay's data directory.
  Said Ask(std::vector<std::string> arguments = {}, Environment settings = {}) const {
    arguments.emplace_back("--json");
    settings.emplace("WEIR_PORT", std::to_string(port_));
    settings.emplace("WEIR_DATA_DIR", data_dir_);
    const Ran ran = WeirChild("weir doctor", std::move(arguments), settings).Wait();
    Said said{.code = ran.code, .json = ran.out, .err = ran.err};
    simdjson::dom::parser parser;
    simdjson::dom::element object;
    if (parser.parse(simdjson::padded_string(ran.out)).get(object) != simdjson::SUCCESS) return said;
    EXPECT_EQ(int64_t(object["exit_status"]), ran.code);
    for (const simdjson::dom::element finding : simdjson::dom::array(object["findings"]))
      said.names.emplace_back(std::string_view(finding["name"]));
    return said;
  }
  WeirChild Relay(Environment settings = {}) const {
    settings.emplace("WEIR_DATA_DIR", data_dir_);
    return {"weir relay", {"--port", "0"}, settings};
  }

  TempDirectory directory_;
  const std::string data_dir_ = directory_ / "data";
  const uint16_t port_ = FreeServerPort();
};

TEST_F(DoctorCommandTest, WithoutARelayItLooksAtTheRestAndMakesNothing) {
  const Said said = Ask();
  EXPECT_LT(said.code, 3) << said.json;
  EXPECT_TRUE(said.Tells("none runs, as far as can be seen")) << said.json;
  EXPECT_TRUE(said.Tells("(not made yet)")) << said.json;
  EXPECT_TRUE(said.Tells("\"not_seen\": []")) << said.json;
  EXPECT_FALSE(std::filesystem::exists(data_dir_));
}

TEST_F(DoctorCommandTest, FindsTheRelayByTheLockOfItsDirectory) {
  WeirChild relay = Relay();
  const std::string address = relay.Address();
  ASSERT_FALSE(address.empty()) << relay.err();
  const Said said = Ask();
  EXPECT_LT(said.code, 3) << said.json;
  EXPECT_TRUE(said.Tells("http://" + address + ": relay, weir ")) << said.json;
  EXPECT_TRUE(said.Tells(", ready")) << said.json;
  EXPECT_TRUE(said.Tells("in use by process ")) << said.json;
  EXPECT_FALSE(HasName(said.names, "settings-differ")) << said.json;
  relay.Signal(SIGTERM);
  EXPECT_EQ(relay.Wait().code, 0);
}

TEST_F(DoctorCommandTest, JudgesTheSettingsOfTheEnvironmentOrThoseThatRun) {
  WeirChild relay = Relay({{"WEIR_DB_SYNC", "off"}});
  ASSERT_FALSE(relay.Address().empty()) << relay.err();
  const Said ours = Ask();
  EXPECT_TRUE(HasName(ours.names, "settings-differ")) << ours.json;
  EXPECT_TRUE(ours.Tells("another value of WEIR_DB_SYNC than")) << ours.json;
  EXPECT_FALSE(HasName(ours.names, "sync-off")) << ours.json;
  const Said theirs = Ask({"--as-running"});
  EXPECT_FALSE(HasName(theirs.names, "settings-differ")) << theirs.json;
  EXPECT_TRUE(HasName(theirs.names, "sync-off")) << theirs.json;
  EXPECT_FALSE(HasName(Ask({"--as-running", "--ignore", "sync-off"}).names, "sync-off"));
}

TEST_F(DoctorCommandTest, ASilentRelayIsBroken) {
  WeirChild relay = Relay();
  ASSERT_FALSE(relay.Address().empty()) << relay.err();
  relay.Signal(SIGSTOP);
  const Said said = Ask();
  EXPECT_EQ(said.code, 3) << said.json;
  ASSERT_FALSE(said.names.empty());
  EXPECT_EQ(said.names.front(), "instance-silent") << said.json;
}

TEST_F(DoctorCommandTest, JudgesTheCountersOfARelay) {
  WeirChild relay = Relay({{"WEIR_MAX_CONNECTIONS", "1"}});
  const std::string address = relay.Address();
  ASSERT_FALSE(address.empty()) << relay.err();
  const uint16_t port = PortOf(address);
  {
    const WebClient client(port);
    for (int times = 0; times < 10; ++times) EXPECT_THROW(WebClient{port}, std::exception) << "one connection too many";
  }
  // The client's place is free a moment later, and figures are at most a second old.
  EXPECT_TRUE(Eventually([&] { return HasName(Ask().names, "connections-refused"); }));
}

TEST_F(DoctorCommandTest, BesideAGateAloneItJudgesNoRelay) {
  WeirChild gate("weir gate", {"--port", std::to_string(port_)});
  ASSERT_FALSE(gate.Address().empty()) << gate.err();
  const Said said = Ask({}, {{"WEIR_LISTEN", "127.0.0.1"}, {"WEIR_RATE_LIMIT_ENABLED", "false"}});
  EXPECT_TRUE(said.Tells(": gate, weir ")) << said.json;
  EXPECT_FALSE(said.Tells("\"what\": \"database\"")) << said.json;
  EXPECT_FALSE(said.Tells("\"what\": \"disk\"")) << said.json;
  EXPECT_FALSE(HasName(said.names, "throttle-off")) << said.json;
}

TEST_F(DoctorCommandTest, TheStoreOfTheQuotasHasADiskToo) {
  WeirChild gate("weir gate", {"--port", std::to_string(port_)});
  ASSERT_FALSE(gate.Address().empty()) << gate.err();
  const Said said = Ask({}, {{"WEIR_QUOTA_STORE", "sqlite:" + (directory_ / "quota.db")}});
  EXPECT_TRUE(said.Tells("the quotas in " + directory_.path() + ": ")) << said.json;
  EXPECT_FALSE(std::filesystem::exists(directory_ / "quota.db"));
}

TEST_F(DoctorCommandTest, AsksTheInstanceThatIsNamed) {
  const Said nobody = Ask({"--url", "http://127.0.0.1:" + std::to_string(port_)});
  EXPECT_EQ(nobody.code, 3);
  EXPECT_EQ(nobody.names.front(), "instance-silent") << nobody.json;
  WeirChild gate("weir gate", {"--port", std::to_string(port_)});
  ASSERT_FALSE(gate.Address().empty()) << gate.err();
  EXPECT_TRUE(Ask({"--url", "http://127.0.0.1:" + std::to_string(port_)}).Tells(": gate, weir "));
}

// The relay speaks TLS, of which a shell without its settings knows nothing, and its lock is in another directory.
TEST_F(DoctorCommandTest, ARelayThatSpeaksTlsIsNoStranger) {
  MakeCertificates(directory_.path());
  WeirChild relay("weir relay", {"--port", std::to_string(port_)},
                  {{"WEIR_DATA_DIR", directory_ / "other"},
                   {"WEIR_TLS_CERT", directory_ / "server.crt"},
                   {"WEIR_TLS_KEY", directory_ / "server.key"}});
  ASSERT_FALSE(relay.Address().empty()) << relay.err();
  const Said said = Ask();
  EXPECT_FALSE(HasName(said.names, "port-taken")) << said.json;
  EXPECT_TRUE(said.Tells("https://127.0.0.1:" + std::to_string(port_) + ": relay, weir ")) << said.json;
  const Said named = Ask({"--url", "https://127.0.0.1:" + std::to_string(port_)});
  EXPECT_FALSE(HasName(named.names, "instance-silent")) << "of this machine no certificate is asked for\n"
                                                        << named.json;
}

TEST_F(DoctorCommandTest, ARelayThatEndedIsMissed) {
  {
    WeirChild relay = Relay();
    ASSERT_FALSE(relay.Address().empty()) << relay.err();
    relay.Signal(SIGTERM);
    EXPECT_EQ(relay.Wait().code, 0);
  }
  const Said said = Ask();
  EXPECT_TRUE(HasName(said.names, "relay-down")) << said.json;
}

// A service may be set up by relative paths, and by flags.
TEST_F(DoctorCommandTest, JudgesTheFlagsThatTheRelayWasStartedWith) {
  WeirChild relay("weir relay", {"--port", "0", "--listen=0.0.0.0", "--data-dir", data_dir_});
  ASSERT_FALSE(relay.Address().empty()) << relay.err();
  EXPECT_TRUE(HasName(Ask({"--as-running"}).names, "relay-url-missing"));
}

// The port is taken by a program that is no weir.
TEST_F(DoctorCommandTest, ReportsAPortTakenByAnotherProgram) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::acceptor other(io, {boost::asio::ip::make_address("127.0.0.1"), port_});
  std::thread answers([&] {
    for (int asked = 0; asked < 2; ++asked) {  // with TLS and without
      boost::asio::ip::tcp::socket socket = other.accept();
      boost::system::error_code ignored;
      boost::asio::write(
          socket, boost::asio::buffer(std::string("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")), ignored);
    }
  });
  const Said said = Ask();
  answers.join();
  EXPECT_EQ(said.code, 3);
  ASSERT_FALSE(said.names.empty());
  EXPECT_EQ(said.names.front(), "port-taken") << said.json;
}

TEST_F(DoctorCommandTest, ReportsAllWrongSettingsAtOnce) {
  WriteText(directory_ / "weir.yaml", "quota:\n  models:\n    m: {max_tpm: -1}\n");
  const Said said = Ask({}, {{"WEIR_IO_THREADS", "many"},
                             {"WEIR_MAX_ADDRES_MB", "3"},
                             {"WEIR_CONFIG", directory_ / "weir.yaml"},
                             {"WEIR_TLS_CERT", directory_ / "no.pem"},
                             {"WEIR_TLS_KEY", directory_ / "no.key"}});
  EXPECT_EQ(said.code, 3);
  for (const char* part : {"WEIR_IO_THREADS=many", "did you mean WEIR_MAX_ADDRESS_MB?"})
    EXPECT_TRUE(said.Tells(part)) << part << "\n" << said.json;
  const Said files = Ask({}, {{"WEIR_CONFIG", directory_ / "weir.yaml"},
                              {"WEIR_TLS_CERT", directory_ / "no.pem"},
                              {"WEIR_TLS_KEY", directory_ / "no.key"}});
  for (const char* part : {"weir.yaml:3:", "no.pem"}) EXPECT_TRUE(files.Tells(part)) << part << "\n" << files.json;
}

TEST_F(DoctorCommandTest, WrongArgumentsEndItWith64) {
  const struct {
    std::vector<std::string> arguments;
    const char* part;
  } cases[] = {{{"--jsno"}, "--jsno"},
               {{"--ignore", "sync-of"}, "did you mean sync-off?"},
               {{"--url", "ftp://x"}, "--url: "},
               {{"--as-running"}, "no relay on RocksDB runs on"}};
  for (const auto& c : cases) {
    const Said said = Ask(c.arguments);
    EXPECT_EQ(said.code, kDoctorNotAsked) << c.part;
    EXPECT_TRUE(Has(said.err, c.part)) << c.part << "\n" << said.err;
  }
}

TEST_F(DoctorCommandTest, HelpTellsTheExitStatus) {
  const Ran ran = WeirChild("weir doctor", {"--help"}).Wait();
  EXPECT_EQ(ran.code, 0);
  for (const char* part : {"--data-dir", "--url", "--as-running", "--ignore", "--json", "Exit status: 0"})
    EXPECT_TRUE(Has(ran.out, part)) << part;
}

// A user who may not look is told so, not that something is wrong.
TEST_F(DoctorCommandTest, NamesFilesThatThisUserMayNotRead) {
  namespace fs = std::filesystem;
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  fs::create_directories(data_dir_ + "/events");
  WriteText(directory_ / "key.pem", "secret");
  for (const std::string& hidden : {data_dir_, directory_ / "key.pem"}) fs::permissions(hidden, fs::perms::owner_all);
  fs::permissions(directory_.path(), fs::perms::owner_all | fs::perms::others_exec);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(1);
    const Result<Facts> facts = Gather({.environment = {{"WEIR_DATA_DIR", data_dir_},
                                                        {"WEIR_PORT", std::to_string(port_)},
                                                        {"WEIR_TLS_CERT", directory_ / "key.pem"},
                                                        {"WEIR_TLS_KEY", directory_ / "key.pem"}}});
    const auto hinted = [](const std::string& unseen) {
      return unseen.ends_with("Permission denied; run this as the user of the relay, or as root");
    };
    if (!facts.ok() || facts.value().rocksdb || !facts.value().settings.wrong.empty()) _exit(2);
    _exit(std::ranges::count_if(facts.value().unseen, hinted) == 3 ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(DoctorCommandTest, AnEmergencyIsToldOfInTheLogAndIsBroken) {
  WeirChild relay = Relay({{"WEIR_RATE_LIMIT_TARGET_MEMORY_MB", "128"},
                           {"WEIR_DB_SYNC", "off"},
                           {"WEIR_RATE_LIMIT_EMERGENCY", "0.1"},
                           {"WEIR_RATE_LIMIT_RECOVERY", "0.05"}});
  const std::string address = relay.Address();
  ASSERT_FALSE(address.empty()) << relay.err();
  WebClient client(PortOf(address));
  const auto told = [&] {
    return relay.err().find("state, as an emergency of memory begins: NOT ready: emergency") != std::string::npos;
  };
  // Text that is written and then read back fills the memtables and the block cache beyond a tenth of the target.
  for (int64_t sent = 0; sent < 500 && !told(); ++sent) {
    client.Send(R"(["EVENT",)" + Signer(1).SignedEvent(sent + 1, 1, "[]", std::string(50'000, 'x')) + "]");
    ASSERT_TRUE(client.Read()) << relay.err();
  }
  client.Send(R"(["REQ","all",{"kinds":[1]}])");
  while (client.Read().value_or("").starts_with(R"(["EVENT")")) continue;
  EXPECT_TRUE(Eventually(told)) << relay.err();
  EXPECT_TRUE(Has(relay.err(), "\n  memory       ")) << relay.err();
  const Said said = Ask({"--as-running"});
  EXPECT_EQ(said.code, 3);
  ASSERT_FALSE(said.names.empty());
  EXPECT_EQ(said.names.front(), "emergency") << said.json;
}

TEST_F(DoctorCommandTest, ARelayTellsHowItIsWhenItIsAsked) {
  WeirChild relay = Relay({{"WEIR_LOG_LEVEL", "info"}});
  ASSERT_FALSE(relay.Address().empty()) << relay.err();
  const auto pages = [&] {
    const std::string said = relay.err();
    size_t count = 0;
    for (size_t at = 0; (at = said.find("state, asked for by SIGUSR1: ready\n", at)) != said.npos; ++at) ++count;
    return count;
  };
  for (size_t times = 1; times <= 2; ++times) {
    relay.Signal(SIGUSR1);
    EXPECT_TRUE(Eventually([&] { return pages() == times; })) << relay.err();
  }
  for (const char* part : {"\n  interactive  open", "\n  RocksDB ", "\n  last failure none", "\n  parts        "})
    EXPECT_TRUE(Has(relay.err(), part)) << part << "\n" << relay.err();
  relay.Signal(SIGTERM);
  EXPECT_EQ(relay.Wait().code, 0);
}

// Inverts a byte in the midst of the newest write-ahead log.
void DamageLog(const std::string& events) {
  std::filesystem::path newest;
  for (const auto& file : std::filesystem::directory_iterator(events))
    if (file.path().extension() == ".log") newest = std::max(newest, file.path());
  const auto place = static_cast<std::streamoff>(std::filesystem::file_size(newest) / 3);
  std::fstream log(newest, std::ios::in | std::ios::out | std::ios::binary);
  log.seekg(place);
  const char byte = static_cast<char>(~log.get());
  log.seekp(place).put(byte);
}

TEST_F(DoctorCommandTest, ARelayThatHasLostEventsSaysSoWheneverItTellsHowItIs) {
  {
    WeirChild relay = Relay();
    const std::string address = relay.Address();
    ASSERT_FALSE(address.empty()) << relay.err();
    WebClient client(PortOf(address));
    for (int64_t n = 1; n <= 100; ++n) {
      client.Send(R"(["EVENT",)" + Signer(1).SignedEvent(n, 1, "[]", std::string(1000, 'x')) + "]");
      ASSERT_TRUE(client.Read()) << relay.err();
    }
    relay.Signal(SIGKILL);
    relay.Wait();
  }
  DamageLog(data_dir_ + "/events");
  WeirChild relay = Relay({{"WEIR_LOG_LEVEL", "info"}});
  const std::string address = relay.Address();
  ASSERT_FALSE(address.empty()) << relay.err();
  const std::string lost = "ready, but acknowledged events may be lost";
  EXPECT_TRUE(Has(HttpGet(PortOf(address), "/readyz").second, lost));
  relay.Signal(SIGUSR1);
  EXPECT_TRUE(Eventually([&] { return Has(relay.err(), "state, asked for by SIGUSR1: " + lost); })) << relay.err();
}

}  // namespace
}  // namespace weir
