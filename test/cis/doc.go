// Command cis runs kube-bench, which checks a node against the CIS Kubernetes Benchmark, on every node of a cluster of
// the lab, each with the checks of what runs there, and prints a table. It takes the cluster whose administrator's
// kubeconfig is on n1, or installs one with the driver that DRIVER names. A check that fails and is not accepted, with
// a reason, makes it fail. Each driver has a record in test/cis/records; -table writes the records into
// docs/security.md.
package main
