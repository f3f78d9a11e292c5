// Command cis runs kube-bench, which checks a node against the CIS Kubernetes Benchmark, on every node of a cluster of
// the lab, each with the checks of what runs there, and prints a table. It takes the cluster whose administrator's
// kubeconfig is on n1, or installs one. A check that fails and is not accepted, with a reason, makes it fail.
package main
