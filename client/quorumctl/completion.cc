#include "client/quorumctl/completion.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace quorum::client::quorumctl {
namespace {

constexpr char kBash[] = R"(# bash completion: source <(quorumctl completion bash)
_quorumctl() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}"
  local path="" word words="" verbs="" options=""
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "${path} ${word}" in
      @PATHS@) path="${path} ${word}" ;;
    esac
  done
  case "${path}" in
@VERBS@  esac
  # Bash parts words at "=".
  if [[ "${previous}" == "=" ]]; then
    previous="${COMP_WORDS[COMP_CWORD - 2]}"
  elif [[ "${current}" == "=" ]]; then
    current=""
  fi
  case "${current}" in
    -*) words="${options}" ;;
    *) words="${verbs}" ;;
  esac
  case "${previous}" in
@CHOICES@  esac
  mapfile -t COMPREPLY < <(compgen -W "${words}" -- "${current}")
  if [[ "${COMPREPLY[*]}" == *= ]]; then compopt -o nospace 2>/dev/null; fi
  return 0
}
complete -F _quorumctl quorumctl
)";

constexpr char kZsh[] = R"(#compdef quorumctl
# zsh completion: source <(quorumctl completion zsh)
_quorumctl() {
  local path_so_far="" word
  local -a verbs options
  for word in "${(@)words[2,CURRENT-1]}"; do
    case "${path_so_far} ${word}" in
      @PATHS@) path_so_far="${path_so_far} ${word}" ;;
    esac
  done
  case "${path_so_far}" in
@VERBS@  esac
  case "${words[CURRENT-1]}" in
@CHOICES@  esac
  (( ${#verbs} )) && _describe -t verbs 'verb' verbs
  _describe -t options 'option' options -S ''
}
compdef _quorumctl quorumctl
)";

// Calls `visit` with each verb and the words that lead to it, each with a space before it.
void Visit(const CompletionVerb& verb, const std::string& path,
           const std::function<void(const CompletionVerb&, const std::string&)>& visit) {
  visit(verb, path);
  for (const CompletionVerb& child : verb.verbs) {
    Visit(child, absl::StrCat(path, " ", child.name), visit);
  }
}

// The paths of all verbs below the program, as alternatives of a case.
std::string Paths(const CompletionVerb& program) {
  std::vector<std::string> paths;
  Visit(program, "", [&paths](const CompletionVerb&, const std::string& path) {
    if (!path.empty()) paths.push_back(absl::StrCat("\"", path, "\""));
  });
  return absl::StrJoin(paths, " | ");
}

// A case for each option of the program that takes one of a few values: what `line` makes of them.
std::string Choices(const CompletionVerb& program,
                    const std::function<std::string(const std::vector<std::string>&)>& line) {
  std::string cases;
  for (const CompletionWord& option : program.options) {
    if (option.choices.empty()) continue;
    std::string name = option.text;
    if (name.back() == '=') name.pop_back();
    absl::StrAppend(&cases, "    ", name, ") ", line(option.choices), " ;;\n");
  }
  return cases;
}

// An entry of _describe, which parts word and help at the first colon, within single quotes.
std::string ZshEntry(const std::string& word, const std::string& help) {
  return absl::StrCat("'", word, ":", absl::StrReplaceAll(help, {{"'", "'\\''"}}), "'");
}

// The options of a verb, with those that stand after any verb.
std::vector<CompletionWord> OptionsOf(const CompletionVerb& program, const CompletionVerb& verb) {
  std::vector<CompletionWord> options = verb.options;
  for (const CompletionWord& option : program.options) {
    const bool known = std::any_of(options.begin(), options.end(), [&option](const auto& other) {
      return other.text == option.text;
    });
    if (!known) options.push_back(option);
  }
  return options;
}

}  // namespace

std::string BashCompletion(const CompletionVerb& program) {
  std::string cases;
  Visit(program, "", [&](const CompletionVerb& verb, const std::string& path) {
    std::vector<std::string> verbs;
    for (const CompletionVerb& child : verb.verbs) verbs.push_back(child.name);
    std::vector<std::string> options;
    for (const CompletionWord& option : OptionsOf(program, verb)) options.push_back(option.text);
    absl::StrAppend(&cases, "    \"", path, "\")\n      verbs=\"", absl::StrJoin(verbs, " "),
                    "\"\n      options=\"", absl::StrJoin(options, " "), "\"\n      ;;\n");
  });
  const auto choices = [](const std::vector<std::string>& values) {
    return absl::StrCat("words=\"", absl::StrJoin(values, " "), "\"");
  };
  return absl::StrReplaceAll(
      kBash,
      {{"@PATHS@", Paths(program)}, {"@VERBS@", cases}, {"@CHOICES@", Choices(program, choices)}});
}

std::string ZshCompletion(const CompletionVerb& program) {
  std::string verbs;
  Visit(program, "", [&](const CompletionVerb& verb, const std::string& path) {
    absl::StrAppend(&verbs, "    \"", path, "\")\n      verbs=(");
    for (const CompletionVerb& child : verb.verbs) {
      absl::StrAppend(&verbs, "\n        ", ZshEntry(child.name, child.help));
    }
    absl::StrAppend(&verbs, ")\n      options=(");
    for (const CompletionWord& option : OptionsOf(program, verb)) {
      absl::StrAppend(&verbs, "\n        ", ZshEntry(option.text, option.help));
    }
    absl::StrAppend(&verbs, ")\n      ;;\n");
  });
  const auto choices = [](const std::vector<std::string>& values) {
    return absl::StrCat("compadd -- ", absl::StrJoin(values, " "), "; return");
  };
  return absl::StrReplaceAll(
      kZsh,
      {{"@PATHS@", Paths(program)}, {"@VERBS@", verbs}, {"@CHOICES@", Choices(program, choices)}});
}

}  // namespace quorum::client::quorumctl
