// The texts of `quorumctl --help` and of each verb's: what it does, then examples.

#pragma once

namespace quorum::client::quorumctl {

inline constexpr char kHelp[] = R"(Talks to a Quorum cluster: topics, appends, reads, quorums.

Examples:
  quorumctl topic create orders --partitions=3 --replicas=3
  quorumctl append orders:0 --key=k1 v1
  seq 1000 | quorumctl append orders:0 --batch=100
  quorumctl tail orders:0 --from=earliest --max=10
  quorumctl tail orders:0 --until-end -o json | jq -r '.value | @base64d'
  quorumctl quorum describe orders:0 -o json | jq .leaderId
  quorumctl status --watch
)";

inline constexpr char kExitCodesHelp[] =
    R"(Data goes to standard output, everything else to standard error.

Exit codes:
  0  done; for append: committed
  1  failed in another way
  2  wrong command line
  3  no such topic, partition or replica; nothing was changed
  4  no node could be reached and nothing was sent, or a read found no answer in time
  5  refused: the append or change was not done and never will be
  6  unknown: the append or change was perhaps done; read it back before repeating it
     (3 to 6 speak of the first record of an input that was not committed, not of those before)
 10  for status: a partition has no leader)";

inline constexpr char kTopicHelp[] = R"(Create, delete, list and describe topics.

Examples:
  quorumctl topic create orders --partitions=3
  quorumctl topic list
)";

inline constexpr char kTopicCreateHelp[] = R"(Create a topic and place its partitions.

Examples:
  quorumctl topic create orders --partitions=3 --replicas=3
)";

inline constexpr char kTopicDeleteHelp[] = R"(Delete a topic and all its records.

Examples:
  quorumctl topic delete orders
  quorumctl topic delete orders --id=17
)";

inline constexpr char kTopicListHelp[] = R"(List the topics.

Examples:
  quorumctl topic list
  quorumctl topic list --internal -o json | jq -r '.topics[].name'
)";

inline constexpr char kTopicDescribeHelp[] = R"(Describe a topic: partitions, leaders and replicas.

Examples:
  quorumctl topic describe orders
)";

inline constexpr char kAppendHelp[] = R"(Append records to a partition, and wait for the commit.

Examples:
  quorumctl append orders:0 v1 v2 v3
  quorumctl append orders:0 --key=k1 v1
  quorumctl append orders:0 --key=k1 --tombstone
  seq 1000 | quorumctl append orders:0 --batch=100
  quorumctl append orders:0 --expected-offset=17 v1
  quorumctl append orders:0 --producer=controller v1

Records come from the command line, as one batch that is committed as a whole or not at all, or
from standard input, a record a line, --batch lines at a time in one batch. Each batch is appended
once, however often it has to be sent; it is tried until --timeout. The first batch that is not
committed ends the input. With --producer, whoever appended under that name before is shut out.
The last line on standard error counts records: N committed, N refused, N unknown.
)";

inline constexpr char kTailHelp[] = R"(Read committed records, and wait for more.

Examples:
  quorumctl tail orders:0
  quorumctl tail orders:0 --from=latest
  quorumctl tail orders:0 --from=17 --max=1
  quorumctl tail orders:0 --until-end -o json
  quorumctl tail orders:0 --follow --print-epoch

It goes on through the loss of any node. Without --max and --until-end it follows the log
until Ctrl-C; --follow says so.
)";

inline constexpr char kOffsetsHelp[] = R"(Show where logs begin and end.

Examples:
  quorumctl offsets orders:0
  quorumctl offsets orders
)";

inline constexpr char kQuorumHelp[] = R"(Describe the quorums of partitions.

Examples:
  quorumctl quorum describe orders:0
)";

inline constexpr char kQuorumDescribeHelp[] = R"(Show leader, watermark, voters and observers.

Examples:
  quorumctl quorum describe orders
  quorumctl quorum describe orders:0
  quorumctl quorum describe __metadata:0 --stale-ok
)";

inline constexpr char kClusterHelp[] = R"(Describe the cluster.

Examples:
  quorumctl cluster describe
)";

inline constexpr char kClusterDescribeHelp[] = R"(Show the controller and the nodes.

Examples:
  quorumctl cluster describe
)";

inline constexpr char kElectHelp[] = R"(Ask a partition's leader to hand over.

Examples:
  quorumctl elect orders:0
  quorumctl elect orders:0 --to=2

Exit code 1 when another node than the one named leads in the end.
)";

inline constexpr char kStatusHelp[] = R"(Show how the partitions are, the worst first.

Examples:
  quorumctl status
  quorumctl status orders
  quorumctl status --watch
  quorumctl status --watch=10s -o json

A partition is leaderless, behind (a voter lacks more than 1000 records, was not heard of for ten
seconds, or not at all in the leader's epoch, which a question mark shows) or well. LAG is the most
that a voter lacks.
)";

inline constexpr char kCompletionHelp[] = R"(Print a script by which a shell completes these words.

Examples:
  source <(quorumctl completion bash)
  source <(quorumctl completion zsh)
)";

}  // namespace quorum::client::quorumctl
