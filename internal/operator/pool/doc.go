// Package pool keeps the machines that clusters are made of: it probes them, gives them to clusters, and takes them
// back.
//
// Allocate is the decision which machines a cluster gets, as a pure function. The Binder is the one writer of
// MachineBindings: whatever is in one of them is bound, and a machine is in at most one. The Machines controller probes
// machines over SSH and writes what it found into their status. Infrastructures are checked by the Infrastructures
// controller.
//
// A machine that leaves a cluster stays in its MachineBinding, marked as leaving, until Cleaned or Quarantined was
// called for it. What calls them is the controller of Clusters.
package pool
