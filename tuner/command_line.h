// The command line of `kindred`.
#pragma once

namespace kindred {

// Parses and runs; returns the exit code. Wrong usage: a message on standard error and 2.
int RunCommandLine(int argc, char** argv);

}  // namespace kindred
