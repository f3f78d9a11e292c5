// Package testkit holds no code: what only tests use is in its subpackages. Those named after a package of the product
// have fakes of it and values for its tests; ptytest has pseudo-terminals; rules has the tests of rules that no single
// package can keep, such as which package may import which.
//
// It may import everything, and only tests may import it. Start with phasestest, the simulated nodes.
package testkit
