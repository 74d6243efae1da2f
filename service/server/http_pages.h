// HttpPages: a few read-only pages over plain HTTP. GET and HEAD only.
//
// Thread: pages are made on the server's own two threads.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "storage/layout/store_error.h"

namespace quorum::server {

struct HttpAnswer {
  int status = 200;
  std::string text;
};

class HttpPages {
 public:
  // By path, "/metrics". Makes the page anew for each request; returns at once.
  using Pages = std::map<std::string, std::function<HttpAnswer()>>;

  // PORT_IN_USE when `address`, HOST:PORT, cannot be bound.
  static std::optional<storage::StoreError> Start(const std::string& address, Pages pages,
                                                  std::unique_ptr<HttpPages>* started);
  // Returns when no page is being made any more.
  ~HttpPages();
  HttpPages(const HttpPages&) = delete;
  HttpPages& operator=(const HttpPages&) = delete;

 private:
  struct Impl;
  explicit HttpPages(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace quorum::server
