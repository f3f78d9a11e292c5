// Package cluster has the controller of Clusters. It compares a Cluster with its state and its machines each time, and
// makes one Operation that brings them closer; it keeps no memory of its own between two looks. What has to be done is
// decided by next (choose.go), which reads no object, so tests can ask it for every case.
//
// An Operation is named by a digest of everything that it was made of. The same attempt therefore is never made twice:
// after a failure that another try cannot help, the Cluster is Stalled until something of it changes.
package cluster
