// Package draft edits what becomes a deploy.yaml: lines of machines as people write them, what differs between two
// drafts, changes that are undone and done again, and what can be done about a finding; and what is found out for
// it about machines and bundles, as values. The wizard and the line interface use it; it knows neither. What is right
// is not decided here: that is internal/config's.
//
// It may import config, config/machines, bundle, run/event and output/i18n.
package draft
