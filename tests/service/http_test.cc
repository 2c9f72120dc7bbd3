// The server's manners: what it answers to well-formed, broken, slow and oversized requests.
#include "tuner/service/http.h"

#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kindred {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Says what it was asked.
void Echo(HttpRequest request, const HttpReply& reply) {
  std::string text = request.method + " " + request.path;
  for (const auto& [name, value] : request.parameters) text += " " + name + "=" + value;
  text += " [" + request.body + "]";
  reply(TextResponse(200, "text/plain", text));
}

std::string Serve(std::string_view bytes, HttpServerOptions options = {}) {
  return ServeBytes(options, Echo, bytes);
}

TEST(Http, AnswersARequest) {
  const std::string got = Serve("GET /a%20b?x=1+2&y=%3d HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got, HasSubstr("Content-Length: 21\r\n"));
  EXPECT_THAT(got, HasSubstr("\r\n\r\nGET /a b x=1 2 y== []"));
}

TEST(Http, AnswersPipelinedRequestsInOrder) {
  const std::string got = Serve(
      "POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
      "GET /2 HTTP/1.1\r\nHost: h\r\n\r\n"
      "GET /3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
      "GET /4 HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::size_t first = got.find("POST /1 [abc]"), second = got.find("GET /2 []"),
                    third = got.find("GET /3 []");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_NE(third, std::string::npos);
  EXPECT_THAT(got, Not(HasSubstr("/4")));  // it asked for the connection to be closed
}

TEST(Http, SendsNoBodyToHead) {
  const std::string got = Serve("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(got, HasSubstr("Content-Length: 9\r\n"));
  EXPECT_THAT(got, ::testing::EndsWith("\r\n\r\n"));
}

TEST(Http, TakesChunkedBodiesAndContinues) {
  EXPECT_THAT(Serve("POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
              HasSubstr("[abcde]"));
  EXPECT_THAT(Serve("POST /c HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                    "Content-Length: 2\r\n\r\nhi"),
              AllOf(StartsWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"), HasSubstr("[hi]")));
}

TEST(Http, RefusesWhatIsBroken) {
  for (const char* request :
       {"NONSENSE\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /a%00b HTTP/1.1\r\nHost: h\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n"})
    EXPECT_THAT(Serve(request), StartsWith("HTTP/1.1 400 ")) << request;
  EXPECT_EQ(Serve("GET / HTTP/1.1\r\nHost:"), "");  // the sender went away
  EXPECT_EQ(Serve(""), "");
}

TEST(Http, RefusesWhatIsTooLarge) {
  HttpServerOptions options;
  options.body_limit = 100;
  EXPECT_THAT(
      Serve("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'x'),
            options),
      AllOf(StartsWith("HTTP/1.1 413 "), HasSubstr("larger than 100 bytes")));
  EXPECT_THAT(Serve("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" +
                        std::string(255, 'x') + "\r\n0\r\n\r\n",
                    options),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Serve("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(100000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
}

TEST(Http, StreamsEventsUntilTheyEnd) {
  const HttpHandler events = [](const HttpRequest&, const HttpReply& reply) {
    HttpResponse response;
    response.content_type = "text/event-stream";
    response.events = [count = 0]() mutable -> std::optional<std::string> {
      if (++count > 2) return std::nullopt;
      return fmt::format("data: {}\n\n", count);
    };
    reply(std::move(response));
  };
  const std::string got = ServeBytes({}, events, "GET /e HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(got, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(got, ::testing::EndsWith("\r\n\r\ndata: 1\n\ndata: 2\n\n"));
}

TEST(Http, TakesRepliesFromOtherThreadsAndStops) {
  HttpServerOptions options;
  options.port = 0;
  std::vector<std::thread> threads;
  auto server = HttpServer::Listen(options, [&](HttpRequest request, const HttpReply& reply) {
    threads.emplace_back([request = std::move(request), reply] { Echo(request, reply); });
  });
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_NE((*server)->port(), 0);
  HttpServerOptions taken;
  taken.port = (*server)->port();
  const auto second = HttpServer::Listen(taken, Echo);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another service runs there"));
  std::thread run([&] { (*server)->Run(); });
  (*server)->Stop();
  run.join();
  for (std::thread& thread : threads) thread.join();
}

TEST(PercentDecode, RefusesBrokenEscapes) {
  EXPECT_EQ(PercentDecode("a%2Fb"), "a/b");
  EXPECT_EQ(PercentDecode("%4"), std::nullopt);
  EXPECT_EQ(PercentDecode("%g0"), std::nullopt);
  EXPECT_EQ(PercentDecode("%00"), std::nullopt);
}

}  // namespace
}  // namespace kindred
