// A small fixed computation whose time tells whether the machine is disturbed.
#pragma once

namespace kindred {

// Runs eight independent chains of multiply and add (about 20 us on a core of 2020) on the calling
// thread; nanoseconds taken.
double RunControlKernel();

// CLOCK_MONOTONIC in nanoseconds.
double NowNs();

// Time that the calling thread has run, in nanoseconds.
double ThreadRunNs();

}  // namespace kindred
