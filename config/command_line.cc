#include "config/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

#include "config/completion.h"

namespace weir {

namespace {

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// Prints the option's possible values. CLI11 describes their kind as "TEXT:{json,text}" or "INT:INT in [1 - 9]".
void CompleteValue(const CLI::Option& option, const std::string& begun, const std::string& before, std::ostream& out) {
  const std::string kind = option.get_type_name();
  if (const size_t brace = kind.find('{'); brace != kind.npos) {
    for (const std::string& word : CLI::detail::split(kind.substr(brace + 1, kind.find('}') - brace - 1), ','))
      PrintChoice(before + word, "", before + begun, out);
  } else if (kind.starts_with("TEXT")) {
    out << kAnyFile << "\n";
  }
}

// Shows in --help the values of an option, as in "--threads 0..1024" or "--order oldest|newest", and its default.
class HelpFormatter final : public CLI::Formatter {
 public:
  HelpFormatter() {
    // CLI11 2.6 would re-wrap the texts, including the examples in them.
    [](auto& formatter) {
      if constexpr (requires { formatter.enable_footer_formatting(false); }) {
        formatter.enable_footer_formatting(false);
        formatter.enable_description_formatting(false);
      }
    }(*this);
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    // CLI11 2.6 begins the usage with an empty line instead.
    if (!usage.starts_with("Usage: "))
      usage = "Usage: " + usage.substr(std::min(usage.size(), usage.find_first_not_of('\n')));
    return usage;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return TakesValue(*option) ? " " + FormOf(*option) : "";
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = option->get_description();
    if (!option->get_default_str().empty()) text += " (default: " + option->get_default_str() + ")";
    for (const CLI::Option* other : option->get_excludes()) text += "; not with " + other->get_name();
    return text;
  }

 private:
  static std::string FormOf(const CLI::Option& option) {
    const std::string kind = option.get_type_name();
    std::string form =
        kind.substr(kind.rfind(':') + 1);  // "INT:INT in [1 - 9]", "TEXT:{json,text}", "TEXT:URL", "TEXT"
    if (const size_t least = form.find('['); least != form.npos) {
      form = form.substr(least + 1, form.size() - least - 2);
      if (const size_t dash = form.find(" - "); dash != form.npos) form.replace(dash, 3, "..");
    } else if (form.starts_with('{')) {
      form = form.substr(1, form.size() - 2);
      std::ranges::replace(form, ',', '|');
    }
    return option.get_positional() && form == "TEXT" ? "" : form;
  }
};

}  // namespace

using Argument = CommandLine::Argument;

Argument Argument::Required() { return {app_, option_->required()}; }
Argument Argument::ShowDefault() { return {app_, option_->capture_default_str()}; }

template <typename Number>
Argument Argument::Within(Number least, Number most) {
  return {app_, option_->check(CLI::Range(least, most))};
}

Argument Argument::OneOf(std::vector<std::string> words) {
  return {app_, option_->check(CLI::IsMember(std::move(words)))};
}
Argument Argument::ExistingFile() { return {app_, option_->check(CLI::ExistingFile)}; }
Argument Argument::ExistingDirectory() { return {app_, option_->check(CLI::ExistingDirectory)}; }

Argument Argument::Check(std::string form, std::function<Status(const std::string&)> check) {
  const auto problem = [check = std::move(check)](const std::string& text) { return check(text).message(); };
  return {app_, option_->check(CLI::Validator(problem, std::move(form)))};
}
Argument Argument::Excludes(const std::string& other) { return {app_, option_->excludes(app_->get_option(other))}; }
Argument Argument::OneWordEach() { return {app_, option_->allow_extra_args(false)}; }
Argument Argument::SplitAt(char delimiter) { return {app_, option_->delimiter(delimiter)}; }

CommandLine::CommandLine(const std::string& name, const std::string& meaning)
    : CommandLine(std::make_shared<CLI::App>(meaning, name)) {}

CommandLine::CommandLine(std::shared_ptr<CLI::App> app)
    : app_(std::move(app)), settings_(std::make_shared<std::vector<SettingFlag>>()) {
  app_->formatter(std::make_shared<HelpFormatter>());
  if (CLI::Option* help = app_->get_help_ptr()) help->description("print this and exit");
}

void CommandLine::SetFooter(const std::string& text) { app_->footer(text); }

template <typename Variable>
Argument CommandLine::Add(const std::string& name, Variable* variable, const std::string& meaning) {
  if constexpr (std::is_same_v<Variable, bool>) {
    return {app_.get(), app_->add_flag(name, *variable, meaning)};
  } else {
    return {app_.get(), app_->add_option(name, *variable, meaning)};
  }
}

void CommandLine::AddSetting(const std::string& flag, const std::string& setting, const std::string& meaning) {
  const auto take = [settings = settings_, flag, setting](const std::string& text) {
    settings->push_back({flag, setting, text});
  };
  app_->add_option_function<std::string>(flag, take, meaning);
}

Argument CommandLine::Find(const std::string& name) const { return {app_.get(), app_->get_option(name)}; }

CommandLine CommandLine::AddSubcommand(const std::string& name, const std::string& meaning) {
  app_->require_subcommand(1);
  return CommandLine(app_->get_subcommand_ptr(app_->add_subcommand(name, meaning)));
}

void CommandLine::LetOptionsFollow() { app_->fallthrough(); }

void CommandLine::Check(std::function<Status()> check) {
  app_->callback([check = std::move(check)] {
    if (const Status status = check(); !status.ok()) throw CLI::ValidationError(status.message());
  });
}

std::optional<int> CommandLine::Parse(int argc, char** argv) { return Parse(argc, argv, std::cout, std::cerr); }

void CommandLine::Complete(const std::vector<std::string>& words, std::ostream& out) const {
  const CLI::App* app = app_.get();
  const CLI::Option* waiting = nullptr;  // an option whose value comes next
  size_t positionals = 0;
  const std::string begun = words.empty() ? "" : words.back();
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "=") continue;  // bash splits --flag=value into three words
    if (waiting != nullptr) {
      waiting = nullptr;
    } else if (word.starts_with('-') && word != "-") {
      const CLI::Option* option = app->get_option_no_throw(word);
      if (option != nullptr && TakesValue(*option)) waiting = option;
    } else if (const auto named = app->get_subcommands([&](const CLI::App* a) { return a->check_name(word); });
               positionals == 0 && !named.empty()) {
      app = named.front();
    } else {
      ++positionals;
    }
  }
  if (waiting != nullptr) return CompleteValue(*waiting, begun == "=" ? "" : begun, "", out);
  if (begun.starts_with('-')) {
    const size_t equals = begun.find('=');
    const CLI::Option* of_value = equals == begun.npos ? nullptr : app->get_option_no_throw(begun.substr(0, equals));
    if (of_value != nullptr)
      return CompleteValue(*of_value, begun.substr(equals + 1), begun.substr(0, equals + 1), out);
    for (const CLI::Option* option : app->get_options())
      for (const std::string& name : option->get_lnames())
        PrintChoice("--" + name, FirstLine(option->get_description()), begun, out);
    return;
  }
  for (const CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; }))
    PrintChoice(command->get_name(), FirstLine(command->get_description()), begun, out);
  // The last positional argument may take several words.
  const auto taken = app->get_options([](const CLI::Option* option) { return option->get_positional(); });
  if (taken.empty()) return;
  const CLI::Option& next = *taken[std::min(positionals, taken.size() - 1)];
  if (positionals < taken.size() || next.get_items_expected_max() > 1) CompleteValue(next, begun, "", out);
}

std::optional<int> CommandLine::Parse(int argc, char** argv, std::ostream& out, std::ostream& err) {
  if (argc > 1 && argv[1] == kComplete) {
    Complete(std::vector<std::string>(argv + 2, argv + argc), out);
    return 0;
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app_->exit(e, out, err) == 0 ? 0 : kWrong;
  }
  return std::nullopt;
}

std::string CommandLine::subcommand() const {
  const std::vector<CLI::App*> named = app_->get_subcommands();
  return named.empty() ? "" : named.front()->get_name();
}

int CommandLine::Fail(const Status& why, int code) const {
  std::fprintf(stderr, "%s: %s\n", app_->get_name().c_str(), why.message().c_str());
  return code;
}

int CommandLine::Print(std::string_view text, int code, int failed) const {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? code : Fail(Status::Error("cannot write to standard output"), failed);
}

template Argument Argument::Within(int, int);
template Argument Argument::Within(int64_t, int64_t);
template Argument Argument::Within(uint64_t, uint64_t);
template Argument Argument::Within(double, double);

template Argument CommandLine::Add(const std::string&, bool*, const std::string&);
template Argument CommandLine::Add(const std::string&, int*, const std::string&);
template Argument CommandLine::Add(const std::string&, uint32_t*, const std::string&);
template Argument CommandLine::Add(const std::string&, uint64_t*, const std::string&);
template Argument CommandLine::Add(const std::string&, double*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::string*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::filesystem::path*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::vector<std::string>*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::optional<int>*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::optional<int64_t>*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::optional<uint64_t>*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::optional<double>*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::optional<std::string>*, const std::string&);

int RunGuarded(const std::string& name, const std::function<int()>& run) {
  std::string why;
  try {
    return run();
  } catch (const std::bad_alloc&) {
    why = "there is not enough memory; allow more (ulimit -v, MemoryMax= of the unit)";
  } catch (const std::system_error& e) {
    why = e.what();
    if (e.code() == std::errc::resource_unavailable_try_again)
      why = "no further thread can be made: " + why +
            "; allow more memory (ulimit -v) or more tasks (ulimit -u, TasksMax= of the unit)";
  } catch (const std::exception& e) {
    why = e.what();
  }
  std::fprintf(stderr, "%s: %s\n", name.c_str(), why.c_str());
  return 1;
}

}  // namespace weir
