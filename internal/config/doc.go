// Package config is deploy.yaml: its canonical type, loading of both layouts, defaults, validation with all problems at
// once, saving, and the template. docs/deploy-yaml.md describes the keys. Lists of machines are read in machines; a
// deploy.yaml is edited in draft.
//
// It may import run/event, bundle, and of output i18n, plaintext and spelling. Start with keys_table.go, the table from
// which the rest is made, and types.go.
package config
