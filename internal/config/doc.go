// Package config is deploy.yaml: Spec has what was said, in either layout; Cluster has what it means, with defaults
// filled in; the rules between them, which find all problems at once; and the template. docs/deploy-yaml.md
// describes the keys. Lists of machines are read in machines; a deploy.yaml is edited in draft.
//
// It may import run/event, bundle, and of output i18n, plaintext and spelling. Start with spec.go and keys_table.go, a
// field and a row for each key, then spec_resolve.go.
package config
