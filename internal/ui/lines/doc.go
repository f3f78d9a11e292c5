// Package lines is the interface line by line, for screen readers, serial lines and terminals that cannot be drawn on:
// the menu, the wizard and the view of a run, in whole lines with numbered choices. Nothing is coloured, drawn over or
// moved. Its wizard is the one of config/guide, as on the screen, and runs are processes of their own here too. Its
// reader, its writer and the functions that do the work are parameters.
//
// It may import operation/host/backend, operation/request, config, config/draft, config/guide, config/machines, bundle,
// run/event, run/state and, of output, document, i18n, plaintext and report.
package lines
