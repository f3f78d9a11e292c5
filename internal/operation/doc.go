// Package operation has all operations on clusters: it takes a typed request and returns a handle or a typed result.
// Its external needs are the interfaces in Deps. Packages beneath it implement them: store (the state directory), dial
// (SSH), staging (bundles); local wires the three. request has the requests, backup the file of a backup, present the
// results as documents, host the functions that front ends call on the control host.
//
// It knows no command line, no terminal and no language, reads no environment and keeps no state of the process:
// several operations run in one process. It may import phases, config, bundle, remote, run and output/redact, not cmd
// and ui; only present and host may import output/document, output/i18n and output/report. internal/testkit/rules
// enforces that. Start with deps.go, run.go and the request of a verb.
package operation
