// Package bench makes a bundle's workload, serves it on loopback, and times how eggo-bundle and other tools build it,
// beside what the machine itself can do: the same bytes fetched, hashed, written and compressed with nothing else
// around them. It reports; it asserts nothing.
//
// "make bench" runs it (cmd/bench); what it measured last is in docs/bench.md.
package bench
