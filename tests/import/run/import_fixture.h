// Makes events to import, and reads the database afterwards.
#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "import/export/encoder.h"
#include "relay/nostr/signature.h"
#include "tests/import/run/import_child.h"

namespace weir {

inline std::string Packed(Compression compression, const std::string& text) {
  std::string packed;
  Compressor::Make(compression)->Add(text, true, &packed);
  return packed;
}

class ImportFixture : public testing::Test {
 protected:
  std::string data_dir(const std::string& name = "data") const { return directory_ / name; }
  std::string file(const std::string& name) const { return directory_ / name; }
  std::string rejects(const std::string& name = "data") const { return data_dir(name) + "/import/rejects.tsv"; }

  Ran Import(std::vector<std::string> arguments, const std::string& name = "data") const {
    arguments.insert(arguments.begin(), {"--data-dir", data_dir(name)});
    return ImportChild(arguments).Wait();
  }
  // Does the same with this standard input.
  Ran ImportPiped(const std::string& input, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"--data-dir", data_dir()});
    ImportChild child(arguments, ImportChild::Input::kPipe);
    child.Write(input);  // fails if the import ends before it has read everything
    child.EndInput();
    return child.Wait();
  }
  // Returns the number of lines in the rejects file.
  size_t Rejected(const std::string& name = "data") const {
    return static_cast<size_t>(std::ranges::count(TextOf(rejects(name)), '\n'));
  }
  // Reads the summary of --summary=json.
  simdjson::dom::element Summary(const Ran& run) {
    EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 1) << run.out << run.err;
    simdjson::dom::element summary;
    EXPECT_EQ(parser_.parse(simdjson::padded_string(run.out)).get(summary), simdjson::SUCCESS) << run.out << run.err;
    return summary;
  }
  static uint64_t Count(simdjson::dom::element summary, const char* key) {
    uint64_t count = 0;
    EXPECT_EQ(summary[key].get(count), simdjson::SUCCESS) << key;
    return count;
  }
  bool HasCheckpoint(const std::string& name = "data") const { return !Checkpoint(name).empty(); }
  std::string Checkpoint(const std::string& name = "data") const {
    if (!std::filesystem::exists(data_dir(name) + "/import")) return "";
    for (const auto& entry : std::filesystem::directory_iterator(data_dir(name) + "/import"))
      if (entry.path().extension() == ".json") return TextOf(entry.path());
    return "";
  }

  // Returns the id and the JSON of all stored events.
  std::map<std::string, std::string> Stored(const std::string& name = "data") const {
    std::map<std::string, std::string> stored;
    const auto store = MustOpen(SmallStore(data_dir(name) + "/events"));
    if (!store) return stored;
    const Status status = store->ScanAll({}, store->Now().value(), [&](Serial, EventView event) {
      stored[ToHex(event.id())] = event.json();
      return true;
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return stored;
  }

  // Returns a signed note. Different numbers give different notes.
  std::string Note(uint64_t number, size_t content_bytes = 20) const {
    std::string content = std::to_string(number) + " ";
    while (content.size() < content_bytes) content += ToHex(Sha256(content));
    return signer_.SignedEvent(1'700'000'000 + number, 1, "[]", content);
  }
  std::string Notes(uint64_t first, uint64_t count, size_t content_bytes = 20) const {
    std::string lines;
    for (uint64_t i = 0; i < count; ++i) lines += Note(first + i, content_bytes) + "\n";
    return lines;
  }

  TempDirectory directory_;
  const Signer signer_{7};
  simdjson::dom::parser parser_;
};

}  // namespace weir
