// Package i18n holds every sentence that a user reads, in English and Chinese. A sentence is named by a key; {name}
// holes are filled with the arguments of an event.Msg, and {name:one|many} is the first word when the argument is 1,
// else the second. Error codes are the same in both languages.
//
// The sentences stand in sentences/en.json and sentences/zh.json, sorted by key.
package i18n

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Lang is a language of the user interface.
type Lang string

// The languages.
const (
	English Lang = "en"
	Chinese Lang = "zh"
)

// FromEnv picks the language: EGGO_LANG, else LC_ALL, LC_MESSAGES, LANG as POSIX orders them; English unless it is a zh
// locale.
func FromEnv() Lang {
	for _, k := range []string{"EGGO_LANG", "LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := os.Getenv(k); v != "" {
			if strings.HasPrefix(strings.ToLower(v), "zh") {
				return Chinese
			}
			return English
		}
	}
	return English
}

// Printer renders messages in one language.
type Printer struct {
	lang      Lang
	sentences map[string]string
	// Command says an operation as a command line that can be copied. Set it before the printer is used.
	Command func(event.Call) string
}

// NewPrinter makes a printer for lang; an unknown language reads English.
func NewPrinter(lang Lang) *Printer {
	if lang != Chinese {
		lang = English
	}
	return &Printer{lang: lang, sentences: catalog(lang), Command: shortCommand}
}

// shortCommand is what is said of an operation where no front end says how it is called there.
func shortCommand(c event.Call) string {
	return strings.TrimSpace("eggo-tui " + event.Clean(c.Verb) + " " + event.Clean(c.Cluster))
}

// Lang is the printer's language.
func (p *Printer) Lang() Lang { return p.lang }

// Has says whether a sentence with that key exists.
func (p *Printer) Has(key string) bool { _, ok := p.sentences[key]; return ok }

// missing stands where an argument is missing. No sentence has it, so that tests find it on screens.
const missing = "(?)"

// Missing is what stands where an argument is missing, for tests to look for.
func Missing() string { return missing }

// Msg renders m. Arguments are cleaned of control characters. A key without a sentence shows as itself with its
// arguments, so that nothing is lost; an argument that is missing shows as "(?)". Tests keep both from happening.
func (p *Printer) Msg(m event.Msg) string {
	s, ok := p.sentences[m.Key]
	if !ok {
		s = event.Clean(m.Key)
		for _, k := range slices.Sorted(maps.Keys(m.Args)) {
			s += " " + event.Clean(m.Args[k])
		}
		return s
	}
	if !strings.Contains(s, "{") {
		return s
	}
	if m.Call != nil && m.Args["command"] == "" {
		m = m.With("command", p.Command(*m.Call))
	}
	return filled(numbered(s, m.Args), m.Args)
}

// Under renders the sentence that stands below the one of m, for what belongs to it, with the arguments of m; false:
// there is none.
func (p *Printer) Under(m event.Msg, suffix string) (string, bool) {
	m.Key += "." + suffix
	if !p.Has(m.Key) {
		return "", false
	}
	return p.Msg(m), true
}

// filled puts the arguments, cleaned, into their holes. What stands in an argument is never taken for a hole. An
// argument at the end that is empty leaves neither a blank, nor a colon, nor a second full stop.
func filled(s string, args map[string]string) string {
	b := make([]byte, 0, len(s)+32)
	for {
		open := strings.IndexByte(s, '{')
		if open < 0 {
			break
		}
		b = append(b, s[:open]...)
		s = s[open:]
		name, rest, ok := strings.Cut(s[1:], "}")
		v, known := args[name]
		switch {
		case ok && known:
			v = event.Clean(v)
			if b = append(b, v...); v == "" && (rest == "." || rest == "。") {
				b = bytes.TrimRight(b, " :：")
				v = string(b)
			}
			rest = unstopped(v, rest)
		case ok && isHole(name):
			b = append(b, missing...)
		default:
			b = append(b, '{')
			rest = s[1:]
		}
		s = rest
	}
	return string(append(b, s...))
}

// unstopped is what follows an argument, without its full stop where the argument has one.
func unstopped(v, rest string) string {
	if strings.HasPrefix(rest, "。") || rest == "." || strings.HasPrefix(rest, ". ") {
		if _, stop := cutStop(v); stop != "" {
			_, n := utf8.DecodeRuneInString(rest)
			return rest[n:]
		}
	}
	return rest
}

// cutStop cuts off what ends a sentence; "" if nothing does.
func cutStop(s string) (text, stop string) {
	last, n := utf8.DecodeLastRuneInString(s)
	if !strings.ContainsRune(".!?…。！？", last) || n == 0 {
		return s, ""
	}
	return s[:len(s)-n], s[len(s)-n:]
}

// isHole says whether a hole can have that name.
func isHole(name string) bool {
	for i, c := range name {
		if (c < 'a' || c > 'z') && (i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != ""
}

// numbered chooses between the words for one and for many.
func numbered(s string, args map[string]string) string {
	for from := 0; ; {
		bar := strings.IndexByte(s[from:], '|')
		if bar < 0 {
			return s
		}
		bar += from
		open, end := strings.LastIndexByte(s[:bar], '{'), strings.IndexByte(s[bar:], '}')
		name, one, ok := "", "", false
		if open >= 0 && end >= 0 {
			name, one, ok = strings.Cut(s[open+1:bar], ":")
		}
		if !ok || !isHole(name) {
			from = bar + 1
			continue
		}
		if args[name] != "1" {
			one = s[bar+1 : bar+end]
		}
		s = s[:open] + one + s[bar+end+1:]
		from = open + len(one)
	}
}

// Join puts two sentences one after the other: with a blank between them where the language has one.
func (p *Printer) Join(a, b string) string {
	if a == "" || b == "" || strings.HasSuffix(a, "。") {
		return a + b
	}
	return a + " " + b
}

// List puts words one after the other, as the language does.
func (p *Printer) List(words []string) string { return strings.Join(words, p.T("ui.list")) }

// T renders the sentence key with alternating argument names and values.
func (p *Printer) T(key string, kv ...string) string { return p.Msg(event.M(key, kv...)) }

// Fault renders a fault as its sentence (with who, what, why) and its advice, "" if there is none. Where the fault has
// a guess what was meant (its argument like), the sentence below its own that ends in like is taken, if there is one.
func (p *Printer) Fault(f *event.Fault) (text, next string) {
	m := p.said(f)
	text = p.Msg(m)
	if f.Args["like"] != "" {
		if own, ok := p.Under(m, "like"); ok {
			text = own
		}
	}
	if f.Node != "" && !strings.Contains(p.sentences[m.Key], "{node}") {
		text = f.Node + ": " + text
	}
	if f.Cause != "" && !strings.Contains(p.sentences[m.Key], "{cause}") {
		most, stop := cutStop(text)
		text = most + " (" + f.Cause + ")" + stop
	}
	next, _ = p.Under(m, "next")
	return text, next
}

// FaultIn is Fault where a place has words of its own for it, such as a form, where the line of a file means nothing.
// They stand below the fault's own key and get its arguments. Words without advice of their own have none.
func (p *Printer) FaultIn(place string, f *event.Fault) (text, next string) {
	text, next = p.Fault(f)
	m := p.said(f)
	if own, ok := p.Under(m, place); ok {
		text, next = own, ""
	}
	if own, ok := p.Under(m, place+".next"); ok {
		next = own
	}
	return text, next
}

// said is the message of a fault.
func (p *Printer) said(f *event.Fault) event.Msg {
	m := event.Msg{Key: "fault." + f.Code, Args: make(map[string]string, len(f.Args)+3)}
	maps.Copy(m.Args, f.Args)
	for k, v := range map[string]string{"node": f.Node, "step": f.Step, "cause": f.Cause} {
		if _, set := m.Args[k]; !set {
			m.Args[k] = v
		}
	}
	for i, c := range f.Calls {
		name := "command"
		if i > 0 {
			name += strconv.Itoa(i + 1)
		}
		m.Args[name] = p.Command(c)
	}
	return m
}
