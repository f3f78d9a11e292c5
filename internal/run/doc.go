// Package run holds no code: its subpackages are the parts of a run of Eggo, whatever it installs. event has what can
// happen, as values; engine runs a graph of steps; journal writes the log of a run and reads it; state reduces the log
// to what front ends show; control is the socket through which a run is decided and stopped; exitcode and scratch are
// small.
//
// It imports no other package of this module. Most packages may import event; imports_test.go in internal/testkit/rules
// lists which may import the others. Start with event, then plan.go of engine.
package run
