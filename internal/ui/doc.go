// Package ui is the screen: the only one that knows Charm's libraries. It shows what the event log says and what
// deploy.yaml holds, and knows no node, no phase and no engine: what it needs of them main hands in, as
// operation/host/backend describes it. The interface line by line is lines; both show the preview of an installation
// (installpreview).
//
// App is the one tea.Model: it keeps the pages (internal/ui/frame) on a stack, draws what is around them and
// carries messages to them.
//
// It may import run, output, config, bundle and, of operation, host/backend and request. Begin with app.go, frame, and
// a page in pages.
package ui
