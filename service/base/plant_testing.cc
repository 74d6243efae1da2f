#include "absl/strings/string_view.h"
#include "service/base/plant.h"

#ifndef QUORUM_PLANTS
#error "Only the testing flavour links this file."
#endif

namespace quorum::plants {
namespace {

Plant active = Plant::kNone;

struct NamedPlant {
  absl::string_view name;
  Plant plant;
};

constexpr NamedPlant kPlants[] = {
    {"M01", Plant::kM01}, {"M03", Plant::kM03}, {"M04", Plant::kM04}, {"M05", Plant::kM05},
    {"M06", Plant::kM06}, {"M07", Plant::kM07}, {"M09", Plant::kM09}, {"M10", Plant::kM10},
    {"M11", Plant::kM11}, {"M13", Plant::kM13}, {"M33", Plant::kM33}, {"M37", Plant::kM37},
    {"M38", Plant::kM38}, {"M39", Plant::kM39}, {"M40", Plant::kM40}, {"M41", Plant::kM41},
    {"M42", Plant::kM42}, {"M43", Plant::kM43}, {"M44", Plant::kM44}, {"M45", Plant::kM45},
    {"M46", Plant::kM46}, {"M47", Plant::kM47}, {"M48", Plant::kM48}, {"M50", Plant::kM50},
    {"M51", Plant::kM51}, {"M52", Plant::kM52},
};

}  // namespace

void SetPlant(Plant plant) { active = plant; }

Plant ParsePlant(absl::string_view name) {
  for (const NamedPlant& entry : kPlants) {
    if (entry.name == name) return entry.plant;
  }
  return Plant::kNone;
}

bool IsActive(Plant plant) { return active == plant; }

}  // namespace quorum::plants
