// Everything that is acknowledged is on disk: tests the program itself, on a disk that forgets whatever was not synced.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <set>

#include "bench/measure/process.h"
#include "bench/relay/launch.h"
#include "relay/nostr/signature.h"
#include "tests/durability/crash_image.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/raw_client.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

std::string IdOf(const std::string& event) { return event.substr(event.find("\"id\":\"") + 6, 64); }

std::string Note(uint64_t n) {
  static const Signer kSigner(5);
  return kSigner.SignedEvent(static_cast<uint64_t>(std::time(nullptr)) - 10'000 + n, 1, "[]",
                             "note " + std::to_string(n));
}

std::string Weir(const std::string& words) { return std::string(WEIR_PROGRAM) + " " + words; }

std::set<std::string> StoredIn(const fs::path& data) {
  const CommandResult exported = RunCommand(Weir("export --quiet --data-dir " + data.string()));
  EXPECT_EQ(exported.code, 0) << exported.out;
  std::set<std::string> ids;
  std::istringstream lines(exported.out);
  for (std::string line; std::getline(lines, line);) ids.insert(IdOf(line));
  return ids;
}

void ExpectSound(const fs::path& data) {
  const CommandResult checked = RunCommand(Weir("check --data-dir " + data.string()));
  EXPECT_EQ(checked.code, 0) << checked.out;
}

class Durability : public testing::Test {
 public:
  void StartRelay(const std::string& sync) {
    const std::string command = "exec env " + power.environment() + "WEIR_DB_SYNC=" + sync +
                                " WEIR_PORT={port} WEIR_DATA_DIR={db} " + Weir("relay");
    auto launched = Launch(command, log.path(), power.data(), std::nullopt);
    ASSERT_TRUE(launched.ok()) << launched.status().message();
    relay = std::move(launched).value();
  }
  void Kill() { relay.process->Kill(); }
  // Publishes `count` notes without waiting for their OKs, then reads `answers` OKs.
  std::set<std::string> Publish(uint64_t first, uint64_t count, uint64_t answers) {
    RawClient client(relay.target.endpoint.port);
    EXPECT_TRUE(client.Handshake());
    for (uint64_t n = first; n < first + count; ++n) client.Text("[\"EVENT\"," + Note(n) + "]");
    std::set<std::string> acknowledged;
    while (acknowledged.size() < answers) {
      const auto answer = client.ReadText();
      if (!answer) break;
      EXPECT_NE(answer->find(",true,"), std::string::npos) << *answer;
      acknowledged.insert(answer->substr(7, 64));
    }
    EXPECT_EQ(acknowledged.size(), answers);
    return acknowledged;
  }

  PowerCut power;
  TempDirectory log;
  RunningRelay relay;
};

bool Includes(const std::set<std::string>& all, const std::set<std::string>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

TEST_F(Durability, BatchSyncKeepsAcknowledgedEventsOverAPowerCut) {
  std::set<std::string> acknowledged;
  for (uint64_t round = 0; round < 4; ++round) {
    StartRelay("batch");
    // The power fails in the midst of the others, as soon as some are acknowledged.
    acknowledged.merge(Publish(1000 * round, 200, 40 * round + 1));
    Kill();
    power.Crash();
    EXPECT_TRUE(Includes(StoredIn(power.data()), acknowledged)) << "round " << round;
    ExpectSound(power.data());
  }
}

TEST_F(Durability, IntervalSyncSoonPutsAcknowledgedEventsOnDisk) {
  StartRelay("interval");
  const std::set<std::string> acknowledged = Publish(0, 50, 50);
  EXPECT_TRUE(Eventually([&] { return Includes(StoredIn(power.Image()), acknowledged); }));
  Kill();
  power.Crash();
  EXPECT_TRUE(Includes(StoredIn(power.data()), acknowledged));
  ExpectSound(power.data());
}

TEST_F(Durability, WithoutSyncItIsSoundAfterACutAndWholeAfterAStop) {
  StartRelay("off");
  Publish(0, 50, 50);
  Kill();
  power.Crash();
  ExpectSound(power.data());
  StartRelay("off");
  const std::set<std::string> acknowledged = Publish(1000, 50, 50);
  ASSERT_TRUE(relay.process->Stop().ok());
  power.Crash();
  EXPECT_TRUE(Includes(StoredIn(power.data()), acknowledged));
  ExpectSound(power.data());
}

class ImportDurability : public testing::Test {
 protected:
  static constexpr uint64_t kLines = 4000;

  ImportDurability() : input_(directory_ / "events.jsonl") {
    std::ofstream lines(input_);
    for (uint64_t n = 0; n < kLines; ++n) {
      const std::string note = Note(n);
      if (n % 10 == 3) {
        lines << "not an event " << n << "\n";
        continue;
      }
      ids_.insert(IdOf(note));
      lines << note << "\n";
    }
  }
  std::string Import(const std::string& more = "") const {
    return "exec env " + power_.environment() +
           Weir("import --quiet --threads 1 --checkpoint-every 5 --data-dir " + power_.data().string() + " " + more +
                input_);
  }
  // Counts each line once: if the power failed before the first checkpoint, the import starts anew and rejects the
  // lines again.
  uint64_t RejectedLines() const {
    std::set<std::string> rejected;
    std::ifstream file(power_.data() / "import" / "rejects.tsv");
    for (std::string line; std::getline(file, line);)
      if (const size_t at = line.find("not an event "); at != line.npos) rejected.insert(line.substr(at));
    return rejected.size();
  }
  bool HasCheckpoint() const {
    std::error_code error;
    for (const auto& file : fs::directory_iterator(power_.data() / "import", error))
      if (file.path().extension() == ".json") return true;
    return false;
  }

  TempDirectory directory_;
  PowerCut power_;
  const std::string input_;
  std::set<std::string> ids_;
};

TEST_F(ImportDurability, GoesOnFromItsCheckpointAfterAPowerCut) {
  for (const int cuts_at : {200, 1500, 3000}) {
    const auto import =
        std::move(Process::Start(Import(cuts_at == 200 ? "" : "--resume "), directory_ / "log")).value();
    ASSERT_TRUE(Eventually([&] { return import->Ended() || RejectedLines() * 10 >= static_cast<uint64_t>(cuts_at); }));
    if (!import->Ended()) import->Kill();
    power_.Crash();
    ExpectSound(power_.data());
  }
  const CommandResult finished = RunCommand(Import(HasCheckpoint() ? "--resume " : ""));
  EXPECT_EQ(finished.code, 1) << "some lines were rejected: " << finished.out;
  power_.Crash();
  EXPECT_EQ(StoredIn(power_.data()), ids_);
  EXPECT_EQ(RejectedLines(), kLines / 10) << finished.out;
  ExpectSound(power_.data());
}

TEST_F(ImportDurability, ImportedEventsAreOnDiskInAnySyncModeOfTheRelay) {
  for (const std::string sync : {"interval", "off"}) {
    PowerCut power;
    const std::string command = "exec env " + power.environment() + "WEIR_DB_SYNC=" + sync +
                                " WEIR_DB_SYNC_INTERVAL_MS=60000 WEIR_PORT={port} WEIR_DATA_DIR={db} " + Weir("relay");
    auto relay = Launch(command, directory_.path(), power.data(), std::nullopt);
    ASSERT_TRUE(relay.ok()) << relay.status().message();
    const CommandResult imported =
        RunCommand(Weir("import --quiet --data-dir " + power.data().string() + " " + input_));
    EXPECT_EQ(imported.code, 1) << "some lines were rejected: " << imported.out;
    relay.value().process->Kill();
    power.Crash();
    EXPECT_EQ(StoredIn(power.data()), ids_) << sync;
    ExpectSound(power.data());
  }
}

TEST(GateDurability, TheStateOfAYamlStoreIsOnDiskWhenItIsSaidToBe) {
  PowerCut power;
  TempDirectory log;
  const std::string file = (power.data() / "quota.yaml").string();
  const std::string command = "exec env " + power.environment() + "WEIR_ADMIN_TOKEN=secret WEIR_PORT={port} " +
                              Weir("gate --store yaml:" + file);
  const auto port = FreePort();
  ASSERT_TRUE(port.ok());
  const auto gate =
      std::move(Process::Start(ExpandCommand(command, port.value(), log.path(), power.data()), log / "gate.log"))
          .value();
  const std::string body = R"({"max_rpm":777,"max_tpm":30000,"max_rpd":0})";
  ASSERT_TRUE(Eventually([&] {
    RawClient client(port.value());
    const std::string request =
        "PUT /v1/models/gpt-4o/quota HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    if (!client.connected() || !client.Send(request)) return false;
    const auto answer = client.ReadAnswer();
    return answer && answer->status == 200;
  })) << TextOf(log / "gate.log");
  EXPECT_TRUE(Eventually([&] { return TextOf(power.Image() / "quota.yaml").find("777") != std::string::npos; }))
      << "it is written every second";
  gate->Kill();
  power.Crash();
  const CommandResult models = RunCommand(Weir("quota models --store yaml:" + file));
  EXPECT_EQ(models.code, 0) << models.out;
  EXPECT_NE(models.out.find("777"), std::string::npos) << models.out;
}

}  // namespace
}  // namespace weir
