// Package ui is the screen, and alone knows Charm's libraries. It shows the event log and deploy.yaml, and knows no
// node, no phase and no engine: the functions that it needs are those of operation/host/backend, and main passes them
// in. The interface line by line is lines; the model of the wizard, which both show, is config/guide.
//
// App is the one tea.Model: it keeps the pages (internal/ui/frame) on a stack, draws the frame around them and carries
// messages to them.
//
// It may import config, bundle, run/event, run/state, of output document, i18n, plaintext, redact and report, and of
// operation host/backend and request. Start with app.go, frame, and a page in pages.
package ui
