#include "relay/commands/who_command.h"

#include <simdjson.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "config/command_line.h"
#include "config/text/json_string.h"
#include "config/text/readable.h"
#include "relay/nostr/npub.h"
#include "relay/running/running_relay.h"

namespace weir {
namespace {

struct Standing {
  std::vector<std::string> explanation;
  bool is_on = false;  // the ladder holds strangers back
};

Result<Standing> ReadStanding(const std::string& json_text) {
  simdjson::dom::parser parser;
  const auto json = parser.parse(json_text);
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

Result<Standing> Ask(const RunningRelay& relay, const std::string& key) {
  const Result<ManagementAnswer> answer = relay.Call("explainstanding", {QuotedJson(key)});
  if (!answer.ok()) return answer.status();
  return ReadStanding(answer.value().result);
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
  AddTo(line, attach);
  line.SetFooter(
      "Examples:\n"
      "  weir who npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg\n"
      "  weir who --data-dir /var/lib/weir 7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e\n"
      "\n"
      "Exit status: 0 the relay has answered, 1 it has not, 2 wrong flags, keys or settings.");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  RelayConfiguration configuration;
  if (const Status loaded = LoadSettings(line, &attach, &configuration); !loaded.ok()) return line.Fail(loaded);
  const Result<RunningRelay> relay = RunningRelay::Find(configuration, attach);
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
