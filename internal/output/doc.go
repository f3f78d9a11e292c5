// Package output holds no code: its subpackages make text of values, for people and for programs. i18n has the
// sentences in two languages; document has tables and lines as values; report prints runs, plain and as JSON; cli has
// what the commands share; redact removes secrets; spelling and plaintext read what people type.
//
// It may import run and, for the progress of a build, bundle/build. Start with i18n, then document.
package output
