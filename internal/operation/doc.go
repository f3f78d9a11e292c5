// Package operation is all that can be done with clusters: a typed request goes in, a handle or a typed result
// comes out. What it needs of the outside world are the small interfaces of Deps; packages beneath it implement
// them: store (the state directory), dial (SSH), staging (bundles), and local wires the three.
//
// It knows no command line, no terminal and no language, reads no environment and keeps no state of the process:
// several operations run in one process. It may import engine, phases, journal and what they stand on, and nothing
// of cmd, ui, report or i18n; internal/testkit/rules holds that.
package operation
