// kindred serve: answers over HTTP.
#include <csignal>

#include <charconv>

#include <fmt/format.h>

#include "tuner/commands/commands.h"
#include "tuner/service/service.h"
#include "tuner/targets.h"

namespace kindred {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

void RequestStop(int signal_number) {
  stop_requested = 1;
  std::signal(signal_number, SIG_DFL);
}

// "127.0.0.1:8311", "[::1]:8311", "8311".
Result<void> ReadListen(const std::string& text, HttpServerOptions& http) {
  const std::size_t colon = text.rfind(':');
  std::string address = colon == std::string::npos ? "127.0.0.1" : text.substr(0, colon);
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  if (address.size() > 1 && address.front() == '[' && address.back() == ']')
    address = address.substr(1, address.size() - 2);
  const char* end = port.data() + port.size();
  const auto parsed = std::from_chars(port.data(), end, http.port);
  if (port.empty() || parsed.ec != std::errc{} || parsed.ptr != end)
    return BadInput(
        fmt::format("--listen {}: write ADDRESS:PORT, e.g. --listen 127.0.0.1:8311", text));
  if (!address.starts_with("127.") && address != "::1")
    return BadInput(fmt::format(
        "--listen {}: the service has no access control yet and listens on the loopback address "
        "only (127.0.0.1 or [::1]); put a proxy that knows your users in front of it",
        text));
  http.address = address;
  return {};
}

Result<void> Serve(const ServeCommand& command, bool& serving) {
  ServiceOptions options;
  KINDRED_CHECK(ReadListen(command.listen, options.http));
  options.log = command.log;
  options.cache = command.cache.empty() ? DefaultCacheDirectory() : command.cache;
  options.target = command.target;
  std::signal(SIGINT, RequestStop);
  std::signal(SIGTERM, RequestStop);
  std::signal(SIGPIPE, SIG_IGN);
  // The emulation takes the place of the driver for the whole process: not where others are served.
  const auto probe = [&](const std::string& name) -> Result<Target> {
    if (name == kEmulatedTarget)
      return BadInput(fmt::format("target '{}' is for the command line only", name));
    return ResolveTarget(name, options.cache);
  };
  return RunService(
      options, probe,
      [&](std::uint16_t port) {
        serving = true;
        fmt::print("kindred: serving {} on http://{}:{}/ ({})\n", command.log, options.http.address,
                   port, "openapi.json describes it");
        std::fflush(stdout);
      },
      [] { return stop_requested != 0; });
}

}  // namespace

int RunServe(const ServeCommand& command) {
  bool serving = false;
  auto done = Serve(command, serving);
  // What keeps it from starting is what it was given: a log, an address, a port.
  if (!done && !serving) done = BadInput(done.error().message);
  return done ? 0 : Fail(done.error());
}

}  // namespace kindred
