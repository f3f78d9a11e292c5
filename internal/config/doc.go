// Package config is deploy.yaml: its canonical type, loading of both layouts, defaults, validation with all problems at
// once, saving, and the template. What each key means is in docs/deploy-yaml.md. Lists of machines are read in
// machines; a deploy.yaml is edited in draft.
//
// It may import run/event, bundle, and output for the sentences of keys. Begin with keys_table.go, the table from which
// the rest is made, and types.go.
package config
