// Command conformance runs upstream's [Conformance] tests of the cluster's version of Kubernetes against a cluster of
// the lab. It takes the cluster whose administrator's kubeconfig is on n1, or installs one. What it needs is made from
// sources, so that neither the nodes nor the tests need the Internet. A record says what each test came to; a second
// call runs the rest.
package main
