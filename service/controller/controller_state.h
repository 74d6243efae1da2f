// ControllerState: everything that one node's controller owns. Its work is done by free functions
// over it, one file per concern; NodeController (node_controller.h) is only the loop.
//
//   following.cc      reads the committed catalog, record by record
//   replicas.cc       births and burials of this node's replicas
//   liveness.cc       who is alive, as the leader of `__metadata` hears it
//   registration.cc   makes this process known to the cluster
//   changes.cc        on the leader of `__metadata`: creates and deletes topics, registers brokers,
//                     gives out producer ids
//   creations.cc      on the leader of `__metadata`: notes which partitions have committed their
//   voters
//
// Thread: the controller's thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/election_state.h"
#include "service/base/ids.h"
#include "service/base/mailbox.h"
#include "service/base/time.h"
#include "service/controller/catalog.h"
#include "service/controller/catalog_api.h"
#include "service/controller/catalog_views.h"
#include "service/controller/controller_link.h"
#include "service/shard/client_calls.h"
#include "service/shard/peer_transport.h"
#include "service/shard/shard_api.h"

namespace quorum::controller {

struct ControllerConfig {
  std::string cluster_id;
  ReplicaKey self;
  Incarnation incarnation;
  uint32_t lane_count = 16;
  // Where this node can be reached, best first.
  std::vector<NodeEndpoint> endpoints;
  std::string software_version;
  // A node that has fetched `__metadata` within this time is alive.
  Duration fetch_timeout = std::chrono::milliseconds(2000);
  // Pause between two tries of whatever failed.
  Duration retry = std::chrono::milliseconds(200);
  // How long a registration may take before it is tried again.
  Duration request_timeout = std::chrono::milliseconds(2000);
  // Changes of the catalog that wait. Beyond it they are refused.
  size_t changes_max = 1'000;
  size_t mailbox_max = 100'000;
  uint32_t partitions_max = 10'000;
  // Partitions that are "creating" and asked about in one round.
  size_t creations_asked_max = 1'000;
};

struct ControllerSeams {
  const Clock& clock;
  shard::ShardDirectory& shards;
  shard::PeerTransport& transport;
  ControllerLink& link;
};

struct ControllerState;
using Task = std::function<void(ControllerState&)>;

using ChangeRequest =
    std::variant<TopicCreation, TopicRemoval, BrokerRegistration, ProducerIdAllocation>;

// A change of the catalog that somebody waits for.
struct Change {
  ChangeRequest request;
  MonoTime deadline = kNever;
  ControllerDone done;
};

// The one change that is being made: its records are on their way into the log, or committed and
// not yet read back.
struct ChangeUnderWay {
  Change change;
  // Where its first record stands, once committed.
  std::optional<Offset> offset;
  // What will be answered then.
  TopicId topic;
  int64_t first_producer_id = 0;
};

enum class LocalLife { kOpening, kOpen, kBurying };

// What is known of a partition whose creation is watched.
struct CreationWatch {
  Epoch epoch;
  std::optional<ReplicaKey> leader;
  // Which of the assigned replicas is asked next.
  size_t next = 0;
  // The replica here was asked last; the others have their turn.
  bool asked_here = false;
  bool asking = false;
  bool committed = false;
};

struct ControllerState {
  ControllerState(const ControllerConfig& controller_config, const ControllerSeams& own_seams,
                  Mailbox<Task>* own_mailbox, CatalogViews* own_views)
      : config(controller_config), seams(own_seams), mailbox(*own_mailbox), views(*own_views) {}

  const ControllerConfig config;
  const ControllerSeams seams;
  Mailbox<Task>& mailbox;
  CatalogViews& views;
  MonoTime now;

  // --- following.cc ---
  Catalog catalog;
  bool reading = false;
  MonoTime read_at;
  shard::LeaderHint hint;
  std::optional<Offset> seen_high_watermark;
  std::optional<Epoch> seen_epoch;
  // The catalog has been read up to a watermark that a leader of this process life has named.
  bool caught_up = false;
  // A record could not be understood; this node acts on the catalog no more.
  bool failed = false;
  // This node leads `__metadata` in `lead_epoch` and has read everything committed before.
  bool leads = false;
  Epoch lead_epoch;

  // --- replicas.cc ---
  std::map<PartitionId, LocalLife> local;
  std::map<PartitionId, ElectionState> tombstones;
  // Births are first births only for partitions created at or above this one (stored at the last
  // start).
  Offset stored_position;
  Offset acted_position;
  Offset noted_position;
  size_t acts_in_flight = 0;
  bool act_again = true;
  bool introduced = false;

  // --- registration.cc ---
  bool registering = false;
  // By this process.
  bool asked_to_register = false;
  // When it asks although it has not caught up with the catalog.
  std::optional<MonoTime> register_unread_at;
  MonoTime register_at;
  // The last reason that was told.
  std::string registration_refusal;

  // --- changes.cc ---
  std::deque<Change> changes;
  std::optional<ChangeUnderWay> under_way;

  // --- liveness.cc ---
  std::set<NodeId> live;
  bool looking = false;
  MonoTime look_at;

  // --- creations.cc ---
  std::map<PartitionId, CreationWatch> creations;
  // The one that was asked about last.
  PartitionId creation_asked;
  MonoTime check_creations_at;
  bool marking = false;
};

// --- following.cc ---
void Follow(ControllerState& state);

// --- replicas.cc ---
// Every node has a replica of `__metadata`.
void OpenMetadataReplica(ControllerState& state);
void ActOnCatalog(ControllerState& state);

// --- registration.cc ---
void RegisterSelf(ControllerState& state);
// The catalog, as far as it was read, knows this very process.
bool IsRegistered(const ControllerState& state);

// --- changes.cc ---
void AddChange(ControllerState& state, Change change);
void RunChanges(ControllerState& state);
// This node leads `__metadata` no more.
void StopLeading(ControllerState& state);
MonoTime NextChangeDeadline(const ControllerState& state);

// --- liveness.cc ---
// Takes from the leader's description of `__metadata` who is alive. False when it is not one of
// this leadership.
bool CountLive(ControllerState& state, const shard::PartitionDescription& metadata);
void WatchLive(ControllerState& state);

// --- creations.cc ---
void WatchCreations(ControllerState& state);

// Posts `call` to the shard of `partition`. False when its mailbox is full.
bool PostTo(ControllerState& state, PartitionId partition, shard::ShardCall call);
// Runs `task` in the controller's next round; from any thread.
void PostOwn(Mailbox<Task>* mailbox, Task task);

}  // namespace quorum::controller
