// Package draft edits what becomes a deploy.yaml: lines of machines as people write them, what differs between two
// drafts, changes that are undone and done again, and what can be done about a finding. Services is what that needs of
// the machine that it runs on. The wizard and the line interface use it; it knows neither. What is right is not decided
// here: that is internal/config's.
//
// It may import config, bundle, event, i18n and backend.
package draft
