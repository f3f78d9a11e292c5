// Package draft edits what becomes a deploy.yaml: lines of machines as people write them, logins of single machines,
// and what is different from a file; and it has, as values, what is found out for a draft about machines and bundles.
// The wizard (config/guide) and the server use it. What is right is not decided here: that is internal/config's.
//
// It may import config, config/machines, bundle, run/event and output/i18n.
package draft
