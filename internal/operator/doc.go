// Package operator holds no code: the operator is in its subpackages. Clusters are objects of a Kubernetes cluster
// there, and what has to be done to their machines is done by operations.
//
// Start with pool, which has the machines of clusters, and state, which keeps the files of a cluster in Secrets.
package operator
