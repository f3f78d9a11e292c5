// Package phases says what is done on which node: the plans of deploy, cleanup and the others as graphs of engine
// steps, composed of the steps of the areas beneath it: node (what a node is and what is known of it), plan (how a plan
// is built), payload (what a node gets), component (etcd, the control plane, kubelets, addons), preflight, upgrade,
// remove, takeover, status and pki.
//
// It may import run/engine, run/event, run/scratch, bundle, config, assets and, of remote, only shell: how a node is
// reached is not known here, a node is a node.Host. Start with deploy.go, the order of a deploy, then node and plan.
package phases
