package lines

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/plaintext"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// conversation is with whoever is at the other end of a line, with a screen reader or on a serial line: all that is
// said is whole lines, all that is typed is whole lines. Nothing is coloured, drawn over or moved, and no escape
// sequence leaves here. It is a ask.Asker.
type conversation struct {
	term Terminal
	p    *i18n.Printer // its language may change
	in   *bufio.Reader

	asks  sync.Mutex // one question at a time
	wait  chan heard // the read that is under way, nil if none is: it outlives the question that nobody answered
	gone  error      // what came instead of a line; there is no other
	cr    bool       // the last line ended with CR, of which LF may be the rest: pasted text has CR between its lines
	says  sync.Mutex
	doing string // what was last said to be waited for, and when
	since time.Time
}

// heard is a line, or what came instead of one.
type heard struct {
	text string
	long bool // too long to be meant
	err  error
}

// longestLine bounds a line, in bytes; what is longer counts for nothing, to its end.
const longestLine = 64 << 10

// errLeft ends what was begun: the person has typed q, or is gone.
var errLeft = errors.New("left")

func newConversation(t Terminal) *conversation {
	return &conversation{term: t, p: t.Printer, in: bufio.NewReader(t.In)}
}

func (p *conversation) t(key string, kv ...string) string { return p.p.T(key, kv...) }

// print writes lines as they are.
func (p *conversation) print(lines ...string) {
	p.says.Lock()
	defer p.says.Unlock()
	for _, l := range lines {
		if p.term.ASCII {
			l = signs.Replace(l)
		}
		fmt.Fprintln(p.term.Out, l)
	}
}

var signs = strings.NewReplacer("“", `"`, "”", `"`, "‘", "'", "’", "'", "…", "...", "–", "-", "—", "-", "→", "->", "×",
	"x", "·", "-", "•", "-")

func (p *conversation) say(key string, kv ...string) { p.print(p.t(key, kv...)) }

// fault says what is wrong and what to do.
func (p *conversation) fault(err error) {
	if err == nil || p.term.Reported != nil && p.term.Reported(err) {
		return
	}
	f := event.AsFault(err)
	text, next := p.p.Fault(f)
	p.complain(event.Error, text+" ("+f.Code+")", next)
}

func (p *conversation) complain(s event.Severity, text, next string) {
	lines := []string{p.t("cli."+string(s)) + ": " + event.Clean(text)}
	if next != "" {
		lines = append(lines, "  "+p.t("report.next", "next", event.Clean(next)))
	}
	p.print(lines...)
}

// listen begins to read a line, if that is not under way.
func (p *conversation) listen() <-chan heard {
	if p.wait == nil {
		p.wait = make(chan heard, 1)
		go func(to chan<- heard) { to <- p.next() }(p.wait)
	}
	return p.wait
}

func (p *conversation) next() heard {
	if p.gone != nil {
		return heard{err: p.gone}
	}
	var line []byte
	h := heard{}
	for {
		c, err := p.in.ReadByte()
		feed := c == '\n' && p.cr // the rest of CRLF
		p.cr = err == nil && c == '\r'
		switch {
		case feed:
		case err == nil && c != '\n' && c != '\r':
			if h.long = h.long || len(line) == longestLine; !h.long {
				line = append(line, c)
			}
		case err == nil, len(line) > 0: // a last line may have no end
			h.text = string(line)
			return h
		default:
			p.gone = io.EOF // a terminal that was closed says something else
			return heard{err: p.gone}
		}
	}
}

// hear waits for a line.
func (p *conversation) hear(ctx context.Context) (string, error) {
	for {
		select {
		case h := <-p.listen():
			p.wait = nil
			if h.long {
				p.say("plain.too-long")
				continue
			}
			return h.text, h.err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// line asks for a line; the prompt is one of its own. What arrow keys and other keys leave in it is dropped.
func (p *conversation) line(ctx context.Context, prompt string) (string, error) {
	p.asks.Lock()
	defer p.asks.Unlock()
	for {
		p.print(prompt)
		text, err := p.hear(ctx)
		is := typed(text)
		if is == "" && strings.TrimSpace(text) != "" && err == nil {
			// keys that are no text are no answer, not even Enter's
			continue
		}
		return is, err
	}
}

var arrows = strings.NewReplacer("\x1b[A", "", "\x1b[B", "", "\x1b[C", "", "\x1b[D", "", "\x1bOA", "", "\x1bOB", "",
	"\x1bOC", "", "\x1bOD", "", "\x1b[3~", "", "\x1b[H", "", "\x1b[F", "",
	"\x1b[200~", "", "\x1b[201~", "")

// typed is what a line says, without what no key for text has left there.
func typed(text string) string { return strings.TrimSpace(event.Clean(arrows.Replace(text))) }

// narrow is what was typed, however the input method wrote it.
func narrow(text string) string { return strings.TrimSpace(plaintext.Narrow(text)) }

// secret asks for what is not to be seen: on a terminal it is not shown as it is typed.
func (p *conversation) secret(ctx context.Context, prompt string) (string, error) {
	p.asks.Lock()
	defer p.asks.Unlock()
	p.print(prompt)
	if p.term.Hush != nil {
		back, err := p.term.Hush()
		if err != nil {
			return "", err
		}
		defer back()
	}
	text, err := p.hear(ctx)
	return text, err
}

// choice is one of numbered choices.
type choice struct {
	id   string
	text string
}

// choices of keys of i18n, which are their IDs.
func (p *conversation) choices(keys ...string) []choice {
	var out []choice
	for _, k := range keys {
		out = append(out, choice{k, p.t(k)})
	}
	return out
}

// choose shows numbered choices and asks for one, by its number; Enter takes def, if there is one of that ID. q is
// errLeft.
func (p *conversation) choose(ctx context.Context, list []choice, def string) (string, error) {
	for i, c := range list {
		p.print(fmt.Sprintf("%2d  %s", i+1, c.text))
	}
	at := slices.IndexFunc(list, func(c choice) bool { return c.id == def })
	prompt := p.t("plain.number")
	if at >= 0 {
		prompt = p.t("plain.number-default", "default", strconv.Itoa(at+1))
	}
	for {
		text, err := p.line(ctx, prompt)
		if err != nil {
			return "", err
		}
		switch text = narrow(text); {
		case text == "q":
			return "", errLeft
		case text == "" && at >= 0:
			return list[at].id, nil
		}
		if i, ok := numbered(text, len(list)); ok {
			return list[i].id, nil
		}
		p.say("plain.no-such", "text", text)
	}
}

// numbered reads the number of one of n, as its index.
func numbered(text string, n int) (int, bool) {
	i, err := strconv.Atoi(strings.TrimSuffix(narrow(text), "."))
	return i - 1, err == nil && i >= 1 && i <= n
}

// sure asks for a yes; everything else is a no.
func (p *conversation) sure(ctx context.Context, question string) (bool, error) {
	text, err := p.line(ctx, question+" "+p.t("plain.yes-no"))
	if err != nil {
		return false, err
	}
	switch strings.ToLower(narrow(text)) {
	case "y", "yes", "是":
		return true, nil
	case "q":
		return false, errLeft
	}
	return false, nil
}

// wants asks for a word that has to be typed before anything is destroyed.
func (p *conversation) wants(ctx context.Context, prompt, word string) (bool, error) {
	text, err := p.line(ctx, prompt)
	return err == nil && text == word, err
}

// Ask implements ask.Asker.
func (p *conversation) Ask(ctx context.Context, q ask.Question) (out ask.Answer, err error) {
	switch q := q.(type) {
	case ask.Secret:
		out.Secret, err = p.secret(ctx, p.p.Msg(q.What)+" "+p.t("plain.unseen"))
	case ask.HostKeys:
		out.Trusted, err = p.hostKeys(ctx, q.Keys, q.Known)
	case ask.Signer:
		p.print(p.t("ask.signer", "bundle", event.Clean(q.Bundle), "name", q.Name, "arch", q.Arch), "  "+q.Type,
			"  "+q.Fingerprint, p.t("ask.signer.how"))
		out.Trusted = make([]bool, 1)
		out.Trusted[0], err = p.sure(ctx, p.t("plain.signer"))
	case ask.Progress:
		p.waits(q.What)
	}
	return out, err
}

// hostKeys shows unknown host keys and asks which of them are right.
func (p *conversation) hostKeys(ctx context.Context, keys []ask.HostKey, known ask.KnownHosts) ([]bool, error) {
	t := &KeyTable{Print: p.print, Line: p.line, Printer: p.p, Fault: p.fault, Known: known}
	return t.Ask(ctx, keys)
}

// doingEvery is how often it is said that something is still waited for.
const doingEvery = 10 * time.Second

// waits reports what is waited for when it begins, and now and then while it lasts.
func (p *conversation) waits(what event.Msg) {
	p.says.Lock()
	said := p.doing == what.Key && time.Since(p.since) < doingEvery
	if !said {
		p.doing, p.since = what.Key, time.Now()
	}
	p.says.Unlock()
	if !said {
		p.print(p.p.Msg(what))
	}
}

// otherLang turns to the other language.
func (p *conversation) otherLang() {
	lang := i18n.Chinese
	if p.p.Lang() == i18n.Chinese {
		lang = i18n.English
	}
	command := p.p.Command
	p.p = i18n.NewPrinter(lang)
	p.p.Command = command
	if p.term.Turned != nil {
		p.term.Turned(p.p)
	}
	p.say("plain.language")
}
