// CommandLine: declares the arguments of a program, parses them, and prints its --help.
//
//   CommandLine line("weir dig", "Digs a hole.");
//   line.Add("PLACE", &place, "where").Required();
//   line.Add("--depth", &depth, "metres").Within(1, 100).ShowDefault();
//   line.Add("--quiet", &quiet, "say nothing but errors");
//   if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
//
// To complete a command, a shell calls the program with "--complete" as the first argument. Parse then prints the words
// that the user may type in place of the last argument (config/completion.h).
//
// The library that parses (CLI11) takes ten seconds to compile, so only command_line.cc includes it.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "config/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;
class Option;
}  // namespace CLI

namespace weir {

// Calls `run` and returns its exit status. If `run` throws a std::exception, for example because there is no memory or
// no thread left, prints "NAME: …" on standard error and returns 1.
int RunGuarded(const std::string& name, const std::function<int()>& run);

// A copy refers to the same command line. The variables that are added must live until Parse returns.
class CommandLine {
 public:
  static constexpr int kWrong = 2;  // the exit status after wrong arguments or settings

  // An argument that was added. Each function adds a rule to the argument and returns the argument, so that calls can
  // be chained. Parse returns kWrong if the user breaks a rule.
  class Argument {
   public:
    Argument Required();
    Argument ShowDefault();  // --help shows the value that the variable has now
    // Refuses numbers below `least` or above `most`. Number is int, int64_t, uint64_t or double.
    template <typename Number>
    Argument Within(Number least, Number most);
    Argument OneOf(std::vector<std::string> words);
    // These two refuse a path that is not an existing file or an existing directory, respectively.
    Argument ExistingFile();
    Argument ExistingDirectory();
    // Refuses a text for which `check` returns an error. --help shows `form`, such as "NAME=COMMAND", as the value.
    Argument Check(std::string form, std::function<Status(const std::string& text)> check);
    // Refuses a command line that has both this argument and `other`, which must have been added before.
    Argument Excludes(const std::string& other);
    // Makes a list option take one word each time that the user writes it. Without this rule the option takes all words
    // up to the next option.
    Argument OneWordEach();
    // Splits each word at `delimiter` into several values of a list option.
    Argument SplitAt(char delimiter);

   private:
    friend CommandLine;
    Argument(CLI::App* app, CLI::Option* option) : app_(app), option_(option) {}

    CLI::App* app_;
    CLI::Option* option_;
  };

  CommandLine(const std::string& name, const std::string& meaning);
  // Sets the text at the end of --help, such as examples.
  void SetFooter(const std::string& text);

  // Adds an argument; Parse assigns its value to `*variable`. A name without dashes makes a positional argument, other
  // names make an option. A bool makes a flag, a vector of strings takes several words. The variable may also be a
  // string, a path, a number, an optional string or an optional number.
  template <typename Variable>
  Argument Add(const std::string& name, Variable* variable, const std::string& meaning);
  // Adds an option that overrides a setting of the environment: Parse adds the option's value to settings(), which the
  // caller passes to SettingTable::Load.
  void AddSetting(const std::string& flag, const std::string& setting, const std::string& meaning);
  // Returns an argument, which must have been added before.
  Argument Find(const std::string& name) const;

  // Adds a subcommand and returns its command line, to which its arguments are added. The user must then name one of
  // the subcommands.
  CommandLine AddSubcommand(const std::string& name, const std::string& meaning);
  // Allows the user to write options of this command line after the name of a subcommand, too.
  void LetOptionsFollow();
  // Sets a check that concerns several arguments. Parse calls `check` when all arguments are read and none is wrong,
  // and fails if `check` returns an error.
  void Check(std::function<Status()> check);

  // Returns nullopt if the program should go on. Otherwise Parse has printed the help, the completions or the error,
  // and returns the exit status: kWrong after an error, else 0. Without `out` and `err`, Parse prints on standard
  // output and standard error.
  std::optional<int> Parse(int argc, char** argv);
  std::optional<int> Parse(int argc, char** argv, std::ostream& out, std::ostream& err);

  std::string subcommand() const;  // the subcommand that the user named; empty if none
  const std::vector<SettingFlag>& settings() const { return *settings_; }

  // Prints "weir dig: …" on standard error and returns `code`.
  int Fail(const Status& why, int code = kWrong) const;
  // Writes the text to standard output, at once, and returns `code`. If the text cannot be written, returns Fail(…).
  int Print(std::string_view text, int code = 0, int failed = 1) const;

 private:
  explicit CommandLine(std::shared_ptr<CLI::App> app);
  void Complete(const std::vector<std::string>& words, std::ostream& out) const;

  std::shared_ptr<CLI::App> app_;
  std::shared_ptr<std::vector<SettingFlag>> settings_;
};

}  // namespace weir
