// Package operation is all that can be done with clusters: a typed request goes in, a handle or a typed result
// comes out. What it needs of the outside world are the small interfaces of Deps; packages beneath it implement
// them: store (the state directory), dial (SSH), staging (bundles), and local wires the three. request has the
// requests, backup the file of a backup, present the results as documents, host what front ends call on the control
// host.
//
// It knows no command line, no terminal and no language, reads no environment and keeps no state of the process:
// several operations run in one process. It may import phases, run and what they stand on, and nothing of cmd, ui,
// output/report or output/i18n (present and host may); internal/testkit/rules holds that. Begin with deps.go, run.go
// and the request of a verb.
package operation
