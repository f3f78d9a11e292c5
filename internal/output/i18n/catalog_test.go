package i18n

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

var hole = regexp.MustCompile(`\{[a-z][a-z0-9_-]*\}`)

func holes(s string) []string {
	list := hole.FindAllString(s, -1)
	slices.Sort(list)
	return slices.Compact(list)
}

func TestBothLanguagesSayTheSame(t *testing.T) {
	en, zh := catalog(English), catalog(Chinese)
	if len(en) < 100 {
		t.Fatalf("only %d sentences", len(en))
	}
	for key, s := range en {
		other, ok := zh[key]
		if !ok {
			t.Errorf("%s is not there in Chinese", key)
			continue
		}
		if d := cmp.Diff(holes(s), holes(other)); d != "" {
			t.Errorf("%s has other holes in Chinese:\n%s", key, d)
		}
		if strings.TrimSpace(other) == "" || strings.TrimSpace(s) == "" {
			t.Errorf("%s says nothing", key)
		}
	}
	for key := range zh {
		if _, ok := en[key]; !ok {
			t.Errorf("%s is not there in English", key)
		}
	}
}

var update = flag.Bool("update", false, "sort the data files")

// TestTheDataFilesAreInOrder: sorted by key, each key once and on a line of its own, so that two people who add
// sentences rarely meet in one place.
func TestTheDataFilesAreInOrder(t *testing.T) {
	for _, lang := range []Lang{English, Chinese} {
		file := "sentences/" + string(lang) + ".json"
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if keys := bytes.Count(text, []byte("\n  \"")); keys != len(catalog(lang)) {
			t.Errorf("%s has %d keys on lines of their own, and %d different ones", file, keys, len(catalog(lang)))
			continue
		}
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(catalog(lang)); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if d := cmp.Diff(want.String(), string(text)); d != "" {
			t.Errorf("%s is not in order (make fmt):\n%s", file, d)
		}
	}
}

func TestAdviceBelongsToAFault(t *testing.T) {
	en := catalog(English)
	for key := range en {
		if f, ok := strings.CutSuffix(key, ".next"); ok && strings.HasPrefix(key, "fault.") {
			if en[f] == "" && en[strings.TrimSuffix(f, ".form")] == "" && en[strings.TrimSuffix(f, ".plain")] == "" &&
				en[strings.TrimSuffix(f, ".api")] == "" && en[strings.TrimSuffix(f, ".kube")] == "" {
				t.Errorf("%s advises on a fault that has no sentence", key)
			}
		}
	}
}

// Every error says what to do next.
func TestEveryFaultHasAdvice(t *testing.T) {
	for _, lang := range []Lang{English, Chinese} {
		for code := range codes() {
			if catalog(lang)["fault."+code+".next"] == "" {
				t.Errorf("%s: %s does not say what to do next", lang, code)
			}
		}
	}
}

func TestAMessageIsFilledInOneLanguage(t *testing.T) {
	for _, c := range []struct {
		name string
		msg  event.Msg
		want string
	}{
		{"no key is lost", event.M("no.such.key", "a", "b"), "no.such.key b"},
		{"values are cleaned", event.M("fault.pki.read", "file", "a\x1b[31m\u202eb", "cause", "c\nd"),
			"a[31mb cannot be read: c / d."},
		{"what is missing is no template", event.M("wizard.preflight.failed"), "(?) errors block the installation"},
		{"what is missing of several", event.M("fault.pki.read", "file", "a"), "a cannot be read: (?)."},
		{"one", event.M("menu.members", "masters", "1", "workers", "2"), "1 control plane, 2 workers"},
		{"many", event.M("ui.sum.blocked", "count", "3"), "3 dependent steps skipped"},
		{"a value is no choice", event.M("fault.pki.read", "file", "{cause:a|b}", "cause", "1"),
			"{cause:a|b} cannot be read: 1."},
		{"a value is no template", event.M("fault.pki.read", "file", "{cause}", "cause", "x"),
			"{cause} cannot be read: x."},
		{"one full stop", event.M("fault.pki.read", "file", "a", "cause", "EOF."), "a cannot be read: EOF."},
		{"a sentence that is empty", event.M("fault.bootstrap.not-registered", "node", "n1", "log", ""),
			"n1 has not registered with the API server yet."},
		{"a sentence that is not", event.M("fault.bootstrap.not-registered", "node", "n1", "log", "no token"),
			"n1 has not registered with the API server yet. no token."},
		{"words that are empty", event.M("fault.kube.not-ready", "node", "n1", "cause", "EOF", "log", ""),
			"n1: the API server is not ready yet (EOF)."},
		{"a cause that is empty", event.M("fault.ssh.lost", "node", "n1", "cause", ""), "n1: the connection was lost."},
	} {
		if got := NewPrinter(English).Msg(c.msg); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A node whose service lives has no last words: what the sentence has of them ends as if they were not meant.
func TestEmptyLastWords(t *testing.T) {
	for _, lang := range []Lang{English, Chinese} {
		n := 0
		for key, s := range catalog(lang) {
			if !strings.Contains(s, "{log}") {
				continue
			}
			n++
			args := map[string]string{"log": ""}
			for _, h := range holes(s) {
				if h = strings.Trim(h, "{}"); h != "log" {
					args[h] = "x."
				}
			}
			got := NewPrinter(lang).Msg(event.Msg{Key: key, Args: args})
			for _, bad := range []string{" .", "..", "。。", " 。"} {
				if strings.Contains(got, bad) {
					t.Errorf("%s: %q", key, got)
				}
			}
		}
		if n == 0 {
			t.Errorf("%s: no sentence has last words", lang)
		}
	}
}

func TestAFaultSaysWhoAndWhy(t *testing.T) {
	p := NewPrinter("klingon")
	f := event.NewFault(event.ClassFailed, "pki.mismatch", nil, "file", "ca.crt").On("m1")
	text, next := p.Fault(f)
	if !strings.HasPrefix(text, "m1: ca.crt ") || next == "" || p.Lang() != English {
		t.Errorf("%q, %q", text, next)
	}
	if text, _ := p.Fault(&event.Fault{Code: "pki.mismatch", Cause: "why"}); !strings.HasSuffix(text, " (why).") {
		t.Errorf("the cause is lost: %q", text)
	}
}

func TestTheLanguageOfTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want Lang
	}{
		{map[string]string{}, English},
		{map[string]string{"LANG": "zh_CN.UTF-8"}, Chinese},
		{map[string]string{"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, English},
		{map[string]string{"LC_MESSAGES": "ZH_tw", "LANG": "C"}, Chinese},
		{map[string]string{"LC_ALL": "en_US.UTF-8", "EGGO_LANG": "zh"}, Chinese},
		{map[string]string{"LANG": "de_DE"}, English},
	} {
		for _, k := range []string{"EGGO_LANG", "LC_ALL", "LC_MESSAGES", "LANG"} {
			t.Setenv(k, c.env[k])
		}
		if got := FromEnv(); got != c.want {
			t.Errorf("%v: %s", c.env, got)
		}
	}
}

// What stands below a fault's sentence is found by the fault's own key, and gets its arguments.
func TestAFaultHasWordsOfAPlace(t *testing.T) {
	p := NewPrinter(English)
	f := event.NewFault(event.ClassUsage, "config.host-twice", nil, "value", "10.0.0.1", "line", "7")
	if text, next := p.FaultIn("form", f); text != "10.0.0.1 is listed twice." || next != "" {
		t.Errorf("%q, %q", text, next)
	}
	f = event.NewFault(event.ClassPreflight, "preflight.failed", nil, "count", "2")
	want, wantNext := p.Fault(f)
	if text, next := p.FaultIn("form", f); text != want || next != wantNext || strings.ContainsAny(text, "{}") {
		t.Errorf("%q, %q: another key's sentence", text, next)
	}
}
