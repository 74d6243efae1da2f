#include "storage/memory/memory_image.h"

#include <algorithm>
#include <iterator>

namespace quorum::storage {
namespace {

class MemoryCursor : public Cursor {
 public:
  explicit MemoryCursor(const MemoryImage::Family* family) : family_(*family), at_(family->end()) {}

  bool Valid() const override { return at_ != family_.end(); }
  void Seek(absl::string_view key) override { at_ = family_.lower_bound(std::string(key)); }
  void SeekForPrev(absl::string_view key) override {
    at_ = family_.upper_bound(std::string(key));
    Prev();
  }
  void Next() override { ++at_; }
  void Prev() override { at_ = at_ == family_.begin() ? family_.end() : std::prev(at_); }
  absl::string_view key() const override { return at_->first; }
  absl::string_view value() const override { return at_->second; }
  absl::Status status() const override { return absl::OkStatus(); }

 private:
  const MemoryImage::Family& family_;
  MemoryImage::Family::const_iterator at_;
};

}  // namespace

std::unique_ptr<Cursor> MemoryImage::NewCursor(ColumnFamily family) const {
  return std::make_unique<MemoryCursor>(&families_[IndexOf(family)]);
}

absl::Status MemoryImage::Get(ColumnFamily family, absl::string_view key,
                              std::string* value) const {
  const Family& entries = families_[IndexOf(family)];
  const auto found = entries.find(std::string(key));
  if (found == entries.end()) return absl::NotFoundError("no such key");
  *value = found->second;
  return absl::OkStatus();
}

void MemoryImage::Put(ColumnFamily family, absl::string_view key, absl::string_view value) {
  families_[IndexOf(family)][std::string(key)] = std::string(value);
}

void MemoryImage::Delete(ColumnFamily family, absl::string_view key) {
  families_[IndexOf(family)].erase(std::string(key));
}

void MemoryImage::DeleteRange(ColumnFamily family, absl::string_view begin, absl::string_view end) {
  Family& entries = families_[IndexOf(family)];
  entries.erase(entries.lower_bound(std::string(begin)), entries.lower_bound(std::string(end)));
}

bool MemoryImage::FlipBit(ColumnFamily family, size_t position, size_t bit) {
  Family& entries = families_[IndexOf(family)];
  if (position >= entries.size()) return false;
  std::string& value = std::next(entries.begin(), static_cast<int64_t>(position))->second;
  if (bit >= 8 * value.size()) return false;
  value[bit / 8] =
      static_cast<char>(static_cast<unsigned char>(value[bit / 8]) ^ (1U << (bit % 8)));
  return true;
}

bool MemoryImage::empty() const {
  return std::all_of(families_.begin(), families_.end(),
                     [](const Family& family) { return family.empty(); });
}

}  // namespace quorum::storage
