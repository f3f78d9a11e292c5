// Package config reads, checks and writes deploy.yaml. Spec contains the keys as they were written, in either layout;
// Cluster contains the resolved values, with defaults filled in. The rules between them find all problems at once. It
// also has the template. docs/deploy-yaml.md describes the keys. Lists of machines are read in machines; a deploy.yaml
// is edited in draft.
//
// It may import run/event, bundle, and of output i18n, plaintext and spelling. Start with spec.go and keys_table.go, a
// field and a row for each key, then spec_resolve.go.
package config
