// Command shots draws the screens for the documents: the recorded install that the demo plays, as it is and with more
// machines, at chosen moments, in both languages, on dark and light terminals. It needs two fonts and no terminal.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"image/color"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/runview"
	"github.com/eggo-k8s/eggo/test/story"
)

// shot is a picture: a run at a moment, and the keys that lead to the screen.
type shot struct {
	name  string
	more  int           // machines besides those of the recorded install
	at    time.Duration // of the run; 0 is its end
	w, h  int
	keys  []string
	fails bool   // a machine runs out of room
	host  string // which; "" is worker-2
	also  bool   // on a light terminal too
	plain bool   // without colours, and in ASCII
}

func shots() []shot {
	return []shot{
		{name: "board", at: 79 * time.Second, w: 120, h: 36, also: true},
		{name: "board-30", more: 25, at: 94 * time.Second, w: 150, h: 44},
		{name: "board-100", more: 95, at: 79 * time.Second, w: 180, h: 50, fails: true, host: "worker-4",
			keys: []string{"esc"}},
		{name: "failure", at: 40 * time.Second, w: 120, h: 36},
		{name: "steps", at: 134 * time.Second, w: 120, h: 36, keys: []string{"enter"}, also: true},
		{name: "log", w: 120, h: 30, keys: []string{"s", "o", "t", "up", "up", "up"}},
		{name: "summary", w: 120, h: 28},
		{name: "leaving", at: 79 * time.Second, w: 120, h: 30, keys: []string{"q"}},
		{name: "board-plain", at: 79 * time.Second, w: 120, h: 36, plain: true},
	}
}

func main() {
	out := flag.String("o", filepath.Join("docs", "shots"), "directory of the pictures")
	fonts := flag.String("fonts", "/usr/share/fonts", "where the fonts are")
	only := flag.String("only", "", "how the names of the pictures to be drawn begin")
	flag.Parse()
	if err := run(*out, strings.Split(*fonts, ":"), *only); err != nil {
		fmt.Fprintln(os.Stderr, "shots:", err)
		os.Exit(1)
	}
}

func run(out string, fonts []string, only string) error {
	p, err := newPen(fonts)
	if err != nil {
		return err
	}
	list, err := story.Recorded()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, s := range pictures(list) {
		if !strings.HasPrefix(s.name, only) {
			continue
		}
		for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
			for _, l := range []struct {
				name string
				look
			}{{"", dark()}, {"light", light()}} {
				if l.name != "" && !s.also {
					continue
				}
				content, err := s.screen(lang, l.name == "")
				if err != nil {
					return fmt.Errorf("%s: %w", s.name, err)
				}
				parts := []string{s.name, string(lang)}
				if l.name != "" {
					parts = append(parts, l.name)
				}
				file := filepath.Join(out, plain(parts...))
				if err := p.save(file, p.picture(content, s.w, s.h, l.look)); err != nil {
					return err
				}
				fmt.Println(file)
			}
		}
	}
	if !strings.HasPrefix("demo", only) {
		return nil
	}
	return p.movies(out, list)
}

// picture is a screen of w×h cells, drawn in both languages.
type picture struct {
	name   string
	w, h   int
	also   bool // on a light terminal too
	screen func(lang i18n.Lang, dark bool) (string, error)
}

// pictures are all: of runs, of the wizard, of the pages around them.
func pictures(list []event.Record) []picture {
	var out []picture
	for _, s := range shots() {
		out = append(out, picture{s.name, s.w, s.h, s.also, func(lang i18n.Lang, dark bool) (string, error) {
			return s.screen(list, lang, dark)
		}})
	}
	for _, s := range []shot{{name: "upgrade-board", at: 400 * time.Second, w: 120, h: 36}} {
		out = append(out, picture{s.name, s.w, s.h, s.also, func(lang i18n.Lang, dark bool) (string, error) {
			return s.screen(uitest.Upgrade(5000), lang, dark)
		}})
	}
	for _, s := range wizardShots() {
		out = append(out, picture{s.name, 120, 32, s.also, func(lang i18n.Lang, dark bool) (string, error) {
			return s.screen(lang, dark, 120, 32), nil
		}})
	}
	for _, s := range pageShots() {
		out = append(out, picture{s.name, 110, 30, s.also, func(lang i18n.Lang, dark bool) (string, error) {
			return s.screen(lang, dark, 110, 30), nil
		}})
	}
	return out
}

// reel is a log in memory, and the controller of a run that listens to nobody.
type reel struct {
	list []event.Record
	logs map[string]string
}

func (r *reel) Take(int) ([]event.Record, error) {
	out := r.list
	r.list = nil
	return out, nil
}
func (r *reel) Decide(string, event.Decision) error { return nil }
func (r *reel) Stop() error                         { return nil }
func (r *reel) Abort() error                        { return nil }

// screen plays the run up to the moment and presses the keys.
func (s shot) screen(list []event.Record, lang i18n.Lang, dark bool) (string, error) {
	if s.more > 0 {
		list = story.Many(list, s.more)
	}
	began := list[0].Time
	now := list[len(list)-1].Time
	var before, last []event.Record
	logs := map[string]string{}
	for _, r := range list {
		if s.at > 0 && r.Time.Sub(began) > s.at {
			now = began.Add(s.at)
			break
		}
		if o, ok := r.Event.(event.Output); ok {
			logs[o.Host] += r.Time.UTC().Format("2006-01-02T15:04:05.000Z") + " " + o.Step + " " + o.Stream + "| " +
				o.Line + "\n"
		}
		if _, end := r.Event.(event.RunEnded); end {
			last = append(last, r)
			break
		}
		before = append(before, r)
	}
	if s.fails {
		before = append(before, story.Full(before[len(before)-1], cmp.Or(s.host, story.Pattern))...)
	}
	feed := &reel{list: before, logs: logs}
	page := runview.New(backend.Board{Feed: feed, Control: feed, NodeLog: func(host string) (backend.NodeLog, error) {
		return backend.LogText(logs[host]), nil
	},
		Shell: func(string) (*exec.Cmd, error) { return nil, errors.New("there is none") },
		Edit: func() (*exec.Cmd, func() (bool, error),
			error) {
			return nil, nil, errors.New("there is none")
		}}).Still()
	app := ui.New(page, ui.Options{Lang: lang, ASCII: s.plain, Mono: s.plain, Now: func() time.Time { return now }})
	do(app, func() tea.Msg { return tea.WindowSizeMsg{Width: s.w, Height: s.h} })
	if !dark {
		do(app, func() tea.Msg { return tea.BackgroundColorMsg{Color: color.White} })
	}
	do(app, app.Init())
	app.View()
	feed.list = last
	do(app, page.Look())
	for _, k := range s.keys {
		do(app, func() tea.Msg { return press(k) })
		app.View()
	}
	return app.View().Content, nil
}

// do runs a command and what comes of it, but for what is meant for a terminal.
func do(app *ui.App, c tea.Cmd) {
	if c == nil {
		return
	}
	switch m := c().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range m {
			do(app, c)
		}
	default:
		_, next := app.Update(m)
		do(app, next)
	}
}

func press(key string) tea.KeyPressMsg {
	named := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown}
	if c, ok := named[key]; ok {
		return tea.KeyPressMsg{Code: c}
	}
	return tea.KeyPressMsg{Code: []rune(key)[0], Text: key}
}
