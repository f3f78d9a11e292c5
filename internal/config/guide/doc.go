// Package guide is the model of the guided installation: its steps with the fields that they ask for, their texts and
// rules, and the session of one user who goes through them. The screen (ui/wizard), the line mode (ui/lines) and the
// page of the server (server/page) draw it and collect input. It knows no terminal and no HTTP, and it reads no file
// and connects to nothing: what front ends find out is handed in.
//
// Rules for the values of deploy.yaml are in internal/config; edits of machines and texts are in internal/config/draft.
//
// It may import config, config/draft, config/machines, bundle, output/i18n, output/plaintext, output/redact,
// output/report and run/event. Begin with session.go and fields.go.
package guide
