// What Boost.Beast alone does with the service's traffic: reads a request, sends the same bytes
// each time. The measure that tests/bench/service/load.py puts beside `kindred serve`.
//
//   bare_server PORT FILE
//
// One thread, Beast's usual asynchronous loop with its own messages: the content of FILE, as JSON.
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

namespace {

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(net::ip::tcp::socket socket, const std::string& body)
      : stream_(std::move(socket)), body_(body) {}

  void Read() {
    request_ = {};
    http::async_read(stream_, buffer_, request_,
                     [self = shared_from_this()](error_code error, std::size_t) {
                       if (!error) self->Write();
                     });
  }

 private:
  void Write() {
    response_ = {};
    response_.version(request_.version());
    response_.keep_alive(request_.keep_alive());
    response_.set(http::field::content_type, "application/json");
    response_.body() = body_;
    response_.prepare_payload();
    http::async_write(stream_, response_,
                      [self = shared_from_this()](error_code error, std::size_t) {
                        if (!error && self->response_.keep_alive()) self->Read();
                      });
  }

  beast::tcp_stream stream_;
  const std::string& body_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  http::response<http::string_body> response_;
};

void Accept(net::ip::tcp::acceptor& acceptor, const std::string& body) {
  acceptor.async_accept([&](error_code error, net::ip::tcp::socket socket) {
    if (!error) {
      socket.set_option(net::ip::tcp::no_delay(true), error);
      std::make_shared<Session>(std::move(socket), body)->Read();
    }
    Accept(acceptor, body);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: bare_server PORT FILE\n";
    return 2;
  }
  std::ostringstream text;
  text << std::ifstream(argv[2], std::ios::binary).rdbuf();
  const std::string body = text.str();
  net::io_context context(1);
  net::ip::tcp::acceptor acceptor(
      context, {net::ip::address_v4::loopback(), static_cast<std::uint16_t>(std::stoi(argv[1]))});
  Accept(acceptor, body);
  std::cout << "ready" << std::endl;
  context.run();
}
