// Package lines is the interface line by line, for screen readers, serial lines and terminals that cannot be drawn on:
// the menu, the wizard and the view of a run, in whole lines with numbered choices. Nothing is coloured, drawn over or
// moved. It edits the same draft as the screen's wizard, by the same steps, and runs are processes of their own here
// too. What it reads and writes is handed in, and so is all that it has done.
//
// It may import backend, draft, report, run/state, config, bundle, event, i18n and the requests of operations.
package lines
