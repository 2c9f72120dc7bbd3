// Fuzz targets: functions that take any bytes and hold a promise of the program against them.
//
// A target returns for input that is refused with a message, and ends the process where the promise
// is broken (Require) or a sanitizer finds something. Under the preset `fuzz` each target is a
// libFuzzer program (scripts/fuzz); everywhere else fuzz_corpus_test replays tests/fuzz/corpus
// through it.
#pragma once

#include <string>
#include <string_view>

namespace kindred::fuzz {

void FuzzWorkloadText(std::string_view bytes);
void FuzzWorkloadJson(std::string_view bytes);
void FuzzLogLines(std::string_view bytes);
void FuzzLogFile(std::string_view bytes);
void FuzzOnnx(std::string_view bytes);
void FuzzHttp(std::string_view bytes);

// Ends the process with `what` unless `holds`.
void Require(bool holds, std::string_view what);

// A file of this process in memory, rewritten by each call: for libraries that read files.
std::string MemoryFile(std::string_view bytes);

}  // namespace kindred::fuzz
