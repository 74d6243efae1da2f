#include "client/quorumctl/command_line.h"

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/bootstrap.h"
#include "client/quorumctl/arguments.h"
#include "client/quorumctl/completion.h"
#include "client/quorumctl/help.h"
#include "client/version.h"

namespace quorum::client::quorumctl {
namespace {

// What CLI11 fills in. Texts have been checked by validators before they are converted.
struct Words {
  std::string bootstrap = kBootstrapDefault;
  std::string timeout = "30s";
  std::string output = "table";
  std::string target;
  std::string from = "earliest";
  std::string key;
  std::string producer;
  std::string watch;
  std::vector<std::string> values;
  uint32_t partitions = 0;
  uint32_t replicas = 0;
  uint64_t topic_id = 0;
  uint32_t batch = 1;
  int64_t max_records = 0;
  int64_t expected_offset = 0;
  int32_t node = 0;
  bool internal = false;
  bool tombstone = false;
  bool until_end = false;
  bool follow = false;
  bool print_epoch = false;
  bool stale_ok = false;
  bool preferred = false;
};

// Examples stand first in the help, and only a verb's first line in lists.
class Formatter : public CLI::Formatter {
 public:
  std::string make_subcommand(const CLI::App* sub) const override {
    const std::string text = sub->get_description();
    return absl::StrCat("  ", sub->get_name(), std::string(12 - sub->get_name().size(), ' '),
                        text.substr(0, text.find('\n')), "\n");
  }
};

std::string MistakeText(const std::string& why) {
  return absl::StrCat("quorumctl: the command line is wrong\n  why: ", why,
                      "\n  do:  quorumctl --help, or quorumctl VERB --help, shows examples\n");
}

class Parser {
 public:
  Parser(std::ostream& out, std::ostream& err) : out_(out), err_(err) { Define(); }

  std::variant<CommandLine, ExitCode> Parse(const std::vector<std::string>& words);

  // The two that CLI11_PARSE calls, which keeps its exceptions.
  void parse(int argc, const char* const* argv) { app_.parse(argc, argv); }
  std::optional<ExitCode> exit(const CLI::ParseError& error) {
    return app_.exit(error, out_, err_) == 0 ? ExitCode::kDone : ExitCode::kUsage;
  }

 private:
  using Make = Command (*)(const Words&);

  void Define();
  void DefineTopicVerbs();
  void DefineLogVerbs();
  void DefineClusterVerbs();
  void DefineHelpers();
  // A verb below `parent`, which `make` turns into a command.
  CLI::App* AddVerb(CLI::App* parent, const std::string& name, const char* help, Make make);
  CLI::Option* AddName(CLI::App* verb, const std::string& help);
  CLI::Option* AddPartition(CLI::App* verb);
  CLI::Option* AddTarget(CLI::App* verb);
  std::optional<ExitCode> Run(const std::vector<std::string>& words);
  // Says what is wrong with the command line.
  ExitCode Mistake(const std::string& why) {
    err_ << MistakeText(why);
    return ExitCode::kUsage;
  }

  std::ostream& out_;
  std::ostream& err_;
  Words words_;
  CLI::App app_{kHelp, "quorumctl"};
  std::vector<std::pair<CLI::App*, Make>> verbs_;
};

template <typename T>
std::optional<T> Given(T value) {
  if (value == T{}) return std::nullopt;
  return value;
}

void Parser::Define() {
  app_.formatter(std::make_shared<Formatter>());
  app_.footer(kExitCodesHelp);
  app_.failure_message(
      [](const CLI::App*, const CLI::Error& error) { return MistakeText(error.what()); });
  app_.set_version_flag("--version", absl::StrCat("quorumctl ", kVersion), "Print the version");
  app_.require_subcommand(1);
  app_.add_option("--bootstrap", words_.bootstrap, "Nodes to begin with: HOST:PORT,...")
      ->envname("QUORUM_BOOTSTRAP")
      ->check(ChecksBootstrap())
      ->capture_default_str();
  app_.add_option("--timeout", words_.timeout, "How long to try: 30s, 500ms, 1m")
      ->check(Checks(ParseTimeout, "a time of 1ms to 24h, such as 30s"))
      ->capture_default_str();
  app_.add_option("-o,--output", words_.output, "table for people, json for scripts")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  DefineTopicVerbs();
  DefineLogVerbs();
  DefineClusterVerbs();
  DefineHelpers();
}

CLI::App* Parser::AddVerb(CLI::App* parent, const std::string& name, const char* help, Make make) {
  CLI::App* verb = parent->add_subcommand(name, help);
  verb->fallthrough();
  if (make != nullptr) {
    verbs_.emplace_back(verb, make);
  } else {
    verb->require_subcommand(1);
  }
  return verb;
}

CLI::Option* Parser::AddName(CLI::App* verb, const std::string& help) {
  return verb->add_option("TOPIC", words_.target, help)->required();
}

CLI::Option* Parser::AddPartition(CLI::App* verb) {
  return verb->add_option("TOPIC:PARTITION", words_.target, "The partition, such as orders:0")
      ->required()
      ->check(Checks(PartitionName::Parse, "TOPIC:PARTITION, such as orders:0"));
}

CLI::Option* Parser::AddTarget(CLI::App* verb) {
  return verb->add_option("TOPIC[:PARTITION]", words_.target, "A partition, or all of a topic")
      ->required()
      ->check(Checks(ParseTarget, "TOPIC or TOPIC:PARTITION, such as orders:0"));
}

void Parser::DefineTopicVerbs() {
  CLI::App* topic = AddVerb(&app_, "topic", kTopicHelp, nullptr);
  CLI::App* create = AddVerb(topic, "create", kTopicCreateHelp, [](const Words& words) -> Command {
    return TopicCreate{words.target, Given(words.partitions), Given(words.replicas)};
  });
  AddName(create, "The new topic's name");
  create->add_option("--partitions", words_.partitions, "How many partitions; 1 when left out")
      ->check(InRange(1, 10000));
  create
      ->add_option("--replicas", words_.replicas,
                   "Replicas of each partition; left out: 3, or as many as there are nodes")
      ->check(InRange(1, 1000));
  CLI::App* remove = AddVerb(topic, "delete", kTopicDeleteHelp, [](const Words& words) -> Command {
    return TopicDelete{words.target, Given(words.topic_id)};
  });
  AddName(remove, "The topic's name");
  remove->add_option("--id", words_.topic_id, "Delete it only if it has this topic id")
      ->check(InRange(uint64_t{1}, std::numeric_limits<uint64_t>::max()));
  CLI::App* list = AddVerb(topic, "list", kTopicListHelp,
                           [](const Words& words) -> Command { return TopicList{words.internal}; });
  list->add_flag("--internal", words_.internal, "List topics of the system too");
  CLI::App* describe =
      AddVerb(topic, "describe", kTopicDescribeHelp,
              [](const Words& words) -> Command { return TopicDescribe{words.target}; });
  AddName(describe, "The topic's name");
}

void Parser::DefineLogVerbs() {
  CLI::App* append = AddVerb(&app_, "append", kAppendHelp, [](const Words& words) -> Command {
    Append command;
    command.partition = *PartitionName::Parse(words.target);
    command.values = words.values;
    command.tombstone = words.tombstone;
    command.batch = words.batch;
    command.producer = words.producer;
    return command;
  });
  AddPartition(append);
  CLI::Option* values = append->add_option("VALUE,--value", words_.values,
                                           "Records, one batch; left out: standard input");
  CLI::Option* key = append->add_option("--key", words_.key, "The key of each record");
  append->add_flag("--tombstone", words_.tombstone, "One record with --key and without a value")
      ->needs(key)
      ->excludes(values);
  append->add_option("--producer", words_.producer, "Append as this one, and shut out others of it")
      ->check(CLI::Validator(
          [](std::string& name) {
            return name.empty() || name.size() > 255 ? "a name has 1 to 255 bytes" : "";
          },
          ""));
  append
      ->add_option("--expected-offset", words_.expected_offset,
                   "Append only if no record is at or above it; not with standard input")
      ->check(InRange(int64_t{0}, kOffsetLimit.value()));
  append->add_option("--batch", words_.batch, "Lines of standard input in a batch, at most")
      ->check(InRange(1, 10000))
      ->capture_default_str();
  CLI::App* tail = AddVerb(&app_, "tail", kTailHelp, [](const Words& words) -> Command {
    return Tail{*PartitionName::Parse(words.target), *ParseStart(words.from),
                Given(words.max_records), words.until_end, words.print_epoch};
  });
  AddPartition(tail);
  tail->add_option("--from", words_.from, "earliest, latest or an offset")
      ->check(Checks(ParseStart, "earliest, latest or an offset"))
      ->capture_default_str();
  tail->add_option("--max", words_.max_records, "End after this many records")
      ->check(InRange(int64_t{1}, std::numeric_limits<int64_t>::max()));
  CLI::Option* end =
      tail->add_flag("--until-end", words_.until_end, "End with what is committed now");
  tail->add_flag("--follow", words_.follow, "Wait for more: the default")->excludes(end);
  tail->add_flag("--print-epoch", words_.print_epoch, "Show each record's epoch");
  CLI::App* offsets = AddVerb(&app_, "offsets", kOffsetsHelp, [](const Words& words) -> Command {
    return Offsets{*ParseTarget(words.target)};
  });
  AddTarget(offsets);
}

void Parser::DefineClusterVerbs() {
  CLI::App* quorum = AddVerb(&app_, "quorum", kQuorumHelp, nullptr);
  CLI::App* describe =
      AddVerb(quorum, "describe", kQuorumDescribeHelp, [](const Words& words) -> Command {
        return QuorumDescribe{*ParseTarget(words.target), words.stale_ok};
      });
  AddTarget(describe);
  describe->add_flag("--stale-ok", words_.stale_ok, "Let any node answer from what it knows");
  CLI::App* cluster = AddVerb(&app_, "cluster", kClusterHelp, nullptr);
  AddVerb(cluster, "describe", kClusterDescribeHelp,
          [](const Words&) -> Command { return ClusterDescribe{}; });
  CLI::App* elect = AddVerb(&app_, "elect", kElectHelp, [](const Words& words) -> Command {
    Elect command{*PartitionName::Parse(words.target), std::nullopt};
    if (words.node != 0) command.node = NodeId(words.node);
    return command;
  });
  AddPartition(elect);
  CLI::Option* to = elect->add_option("--to", words_.node, "The voter that shall lead")
                        ->check(InRange(1, std::numeric_limits<int32_t>::max()));
  elect->add_flag("--preferred", words_.preferred, "The first of the assignment: the default")
      ->excludes(to);
}

void Parser::DefineHelpers() {
  CLI::App* status = AddVerb(&app_, "status", kStatusHelp, [](const Words& words) -> Command {
    Status command;
    command.topic = Given(words.target);
    if (!words.watch.empty()) command.watch = ParseTimeout(words.watch);
    return command;
  });
  status->add_option("TOPIC", words_.target, "Only this topic");
  status->add_option("--watch", words_.watch, "Again and again; every 2s, or as often as it says")
      ->expected(0, 1)
      ->default_str("2s")
      ->check(Checks(ParseTimeout, "a time of 1ms to 24h, such as 2s"));
  CLI::App* completion =
      AddVerb(&app_, "completion", kCompletionHelp,
              [](const Words& words) -> Command { return Completion{words.target}; });
  completion->add_option("SHELL", words_.target, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
}

// What a verb and those below it take.
CompletionVerb TreeOf(const CLI::App& app) {
  CompletionVerb verb;
  verb.name = app.get_name();
  verb.help = app.get_description().substr(0, app.get_description().find('\n'));
  for (const CLI::App* child : app.get_subcommands({})) verb.verbs.push_back(TreeOf(*child));
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty()) continue;
    CompletionWord word{absl::StrCat("--", option->get_lnames().front()),
                        option->get_description()};
    if (word.text == "--output") word.choices = {"table", "json"};
    if (option->get_expected_min() > 0) word.text += "=";
    verb.options.push_back(std::move(word));
  }
  return verb;
}

std::optional<ExitCode> Parser::Run(const std::vector<std::string>& words) {
  const std::vector<std::string> kept = Guarded(words);
  std::vector<const char*> arguments = {"quorumctl"};
  for (const std::string& word : kept) arguments.push_back(word.c_str());
  CLI11_PARSE(*this, static_cast<int>(arguments.size()), arguments.data());
  for (std::string& value : words_.values) Unguard(&value);
  for (std::string* text : {&words_.key, &words_.producer, &words_.target}) Unguard(text);
  return std::nullopt;
}

std::variant<CommandLine, ExitCode> Parser::Parse(const std::vector<std::string>& words) {
  const std::optional<ExitCode> ended = Run(words);
  if (ended.has_value()) return *ended;
  CommandLine line;
  line.bootstrap = *ParseBootstrap(words_.bootstrap);
  line.timeout = *ParseTimeout(words_.timeout);
  line.json = words_.output == "json";
  for (const auto& [verb, make] : verbs_) {
    if (!verb->parsed()) continue;
    line.command = make(words_);
    Append* append = std::get_if<Append>(&line.command);
    // An empty key is a key.
    if (append != nullptr && verb->count("--key") > 0) append->key = words_.key;
    if (append != nullptr && verb->count("--expected-offset") > 0) {
      append->expected_offset = Offset(words_.expected_offset);
      if (append->values.empty() && !append->tombstone) {
        return Mistake("--expected-offset needs records on the command line");
      }
    }
    Completion* completion = std::get_if<Completion>(&line.command);
    if (completion != nullptr) {
      const CompletionVerb tree = TreeOf(app_);
      completion->script = words_.target == "zsh" ? ZshCompletion(tree) : BashCompletion(tree);
    }
  }
  return line;
}

}  // namespace

std::string Target::ToString() const {
  return partition.has_value() ? absl::StrCat(topic, ":", *partition) : topic;
}

std::variant<CommandLine, ExitCode> ParseCommandLine(const std::vector<std::string>& words,
                                                     std::ostream& out, std::ostream& err) {
  return Parser(out, err).Parse(words);
}

}  // namespace quorum::client::quorumctl
