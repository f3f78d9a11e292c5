package i18n

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// made is a fault that a test provoked, as event.Provoked writes it down.
type made struct {
	Code, At string
	Args     map[string]string
	Cause    bool
	Calls    int
}

func provoked(t *testing.T, dir string) []made {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no test has written down what it provoked: ", err)
	}
	var all []made
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		for s := bufio.NewScanner(f); s.Scan(); {
			var m made
			if json.Unmarshal(s.Bytes(), &m) == nil { // the last line of a program that was killed may be torn
				all = append(all, m)
			}
		}
		f.Close()
	}
	return all
}

// unfilled is a hole without its argument, or a choice between one and many without its number.
var unfilled = regexp.MustCompile(`\{[a-z][a-z0-9_-]*[:}]`)

// codes are those that have a sentence; TestWhateverIsSaidHasASentence sees that all have.
func codes() map[string]bool {
	out := map[string]bool{}
	for key := range catalog(English) {
		code, ok := strings.CutPrefix(key, "fault.")
		// not the advice, the words of forms with and without keys, and the guess
		if ok && !strings.HasSuffix(code, ".next") && !strings.HasSuffix(code, ".form") &&
			!strings.HasSuffix(code, ".plain") && !strings.HasSuffix(code, ".like") && !ofTheAPI(code) {
			out[code] = true
		}
	}
	return out
}

// ofTheAPI says whether a code is the words of the API for another one.
func ofTheAPI(code string) bool {
	own, is := strings.CutSuffix(code, ".api")
	return is && catalog(English)["fault."+own] != ""
}

// Every code is provoked by a test, out of the code that means it, and what it says is whole in both languages. It
// needs what all other tests wrote down: make test-race. After a turn of the long tests (TURN) codes may be missing.
func TestEveryCodeIsProvokedAndSaysAllInBothLanguages(t *testing.T) {
	dir := os.Getenv("EGGO_FAULTS_OF_ALL")
	if dir == "" {
		t.Skip("make test-race writes down what the tests provoke")
	}
	en, zh := NewPrinter(English), NewPrinter(Chinese)
	seen, missing := map[string]bool{}, []string{}
	for _, m := range provoked(t, dir) {
		if strings.Contains(m.Code, ".fake-") { // of a test that adds one
			continue
		}
		seen[m.Code] = true
		f := &event.Fault{Code: m.Code, Node: "n1", Step: "s", Args: m.Args, Calls: make([]event.Call, m.Calls)}
		if m.Cause {
			f.Cause = "cause"
		}
		for k, v := range f.Args { // a brace in a value is none of ours
			f.Args[k] = strings.Map(func(r rune) rune {
				if strings.ContainsRune("{|}", r) {
					return '_'
				}
				return r
			}, v)
		}
		for _, p := range []*Printer{en, zh} {
			text, next := p.Fault(f)
			if unfilled.MatchString(text + next) {
				t.Errorf("%s: %s: %q %q", m.At, m.Code, text, next)
			}
			if p == zh && !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
				t.Errorf("%s is not said in Chinese: %q", m.Code, text)
			}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(codes())) {
		if !seen[code] {
			missing = append(missing, code)
		}
	}
	t.Logf("%d codes, %d provoked", len(codes()), len(seen))
	switch turn := os.Getenv("TURN"); {
	case len(missing) > 0 && turn == "":
		t.Errorf("no test provokes %s", strings.Join(missing, " "))
	case len(missing) > 0:
		t.Logf("not provoked by the tests of turn %s: %s", turn, strings.Join(missing, " "))
	}
}
