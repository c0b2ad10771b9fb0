#include "config/completion.h"

#include <cstdio>
#include <map>
#include <ostream>
#include <vector>

#include "config/command_line.h"

namespace weir {
namespace {

constexpr char kBash[] = R"script(# Completion of weir in bash: weir itself says what may stand there.
_weir() {
  local choices choice
  mapfile -t choices < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=()
  for choice in "${choices[@]}"; do
    if [ "$choice" = / ]; then
      compopt -o filenames
      mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]#=}")
    else
      COMPREPLY+=("${choice%%$'\t'*}")
    fi
  done
}
complete -F _weir weir
)script";

constexpr char kZsh[] = R"script(#compdef weir
# Completion of weir in zsh: weir itself says what may stand there.
_weir() {
  local choice word files
  local -a answer choices
  answer=("${(@f)$("${words[1]}" --complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for choice in $answer; do
    if [[ $choice == "/" ]]; then
      files=yes
    else
      word=${choice%%$'\t'*}
      choices+=("${word//:/\\:}:${choice#*$'\t'}")
    fi
  done
  if (( $#choices )); then _describe weir choices; fi
  if [[ -n $files ]]; then compset -P '--*='; _files; fi
}
if [[ $funcstack[1] == _weir ]]; then _weir; else compdef _weir weir; fi
)script";

constexpr char kFish[] = R"script(# Completion of weir in fish: weir itself says what may stand there.
function __weir_choices
  set -l words (commandline -opc)
  set -l begun (commandline -ct)
  for choice in ($words[1] --complete $words[2..-1] "$begun" 2>/dev/null)
    if test "$choice" = /
      __fish_complete_path "$begun"
    else
      echo $choice
    end
  end
end
complete -c weir -f -a '(__weir_choices)'
)script";

const std::map<std::string, const char*>& Scripts() {
  static const std::map<std::string, const char*> kScripts = {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};
  return kScripts;
}

}  // namespace

void PrintChoice(std::string_view word, std::string_view meaning, std::string_view begun, std::ostream& out) {
  if (word.starts_with(begun)) out << word << '\t' << meaning << '\n';
}

int CompletionCommand(int argc, char** argv) {
  CommandLine line(
      argv[0], "Prints the script by which a shell completes weir's commands. The Debian package brings all of them.");
  std::string shell;
  std::vector<std::string> shells;
  for (const auto& [name, script] : Scripts()) shells.push_back(name);
  line.Add("SHELL", &shell, "which").OneOf(shells).Required();
  line.SetFooter(
      "Examples:\n"
      "  . <(weir completion bash)                                  in ~/.bashrc\n"
      "  . <(weir completion zsh)                                   in ~/.zshrc, behind compinit\n"
      "  weir completion fish >~/.config/fish/completions/weir.fish");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  std::fputs(Scripts().at(shell), stdout);
  return 0;
}

}  // namespace weir
