// The server on Boost.Asio and Beast: the one file that includes them (they take most of a minute
// to compile).
//
// Everything runs on the one thread of Run(); replies from other threads are posted to it. Beast
// parses requests; responses are written by hand, head and body in one gathered write, because
// bodies are shared with the cache of answers and must not be copied. Deadlines are looked at by
// one timer for all connections, not by a timer each.
#include <array>
#include <thread>
#include <unordered_map>

#include <fmt/format.h>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "tuner/service/http.h"

namespace kindred {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Socket = net::generic::stream_protocol::socket;

constexpr std::chrono::milliseconds kSweep{250};
constexpr std::chrono::milliseconds kEventPeriod{500};
constexpr std::chrono::milliseconds kDrain{1000};  // how long a refused sender may go on sending
constexpr std::size_t kReadBuffer = 64 << 10;

std::string_view ToView(beast::string_view text) { return {text.data(), text.size()}; }

bool ParseTarget(std::string_view target, HttpRequest& request) {
  const std::size_t mark = target.find('?');
  auto path = PercentDecode(target.substr(0, mark));
  if (!path) return false;
  request.path = std::move(*path);
  if (mark == std::string_view::npos) return true;
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    std::string item(rest.substr(0, end));
    std::replace(item.begin(), item.end(), '+', ' ');
    const std::size_t equals = std::min(item.find('='), item.size());
    auto name = PercentDecode(std::string_view(item).substr(0, equals));
    auto value = PercentDecode(std::string_view(item).substr(std::min(equals + 1, item.size())));
    if (!name || !value) return false;
    if (!item.empty()) request.parameters.emplace_back(std::move(*name), std::move(*value));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return true;
}

class Connection;

// What connections share. A connection lives in the table until it is closed, and beyond that as
// long as one of its operations is under way; replies name it by its number.
struct Shared {
  const HttpServerOptions& options;
  const HttpHandler& handler;
  std::unordered_map<std::uint64_t, std::shared_ptr<Connection>> connections;
  std::uint64_t next = 0;
  bool stopping = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Shared& shared, Socket socket, std::uint64_t id)
      : shared_(shared), socket_(std::move(socket)), id_(id) {}

  static std::shared_ptr<Connection> Open(Shared& shared, Socket socket) {
    const std::uint64_t id = shared.next++;
    auto connection = std::make_shared<Connection>(shared, std::move(socket), id);
    shared.connections.emplace(id, connection);
    return connection;
  }

  void Start() { ReadHeader(); }

  void Answer(HttpResponse response) {
    if (state_ == State::kAnswering) Write(std::move(response));
  }

  // Closes what is past its deadline; an unfinished request gets 408 first.
  void Sweep(Clock::time_point now) {
    if (now < deadline_) return;
    if (state_ == State::kReading && Begun() && !timed_out_) {
      timed_out_ = true;
      deadline_ = now + shared_.options.write_timeout;
      socket_.cancel(ignored_);
      return;
    }
    if (state_ == State::kAnswering) return;  // the handler's time is the handler's
    Close();
  }

  void Refuse(int status, std::string_view message) {
    keep_alive_ = false;
    drain_ = true;
    Write(ErrorResponse(status, message));
  }

  // The server stops: idle connections close, others after their response.
  void Finish() {
    if (state_ == State::kStreaming || (state_ == State::kReading && !Begun())) Close();
  }

  void Close() {
    socket_.close(ignored_);
    state_ = State::kClosed;
    shared_.connections.erase(id_);
  }

 private:
  enum class State { kReading, kAnswering, kWriting, kStreaming, kDraining, kClosed };

  bool Begun() const { return buffer_.size() > 0 || (parser_ && parser_->got_some()); }

  void ReadHeader() {
    state_ = State::kReading;
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(shared_.options.header_limit));
    parser_->body_limit(shared_.options.body_limit);
    first_byte_ = buffer_.size() > 0;
    deadline_ = Clock::now() +
                (first_byte_ ? shared_.options.request_timeout : shared_.options.idle_timeout);
    ReadSome();
  }

  // Reads until the header is complete. The deadline of a request starts with its first byte.
  void ReadSome() {
    error_code code;
    if (buffer_.size() > 0) {
      parser_->eager(false);
      const std::size_t used = parser_->put(buffer_.data(), code);
      buffer_.consume(used);
      if (code && code != http::error::need_more) return Failed(code);
      if (parser_->is_header_done()) return HeaderDone();
    }
    socket_.async_read_some(buffer_.prepare(kReadBuffer), [self = shared_from_this()](
                                                              error_code failed, std::size_t size) {
      if (failed) return self->ReadFailed(failed);
      self->buffer_.commit(size);
      if (!self->first_byte_) {
        self->first_byte_ = true;
        self->deadline_ = Clock::now() + self->shared_.options.request_timeout;
      }
      if (self->buffer_.size() > self->shared_.options.header_limit + kReadBuffer)
        return self->Failed(http::error::header_limit);
      self->ReadSome();
    });
  }

  void HeaderDone() {
    if (parser_->is_done()) return Handle();
    if (beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
      static const std::string kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      net::async_write(socket_, net::buffer(kContinue),
                       [self = shared_from_this()](error_code failed, std::size_t) {
                         if (failed) return self->ReadFailed(failed);
                         self->ReadBody();
                       });
      return;
    }
    ReadBody();
  }

  void ReadBody() {
    http::async_read(socket_, buffer_, *parser_,
                     [self = shared_from_this()](error_code failed, std::size_t) {
                       if (failed) return self->ReadFailed(failed);
                       self->Handle();
                     });
  }

  void ReadFailed(error_code code) {
    if (timed_out_) return Refuse(408, "the request took too long to arrive");
    Failed(code);
  }

  void Failed(error_code code) {
    if (code == http::error::body_limit)
      return Refuse(413, fmt::format("the body is larger than {} bytes, the limit of this service",
                                     shared_.options.body_limit));
    if (code == http::error::header_limit || code == http::error::buffer_overflow)
      return Refuse(
          431, fmt::format("the header is larger than {} bytes", shared_.options.header_limit));
    static const auto& kHttp = http::make_error_code(http::error::bad_target).category();
    if (code.category() == kHttp && code != http::error::end_of_stream &&
        code != http::error::partial_message)
      return Refuse(400, "not a valid HTTP request: " + code.message());
    Close();
  }

  void Handle() {
    auto& message = parser_->get();
    keep_alive_ = message.keep_alive() && !shared_.stopping;
    head_only_ = message.method() == http::verb::head;
    version_ = message.version();
    HttpRequest request;
    request.method = head_only_ ? "GET" : std::string(ToView(message.method_string()));
    if (!ParseTarget(ToView(message.target()), request))
      return Refuse(400, "the request's target holds a broken percent escape");
    request.content_type = message[http::field::content_type];
    request.if_none_match = message[http::field::if_none_match];
    request.origin = message[http::field::origin];
    request.host = message[http::field::host];
    request.body = std::move(message.body());
    state_ = State::kAnswering;
    shared_.handler(
        std::move(request), [&shared = shared_, id = id_, executor = socket_.get_executor(),
                             thread = std::this_thread::get_id()](HttpResponse response) {
          const auto answer = [&shared, id](HttpResponse made) {
            const auto found = shared.connections.find(id);
            if (found == shared.connections.end()) return;  // gone meanwhile
            const auto self = found->second;
            self->Answer(std::move(made));
          };
          if (std::this_thread::get_id() == thread) return answer(std::move(response));
          net::post(executor,
                    [answer, made = std::move(response)]() mutable { answer(std::move(made)); });
        });
  }

  void Write(HttpResponse response) {
    body_ = response.body ? std::move(response.body) : kEmpty;
    head_.clear();
    auto out = std::back_inserter(head_);
    const http::status status = http::int_to_status(static_cast<unsigned>(response.status));
    fmt::format_to(out, "HTTP/1.1 {} {}\r\n", response.status,
                   ToView(http::obsolete_reason(status)));
    const bool bodiless = response.status == 304 || response.status == 204;
    if (!bodiless) fmt::format_to(out, "Content-Type: {}\r\n", response.content_type);
    for (const auto& [name, value] : response.headers)
      fmt::format_to(out, "{}: {}\r\n", name, value);
    if (response.events) {
      events_ = std::move(response.events);
      keep_alive_ = false;
      head_ += "Cache-Control: no-store\r\nConnection: close\r\n\r\n";
      body_ = kEmpty;
    } else {
      if (!bodiless) fmt::format_to(out, "Content-Length: {}\r\n", body_->size());
      if (!keep_alive_)
        head_ += "Connection: close\r\n";
      else if (version_ < 11)
        head_ += "Connection: keep-alive\r\n";
      head_ += "\r\n";
    }
    if (head_only_ || bodiless) body_ = kEmpty;
    state_ = State::kWriting;
    deadline_ = Clock::now() + shared_.options.write_timeout;
    const std::array<net::const_buffer, 2> buffers = {net::buffer(head_), net::buffer(*body_)};
    net::async_write(socket_, buffers, [self = shared_from_this()](error_code failed, std::size_t) {
      if (failed) return self->Close();
      self->Written();
    });
  }

  void Written() {
    body_ = kEmpty;
    if (events_ && !head_only_) return Stream();
    if (keep_alive_ && !shared_.stopping) return ReadHeader();
    if (!drain_) {
      socket_.shutdown(Socket::shutdown_both, ignored_);
      return Close();
    }
    // Closing with unread input would reset the connection before the sender has read our answer.
    state_ = State::kDraining;
    deadline_ = Clock::now() + kDrain;
    socket_.shutdown(Socket::shutdown_send, ignored_);
    Drain();
  }

  void Drain() {
    buffer_.clear();
    socket_.async_read_some(buffer_.prepare(kReadBuffer),
                            [self = shared_from_this()](error_code failed, std::size_t) {
                              if (failed) return self->Close();
                              self->Drain();
                            });
  }

  void Stream() {
    state_ = State::kStreaming;
    deadline_ = Clock::now() + shared_.options.write_timeout;
    auto text = events_();
    if (!text) {
      socket_.shutdown(Socket::shutdown_both, ignored_);
      return Close();
    }
    head_ = std::move(*text);
    net::async_write(socket_, net::buffer(head_),
                     [self = shared_from_this()](error_code failed, std::size_t) {
                       if (failed) return self->Close();
                       self->StreamLater();
                     });
  }

  void StreamLater() {
    if (!timer_) timer_.emplace(socket_.get_executor());
    deadline_ = Clock::now() + shared_.options.write_timeout;
    timer_->expires_after(kEventPeriod);
    timer_->async_wait([self = shared_from_this()](error_code failed) {
      if (!failed && self->state_ == State::kStreaming) self->Stream();
    });
  }

  inline static const std::shared_ptr<const std::string> kEmpty =
      std::make_shared<const std::string>();

  Shared& shared_;
  Socket socket_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::string head_;
  std::shared_ptr<const std::string> body_ = kEmpty;
  EventSource events_;
  std::optional<net::steady_timer> timer_;
  const std::uint64_t id_;
  Clock::time_point deadline_;
  State state_ = State::kReading;
  unsigned version_ = 11;
  bool keep_alive_ = true, head_only_ = false, first_byte_ = false, timed_out_ = false,
       drain_ = false;
  error_code ignored_;
};

class AsioServer final : public HttpServer {
 public:
  AsioServer(const HttpServerOptions& options, HttpHandler handler)
      : options_(options), handler_(std::move(handler)) {}

  Result<void> Listen() {
    error_code code;
    const auto address = net::ip::make_address(options_.address, code);
    if (code) return BadInput(fmt::format("'{}' is not an IP address", options_.address));
    const net::ip::tcp::endpoint endpoint(address, options_.port);
    const auto failed = [&](const char* what) {
      return Environment(fmt::format(
          "cannot {} {}:{}: {}{}", what, options_.address, options_.port, code.message(),
          code == net::error::address_in_use ? "; another service runs there, choose another port"
                                             : ""));
    };
    if (acceptor_.open(endpoint.protocol(), code)) return failed("open a socket for");
    acceptor_.set_option(net::socket_base::reuse_address(true), code);
    if (acceptor_.bind(endpoint, code)) return failed("listen on");
    if (acceptor_.listen(net::socket_base::max_listen_connections, code))
      return failed("listen on");
    port_ = acceptor_.local_endpoint().port();
    return {};
  }

  std::uint16_t port() const override { return port_; }

  void Run() override {
    Accept();
    Sweep();
    context_.run();
  }

  void Stop() override {
    net::post(context_, [this] {
      shared_.stopping = true;
      error_code ignored;
      acceptor_.close(ignored);
      const auto open = shared_.connections;
      for (const auto& [id, connection] : open) connection->Finish();
      if (shared_.connections.empty()) sweeper_.cancel();
    });
  }

 private:
  void Accept() {
    acceptor_.async_accept([this](error_code failed, net::ip::tcp::socket socket) {
      if (failed == net::error::operation_aborted || !acceptor_.is_open()) return;
      if (failed) {  // out of descriptors: wait for some to come back
        retry_.expires_after(kSweep);
        retry_.async_wait([this](error_code stopped) {
          if (!stopped) Accept();
        });
        return;
      }
      error_code ignored;
      socket.set_option(net::ip::tcp::no_delay(true), ignored);
      const auto connection = Connection::Open(shared_, Socket(std::move(socket)));
      if (shared_.connections.size() > options_.connections) {
        connection->Refuse(503, "too many connections");
      } else {
        connection->Start();
      }
      Accept();
    });
  }

  void Sweep() {
    sweeper_.expires_after(kSweep);
    sweeper_.async_wait([this](error_code) {
      const auto now = Clock::now();
      const auto open = shared_.connections;
      for (const auto& [id, connection] : open) connection->Sweep(now);
      if (!shared_.stopping || !shared_.connections.empty()) Sweep();
    });
  }

  const HttpServerOptions options_;
  const HttpHandler handler_;
  net::io_context context_{1};
  Shared shared_{options_, handler_, {}, 0, false};
  net::ip::tcp::acceptor acceptor_{context_};
  net::steady_timer sweeper_{context_}, retry_{context_};
  std::uint16_t port_ = 0;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Listen(const HttpServerOptions& options,
                                                       HttpHandler handler) {
  auto server = std::make_unique<AsioServer>(options, std::move(handler));
  KINDRED_CHECK(server->Listen());
  return std::unique_ptr<HttpServer>(std::move(server));
}

std::string ServeBytes(const HttpServerOptions& options, const HttpHandler& handler,
                       std::string_view bytes) {
  net::io_context context{1};
  net::local::stream_protocol::socket near(context), far(context);
  net::local::connect_pair(near, far);
  Shared shared{options, handler, {}, 0, false};
  Connection::Open(shared, Socket(std::move(far)))->Start();
  std::string got;
  const auto sent = std::make_shared<std::string>(bytes);
  net::async_write(near, net::buffer(*sent), [&near, sent](error_code, std::size_t) {
    error_code ignored;
    near.shutdown(Socket::shutdown_send, ignored);
  });
  net::async_read(near, net::dynamic_buffer(got), [](error_code, std::size_t) {});
  context.run();
  shared.connections.clear();
  return got;
}

}  // namespace kindred
