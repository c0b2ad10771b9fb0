// The report as people and programs read it: 80 columns, commands whole, no text of strangers that a terminal obeys.
#include "relay/doctor/report.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fixtures/has_text.h"
#include "tests/relay/doctor/healthy_facts.h"

namespace weir {
namespace {

Facts IllFacts() {
  Facts facts = HealthyFacts();
  facts.settings.wrong = {Status::Error("WEIR_PORT=x: not a whole number within 0..65535"),
                          Status::Error("weir.yaml:3:5: something else")};
  facts.host.clock_is_kept = false;
  facts.directories[0].path = "/srv/ein-verzeichnis-mit-einem-sehr-langen-namen-der-in-keine-zeile-passt/weir";
  facts.directories[0].free_bytes = 1;
  facts.unseen = {"the database of somebody else, which nobody may read but he himself: Permission denied"};
  return facts;
}

size_t Columns(const std::string& line) {
  return static_cast<size_t>(std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; }));
}

TEST(DoctorReport, FitsIntoEightyColumns) {
  const Facts facts = IllFacts();
  std::istringstream lines(ToText(Examine(facts), facts));
  for (std::string line; std::getline(lines, line);) {
    const std::string words = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    const bool one_word = words.find(' ') == words.npos;
    const bool command = line.starts_with("      ") && !line.starts_with("        ");
    EXPECT_TRUE(Columns(line) <= 80 || one_word || command) << line;
  }
}

TEST(DoctorReport, TellsTheWorstFirstAndWhatWasLookedAt) {
  const Facts facts = IllFacts();
  const std::string text = ToText(Examine(facts), facts);
  EXPECT_TRUE(
      text.starts_with("weir doctor: 2 broken, 1 piece of advice\n\nbroken: settings-wrong\n"
                       "  WEIR_PORT=x: not a whole number within 0..65535\n  weir.yaml:3:5: something else\n"))
      << text;
  for (const char* part :
       {"\nbroken: disk-full\n", "\nadvice: clock-not-kept\n", "\n      df -h /srv/", "\nsettings   wrong\n",
        "\nhost       4 processors", "\ndisk       the events in\n           /srv/ein", "\ndatabase   RocksDB in ",
        "process 1234 (weir relay)", "\ninstance   http://127.0.0.1:3334: relay, weir ",
        "\nnot seen   the database of somebody else"})
    EXPECT_TRUE(Has(text, part)) << part << "\n" << text;
}

TEST(DoctorReport, SaysThatThereIsNothingToChange) {
  const std::string text = ToText({}, HealthyFacts());
  EXPECT_TRUE(text.starts_with("weir doctor: nothing to change\n\nsettings ")) << text;
}

TEST(DoctorReport, EscapesTerminalCommandsInTextOfAnInstance) {
  Facts facts = HealthyFacts();
  facts.instances[0].ready = false;
  facts.instances[0].ready_text = "\x1b[2Jgone\xff";
  const std::string text = ToText(Examine(facts), facts);
  EXPECT_FALSE(Has(text, "\x1b"));
  EXPECT_FALSE(Has(ToJson(Examine(facts), facts), "\xff"));
  EXPECT_TRUE(Has(text, "\\x1b[2Jgone")) << text;
}

TEST(DoctorReport, IsAnObjectForPrograms) {
  const Facts facts = IllFacts();
  simdjson::dom::parser parser;
  const simdjson::dom::element object = parser.parse(simdjson::padded_string(ToJson(Examine(facts), facts)));
  EXPECT_EQ(std::string_view(object["verdict"]), "broken");
  EXPECT_EQ(int64_t(object["exit_status"]), 3);
  std::vector<std::string_view> names;
  for (const simdjson::dom::element finding : simdjson::dom::array(object["findings"])) {
    names.push_back(finding["name"]);
    for (const char* member : {"severity", "saw", "why", "act"})
      EXPECT_FALSE(std::string_view(finding[member]).empty()) << member;
  }
  EXPECT_EQ(names, (std::vector<std::string_view>{"settings-wrong", "disk-full", "clock-not-kept"}));
  EXPECT_EQ(std::string_view(object["findings"].at(1)["commands"].at(0)), "df -h " + facts.directories[0].path);
  EXPECT_EQ(simdjson::dom::array(object["not_seen"]).size(), 1);
  EXPECT_GE(simdjson::dom::array(object["looked_at"]).size(), 5);

  const simdjson::dom::element fine = parser.parse(simdjson::padded_string(ToJson({}, HealthyFacts())));
  EXPECT_EQ(std::string_view(fine["verdict"]), "fine");
  EXPECT_EQ(int64_t(fine["exit_status"]), 0);
}

}  // namespace
}  // namespace weir
