// Package run holds no code: its subpackages are what a run of Eggo is made of, whatever it installs. event has what
// can happen, as values; engine runs a graph of steps; journal writes the log of a run and reads it; state reduces the
// log to what is shown; control is the socket through which a run is decided and stopped; exitcode and scratch are
// small.
//
// It imports nothing else of this module, and everything else may import it. Begin with event, then the plan of engine.
package run
