#include "relay/commands/who_command.h"

#include <simdjson.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "config/command_line.h"
#include "config/settings.h"
#include "config/text/percent.h"
#include "config/text/readable.h"
#include "config/wire/http/http_connection.h"
#include "relay/nostr/npub.h"
#include "relay/operator/relay_configuration.h"
#include "relay/process/http_error_words.h"
#include "relay/watch/top/attachment.h"

namespace weir {
namespace {

constexpr std::chrono::milliseconds kAnswerPatience{10'000};

struct Standing {
  std::vector<std::string> explanation;
  bool is_on = false;  // the ladder holds strangers back
};

Result<Standing> ReadStanding(const std::string& body) {
  simdjson::dom::parser parser;
  const auto json = parser.parse(body);
  simdjson::dom::array sentences;
  std::string_view ladder;
  if (json["explanation"].get(sentences) != simdjson::SUCCESS || json["ladder"].get(ladder) != simdjson::SUCCESS)
    return Status::Error("the relay's answer is not one of `weir who`");
  Standing standing{.is_on = ladder == "on"};
  for (const simdjson::dom::element sentence : sentences) {
    std::string_view text;
    if (sentence.get(text) == simdjson::SUCCESS) standing.explanation.push_back(AsText(text));
  }
  return standing;
}

Result<Standing> Ask(const Attachment& relay, const std::string& key) {
  HttpCall call{.path = "/api/who?key=" + EncodePercent(key), .timeout = kAnswerPatience, .verify = !relay.is_own};
  if (!relay.token.empty()) call.headers.emplace_back("Authorization", "Bearer " + relay.token);
  const HttpAnswer answer = CallHttp(relay.url, call);
  if (!answer.ok()) return Status::Error(answer.problem);
  if (answer.status == 200) return ReadStanding(answer.body);
  const bool refused = answer.status == 401 || answer.status == 403;
  return Status::Error(AsText(ErrorWordsIn(answer.body)) + (refused ? " " + relay.advice : ""));
}

void Print(const std::string& key, const Standing& standing) {
  std::printf("%s: %s\n", key.c_str(), standing.explanation.empty() ? "" : standing.explanation.front().c_str());
  for (size_t i = 1; i < standing.explanation.size(); ++i) std::printf("  %s\n", standing.explanation[i].c_str());
}

}  // namespace

int WhoCommand(int argc, char** argv) {
  CommandLine line(argv[0],
                   "Asks the relay that runs for the standing of authors, and prints it with its reasons. Authors\n"
                   "below \"regular\" are held back first when the relay is under pressure.");
  std::vector<std::string> keys;
  AttachOptions attach;
  line.Add("key", &keys, "public keys, as npub or hexadecimal").Required().Check("KEY", [](const std::string& key) {
    const Result<PublicKey> parsed = ParsePublicKey(key);
    return parsed.ok() ? Status() : Status::Error(PrintableKey(key) + " " + parsed.status().message());
  });
  line.Add("--url", &attach.url, "the relay's address (default: the relay that uses the data directory)");
  line.Add("--token-file", &attach.token_file, "a file with the token (default: admin.token in the data directory)");
  line.AddSetting("--data-dir", "DATA_DIR", "the relay's data directory, instead of WEIR_DATA_DIR");
  line.SetFooter(
      "Examples:\n"
      "  weir who npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg\n"
      "  weir who --data-dir /var/lib/weir 7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e\n"
      "\n"
      "Exit status: 0 the relay has answered, 1 it has not, 2 wrong flags, keys or settings.");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  RelayConfiguration configuration;
  SettingTable table;
  table.AddSecret("ADMIN_TOKEN", &attach.admin_token, "shown to the relay that --url names");
  const Status loaded = LoadRelayConfiguration(table, ProcessEnvironment(), line.settings(), &configuration);
  if (!loaded.ok()) return line.Fail(loaded);
  const Result<Attachment> relay = FindAttachment(configuration, attach);
  if (!relay.ok()) return line.Fail(relay.status(), 1);
  bool is_on = true;
  for (const std::string& key : keys) {
    const Result<Standing> standing = Ask(relay.value(), key);
    if (!standing.ok()) return line.Fail(standing.status(), 1);
    Print(ToNpub(ParsePublicKey(key).value()), standing.value());
    is_on = standing.value().is_on;
  }
  if (!is_on) std::printf("The ladder observes and holds nobody back; WEIR_LADDER=on changes that.\n");
  return 0;
}

}  // namespace weir
