#include "service/server/http_pages.h"

#include <civetweb.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/server/exit.h"

namespace quorum::server {
namespace {

// A page never waits, so two threads are enough for a scraper and a probe.
constexpr char kThreads[] = "2";
constexpr char kRequestTimeoutMs[] = "5000";

const char* Reason(int status) {
  if (status == 200) return "OK";
  if (status == 404) return "Not Found";
  if (status == 405) return "Method Not Allowed";
  return "Service Unavailable";
}

void Send(mg_connection* connection, const HttpAnswer& answer, bool head) {
  mg_printf(connection,
            "HTTP/1.1 %d %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            "Content-Length: %zu\r\nConnection: close\r\n\r\n",
            answer.status, Reason(answer.status), answer.text.size());
  if (!head) mg_write(connection, answer.text.data(), answer.text.size());
}

}  // namespace

struct HttpPages::Impl {
  Pages pages;
  mg_context* context = nullptr;

  static int Handle(mg_connection* connection, void* data) {
    const Impl& impl = *static_cast<Impl*>(data);
    const mg_request_info* request = mg_get_request_info(connection);
    const bool head = std::strcmp(request->request_method, "HEAD") == 0;
    const auto found = impl.pages.find(request->local_uri);
    HttpAnswer answer{404, "no such page\n"};
    if (!head && std::strcmp(request->request_method, "GET") != 0) {
      answer = {405, "GET only\n"};
    } else if (found != impl.pages.end()) {
      answer = found->second();
    }
    Send(connection, answer, head);
    return answer.status;
  }
};

HttpPages::HttpPages(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::optional<storage::StoreError> HttpPages::Start(const std::string& address, Pages pages,
                                                    std::unique_ptr<HttpPages>* started) {
  auto impl = std::make_unique<Impl>();
  impl->pages = std::move(pages);
  const char* options[] = {
      "listening_ports",    address.c_str(),   "num_threads", kThreads, "enable_keep_alive", "no",
      "request_timeout_ms", kRequestTimeoutMs, nullptr};
  mg_callbacks callbacks{};
  // What civetweb would print by itself is said by the error below.
  callbacks.log_message = [](const mg_connection*, const char*) { return 1; };
  impl->context = mg_start(&callbacks, impl.get(), options);
  if (impl->context == nullptr) {
    return storage::ConfigError(kPortInUse,
                                absl::StrCat("Cannot bind --http-address ", address, "."));
  }
  mg_set_request_handler(impl->context, "/", &Impl::Handle, impl.get());
  started->reset(new HttpPages(std::move(impl)));
  return std::nullopt;
}

HttpPages::~HttpPages() { mg_stop(impl_->context); }

}  // namespace quorum::server
