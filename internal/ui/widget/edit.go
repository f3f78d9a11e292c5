package widget

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// EditKeys are the keys that every field has besides arrows and letters, as the help lists them: key, and what it does
// (of i18n).
func EditKeys() [][2]string {
	return [][2]string{
		{"Ctrl+A Ctrl+E", "ui.edit.ends"}, {"Alt+B Alt+F Ctrl+← Ctrl+→", "ui.edit.words"},
		{"Ctrl+W Alt+Backspace", "ui.edit.word-before"},
		{"Alt+D", "ui.edit.word-after"}, {"Ctrl+U Ctrl+K", "ui.edit.rest"},
	}
}

// edit takes a key that moves in a line or takes something out of it, as readline does. The text that is given is not
// changed.
func edit(text []rune, at int, m tea.KeyPressMsg) (after []rune, to int, ok bool) {
	del := func(from, to int) ([]rune, int, bool) {
		return append(text[:from:from], text[to:]...), from, true
	}
	switch m.String() {
	case "left":
		return text, max(0, at-1), true
	case "right":
		return text, min(len(text), at+1), true
	case "alt+b", "ctrl+left", "alt+left":
		return text, wordBefore(text, at), true
	case "alt+f", "ctrl+right", "alt+right":
		return text, wordAfter(text, at), true
	case "home", "ctrl+a":
		return text, 0, true
	case "end", "ctrl+e":
		return text, len(text), true
	case "backspace", "ctrl+h", "shift+backspace":
		return del(max(0, at-1), at)
	case "delete":
		return del(at, min(len(text), at+1))
	case "alt+backspace", "ctrl+backspace", "alt+ctrl+h", "ctrl+alt+h":
		return del(wordBefore(text, at), at)
	case "alt+d", "ctrl+delete", "alt+delete":
		return del(at, wordAfter(text, at))
	case "ctrl+w":
		from := at
		for from > 0 && text[from-1] == ' ' {
			from--
		}
		for from > 0 && text[from-1] != ' ' {
			from--
		}
		return del(from, at)
	case "ctrl+u":
		return del(0, at)
	case "ctrl+k":
		return del(at, len(text))
	}
	return text, at, false
}

// letter says whether the character is part of a word.
func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// wordBefore is where the word begins that ends before the character.
func wordBefore(text []rune, at int) int {
	for at > 0 && !letter(text[at-1]) {
		at--
	}
	for at > 0 && letter(text[at-1]) {
		at--
	}
	return at
}

// wordAfter is where the word ends that begins behind the character.
func wordAfter(text []rune, at int) int {
	for at < len(text) && !letter(text[at]) {
		at++
	}
	for at < len(text) && letter(text[at]) {
		at++
	}
	return at
}

// Breaks makes one kind of line break of all three: terminals send CR between pasted lines, files have LF or both.
func Breaks(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
