// Topics: the administrators. Each looks after one topic: it creates it, deletes it after a while,
// and creates it again under the same name, asking whatever node it believes to be the controller
// until it is told that the thing is done. What it is told is compared with what is committed: a
// change that was acknowledged stands where the answer says, one that was refused never happened,
// and an unknown one happened at most once.
//
// Thread: the simulator's only one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/controller/catalog.h"
#include "service/controller/catalog_api.h"
#include "tests/sim/sim_node.h"
#include "tests/sim/world.h"

namespace quorum::sim {

class Topics {
 public:
  // Of a topic that will never work again, because too many of its disks are lost.
  using IsLost = std::function<bool(TopicId)>;

  Topics(World* world, const std::vector<std::unique_ptr<SimNode>>* nodes, Prng prng);

  // Creates those that exist from the beginning.
  void Start();
  // Empty when all of them are there.
  std::string WhatIsMissing() const;
  // The others come within `length`, and deletions begin.
  void GoOn(Duration length);
  // No deletion from now on, but of what is lost; one more topic is created.
  void Settle(IsLost is_lost);
  // The process of the node ended with all its calls.
  void OnStopped(NodeId node);
  // The run is over: the catalog holds what it will ever hold.
  void Finish();

 private:
  enum class Wish { kExists, kIsGone };
  struct Topic {
    std::string name;
    uint32_t partitions = 1;
    bool late = false;
    Wish wish = Wish::kIsGone;
    // What it wishes for is acknowledged, or was found to be so.
    bool fulfilled = true;
    // Raised with each wish.
    uint64_t wishes = 0;
  };
  enum class Outcome { kPending, kDone, kRefused, kUnknown };
  // One call.
  struct Attempt {
    size_t topic = 0;
    Wish wish = Wish::kExists;
    NodeId node;
    // The end of the committed catalog when it was sent.
    Offset sent_at;
    Outcome outcome = Outcome::kPending;
  };

  Topic& Add(uint32_t partitions);
  void WishFor(size_t topic, Wish wish);
  void Try(size_t topic, uint64_t wishes, Duration delay);
  void Ask(size_t topic);
  void Send(uint64_t id, SimNode& node);
  SimNode& ChooseNode();
  void OnAnswer(uint64_t id, const controller::ControllerResult& result);
  // True when the wish is fulfilled by the answer.
  bool Judge(Attempt& attempt, const controller::ControllerResult& result);
  void CheckDone(const Attempt& attempt, const controller::ControllerResult& result);
  void CheckInTheWay(const Attempt& attempt, const controller::ControllerResult& result);
  void CheckUnknownTopic(const Attempt& attempt);
  const controller::Catalog& CatalogOf(const Attempt& attempt) const;
  void OnFulfilled(size_t topic);
  void DeleteLost();

  World& world_;
  const std::vector<std::unique_ptr<SimNode>>& nodes_;
  Prng prng_;
  bool going_on_ = false;
  bool settled_ = false;
  IsLost is_lost_;
  std::vector<Topic> topics_;
  uint64_t last_attempt_ = 0;
  std::map<uint64_t, Attempt> attempts_;
  std::optional<NodeId> controller_;
};

}  // namespace quorum::sim
